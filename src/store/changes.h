/*
 * changes: what a guest did in an overlay directory, kept until its owner applies or discards it.
 *
 *   STATE/changes/RUN_ID/record.json    what it is, in short
 *   STATE/changes/RUN_ID/entries        each change: a JSON object a line, in the order of a walk
 *   STATE/changes/RUN_ID/files/N        the content of entry N
 *   STATE/changes/RUN_ID/applying       there from before the first act on the host to the last
 *   STATE/changes/RUN_ID/applied.json   all is done; with it, only the record stays
 *   STATE/changes/tmp/                  those that are being written or removed
 *
 * The tree that a guest left is hostile: any names, depths, modes, links, sizes and kinds of files.
 * It is walked by descriptor, no link is followed, everything is bounded. What is kept of it is
 * data: nothing there has a name, an owner or a mode of the guest's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"

#define CHANGES_RUN_ID_SIZE 37 /* UUIDv7 as text */
#define CHANGES_LISTED 1000    /* entries that struct changes holds at most */
#define CHANGES_PATH_SIZE 4096

/* ---- one change ------------------------------------------------------------------------------ */

enum change_kind { CHANGE_ADDED, CHANGE_CHANGED, CHANGE_DELETED, CHANGE_KINDS };

enum change_type {
    CHANGE_FILE,
    CHANGE_DIRECTORY,
    CHANGE_SYMLINK,
    CHANGE_FIFO,
    CHANGE_SOCKET,
    CHANGE_DEVICE,
    CHANGE_TYPES
};

/* Why apply leaves an entry alone; names and words are in change_refusals. */
enum change_refusal {
    REFUSAL_NONE,
    REFUSAL_SPECIAL,   /* a device, a fifo or a socket */
    REFUSAL_SETUID,    /* dropping the bits would leave a file that is not what the guest made */
    REFUSAL_SYMLINK,   /* it leads out of the directory */
    REFUSAL_PROTECTED, /* unless the rule is named */
    REFUSAL_CHANGED,   /* the host's is not the one that the guest saw */
    REFUSAL_MOUNT,     /* something is mounted there on the host */
    REFUSAL_DEPTH,     /* too many directories, or too long a path */
    REFUSAL_RESERVED,  /* a name that apply itself uses while it works */
    REFUSAL_ABOVE,     /* the directory it lies in is refused */
    REFUSAL_BELOW,     /* a directory to remove, and something in it stays */
    REFUSALS
};

struct change_refusal_words {
    const char *name; /* in JSON */
    const char *text; /* "has a setuid or setgid bit" */
};
extern const struct change_refusal_words change_refusals[REFUSALS];

const char *change_kind_name(enum change_kind kind);
const char *change_type_name(enum change_type type);

/* What is on the host under that name: enough to see later whether it is still the same. */
struct change_host {
    bool there; /* else the rest is 0 */
    enum change_type type;
    uint32_t mode; /* 07777 */
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    bool is_linked; /* has other names, too; not in the record */
};

struct change {
    uint64_t number;  /* its line in the record, from 0 */
    uint64_t dir;     /* which of the directories */
    const char *path; /* in it: components, none of them "." or ".." */
    enum change_kind kind;
    enum change_type type; /* what the guest left; of a deleted one, what it was */
    bool content;          /* a file whose bytes are kept: all but deleted ones and mere chmods */
    uint32_t mode;         /* that it will have: the guest's, less the umask of who ran it */
    uint64_t size;
    int64_t mtime_ns;   /* the guest's, within the time of its run */
    const char *target; /* of a symlink that is not deleted */
    struct change_host host;
    const char *protected_by;    /* the rule (plan/protected.h), if none were named; or NULL */
    enum change_refusal refused; /* for good: not what a rule protects, not what changes later */
};

/*
 * The path as git and patch take it: as it is, or in double quotes with escapes if anything in it
 * is not plain. Never a control byte, and nothing but ASCII. 0, or -1 as buf_add.
 */
int change_quote(struct buf *into, const char *prefix, const char *path);
/* Writes it as an object. */
void change_write(struct json_writer *json, const struct change *change);
/* Its first members: where it is and what became of it. The caller opens and closes the object. */
void change_write_head(struct json_writer *json, const struct change *change);

/* ---- the changes of a run -------------------------------------------------------------------- */

enum changes_state {
    CHANGES_KEPT,
    CHANGES_APPLYING, /* begun and not finished: apply goes on where it was */
    CHANGES_APPLIED,  /* no more than a record */
    CHANGES_STATES
};

struct changes_dir {
    const char *host, *guest;
    uint64_t dev, ino;
};

struct changes {
    char run_id[CHANGES_RUN_ID_SIZE];
    bool kept; /* false: nothing was changed, and nothing is on the disk */
    enum changes_state state;
    uint64_t started_ns; /* of clock_realtime_ns: when the guest's run began */
    char kept_at[CLOCK_TEXT_SIZE];
    struct changes_dir *dirs;
    size_t n_dirs;
    uint64_t counts[CHANGE_KINDS];
    uint64_t n_protected, n_refused; /* entries with protected_by, with refused */
    uint64_t bytes;                  /* of all files */
    struct change *entries;          /* the first CHANGES_LISTED */
    size_t n_entries;
    const char **evicted; /* changes_keep: run ids whose changes went to make room */
    size_t n_evicted;
    /* CHANGES_APPLIED */
    char applied_at[CLOCK_TEXT_SIZE];
    uint64_t n_applied, n_left_out;
};

const char *changes_state_name(enum changes_state state);
uint64_t changes_total(const struct changes *changes);
/* The members of its object but `entries`; the caller opens and closes it. */
void changes_write(struct json_writer *json, const struct changes *changes);

/* A directory that a guest had as an overlay. Both descriptors stay the caller's. */
struct changes_source {
    int upper; /* what it wrote; nobody writes there any more. It may get modes changed */
    int lower; /* the host's directory */
    const char *host, *guest; /* their paths, for people and for apply */
};

struct changes_limits {
    uint64_t max_bytes;   /* of all that is kept, and of one run: files count with their size */
    uint64_t max_entries; /* of one run */
    uint64_t max_age_ns;
};
extern const struct changes_limits changes_default_limits;

/*
 * Compares what the guest left with the host's directories and keeps what differs; then removes
 * what is past the limits (NULL: the default), the oldest first. state_dir may be NULL: nowhere to
 * keep anything. Nothing changed: *ret has kept = false. 0, or -1 and *err, with nothing kept.
 */
int changes_keep(const char *state_dir, const char *run_id, const struct changes_source *sources,
                 size_t n_sources, uint64_t started_realtime_ns,
                 const struct changes_limits *limits, struct arena *arena, struct changes *ret,
                 struct err *err);

struct changes_problem {
    const char *run_id;
    const char *error;
};

struct changes_list {
    struct changes *sets; /* without entries, by run id: the oldest first */
    size_t n_sets;
    struct changes_problem *problems; /* those that cannot be read; changes_discard takes them */
    size_t n_problems;
};

int changes_list(const char *state_dir, struct arena *arena, struct changes_list *ret_list,
                 struct err *err);
/* ERR_NOT_FOUND if there are none of that run. */
int changes_load(const char *state_dir, const char *run_id, struct arena *arena,
                 struct changes *ret, struct err *err);
/*
 * Calls each(change, data) for all entries in the record's order until one returns non-zero. What
 * it points to lasts until each returns. 0, or -1 and *err (each sets it when it is what failed).
 */
int changes_each(const char *state_dir, const char *run_id, struct arena *arena,
                 int (*each)(const struct change *change, void *data, struct err *err), void *data,
                 struct err *err);
/*
 * Removes what is kept, whatever its record looks like, and what an interrupted apply left under
 * names of its own. ERR_NOT_FOUND, or ERR_HOST while it is being applied.
 */
int changes_discard(const char *state_dir, const char *run_id, struct arena *arena,
                    enum changes_state *ret_was, struct err *err);

struct changes_swept {
    size_t leftovers;     /* half written ones, of a wasp that was killed */
    const char **evicted; /* run ids whose changes went, applied or not, past the limits */
    size_t n_evicted;
};

/*
 * Removes what a killed wasp left and what is past the limits (NULL: the default), the oldest
 * first; never one that is being applied, or half applied. 0, or -1 and *err.
 */
int changes_sweep(const char *state_dir, const struct changes_limits *limits, struct arena *arena,
                  struct changes_swept *ret_swept, struct err *err);

/* ---- diff ------------------------------------------------------------------------------------ */

/* Where text goes: to a descriptor, or into a buffer, whose maximum then cuts it. */
struct changes_text {
    int fd; /* -1: `into` */
    struct buf *into;
    bool escape; /* bytes that a terminal would obey are shown, not sent */
    bool cut;    /* the buffer was full: what did not fit is left out */
};

/*
 * All changes as a unified diff that git apply and patch take, against what is on the host now.
 * Lines with '#' in front of a file's part say what such a diff cannot. 0, or -1 and *err.
 */
int changes_diff(const char *state_dir, const char *run_id, struct changes_text *text,
                 struct arena *arena, struct err *err);

/* ---- apply ----------------------------------------------------------------------------------- */

struct changes_options {
    const char *const *unprotected; /* rules that do not hold, NULL-terminated; or NULL */
    bool skip_refused;              /* apply the rest */
    /* Asked while nothing is changed yet: true gives up. NULL: never. */
    bool (*is_cancelled)(void *data);
    void *data;
};

struct changes_refused {
    struct change change;
    enum change_refusal why;
    const char *rule; /* REFUSAL_PROTECTED */
};

struct changes_outcome {
    bool done;    /* all but what is refused is on the host, and the kept copy is gone */
    bool resumed; /* one that was interrupted is finished */
    uint64_t n_applied;
    uint64_t n_already; /* the host was so already */
    uint64_t n_refused;
    struct changes_refused *refused; /* the first CHANGES_LISTED */
    size_t n_listed;
};

/*
 * Does on the host what the guest did in its overlay. All of it is judged first: if anything is
 * refused and skip_refused is not set, nothing is done and *ret_outcome has done = false. Files are
 * written beside their place and renamed; what is removed goes last.
 *
 * 0 and *ret_outcome; or -1 and *err: nothing was changed, or it was interrupted, which the hint
 * says. The next call then finishes what was begun: what was refused stays refused, and rules that
 * were named need not be named again. ERR_HOST while another one applies it.
 */
int changes_apply(const char *state_dir, const char *run_id, const struct changes_options *options,
                  struct arena *arena, struct changes_outcome *ret_outcome, struct err *err);
