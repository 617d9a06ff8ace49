/*
 * request: what the caller asks. Every door makes this one value. Plain data; everything it points
 * to lies in the arena it was made with. Nothing here has touched a file yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/digest.h"
#include "plan/capability.h"
#include "plan/facts.h"
#include "plan/limits.h"

/* A larger module is refused: nothing that people build comes near, and it bounds the compiler. */
#define MODULE_MAX_BYTES (256ULL << 20)
/* Source text: as much as a manifest could hold. */
#define SOURCE_MAX_BYTES ((size_t) 1 << 20)

/* ACCESS_OVERLAY: the guest changes a copy; what becomes of it is decided afterwards. */
enum access { ACCESS_RO, ACCESS_RW, ACCESS_OVERLAY };

enum isolation { ISOLATION_FULL, ISOLATION_LANDLOCK };

/* What a native guest may connect to: nothing, or its own processes over a loopback of its own. */
enum network { NETWORK_NONE, NETWORK_LOOPBACK };

/* What a native guest finds at /proc: its own processes, or nothing. */
enum proc_view { PROC_OWN, PROC_NONE };

/* What becomes of the changes of overlay directories when the guest exits with 0. */
enum apply { APPLY_NEVER, APPLY_ASK, APPLY_AUTO };

/* Their names, by number and NULL at the end, as options, manifests and plans write them. */
extern const char *const request_backend_names[];   /* wasm, native */
extern const char *const request_access_names[];    /* read-only, read-write, overlay */
extern const char *const request_isolation_names[]; /* full, landlock */
extern const char *const request_network_names[];   /* none, loopback */
extern const char *const request_proc_names[];      /* own, none */
extern const char *const request_apply_names[];     /* never, ask, auto */

struct request_dir {
    const char *host;  /* as the caller wrote it, behind its base if it was relative to one */
    const char *guest; /* where the guest finds it; several names for one grant: see `also_dot` */
    /*
     * No guest path was given. A wasm guest finds it as written, which is what `guest` says; a
     * native one at its absolute host path, which is known when it was opened.
     */
    bool plain;
    bool also_dot; /* wasm: it is "." too (the first plain one, unless written so) */
    bool is_own; /* came with a registered runtime: the owner granted it when he registered that */
    enum access access;
    bool is_judged; /* a policy judged this very directory: another one in its place is refused */
    struct file_id judged;
};

/* What the caller wants to find again in the envelope; means nothing to wasp. */
struct request_label {
    const char *name, *value;
};

/* A capability of a wasm guest's door. */
struct request_capability {
    enum capability capability; /* fs_read, fs_write or exec_run */
    const char *path; /* fs_*: beneath it; NULL: the request's own directories, as they are granted.
                         exec_run: NULL, `commands` are its scope */
};

/* What exec_run may run. */
struct request_command {
    const char *program; /* as request.program, without a path of the guest's own */
    const char **args;   /* as a policy's rule has them: '*' within a word, "*" at the end */
    size_t n_args;
    bool any_args; /* any further arguments */
};

struct secrets;

enum stdin_kind { STDIN_NONE, STDIN_INHERIT, STDIN_FILE, STDIN_BYTES };

struct request {
    enum backend backend;

    /* BACKEND_WASM */
    const char *module;        /* path of the .wasm file, and its name in messages */
    const char *argv0;         /* what the guest finds there; NULL: as `module` */
    const char *module_sha256; /* pin, 64 hex digits, or NULL */
    const void *module_bytes;  /* a module that is part of the program; NULL: `module` is a file */
    size_t module_len;         /* of module_bytes */
    const struct digest *module_digest; /* their SHA-256 */
    bool module_is_own;                 /* a registered runtime: the owner's choice beforehand */
    bool no_cache;
    bool pulley; /* --hardened: the interpreter, no executable page at all */

    /* BACKEND_NATIVE */
    const char *program; /* a name on CELL_PATH, or with a slash a path in the guest's view */
    const char *cwd;     /* in the guest's view; NULL: the first plain directory, else its HOME */
    const char *rootfs;  /* a tree of the host's in the place of its /usr; NULL: the host's */
    const char *source_name; /* where it finds `source`: "/code/main.py"; NULL: nowhere */
    enum network network;
    enum proc_view proc;
    bool proc_given; /* or it is the default */
    bool tty;        /* a terminal of its own instead of pipes */
    enum apply apply;
    bool diff; /* the changes as a unified diff too */

    /* BACKEND_WASM: what it may ask for through its door */
    struct request_capability *capabilities;
    size_t n_capabilities;
    struct request_command *commands;
    size_t n_commands;

    /* all of them */
    const char *language; /* of `source`, a row of language.h; NULL where no text is run */
    const char *source;   /* NULL: none; without NUL bytes */
    size_t source_len;
    const char **unprotected; /* rules of protected.h that do not hold; NULL-terminated */
    size_t n_unprotected;
    const char **args; /* after argv[0]; NULL-terminated */
    size_t n_args;
    const char **env; /* "NAME=value", in the order given; NULL-terminated; names are unique */
    size_t n_env;
    const char **secret_env; /* names; env has them too once their values are known */
    size_t n_secret_env;
    const struct secrets *secrets; /* what no answer may show; NULL: nothing is registered */
    struct request_dir *dirs;      /* guest names are unique */
    size_t n_dirs;
    size_t strings_bytes; /* of args, env, labels, commands and source so far, for their cap */
    struct request_label *labels;
    size_t n_labels;
    struct limits limits;
    enum stdin_kind stdin_kind;
    const char *stdin_path;  /* STDIN_FILE */
    const char *stdin_bytes; /* STDIN_BYTES */
    size_t stdin_len;
    enum isolation isolation;
    bool isolation_given; /* or it is the default */
    bool output_kills;    /* --output-kill: output past its cap ends the run with output_limit */
    bool is_judged;       /* by a policy: as these files were then */
    struct file_id judged_rootfs, judged_stdin, judged_program; /* 0: not known */
};

/* An empty request: nothing granted, the backend's default limits. */
void request_init(struct request *request, enum backend backend);

/*
 * The judges below are used by every door (options, manifest). Each takes text from outside,
 * checks it, and adds it to the request; on failure -1 and *err says what to do. They look at text
 * only.
 */
#define REQUEST_MAX_ARGS 65536
#define REQUEST_MAX_ENV 4096
/* All args, env, labels, commands and source. */
#define REQUEST_MAX_STRINGS_BYTES (4 * 1024 * 1024)
#define REQUEST_MAX_DIRS 64
#define REQUEST_MAX_LABELS 64
#define REQUEST_MAX_CAPABILITIES 64
#define REQUEST_MAX_COMMANDS 64

int request_add_arg(struct request *request, struct arena *arena, const char *arg, struct err *err);
/* Puts these before the ones it has. */
int request_prepend_args(struct request *request, struct arena *arena, const char *const *args,
                         size_t n_args, struct err *err);
/*
 * `assignment` is "NAME=value"; NAME must not be empty, contain '=' or repeat an earlier one. For a
 * native guest, names that make a loader or an interpreter run something (environment.h) are
 * refused unless forced.
 */
int request_add_env(struct request *request, struct arena *arena, const char *assignment,
                    bool forced, struct err *err);
/*
 * The name of a variable whose value the door takes from its own environment. Judged as
 * request_add_env does.
 */
int request_add_secret_env(struct request *request, struct arena *arena, const char *name,
                           struct err *err);
/*
 * Gives the guest the value of a name in secret_env, and registers it in *secrets, which becomes
 * the request's. NULL: it is not set.
 */
int request_put_secret(struct request *request, struct arena *arena, const char *name,
                       const char *value, struct secrets *secrets, struct err *err);
/* Forgets those values, when nothing needs them any more. */
void request_wipe_secrets(struct request *request);
/* True if the variable of "NAME=value" is one of secret_env. */
bool request_is_secret(const struct request *request, const char *assignment);
/* A rule of protected.h, by its name, that does not hold for this run. */
int request_add_unprotected(struct request *request, struct arena *arena, const char *name,
                            struct err *err);
int request_add_label(struct request *request, struct arena *arena, const char *name,
                      const char *value, struct err *err);
/* One --allow-dir value: PATH, or HOST::GUEST[:ro|:rw|:overlay]. */
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
/*
 * Where a policy puts the first plain directory, if there is one: a wasm guest finds it there and
 * as ".", a native one begins to work there unless it is told where. `guest` must live as long as
 * the request.
 */
int request_place_workspace(struct request *request, const char *guest, struct err *err);
/*
 * What a wasm guest may ask for through its door: "fs_read" or "fs_write", for the directories of
 * the request as they are granted, or with "=PATH", which counts from `base` as above; "exec_run",
 * for its commands.
 */
int request_add_capability(struct request *request, struct arena *arena, const char *base,
                           const char *text, struct err *err);
/*
 * A command of exec_run: a bare name or an absolute path of the host, then its arguments. '*' in
 * one stands for any run of characters, "*" as the last for any further arguments; without it there
 * are no others. As text: words_split_patterns.
 */
int request_add_command(struct request *request, struct arena *arena, const char *program,
                        const char *const *args, size_t n_args, struct err *err);
int request_add_command_text(struct request *request, struct arena *arena, const char *text,
                             struct err *err);
/* One of their names above. */
int request_set_isolation(struct request *request, const char *name, struct err *err);
int request_set_network(struct request *request, const char *name, struct err *err);
int request_set_proc(struct request *request, const char *name, struct err *err);
int request_set_apply(struct request *request, const char *name, struct err *err);
/* 64 hex digits. */
int request_set_pin(struct request *request, struct arena *arena, const char *hex, struct err *err);
/* What a native guest runs; its arguments are added one by one. */
int request_set_program(struct request *request, struct arena *arena, const char *program,
                        struct err *err);
/* Text of the request's language. Empty, larger than SOURCE_MAX_BYTES or with a NUL: refused. */
int request_set_source(struct request *request, struct arena *arena, const char *source, size_t len,
                       struct err *err);
/* Where a native guest begins to work: absolute, in its own view. */
int request_set_cwd(struct request *request, struct arena *arena, const char *path,
                    struct err *err);
/* A tree of the host's; a relative path counts from base, as with request_add_dir. */
int request_set_rootfs(struct request *request, struct arena *arena, const char *base,
                       const char *path, struct err *err);
/*
 * The judge of where a native guest finds a directory: absolute, without "..", and none of the
 * places that are the system's or the cell's own. For whoever learns later where a plain one is.
 */
int request_check_place(const char *guest, struct err *err);
/*
 * What holds between the parts, once all of them are there (check.c): what the backend or the rung
 * cannot do is refused, never ignored.
 */
int request_check(const struct request *request, struct err *err);
/* Counts bytes of text against REQUEST_MAX_STRINGS_BYTES; for the judges in other files. */
int request_count_bytes(struct request *request, size_t len, struct err *err);
/*
 * `path`, behind `base` if it is relative and base is not NULL or empty; NULL if memory is
 * exhausted.
 */
const char *request_path(struct arena *arena, const char *base, const char *path);
