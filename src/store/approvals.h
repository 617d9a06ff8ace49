/*
 * approvals: requests that wait for a person, and what he said.
 */
#pragma once

#include "base/arena.h"
#include "plan/grant.h"
#include "store/db.h"

enum approval_state {
    APPROVAL_PENDING,
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED, /* nobody answered in time: denied */
};
extern const char *const approval_state_names[]; /* NULL at the end */

#define APPROVAL_MAX_ITEMS 256
#define APPROVAL_MAX_PENDING 100 /* of one holder at once: an agent must not bury the person */

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
    const char *plan;      /* the request in full, as JSON (wasp.plan/1) */
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
 * second. *ret_is_new tells. *approval gets id, times and state as they are kept.
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
 * to the request, in *ret_grants.
 */
int approvals_approve(struct db *db, const char *id, uint64_t ttl_ms, uint32_t uses, const char *by,
                      uint64_t now_ms, struct arena *arena, struct approval *ret_approval,
                      struct grant **ret_grants, size_t *ret_n_grants, struct err *err);
int approvals_deny(struct db *db, const char *id, const char *by, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err);
/* The last answer to that very request of that holder; -1 with ERR_NOT_FOUND if none is kept. */
int approvals_last(struct db *db, const char *holder, const struct digest *request, uint64_t now_ms,
                   struct arena *arena, struct approval *ret_approval, struct err *err);
/* Those that expired without an answer and were not reported yet, each once in all processes. */
int approvals_take_expired(struct db *db, uint64_t now_ms, struct arena *arena,
                           struct approval_list *ret_list, struct err *err);
