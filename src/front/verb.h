/*
 * verb: one thing the command can do. A verb is a file cmd_NAME.c and a row in main.c.
 */
#pragma once

#include "front/options.h"

struct call;

struct verb {
    const struct syntax *syntax; /* its name is in there */
    const char *summary;         /* half a line for the overview */
    const char *about;           /* a paragraph; may be NULL */
    /* Its stdout is one JSON object whatever happens; SIGTERM and its like are answered with it. */
    bool answers_with_envelope;
    int (*main)(const struct call *call); /* returns the exit status */
};

/* What a verb is given. */
struct call {
    const char *const *words;        /* after the verb; NULL-terminated */
    const struct verb *const *verbs; /* all there are, NULL at the end */
    struct arena *arena;
};

extern const struct verb verb_run, verb_gc, verb_schema, verb_completion, verb_help, verb_version;

/* NULL and *err (with the nearest name) if there is none. */
const struct verb *verb_find(const struct verb *const *verbs, const char *name, struct err *err);
