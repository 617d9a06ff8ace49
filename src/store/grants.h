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
#define GRANT_MAX_SCOPE 65536 /* bytes, as the next one */
#define GRANT_MAX_REASON 4096
#define GRANT_KEPT_MS (30ULL * 24 * 3600 * 1000) /* how long one that ended can still be seen */

/*
 * A grant can be used while now_ms < expires_ms, it is not revoked and it has uses left.
 */
enum grant_state { GRANT_USABLE, GRANT_SPENT, GRANT_EXPIRED, GRANT_REVOKED };
extern const char *const grant_state_names[]; /* usable, spent, expired, revoked; NULL at the end */
enum grant_state grant_state(const struct grant *grant, uint64_t now_ms);

/*
 * Keeps a new one; its id is made here and written to *grant. 0, or -1 and *err: ERR_REQUEST for
 * times, uses or texts beyond what is above, or texts that are not UTF-8. Those that ended long ago
 * go.
 */
int grants_create(struct db *db, struct grant *grant, struct err *err);
/* The same as a part of a change that has begun already, for approvals.c. */
int grants_add(struct db *db, struct grant *grant, struct err *err);

struct grant_list {
    struct grant *items; /* in the arena, oldest first */
    size_t count;
};

/* Which of them: the holder's (NULL: everybody's), those that can be used now or all there are. */
int grants_list(struct db *db, const char *holder, bool usable_only, uint64_t now_ms,
                struct arena *arena, struct grant_list *ret_list, struct err *err);
/*
 * One, by its id or a beginning of it, 8 characters at least, that no other has. -1 and *err
 * (ERR_NOT_FOUND; ERR_REQUEST: too short, or more than one).
 */
int grants_find(struct db *db, const char *id, struct arena *arena, struct grant *ret_grant,
                struct err *err);
/*
 * Takes one use of each, all or none: another process may have used or revoked one meanwhile. One
 * that is there twice is used once: it covers two needs of one request. 0; or -1 and *err
 * (ERR_DENIED: it is used up, expired, revoked or gone).
 */
int grants_use(struct db *db, const struct grant *const *grants, size_t count, uint64_t now_ms,
               struct err *err);
/*
 * *ret_hold is false once one of them is revoked or expired; *ret_which is then its number.
 * uses_left does not matter.
 */
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
