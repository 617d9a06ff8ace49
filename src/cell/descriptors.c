#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"

/*
 * Stops: a descriptor of the parent, or of whoever started it (CVE-2024-21626), reaching the guest.
 * The parent opens everything CLOEXEC; this closes what came from before the parent. The socket
 * alone stays. close_range exists since 5.9; without it we refuse.
 */
int cell_close_descriptors(struct cell *cell, struct err *err)
{
    (void) cell; /* there is no plan yet */
    if (syscall(SYS_close_range, 0, CELL_FD_TELL - 1, 0) < 0 ||
        syscall(SYS_close_range, CELL_FD_TELL + 1, ~0U, 0) < 0)
        return err_sys(err, ERR_WALL, "cannot close inherited descriptors");
    /* nor is the socket for whatever a native cell starts: it could tell in our name */
    if (fcntl(CELL_FD_TELL, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, ERR_WALL, "cannot keep the parent's socket to the cell");
    return 0;
}
