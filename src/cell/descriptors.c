#include <fcntl.h>
#include <unistd.h>

#include "cell/cell.h"

/*
 * Stops: a descriptor of the parent or of whoever started it (CVE-2024-21626) reaching the guest.
 * The parent opens everything CLOEXEC; this closes what came from before the parent. close_range
 * exists since 5.9; without it we refuse.
 */
int cell_check_descriptors(struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    if (plan->n_grants > CELL_MAX_GRANTS)
        return err_set(err, ERR_BACKEND, "a plan with %zu grants", plan->n_grants);
    /* as an ordinary user the cell opens the grants itself, later */
    size_t passed = plan->identity == IDENTITY_USER ? 0 : plan->n_grants;
    for (size_t i = 0; i < CELL_MAX_GRANTS; i++)
        cell->grants[i] = i < passed ? CELL_FD_GRANTS + (int) i : -1;
    unsigned int last = CELL_FD_GRANTS + (unsigned int) passed;
    for (unsigned int fd = 0; fd < last; fd++)
        if (fcntl((int) fd, F_GETFD) < 0)
            return err_sys(err, ERR_BACKEND, "descriptor %u is missing", fd);
    if (close_range(last, ~0U, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot close inherited descriptors");
    return 0;
}
