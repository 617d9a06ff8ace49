/*
 * The program of every cell: read the plan, build the walls, do the job. Which job is a matter of
 * linking.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/cell.h"
#include "cell/tell.h"
#include "plan/pack.h"

/* The memfd is sealed, so what is mapped here cannot change under us. */
static int read_plan(struct plan *ret_plan, struct err *err)
{
    struct stat st;
    if (fstat(CELL_FD_PLAN, &st) < 0)
        return err_sys(err, ERR_BACKEND,
                       "no plan on descriptor %d: this program is started by wasp only",
                       CELL_FD_PLAN);
    if (st.st_size <= 0 || st.st_size > PACK_MAX_BYTES)
        return err_set(err, ERR_BACKEND, "a plan of %lld bytes", (long long) st.st_size);
    size_t len = (size_t) st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, CELL_FD_PLAN, 0);
    if (bytes == MAP_FAILED)
        return err_sys(err, ERR_BACKEND, "cannot map the plan");
    return plan_unpack(bytes, len, ret_plan, err);
}

int main(void)
{
    struct cell cell = {.walls = 0};
    struct err err = {.code = ERR_NONE};

    if (read_plan(&cell.plan, &err) < 0)
        (void) err_step(&err, "plan"); /* err_step always returns -1 */
    else if (cell_build_walls(&cell, &err) == 0 && cell_job(&cell, &err) == 0)
        _exit(0); /* no destructors: the kernel takes everything back at once */
    tell_failed(&err);
    _exit(1);
}
