/*
 * protected: names that make the host run something later, when a person or a tool looks at the
 * directory: hooks and settings of git, of editors and agents, files that shells read. A guest may
 * not put or change them unless the owner names them.
 *
 * One question decides what is a row in protected.c: does the host execute it, or a command from
 * it, when a person opens, enters or uses the directory with common tools, without being asked? The
 * one other row is .wasp, whose policy says what wasp allows there. So these are not in it:
 *
 * - what a person runs knowingly: Makefile, package.json, build.rs, conftest.py, .npmrc and others
 *   that a build tool or package manager reads. To run a project is to trust it.
 * - prose for agents (AGENTS.md, CLAUDE.md): it persuades, it does not execute. Their settings are.
 * - .gitattributes and .git/info/attributes: they choose among commands that git's configuration
 *   defines, they define none.
 * - credentials (.netrc, .pypirc): worth a secret, not a command.
 *
 * What no name can tell: a bare git repository under any name, into which a person then changes
 * (git's safe.bareRepository=explicit is the remedy); a file that a build or an alias of the
 * owner's happens to run; a hard link to a protected file that was there before under another name.
 *
 * Names are compared as file systems do that ignore case: letters in either case, without
 * characters that are not seen, without dots and spaces at the end, and in their short form
 * ("git~1").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * `unprotected`, here and below: rules that do not hold, NULL-terminated, or NULL if all hold.
 * Naming a directory ends all rules in it too: ".git" that of ".git/hooks".
 */

/*
 * The rule that protects a path (relative, as components; "." and empty ones do not count), or
 * NULL. The rule is the name as --unprotect takes it: ".git/hooks", ".envrc". A path is protected
 * if it is such a name, at any depth, or lies beneath one. This answers for the attributes of what
 * is there; the other two for all that can bring a name about.
 */
const char *protected_rule(const char *path, const char *const *unprotected);
/*
 * As above, and also ".git", which holds such names but takes changes. For making and removing a
 * directory.
 */
const char *protected_name(const char *path, const char *const *unprotected);
/*
 * As above, and also ".config", which may be made, but not be moved, for what is in it would come
 * along. For a file or link, whether made, written or removed; and for renames, at both ends.
 */
const char *protected_move(const char *path, const char *const *unprotected);

/*
 * The same in steps, for paths that begin at an open directory. `at` says in one byte where a
 * directory lies: PROTECTED_NOWHERE, beneath a rule, or that it is one which a rule has a name in.
 *
 * This byte stays true while the directory is open, whatever a guest renames that is held to
 * protected_move: what lies nowhere can be moved neither to such a name nor beneath one, what lies
 * elsewhere cannot be moved at all, and directories above do not count.
 */
#define PROTECTED_NOWHERE 0

/* ".." is taken as text, so the path must hold no symlink; where it climbs past `at`, NOWHERE. */
uint8_t protected_walk(uint8_t at, const char *path, const char *const *unprotected);
/* What the three above answer. */
const char *protected_at_rule(uint8_t at);
const char *protected_at_name(uint8_t at);
const char *protected_at_move(uint8_t at);
/*
 * Where a granted directory lies, of which `path` is the host's path: one that is ".git" itself is
 * no way around the rules for what is in it. One that a rule protects whole lies nowhere: its owner
 * named it.
 */
uint8_t protected_root(const char *path, const char *const *unprotected);

/* True if --unprotect may name it. */
bool protected_is_rule(const char *name);

struct protected_row {
    const char *name;
    const char *why; /* what the host does with it: "git runs them" */
    int kind;        /* protected.c's */
};

/* The rules, a row without a name at the end. */
extern const struct protected_row protected_rows[];
