/*
 * service: who answers at the door of a running guest, and `wasp call`: the broker, with the gate
 * as its judge and a native cell for what it runs.
 */
#pragma once

#include "broker/broker.h"
#include "gate/gate.h"
#include "run/door.h"
#include "run/own.h"

#define SERVICE_MAX_SCOPES (REQUEST_MAX_DIRS * 2)

struct service {
    struct gate *gate;
    const struct request *request;
    struct arena *arena;
    struct fact *commands; /* the programs of the request's commands */
    bool any_command;      /* `wasp call`: the gate alone judges */
    struct fact program;   /* of the call that is served: what was judged */
    struct broker_scope scopes[SERVICE_MAX_SCOPES];
    bool is_for[SERVICE_MAX_SCOPES][CAPABILITIES]; /* what each of them may be used for */
    struct file_id own[OWN_FOLDERS];
    struct broker_quota quota;
    struct broker broker;
    uint64_t deadline_ns; /* of the call that is served */
    uint64_t cpu_ns;      /* what is left of the run's for programs that it runs */
    struct observer observer;
    struct door_service door;
};

#define SERVICE_NONE               \
    {                              \
        .broker = {.n_scopes = 0 } \
    }

/*
 * For a run: its capabilities, beneath its directories and the paths they name. The gate has
 * admitted the request. 0, or -1 and *err; service_release in both cases.
 */
int service_open(struct service *service, struct gate *gate, const struct request *request,
                 const struct observer *observer, struct arena *arena, struct err *err);
/*
 * For one call of its own: everything the gate allows, with the limits of `request`, a native one
 * that grants nothing.
 */
int service_open_call(struct service *service, struct gate *gate, const struct request *request,
                      struct arena *arena, struct err *err);
void service_release(struct service *service);
