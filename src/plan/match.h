/*
 * match: does one rule of a policy speak of one thing? Used at every decision and to test a
 * policy's own examples, so both mean the same. Texts only; a name that could be read in two ways
 * matches nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/facts.h"
#include "plan/policy.h"

/*
 * filesystem, code (a module; its sha256 is the caller's to compare): the rule's path or `real` is
 * `path` itself or lies above it. A rule that asks or denies also matches if it lies beneath: who
 * is given a folder is given what is in it. `path` is absolute and real. NULL: only "*" matches.
 * Not absolute, or with an empty, "." or ".." component: no rule that allows matches, each other
 * does.
 */
bool match_path(const struct rule *rule, const char *path);

/*
 * env, code (a language): the same name, or one that starts with what stands before the rule's '*'.
 * exactly: no prefix and no "*" covers it, unless it denies.
 */
bool match_name(const struct rule *rule, const char *name, bool exactly);

#define HOST_SIZE 256 /* with its NUL */
/*
 * A host as rules have it: lower case, labels of a to z, 0 to 9 and '-', no dot at the end; an IP
 * address in its usual form, without brackets. False for anything else: other characters, empty or
 * long labels, numbers that some resolvers read as an address ("127.1", "0x7f.1", "2130706433").
 */
bool host_normal(const char *host, char ret_host[HOST_SIZE]);

/*
 * network: host, port, method and path of a URL; never true of a rule for loopback alone. A host
 * that host_normal does not take matches nothing, not even "*". A rule that allows or asks covers
 * ports 443 and 80 and methods GET and HEAD where it names none; one that denies covers all. "*"
 * with nothing else covers everything. method, url_path NULL: not known; a rule that depends on it
 * matches if it asks or denies.
 *
 * A prefix covers the path itself and what lies beneath: "/v1" covers "/v1" and "/v1/x", never
 * "/v10"; "/v1/" covers "/v1/x", not "/v1". The query, from '?' or '#', is cut off first. A path
 * that a server could read as leaving its prefix never matches a rule that allows, and always one
 * that asks or denies: one with a "." or ".." component (also before a ';'), an empty one ("//"), a
 * backslash, a control character, one of these or '.', '/', '%' percent-encoded, a percent sign
 * without two hex digits, what is not UTF-8 when it is decoded, or more than 4,096 bytes.
 */
bool match_url(const struct rule *rule, const char *host, uint16_t port, const char *method,
               const char *url_path);

/* False for a path that is in doubt, as above; of that length, the query not part of it. */
bool url_path_is_plain(const char *path, size_t len);

/*
 * exec: the program by its file, not by its name, and its arguments after that name. id NULL: not
 * known, only "*" matches.
 */
bool match_program(const struct rule *rule, const struct file_id *id, const char *const *args,
                   size_t n_args);
/* The arguments alone, as match_program does. */
bool match_args(const struct rule *rule, const char *const *args, size_t n_args);
