/*
 * gate: who may. Every request passes it on its way to a run: the layers in force are loaded, the
 * request is judged, counted, recorded; while it runs, what it rests on is watched; when it is
 * over, that is recorded too.
 */
#pragma once

#include "base/arena.h"
#include "plan/decide.h"
#include "report/leave.h"
#include "run/observer.h"
#include "run/result.h"
#include "run/run.h"
#include "store/approvals.h"
#include "store/grants.h"
#include "store/policies.h"

/* What a person said; nothing, if there is nobody or no answer came. */
enum gate_word { WORD_NONE, WORD_NO, WORD_YES };
/* Asks a person, who sees exactly what would run. */
typedef enum gate_word gate_ask(const struct approval *approval);

/* What a door says besides the request. */
struct gate_options {
    struct principal principal;
    const char *policy;        /* --policy; NULL: the user's own */
    enum tier tier;            /* --tier; TIER_NONE: none */
    enum audit_mode audit;     /* --audit; AUDIT_UNSAID: by policy, else by principal */
    const char *simulated;     /* --plan-sha256: the digest that a simulation gave; NULL: none */
    const char *const *grants; /* only these are used, by their ids; n_grants 0: any */
    size_t n_grants;
    gate_ask *ask; /* NULL: nobody is asked, what needs a person's word waits for it */
};

struct gate {
    const struct gate_options *options;
    const struct places *places;
    struct arena *arena;
    struct policies policies;
    struct authority authority;
    struct settings settings;
    struct facts facts;
    struct needs needs;
    struct decision decision;
    struct clamp clamps[LIMIT_COUNT];
    struct err
        bound_err; /* what the bounds refuse; ERR_NONE: nothing, or they were not looked at */
    struct grant_list grants;      /* the principal's */
    struct db *db;                 /* NULL until it is needed */
    struct audit *audit;           /* NULL: off, or it failed */
    struct err audit_err;          /* ERR_NONE: it did not */
    const struct secrets *secrets; /* that no record may show; NULL: none */
    const char *run_id;
    const char *backend;
    const char *call; /* `wasp call`: what is asked, as JSON, for whoever approves it; else NULL */
    const struct grant **used; /* what the run rests on */
    size_t n_used;
    struct guard guard;
    struct leave leave; /* for the envelope */
};

/*
 * Loads the layers in force. with_programs: rules on programs will be asked. 0, or -1 and *err;
 * gate_release in both cases. options must live as long as the gate.
 */
int gate_open(struct gate *gate, const struct gate_options *options, const struct places *places,
              bool with_programs, struct arena *arena, struct err *err);
void gate_release(struct gate *gate);
/* The owner with no policy over him: what he says stands. */
bool gate_stands_open(const struct gate *gate);

/*
 * Puts what the policy says of limits, backend and rung into the request, before it is made ready:
 * a language is run in another way on each. What is refused is told by gate_admit, on record.
 */
void gate_bound(struct gate *gate, struct request *request);
/*
 * Judges the request that gate_bound has seen, counts it, takes its grants and records its start.
 * True: it may run, and gate_end must be called. False: *result says why not, and all is recorded.
 */
bool gate_admit(struct gate *gate, struct request *request, struct result *result);
/* What ends the run when a grant behind it is taken back; NULL: it rests on none. */
const struct guard *gate_guard(struct gate *gate);
/* Records the end. Where that was required and cannot be done, *result is an error from then on. */
void gate_end(struct gate *gate, struct result *result);

/*
 * Where a policy wants the request, or a call (request is NULL), to be simulated first: -1 and *err
 * (ERR_SIMULATE) unless the digest that was given is its own.
 */
int gate_check_simulated(struct gate *gate, const struct request *request, struct err *err);
/* Milliseconds since 1970, as the store has them. */
uint64_t gate_now_ms(void);

/* The verdict alone: counts, asks and records nothing. 0, or -1 and *err. */
int gate_explain(struct gate *gate, struct request *request, struct err *err);

/*
 * The same for a single call that no request is behind: what is asked is text, JSON, and approvals
 * are bound to its digest. False: *result says why not.
 */
bool gate_admit_call(struct gate *gate, const char *what, struct result *result);
/*
 * One use of a capability by a running guest or by `wasp call`, judged, counted and recorded. 0, or
 * -1 and *err (ERR_DENIED).
 */
int gate_check(struct gate *gate, const struct need *need, struct err *err);
/*
 * What an agent is told of a need that is denied: where a link leads only those learn who may look
 * at the link. *told is then the judgement on what it wrote.
 */
struct need gate_as_asked(const struct gate *gate, const struct need *need, struct judgement *told);
/* Refuses it, on record, if it could not be allowed; otherwise nothing is counted or recorded. */
int gate_peek(struct gate *gate, const struct need *need, struct err *err);
/* Puts a refusal on record that has no need behind it. *err is another if that cannot be done. */
void gate_record_refusal(struct gate *gate, struct err *err);
