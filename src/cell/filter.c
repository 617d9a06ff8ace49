/* The filters around the engine. */
#include "cell/filter.h"

#include "cell/cell.h"
#include "filters.h"

enum filter {
    FILTER_WASM_LOAD,  /* the runner while it loads the code */
    FILTER_WASM_WRITE, /* while the guest runs, with a writable grant */
    FILTER_WASM_RUN,   /* while the guest runs, without one */
    FILTER_COMPILE,
};

static const struct sock_fprog programs[] = {
    [FILTER_WASM_LOAD] = PROGRAM(filter_wasm_load),
    [FILTER_WASM_WRITE] = PROGRAM(filter_wasm_write),
    [FILTER_WASM_RUN] = PROGRAM(filter_wasm_run),
    [FILTER_COMPILE] = PROGRAM(filter_compile),
};

/*
 * Stops: every way into the kernel that the job does not need: sockets, exec, new processes,
 * mounts, io_uring, bpf, keyrings, ptrace. An allow-list; what it does not name answers ENOSYS, a
 * call of a foreign architecture kills.
 */
int cell_load_filter(struct cell *cell, struct err *err)
{
    enum filter filter = cell->plan.job == JOB_COMPILE ? FILTER_COMPILE : FILTER_WASM_LOAD;

    if (cell_without(cell, WALL_SECCOMP))
        return 0;
    if (filter_load(&programs[filter], err) < 0)
        return -1;
    cell->walls |= WALL_SECCOMP;
    return 0;
}

int cell_shed_loading(struct cell *cell, struct err *err)
{
    enum filter filter = cell_is_writable(cell) ? FILTER_WASM_WRITE : FILTER_WASM_RUN;

    if (cell_without(cell, WALL_SECCOMP))
        return 0;
    if (filter_load(&programs[filter], err) < 0)
        return err_step(err, "seccomp");
    return 0;
}
