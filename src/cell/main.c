/*
 * The program of every cell: build the walls, receive the plan, do the job. Which job is a matter
 * of linking.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell/cell.h"
#include "cell/tell.h"

int main(int argc, char **argv)
{
    struct cell cell = {.rootfs = -1, .terminal = -1};
    struct err err = {.code = ERR_NONE};

    if (argc != CELL_ARGS) {
        static const char advice[] = "this program is a part of wasp and is started by it alone\n";
        (void) !write(STDERR_FILENO, advice, sizeof(advice) - 1);
        return 2;
    }
    cell.isolation =
        strcmp(argv[CELL_ARG_ISOLATION], "0") == 0 ? ISOLATION_FULL : ISOLATION_LANDLOCK;
#ifdef WASP_TEST_HOOKS
    cell.without = (uint32_t) strtoul(argv[CELL_ARG_WITHOUT], NULL, 10);
#endif
    if (cell_build_walls(&cell, &err) == 0 && cell_job(&cell, &err) == 0)
        _exit(0); /* no destructors: the kernel takes everything back at once */
    tell_failed(&err);
    _exit(1);
}
