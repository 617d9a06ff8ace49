/*
 * pipes: the three streams of a cell. Pipes only: a guest never holds a file of ours as its
 * standard stream.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct pipes {
    int cell[3]; /* the cell's ends, blocking */
    int ours[3]; /* our ends, non-blocking */
};

void pipes_init(struct pipes *pipes);
int pipes_open(struct pipes *pipes, struct err *err);
/* Makes them the uid's, which can then open /dev/stdout and its like. For root. */
int pipes_give(const struct pipes *pipes, uid_t uid, struct err *err);
/* After the cell was started: it must be the only one to hold its ends. */
void pipes_close_cell(struct pipes *pipes);
void pipes_release(struct pipes *pipes);
