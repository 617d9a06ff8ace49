/*
 * changes_act: the acts of apply, one entry at a time. Each can be cut off at any point, and be
 * done again. For store/changes_*.c alone.
 */
#pragma once

#include "store/changes_host.h"
#include "store/changes_judge.h"
#include "store/changes_set.h"

struct changes_acting {
    const struct changes_set *set;
    const struct changes *changes;
    struct changes_hosts *hosts;
    bool resumed;
    bool skip_refused;
    uint64_t n_left; /* directories that something new was found in, and that stay for it */
    struct changes_above late; /* a directory that takes the place of a file */
};

typedef int changes_act(struct changes_acting *acting, const struct change *change,
                        struct err *err);

/*
 * In this order, each for all entries that are to be done. 0, or -1 and *err. Up to staging, names
 * that the host had are as they were.
 */
changes_act changes_act_stage;  /* new directories; new files beside their place */
changes_act changes_act_commit; /* they get their names, over what was there */
changes_act changes_act_late;   /* a file makes room for a directory, with all in it */
changes_act changes_act_remove; /* what is deleted goes, and directories that something replaces */
changes_act changes_act_modes;  /* directories are no longer written to */

/*
 * Removes what staging made: files beside their place, and new directories that are empty.
 * verdicts, by number, say which entries; NULL: all. What cannot be removed stays.
 */
void changes_undo(const struct changes_set *set, const struct changes *changes,
                  struct changes_hosts *hosts, const uint8_t *verdicts);
