/*
 * decide: policy and grants over needs. Pure: the same layers, grants and needs give the same
 * decision.
 *
 * A layer's verdict on a need is that of its matching rules, deny before ask before allow; without
 * a matching rule it is deny. A rule that allows must be about all that is asked for; one that
 * denies or asks matches if it is about a part of it, or may be because what is asked for is not
 * known here. The strictest layer stands. A grant of the principal's that covers the need turns ask
 * into allow in every layer, and the lack of a rule into allow in every layer but the system's; it
 * never overrules a deny rule. The owner holds no grants: with no layer at all his request stands
 * as given; an agent for whom no layer speaks has no leave.
 *
 * The system's layer and the user's are the owner's own: what they say of risks, limits, isolation,
 * backends and settings stands in the place of what is built in, the strictest of them. A project's
 * or a tier's word only makes that stricter.
 */
#pragma once

#include "base/arena.h"
#include "plan/grant.h"
#include "plan/need.h"
#include "plan/policy.h"
#include "plan/principal.h"

struct authority {
    struct principal principal;
    const struct policy
        *layers; /* the system's first; with the tiers that they or the request name */
    size_t n_layers;
    const struct grant *grants; /* the principal's own, neither expired, revoked nor used up */
    size_t n_grants;
    struct digest request; /* what bound grants must be bound to */
};

/* The verdict on one need, and who gave it. */
struct judgement {
    enum verdict verdict;
    const struct policy *layer; /* the strictest one; NULL: there is none */
    const struct rule *rule; /* the rule in it that decided; NULL: none matched, or with VERDICT_ASK
                                the risk is one that needs a grant */
    const struct grant
        *grant;          /* that turned it into allow; NULL: none was needed or there is none */
    bool grant_would_do; /* of a verdict other than allow: a grant would change it */
    enum risk risk;
    int per_hour;  /* PER_HOUR_ANY: as many as it likes; 0: never */
    bool simulate; /* the request must have been shown first, and its digest given: a layer lists
                      its risk or a lower one */
};

void decide_need(const struct authority *authority, const struct need *need,
                 struct judgement *ret_judgement);

struct decision {
    enum verdict verdict;         /* the strictest of all */
    struct judgement *judgements; /* one for each need */
    bool simulate;
};

/* All needs. 0, or -1 and *err for want of memory. */
int decide_all(const struct authority *authority, const struct needs *needs, struct arena *arena,
               struct decision *ret_decision, struct err *err);

/* A limit that was lowered. */
struct clamp {
    enum limit limit;
    uint64_t from, to;
    const struct policy *layer;
};

/*
 * The policy's word on what has no need: limits, backend, isolation, workspace, generated code,
 * protected names. Defaults are put where the request names none. An agent's limits are lowered to
 * the policies' (where none is said, to the backend's default; where the owner wrote no policy, a
 * tier speaks for him) and listed; the owner's, above a maximum that a policy says, are refused.
 * The weaker rung is used, and may be asked for, only where one of the owner's layers wants it and
 * no other forbids it. Refusals: -1 and *err (ERR_DENIED, naming layer, key and value; ERR_REQUEST
 * if the workspace's place is taken). *ret_clamps has room for LIMIT_COUNT. language_put and
 * request_check go by what is settled here, so they come behind it.
 */
int decide_bounds(const struct authority *authority, struct request *request,
                  struct clamp *ret_clamps, size_t *ret_n_clamps, struct err *err);
/*
 * What a language is run on by policy: the strongest that a layer names (wasm before native), or
 * `otherwise`; a project or a tier only makes it stronger. -1 and *err (ERR_DENIED) if `asked` (-1:
 * not) is weaker than that.
 */
int decide_backend(const struct authority *authority, const char *language, int asked,
                   enum backend otherwise, enum backend *ret_backend, struct err *err);

/*
 * Settings of all layers together: the strictest of each, none unsaid; but rotate_bytes 0 is
 * audit.h's own size, keep_segments 0 all of them.
 */
struct settings {
    enum audit_mode audit;
    enum durability durability;
    uint64_t rotate_bytes;
    uint32_t keep_segments;
    uint64_t pending_ms;
    uint64_t ttl_ms; /* the most that a person can give; 0: nobody says, it is his to say */
    uint32_t uses;   /* likewise */
};
void decide_settings(const struct authority *authority, struct settings *ret_settings);

/*
 * A refusal in words, for people and models: what was refused, by which rule of which layer and its
 * reason, which grant would allow it (the command that makes one as hint) or that none would.
 */
int decide_refuse(const struct need *need, const struct judgement *judgement,
                  const struct principal *principal, struct err *err);
