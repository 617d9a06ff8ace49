/*
 * err: what went wrong, as a value. No pointers, so that it crosses the pipe from a cell whole.
 * It lies on the caller's stack and is written only on failure.
 */
#pragma once

#include <stdarg.h>

/* One row each in err.c: the name in `error_info.code`, the envelope's reason, the exit status. */
enum err_code {
    ERR_NONE = 0,
    ERR_USAGE,         /* a command line that makes no sense */
    ERR_REQUEST,       /* a manifest or a value in it that makes no sense */
    ERR_DENIED,        /* refused by a rule; the hint names the grant */
    ERR_APPROVAL,      /* waits for a person's word */
    ERR_SIMULATE,      /* must be shown first, and then be asked for with its digest */
    ERR_NOT_FOUND,     /* module or program is not there */
    ERR_UNREADABLE,    /* there, but cannot be read, or is no regular file */
    ERR_TOO_LARGE,     /* module above the size wasp takes */
    ERR_MALFORMED,     /* bytes that are no valid module */
    ERR_COMPONENT,     /* a component, not a module */
    ERR_IMPORTS,       /* imports that wasp does not offer */
    ERR_NO_START,      /* no `_start` to call */
    ERR_NEEDS_MEMORY,  /* the module's minimum is above the limit */
    ERR_NEEDS_TABLE,   /* likewise for a table */
    ERR_COMPILE_LIMIT, /* compiling met its own limit */
    ERR_PIN,           /* the module's digest is not the pinned one */
    ERR_STALE_CODE,    /* cached code that this engine or CPU cannot load; never leaves run/ */
    ERR_WALL,          /* a wall could not be built */
    ERR_HOST,          /* the host refused something that wasp needs */
    ERR_BACKEND,       /* the engine or a helper program failed */
    ERR_CODES
};

struct err {
    enum err_code code;
    int errnum;        /* 0 where no system call failed */
    char step[24];     /* the cell's step or the stage of the run; may be empty */
    char message[768]; /* one line, lower case, the subject in quotes; always valid UTF-8 */
    char hint[384];    /* what to do; may be empty */
};

struct err_kind {
    const char *name;
    const char *reason; /* as in CONTRACT, one of `reason`'s closed list */
    int exit_status;
};

/* Never NULL; a code out of range reads as ERR_BACKEND. */
const struct err_kind *err_kind(enum err_code code);

/* Each of these returns -1, so that failing is one line. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As err_set, with ": " and the text of errno at the end, and errno kept in errnum. */
int err_sys(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Memory is exhausted (ERR_HOST). */
int err_no_memory(struct err *err);
/* Puts the text and ": " before the message of an error that is set already; the rest stays. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the hint to an error that is set already. */
int err_hint(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Names the step where the error happened, unless one is named already. */
int err_step(struct err *err, const char *step);

/*
 * The compiler, too, should know that they return -1: it then sees that out-parameters are set
 * where they are used.
 */
#define err_set(...) ((void) err_set(__VA_ARGS__), -1)
#define err_sys(...) ((void) err_sys(__VA_ARGS__), -1)
#define err_hint(...) ((void) err_hint(__VA_ARGS__), -1)
#define err_step(...) ((void) err_step(__VA_ARGS__), -1)
#define err_prefix(...) ((void) err_prefix(__VA_ARGS__), -1)
#define err_no_memory(...) ((void) err_no_memory(__VA_ARGS__), -1)
