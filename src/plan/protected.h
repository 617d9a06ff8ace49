/*
 * protected: names that make the host run something later, when a person or a tool looks at the
 * directory: hooks and settings of git, of editors and agents, files that shells read. A guest may
 * not put or change them unless the owner names them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The rule that protects a path (relative, as components; "." and empty ones do not count), or
 * NULL. The rule is the name as --unprotect takes it: ".git/hooks", ".envrc". A path is protected
 * if it is such a name, at any depth, or lies beneath one. Letters count in either case: some file
 * systems ignore it.
 */
const char *protected_rule(const char *path);
/*
 * As above, and also where making or removing the path itself would bring such a name about or
 * take it away: ".git" as a whole. For what creates, renames or removes; protected_rule for what
 * changes a file in place.
 */
const char *protected_name(const char *path);

/* The rules, NULL at the end. */
extern const char *const protected_rules[];
