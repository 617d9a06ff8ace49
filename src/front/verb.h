/*
 * verb: one thing the command can do. A verb is a file cmd_NAME.c and a row in main.c. It may have
 * verbs of its own instead of a main: "sample list", "sample run".
 */
#pragma once

#include "front/options.h"

struct call;

struct verb {
    const struct syntax *syntax; /* its name is in there, behind that of the verb it belongs to */
    const char *summary;         /* half a line for the overview */
    const char *about;           /* a paragraph; may be NULL */
    /* Its stdout is one JSON object whatever happens; SIGTERM and its like are answered with it. */
    bool answers_with_envelope;
    bool launches; /* it runs a guest, as launch.h has it: `policy explain` can be asked about it */
    const struct verb *const *verbs; /* its own, NULL at the end; NULL: it has none, but a main */
    int (*main)(const struct call *call); /* returns the exit status */
};

/* What a verb is given. */
struct call {
    const char *const *words;        /* after the verb; NULL-terminated */
    const struct verb *const *verbs; /* all there are, NULL at the end */
    struct arena *arena;
    bool only_judges; /* the request is to be judged, not run */
};

extern const struct verb verb_run, verb_exec, verb_code, verb_sample, verb_task, verb_call,
    verb_runtime, verb_changes, verb_policy, verb_grant, verb_approvals, verb_approve, verb_deny,
    verb_audit, verb_gc, verb_doctor, verb_schema, verb_completion, verb_help, verb_version;

/* What it is called among its kind: "build" for "sample build". */
const char *verb_word(const struct verb *verb);
/* By that word. NULL and *err (with the nearest one) if there is none. */
const struct verb *verb_find(const struct verb *const *verbs, const char *word, struct err *err);
/*
 * Follows words down from a verb to the one of its own that they name, and that one's. *words is
 * then what is left. NULL and *err if a word names none, or one is missing.
 */
const struct verb *verb_follow(const struct verb *verb, const char *const **words, struct err *err);
