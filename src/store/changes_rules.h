/*
 * changes_rules: what can be said against a change by looking at it alone. For store/changes_*.c
 * and their tests.
 */
#pragma once

#include "store/changes.h"

/*
 * The rule that protects what the change does, in a directory that is `host` on the host; or NULL.
 */
const char *change_rule(const char *host, const struct change *change,
                        const char *const *unprotected);
/*
 * True if a symlink at path, followed, could leave the directory that the path begins in: it is
 * absolute, climbs too far, or climbs behind a name, which may be a link by then.
 */
bool change_link_leads_out(const char *path, const char *target);
/* The first thing that is wrong with it for good. raw_mode is the one that the guest gave. */
enum change_refusal change_flaw(const struct change *change, uint32_t raw_mode);
/* The mode that it gets on the host: as the guest's, but what is new in it passes the umask. */
uint32_t change_mode(const struct change *change, uint32_t raw_mode, uint32_t mask);
