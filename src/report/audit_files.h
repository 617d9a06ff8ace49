/*
 * audit_files: where the log's parts are and what they are called.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define AUDIT_FOLDER "audit"
#define AUDIT_HEAD "audit.head"
#define AUDIT_LOG "log.jsonl"
#define AUDIT_NAME_SIZE 40

/* "log.00000001.jsonl" */
void audit_segment_name(uint64_t number, char ret_name[AUDIT_NAME_SIZE]);

struct audit_segments {
    uint64_t *numbers; /* ascending */
    size_t count;
};

/* The older segments that there are. 0, or -1 and errno. */
int audit_segments_list(int folder, struct arena *arena, struct audit_segments *ret_segments);
/* Waits for the lock, which is on the head's descriptor: LOCK_SH or LOCK_EX. 0, or -1 and errno. */
int audit_lock(int head_fd, int how);
