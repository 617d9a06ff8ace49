/*
 * run_options: what the verbs that run a guest take.
 */
#pragma once

#include "front/options.h"
#include "gate/gate.h"
#include "plan/request.h"

struct run_options {
    struct request request;
    const char *manifest;     /* of a task: a file, or "-" */
    const char *runtime;      /* whose module it is, looked up by name; NULL: the request's own */
    const char *backend;      /* of code, by its name; NULL: native */
    const char *source;       /* of code: as text, */
    const char *source_file;  /* or where it is: a file, or "-" */
    const char *events;       /* where they go; NULL: nowhere */
    struct gate_options gate; /* in whose name, by which policy */
    const char **grants;      /* gate.grants, as they are added */
    const char *call;         /* the capability of a single call, by name, and its arguments: */
    const char *arguments;    /* JSON, or "-": on standard input */
    bool ask;                 /* a person at the terminal, even for an agent */
    bool dry_run;
    bool timings;
    bool quiet;
};

/* Their target is a struct run_options. */
extern const struct syntax run_syntax, sample_run_syntax, runtime_run_syntax;
extern const struct syntax exec_syntax, call_syntax;
/* The same words for another backend; what each cannot hold it does not take. */
extern const struct syntax code_syntax, code_wasm_syntax;
extern const struct syntax task_run_syntax, task_check_syntax, task_explain_syntax;

/* What they have in common: in whose name, by which policy (gate_options.c). */
extern const struct option_table gate_table;

/* Nothing granted, the backend's default limits. */
void run_options_init(struct run_options *options, enum backend backend);
