#include <errno.h>
#include <sys/resource.h>

#include "cell/cell.h"

int cell_limit(int resource, const char *name, uint64_t value, struct err *err)
{
    rlim_t wanted = value >= RLIM_INFINITY ? RLIM_INFINITY : (rlim_t) value;
    struct rlimit limit = {.rlim_cur = wanted, .rlim_max = wanted};
    if (setrlimit(resource, &limit) == 0)
        return 0;
    if (errno == EPERM && getrlimit(resource, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        if (limit.rlim_max <= wanted && setrlimit(resource, &limit) == 0)
            return 0;
    }
    return err_sys(err, ERR_WALL, "cannot limit %s", name);
}
