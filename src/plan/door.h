/*
 * door: how a guest in a cell asks its parent for something (CONTRACT §7): one frame there, one
 * back, over CELL_FD_DOOR, a socket of its own. A frame is a header and that many bytes of JSON.
 * The parent trusts neither; the cell's side believes the parent.
 *
 * A stream, not packets: a packet must fit the socket's buffer, which is a fifth of the largest
 * frame and not ours to widen.
 *
 * One call at a time. The parent looks at no second one before the answer to the first is out; it
 * waits in the socket, which the kernel bounds.
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
/* True if it makes sense as the answer to that call. */
bool door_is_answer(const struct door_header *header, enum door_call call);
/* By name, or 0: there is none. */
enum door_call door_find(const char *name);
