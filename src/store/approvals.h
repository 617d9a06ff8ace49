/*
 * approvals: requests that wait for a person, and what he said.
 */
#pragma once

#include "base/arena.h"
#include "plan/grant.h"
#include "store/grants.h"

enum approval_state {
    APPROVAL_PENDING,
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED, /* nobody answered in time, now_ms >= expires_ms: denied */
};
extern const char *const approval_state_names[]; /* NULL at the end */

#define APPROVAL_MAX_ITEMS 256
#define APPROVAL_MAX_PENDING 100 /* of one holder at once: an agent must not bury the person */
#define APPROVAL_MAX_BYTES ((size_t) 1 << 20) /* of all its texts: more than that nobody reads */
#define APPROVAL_MAX_KEPT 500                 /* of one holder, that were answered or expired … */
#define APPROVAL_KEPT_MS GRANT_KEPT_MS        /* … and how long, unless a grant of it is kept */
#define APPROVAL_TTL_MS (10ULL * 60 * 1000)   /* of what is granted, unless told otherwise */

/* One thing that is asked for. */
struct approval_item {
    enum capability capability;
    const char *scope;
    const char *rule;   /* "user policy ~/.config/wasp/policy.yaml:12"; may be NULL */
    const char *reason; /* of the rule; may be NULL */
};

struct approval {
    char id[GRANT_ID_SIZE];
    const char *holder;
    struct digest request; /* what is approved is this request and no other */
    const char *summary;   /* exact bytes of what would run, escaped, one line */
    const char
        *plan; /* the request in full, as JSON (wasp.plan/1); NULL in lists, to keep them small */
    struct approval_item *items;
    size_t n_items;
    uint64_t created_ms, expires_ms; /* of the waiting */
    uint64_t max_ttl_ms;             /* the longest life of its grants; 0: GRANT_MAX_TTL_MS */
    uint32_t max_uses;               /* 0: GRANT_MAX_USES */
    enum approval_state state;
    uint64_t answered_ms;    /* 0: not */
    const char *answered_by; /* "uid:1000"; NULL: nobody */
};

/*
 * Files it, or finds the pending one of the same holder and request: repeating a request makes no
 * second. *ret_is_new tells. *approval gets id, times and state as they are kept; the caller sets
 * the rest and expires_ms. 0, or -1 and *err (ERR_DENIED: it has too many items, too long texts or
 * ones that are not UTF-8, so that nobody could judge it; or too many are waiting).
 */
int approvals_ask(struct db *db, struct approval *approval, uint64_t now_ms, bool *ret_is_new,
                  struct err *err);

struct approval_list {
    struct approval *items; /* in the arena, oldest first */
    size_t count;
};

/* Those still waiting, or all that are kept. What is past its time shows as expired. */
int approvals_list(struct db *db, bool pending_only, uint64_t now_ms, struct arena *arena,
                   struct approval_list *ret_list, struct err *err);
/* By id, or a beginning of it that no other has. */
int approvals_find(struct db *db, const char *id, uint64_t now_ms, struct arena *arena,
                   struct approval *ret_approval, struct err *err);
/*
 * The person's word. One transaction: whoever comes second, or too late, gets -1 and *err
 * (ERR_REQUEST, saying who answered what and when). Approving makes one grant for each item, bound
 * to the request, in *ret_grants. ttl_ms 0: APPROVAL_TTL_MS, or max_ttl_ms if that is shorter; uses
 * 0: 1. More than the request's most is refused (ERR_REQUEST).
 */
int approvals_approve(struct db *db, const char *id, uint64_t ttl_ms, uint32_t uses, const char *by,
                      uint64_t now_ms, struct arena *arena, struct approval *ret_approval,
                      struct grant **ret_grants, size_t *ret_n_grants, struct err *err);
int approvals_deny(struct db *db, const char *id, const char *by, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err);
/*
 * The last answer to that very request of that holder, no answer in time included; -1 with
 * ERR_NOT_FOUND if none is kept.
 */
int approvals_last(struct db *db, const char *holder, const struct digest *request, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err);
/* Those that expired without an answer and were not reported yet, each once in all processes. */
int approvals_take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                           struct approval_list *ret_list, struct err *err);
