#include "plan/door.h"

#include <string.h>

const char *const door_names[] = {
    NULL,
    [DOOR_FS_READ] = "fs_read",
    [DOOR_FS_WRITE] = "fs_write",
    [DOOR_EXEC_RUN] = "exec_run",
    [DOOR_CALLS] = NULL,
};

bool door_is_request(const struct door_header *header)
{
    return header->magic == DOOR_MAGIC && header->call > 0 && header->call < DOOR_CALLS &&
           header->len <= DOOR_MAX_REQUEST;
}

bool door_is_answer(const struct door_header *header, enum door_call call)
{
    return header->magic == DOOR_MAGIC && header->call == call && header->len <= DOOR_MAX_ANSWER;
}

enum door_call door_find(const char *name)
{
    for (enum door_call call = 1; call < DOOR_CALLS; call++)
        if (strcmp(door_names[call], name) == 0)
            return call;
    return 0;
}
