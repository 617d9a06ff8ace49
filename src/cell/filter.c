/*
 * filter: the seccomp filters, made at build time out of src/walls/ and embedded.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"
#include "filters.h"

enum filter {
    FILTER_WASM_LOAD,  /* the runner while it loads the code */
    FILTER_WASM_WRITE, /* while the guest runs, with a writable grant */
    FILTER_WASM_RUN,   /* while the guest runs, without one */
    FILTER_COMPILE,
};

#define PROGRAM(name)                                                    \
    {                                                                    \
        .len = ARRAY_SIZE(name), .filter = (struct sock_filter *) (name) \
    }

/*
 * The kernel reads the program only; the cast in PROGRAM removes the const that its struct lacks.
 */
static const struct sock_fprog programs[] = {
    [FILTER_WASM_LOAD] = PROGRAM(filter_wasm_load),
    [FILTER_WASM_WRITE] = PROGRAM(filter_wasm_write),
    [FILTER_WASM_RUN] = PROGRAM(filter_wasm_run),
    [FILTER_COMPILE] = PROGRAM(filter_compile),
};

/* Adds a filter to those in force: a call must pass all of them. */
static int filter_load(enum filter filter, struct err *err)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &programs[filter]) != 0)
        return err_sys(err, ERR_WALL, "cannot load the seccomp filter");
    return 0;
}

/*
 * Stops: every way into the kernel that the job does not need: sockets, exec, new processes,
 * mounts, io_uring, bpf, keyrings, ptrace. An allow-list; what it does not name answers ENOSYS, a
 * call of a foreign architecture kills.
 */
int cell_load_filter(struct cell *cell, struct err *err)
{
    if (cell_without(cell, WALL_SECCOMP))
        return 0;
    if (filter_load(cell->plan.job == JOB_COMPILE ? FILTER_COMPILE : FILTER_WASM_LOAD, err) < 0)
        return -1;
    cell->walls |= WALL_SECCOMP;
    return 0;
}

int cell_shed_loading(struct cell *cell, struct err *err)
{
    if (cell_without(cell, WALL_SECCOMP))
        return 0;
    if (filter_load(cell_is_writable(cell) ? FILTER_WASM_WRITE : FILTER_WASM_RUN, err) < 0)
        return err_step(err, "seccomp");
    return 0;
}
