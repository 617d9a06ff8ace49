/*
 * door: how a guest in a cell asks its parent for something (CONTRACT §7): one frame there, one
 * back, over CELL_FD_DOOR, a stream socket of its own. A frame is a header and that many bytes of
 * JSON. The parent trusts neither; the cell's side believes the parent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_MAGIC 0x77617370U /* in every header */
#define DOOR_MAX_REQUEST ((size_t) 1 << 20)
#define DOOR_MAX_ANSWER ((size_t) 1 << 20)
/* Calls of one run; more are answered with an error without being looked at. */
#define DOOR_MAX_CALLS 100000

enum door_call { DOOR_FS_READ = 1, DOOR_FS_WRITE, DOOR_EXEC_RUN, DOOR_CALLS };
extern const char *const door_names[]; /* by number; [0] is NULL, NULL at the end */

struct door_header {
    uint32_t magic;
    uint32_t call; /* enum door_call; in an answer that of the request */
    uint32_t len;
};

/* True if the header makes sense as a request. */
bool door_is_request(const struct door_header *header);
