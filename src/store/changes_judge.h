/*
 * changes_judge: what becomes of each entry, before anything is done. For store/changes_*.c alone.
 */
#pragma once

#include "store/changes_host.h"
#include "store/changes_set.h"

enum changes_verdict {
    VERDICT_DO,
    VERDICT_ALREADY, /* the host is so */
    VERDICT_REFUSED,
};

/* A directory among the entries, which what follows may lie in. */
struct changes_above {
    bool there;
    uint64_t dir;
    char path[CHANGES_PATH_SIZE];
};

void changes_above_set(struct changes_above *above, const struct change *change);
/* True if the entry lies in it. */
bool changes_above_has(const struct changes_above *above, const struct change *change);

/* Entries are judged in their order: each may depend on those before it. */
struct changes_judge {
    const struct changes_set *set;
    const struct changes *changes;
    struct changes_hosts *hosts;
    const char *const *unprotected;
    /*
     * Of an apply that was interrupted: by number, what was judged before it began. That stands,
     * and some of it may be on the host, half done. NULL: this is the first.
     */
    const uint8_t *before;
    struct changes_above coming;  /* the last directory that is not on the host yet, but will be */
    struct changes_above refused; /* the last one that will not */
    struct changes_above staying; /* the last thing that was to be removed, and will not */
};

struct changes_judgement {
    enum changes_verdict verdict;
    enum change_refusal why; /* VERDICT_REFUSED */
    const char *rule;        /* REFUSAL_PROTECTED */
};

/* A judgement in a byte. */
uint8_t changes_judgement_pack(const struct changes_judgement *judgement);

/* 0, or -1 and *err if it could not be judged. */
int changes_judge(struct changes_judge *judge, const struct change *change,
                  struct changes_judgement *ret, struct err *err);
