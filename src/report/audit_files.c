#include "report/audit_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/folder.h"
#include "report/audit_scan.h"

void audit_segment_name(uint64_t number, char ret_name[AUDIT_NAME_SIZE])
{
    (void) snprintf(ret_name, AUDIT_NAME_SIZE, "log.%08" PRIu64 ".jsonl", number); /* fits */
}

/* 0 if the name is not that of a segment. */
static uint64_t segment_number(const char *name)
{
    char again[AUDIT_NAME_SIZE];
    char *end;

    if (strncmp(name, "log.", 4) != 0 || name[4] < '0' || name[4] > '9')
        return 0;
    uint64_t number = strtoull(name + 4, &end, 10);
    if (number > AUDIT_MAX_NUMBER || strcmp(end, ".jsonl") != 0)
        return 0;
    audit_segment_name(number, again);
    return strcmp(again, name) == 0 ? number : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

    return left < right ? -1 : left > right;
}

int audit_segments_list(int folder, struct arena *arena, struct audit_segments *ret_segments)
{
    struct audit_segments found = {.count = 0};
    struct folder_names names;

    if (folder_list(folder, ".jsonl", arena, &names) < 0)
        return -1;
    found.numbers = arena_array(arena, names.count + 1, sizeof(*found.numbers));
    if (!found.numbers) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        uint64_t number = segment_number(names.items[i]);
        if (number > 0)
            found.numbers[found.count++] = number;
    }
    qsort(found.numbers, found.count, sizeof(*found.numbers), compare_numbers);
    *ret_segments = found;
    return 0;
}

int audit_lock(int head_fd, int how)
{
    int rc;

    do
        rc = flock(head_fd, how);
    while (rc < 0 && errno == EINTR);
    return rc;
}
