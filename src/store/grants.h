/*
 * grants: the revocable tokens, kept (plan/grant.h). Times are milliseconds since 1970 and handed
 * in: nothing here reads a clock.
 */
#pragma once

#include "base/arena.h"
#include "plan/grant.h"
#include "store/db.h"

#define GRANT_MAX_TTL_MS (365ULL * 24 * 3600 * 1000)
#define GRANT_MAX_USES 1000000

/* Keeps a new one; its id is made here and written to *grant. 0, or -1 and *err. */
int grants_create(struct db *db, struct grant *grant, struct err *err);

struct grant_list {
    struct grant *items; /* in the arena */
    size_t count;
};

/* Which of them: the holder's (NULL: everybody's), those that can be used now or all there are. */
int grants_list(struct db *db, const char *holder, bool usable_only, uint64_t now_ms,
                struct arena *arena, struct grant_list *ret_list, struct err *err);
/* One, by its id or a beginning of it that no other has. -1 and *err (ERR_NOT_FOUND). */
int grants_find(struct db *db, const char *id, struct arena *arena, struct grant *ret_grant,
                struct err *err);
/*
 * Takes one use of each, all or none: another process may have used or revoked one meanwhile. 0; or
 * -1 and *err (ERR_DENIED: it is used up, expired or revoked).
 */
int grants_use(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
               struct err *err);
/* False once one of them is revoked or expired; *ret_why is then it. uses_left does not matter. */
int grants_hold(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
                bool *ret_hold, size_t *ret_which, struct err *err);
/* ret_grant: as it was revoked. Revoking twice is an error that says when it was (ERR_REQUEST). */
int grants_revoke(struct db *db, const char *id, uint64_t now_ms, struct arena *arena,
                  struct grant *ret_grant, struct err *err);
/*
 * Those that expired unused or partly used and were not reported yet, each only once in all
 * processes together: for the audit, which says when an elevation ended by itself.
 */
int grants_take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                        struct grant_list *ret_list, struct err *err);
