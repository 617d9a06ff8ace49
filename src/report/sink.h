/*
 * sink: where lines go that nobody may have to wait for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SINK_MAX_LINE 4096

struct sink {
    int fd; /* ours; -1: whoever read it is gone */
    bool is_socket;
    size_t n_rest; /* of a line that was taken in part; it goes before the next */
    char rest[SINK_MAX_LINE];
};

/* "fd:N" or the name of a file. 0, or -1 and *err; sink_release in both cases. */
int sink_open(struct sink *sink, const char *where, struct err *err);
void sink_release(struct sink *sink);
/*
 * Writes a line of at most SINK_MAX_LINE bytes without waiting; with patience_ms, waits so long for
 * room. False if it was not taken; a line is never torn by the next one.
 */
bool sink_put(struct sink *sink, const char *line, size_t len, int patience_ms);
