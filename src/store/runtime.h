/*
 * runtime: an interpreter that has a name, as a record: which module it is, and what every run of
 * it gets. Text in, struct out; touches no file.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/request.h"

#define RUNTIME_NAME_MAX 64

struct runtime {
    const char *name;
    const char *module;   /* where its copy lies; NULL until it was found */
    struct digest digest; /* of the module */
    uint64_t bytes;       /* of the module */
    char added_at[CLOCK_TEXT_SIZE];
    /*
     * Its arguments stand before the caller's, its directories are read-only. Nothing else of it is
     * used.
     */
    struct request given;
};

/* Nothing given. */
void runtime_init(struct runtime *runtime);
/*
 * A letter or digit, then those and ". _ -", RUNTIME_NAME_MAX at most, no capitals: it is a file's
 * name too. 0, or -1 and *err (ERR_REQUEST).
 */
int runtime_check_name(const char *name, struct err *err);
/*
 * The judges of what is given. 0, or -1 and *err (ERR_REQUEST). Text that is not UTF-8 is refused,
 * as JSON could not keep it.
 */
int runtime_give_arg(struct runtime *runtime, struct arena *arena, const char *arg,
                     struct err *err);
/* "HOST::GUEST"; a relative HOST counts from base. */
int runtime_give_dir(struct runtime *runtime, struct arena *arena, const char *base,
                     const char *text, struct err *err);

/* The record as one object. */
void runtime_write(struct json_writer *json, const struct runtime *runtime);
/* Reads one that is called `name`, strictly. 0, or -1 and *err; *ret_runtime is then untouched. */
int runtime_parse(const char *text, size_t len, const char *name, struct arena *arena,
                  struct runtime *ret_runtime, struct err *err);

/*
 * Makes one that was found what the request runs: its module, held to the recorded digest, called
 * by its name. -1 and *err if the request has something else in its place.
 */
int runtime_put(const struct runtime *runtime, struct arena *arena, struct request *request,
                struct err *err);
