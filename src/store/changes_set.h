/*
 * changes_set: the folder of changes, and those of one run in it. For store/changes_*.c alone.
 */
#pragma once

#include "store/changes_record.h"

struct changes_store {
    const char *state_dir; /* for messages */
    int folder;            /* STATE/changes; its lock is held by whoever adds or removes one */
    int temp;              /* STATE/changes/tmp */
};

#define CHANGES_STORE_NONE                          \
    {                                               \
        .state_dir = NULL, .folder = -1, .temp = -1 \
    }

/* Makes what is missing. 0, or -1 and *err; changes_store_release in both cases. */
int changes_store_open(const char *state_dir, struct changes_store *ret_store, struct err *err);
void changes_store_release(struct changes_store *store);
/* The locked descriptor, for _cleanup_(changes_unlock), or -1 and *err. */
int changes_store_lock(const struct changes_store *store, struct err *err);
void changes_unlock(const int *folder);

/* What the files of a set are called. */
#define CHANGES_RECORD_FILE "record.json"
#define CHANGES_ENTRIES_FILE "entries"
#define CHANGES_FILES "files"
#define CHANGES_APPLYING_FILE "applying"
#define CHANGES_APPLIED_FILE "applied.json"

struct changes_set {
    char run_id[CHANGES_RUN_ID_SIZE];
    int dir; /* its lock is held, if one was asked for, until it is closed */
};

#define CHANGES_SET_NONE        \
    {                           \
        .run_id = "", .dir = -1 \
    }

/*
 * operation is LOCK_SH, LOCK_EX, or 0 for no lock; nobody is waited for. 0, or -1 and *err:
 * ERR_NOT_FOUND, ERR_HOST if another one holds it. changes_set_release in both cases.
 */
int changes_set_open(const struct changes_store *store, const char *run_id, int operation,
                     struct changes_set *ret_set, struct err *err);
void changes_set_release(struct changes_set *set);
/* Record and state, without entries. */
int changes_set_read(const struct changes_set *set, struct arena *arena, struct changes *ret,
                     struct err *err);
enum changes_state changes_set_state(const struct changes_set *set);
/* Reads a file of it, as far as the buffer's maximum goes. 0, or -1 and *err. */
int changes_set_load(const struct changes_set *set, const char *name, struct buf *text,
                     struct err *err);
/* Writes a file of it: whole and on the disk, or not at all. 0, or -1 and *err. */
int changes_set_write(const struct changes_set *set, const char *name, const void *bytes,
                      size_t len, struct err *err);
/* The content of an entry, read-only, of exactly that size. A descriptor, or -1 and *err. */
int changes_set_content(const struct changes_set *set, const struct change *change,
                        struct err *err);

/* Removes a folder of our own with what is in it, two levels deep. 0, or -1 and errno. */
int changes_remove_tree(int folder, const char *name);
/* Takes a set away at once, then removes it. The store is locked, and so is the set. */
int changes_set_remove(const struct changes_store *store, const struct changes_set *set,
                       struct err *err);

/* Leaves nothing of one that was applied but its records. */
void changes_set_trim(const struct changes_set *set);

/* All of it, into the arena. 0, or -1 and *err. */
int change_copy(const struct change *change, struct arena *arena, struct change *ret,
                struct err *err);

/* ---- entries, one after the other ------------------------------------------------------------ */

struct changes_entries {
    int fd;
    const char *run_id; /* for messages */
    size_t n_dirs;
    uint64_t total;  /* as many as the record says */
    uint64_t number; /* of the next one */
    size_t at, used; /* what is read and not yet taken: buffer[at] up to buffer[used] */
    struct change_line line;
    char buffer[CHANGE_LINE_MAX];
};

/* 0, or -1 and *err; changes_entries_release in both cases. A large struct: one at a time. */
int changes_entries_open(const struct changes_set *set, const struct changes *changes,
                         struct changes_entries *ret_entries, struct err *err);
void changes_entries_release(struct changes_entries *entries);
/* 0 and the next one, which lasts until the one after it, or NULL at the end. -1 and *err. */
int changes_entries_next(struct changes_entries *entries, const struct change **ret_change,
                         struct err *err);
/* Begins again. 0, or -1 and *err. */
int changes_entries_rewind(struct changes_entries *entries, struct err *err);

/* ---- sweep ----------------------------------------------------------------------------------- */

/*
 * Removes sets past the limits, but for `except` (or NULL), the oldest first. The store is locked.
 * Adds their run ids to the list.
 */
int changes_evict(const struct changes_store *store, const struct changes_limits *limits,
                  const char *except, struct arena *arena, const char ***ret_evicted,
                  size_t *ret_n_evicted, struct err *err);
