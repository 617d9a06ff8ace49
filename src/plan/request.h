/*
 * request: what the caller asks. Every door makes this one value. Plain data; everything it points
 * to lies in the arena it was made with. Nothing here has touched a file yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/digest.h"
#include "plan/limits.h"

/* A larger module is refused: nothing that people build comes near, and it bounds the compiler. */
#define MODULE_MAX_BYTES (256ULL << 20)

enum access { ACCESS_RO, ACCESS_RW };

enum isolation { ISOLATION_FULL, ISOLATION_LANDLOCK };

struct request_dir {
    const char *host;  /* as the caller wrote it, behind its base if it was relative to one */
    const char *guest; /* where the guest finds it; several names for one grant: see `also_dot` */
    bool plain;        /* no guest path was given: it is found as written; the first one is "." */
    bool also_dot;     /* the guest finds it as "." too (the first plain one, unless written so) */
    enum access access;
};

/* What the caller wants to find again in the envelope; means nothing to wasp. */
struct request_label {
    const char *name, *value;
};

enum stdin_kind { STDIN_NONE, STDIN_INHERIT, STDIN_FILE, STDIN_BYTES };

struct request {
    const char *module;        /* path of the .wasm file, and its name in messages */
    const char *argv0;         /* what the guest finds there; NULL: as `module` */
    const char *module_sha256; /* pin, 64 hex digits, or NULL */
    const void *module_bytes;  /* a module that is part of the program; NULL: `module` is a file */
    size_t module_len;         /* of module_bytes */
    const struct digest *module_digest; /* their SHA-256 */
    const char **args;                  /* after argv[0]; NULL-terminated */
    size_t n_args;
    const char **env; /* "NAME=value", in the order given; NULL-terminated; names are unique */
    size_t n_env;
    struct request_dir *dirs; /* guest names are unique */
    size_t n_dirs;
    size_t strings_bytes; /* of args, env and labels so far, for their common cap */
    struct request_label *labels;
    size_t n_labels;
    struct limits limits;
    enum stdin_kind stdin_kind;
    const char *stdin_path;  /* STDIN_FILE */
    const char *stdin_bytes; /* STDIN_BYTES */
    size_t stdin_len;
    enum isolation isolation;
    bool isolation_given; /* or it is the default */
    bool no_cache;
    bool output_kills; /* --output-kill: output past its cap ends the run with output_limit */
    bool pulley;       /* --hardened: the interpreter, no executable page at all */
};

/* An empty request: nothing granted, default limits. */
void request_init(struct request *request);

/*
 * The judges below are used by every door (options, manifest). Each takes text from outside,
 * checks it, and adds it to the request; on failure -1 and *err says what to do. They look at text
 * only.
 */
#define REQUEST_MAX_ARGS 65536
#define REQUEST_MAX_ENV 4096
#define REQUEST_MAX_STRINGS_BYTES (4 * 1024 * 1024) /* all args, env and labels together */
#define REQUEST_MAX_DIRS 64
#define REQUEST_MAX_LABELS 64

int request_add_arg(struct request *request, struct arena *arena, const char *arg, struct err *err);
/* Puts these before the ones it has. */
int request_prepend_args(struct request *request, struct arena *arena, const char *const *args,
                         size_t n_args, struct err *err);
/* `assignment` is "NAME=value"; NAME must not be empty, contain '=' or repeat an earlier one. */
int request_add_env(struct request *request, struct arena *arena, const char *assignment,
                    struct err *err);
int request_add_label(struct request *request, struct arena *arena, const char *name,
                      const char *value, struct err *err);
/* One --allow-dir value: PATH, or HOST::GUEST[:ro|:rw]. */
int request_add_dir_text(struct request *request, struct arena *arena, const char *text,
                         struct err *err);
/*
 * From parts (manifest). A relative path counts from `base`, which is NULL for the working
 * directory. guest may be NULL: it is then found as written in `path`, and the first such one as
 * "." too.
 */
int request_add_dir(struct request *request, struct arena *arena, const char *base,
                    const char *path, const char *guest, enum access access, struct err *err);
/*
 * The directory of a sample: read-write, found as "." and nowhere else. One that was "." only for
 * being the first plain one is so no more.
 */
int request_add_workspace(struct request *request, struct arena *arena, const char *base,
                          const char *path, struct err *err);
/* "full" or "landlock". */
int request_set_isolation(struct request *request, const char *name, struct err *err);
/* 64 hex digits. */
int request_set_pin(struct request *request, struct arena *arena, const char *hex, struct err *err);
/*
 * `path`, behind `base` if it is relative and base is not NULL or empty; NULL if memory is
 * exhausted.
 */
const char *request_path(struct arena *arena, const char *base, const char *path);
