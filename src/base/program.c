#include "base/program.h"

#include <stdio.h>
#include <string.h>

static bool is_program(const char *path, struct stat *ret_st)
{
    return stat(path, ret_st) == 0 && S_ISREG(ret_st->st_mode) && (ret_st->st_mode & 0111) != 0;
}

bool program_find(const char *program, const char *folders, char ret_path[PATH_MAX],
                  struct stat *ret_st)
{
    size_t len;

    if (strchr(program, '/')) {
        int n = snprintf(ret_path, PATH_MAX, "%s", program);
        return program[0] == '/' && n < PATH_MAX && is_program(ret_path, ret_st);
    }
    for (const char *folder = folders; *folder; folder += len + (folder[len] == ':')) {
        len = strcspn(folder, ":");
        int n = snprintf(ret_path, PATH_MAX, "%.*s/%s", (int) len, folder, program);
        if (n < PATH_MAX && is_program(ret_path, ret_st)) /* a longer name is none */
            return true;
    }
    return false;
}
