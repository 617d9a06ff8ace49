/*
 * calls: what the functions of the broker have in common. For this room alone.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "broker/broker.h"

/* One call that is being answered. */
struct call {
    const struct broker *broker;
    struct arena *arena;
    struct err err;
    const char *code;   /* what err.code cannot say; NULL: nothing */
    const char *rule;   /* why it was refused (plan/tell.h); NULL: it was not */
    const char *target; /* what it was about */
};

/* Reads the object, does it and answers. 0, or -1 and call->err. */
typedef int broker_function(struct call *call, const struct json_value *object, struct buf *answer);

broker_function broker_fs_read, broker_fs_write, broker_exec_run;

/* Fail with a rule, or with a code of the broker's own. Return -1. */
int call_deny(struct call *call, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int call_fail(struct call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Asks whoever judges. 0, or -1 and call->err; a refusal without a rule is one by policy. */
int call_check(struct call *call, const struct broker_use *use, const char **ret_program);
