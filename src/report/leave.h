/*
 * leave: by whose leave a run went, or why it did not: the policy's part of an envelope.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "plan/decide.h"
#include "plan/request.h"
#include "report/audit.h"

struct leave {
    const struct principal *principal; /* NULL: there was no request to judge */
    const struct policy *layers;
    size_t n_layers;
    struct digest policy; /* of all layers; holds if there are any */
    const struct clamp *clamps;
    size_t n_clamps;
    const struct grant *const *grants; /* those that it rests on */
    size_t n_grants;
    const char *approval; /* the id of what waits for a person; NULL: nothing does */
    uint64_t approval_expires_ms;
    bool has_request;
    struct digest request;
    const struct request *plan; /* to be shown: the answer to a request that is simulated */
    bool audits;                /* `audit` is told */
    bool has_place;
    struct audit_place place;
    const char *audit_error; /* NULL: none */
};

/* The members of the envelope; each only where it applies. */
void leave_write(struct json_writer *json, const struct leave *leave);
