#include "plan/environment.h"

#include <string.h>

#include "base/cleanup.h"

/* A '*' at the end stands for any rest. */
static const char *const hooks[] = {
    "LD_*", "GCONV_PATH", "NODE_OPTIONS", "BASH_ENV", "ENV", "PYTHONSTARTUP", "GIT_*",
};

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] == '*')
        return len >= n - 1 && strncmp(pattern, name, n - 1) == 0;
    return len == n && strncmp(pattern, name, n) == 0;
}

bool environment_is_hook(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
        if (matches(hooks[i], name, len))
            return true;
    return false;
}
