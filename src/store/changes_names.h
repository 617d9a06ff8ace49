/*
 * changes_names: the names in a directory, sorted by their bytes. For store/changes_*.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANGES_NAME_MAX 1023 /* bytes; file systems that count in characters have more than 255 */

struct changes_names {
    char **items;
    size_t count;
};

/*
 * Of the directory `name` in parent, which is no symlink. 0, or -1 and errno: EFBIG if there are
 * more than max, ENAMETOOLONG if one is longer than CHANGES_NAME_MAX.
 */
int changes_names_read(int parent, const char *name, uint64_t max, struct changes_names *ret_names);
bool changes_names_have(const struct changes_names *names, const char *name);
void changes_names_release(struct changes_names *names);
