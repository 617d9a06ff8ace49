#include "cell/cell.h"

struct step {
    const char *name;
    cell_step *run;
};

/*
 * The order is the design. Each wall is built while the calls that it needs are still allowed, and
 * none may be left out: what cannot be built ends the run.
 */
static const struct step steps[] = {
    {"descriptors",
     cell_close_descriptors},              /* a leaked fd is a hole that no later wall can close */
    {"namespaces", cell_enter_namespaces}, /* needs no plan, so the parent's work overlaps it */
    {"plan", cell_receive_plan},
    {"identity", cell_take_identity}, /* before anything of the host is touched as its root */
    {"root", cell_enter_root},        /* grants become detached mounts, the host's tree goes away */
    {"limits", cell_set_limits},
    {"privileges", cell_drop_privileges}, /* after mounts and identity, which need them */
    {"landlock", cell_enter_landlock},    /* mirrors the root, should the root leak */
    {"seccomp", cell_load_filter},        /* last: the steps above need the calls it removes */
};

int cell_build_walls(struct cell *cell, struct err *err)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i].run(cell, err) < 0)
            return err_step(err, steps[i].name);
    return 0;
}

bool cell_is_writable(const struct cell *cell)
{
    for (size_t i = 0; i < cell->plan.n_grants; i++)
        if (cell->plan.grants[i].access == ACCESS_RW)
            return true;
    return false;
}
