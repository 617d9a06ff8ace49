#include "cell/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mount.h"
#include "cell/tell.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

static int open_pair(struct cell *cell, int devpts, struct err *err)
{
    int unlocked = 0;
    _cleanup_fd_ int master = openat(devpts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return err_sys(err, ERR_WALL, "cannot open a terminal of the cell's own");
    cell->terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (cell->terminal < 0 || tell_handle(HANDLE_TERMINAL, 0, master) < 0)
        return err_sys(err, ERR_WALL, "cannot hand out the terminal");
    return 0;
}

int terminal_make(struct view *view, struct err *err)
{
    static const struct mount_option options[] = {
        {"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}};

    if (view_make_dir(view, "dev/pts", err) < 0)
        return -1;
    if (symlinkat("pts/ptmx", view->root, "dev/ptmx") < 0)
        return err_sys(err, ERR_WALL, "cannot make /dev/ptmx");
    int devpts =
        mount_new("devpts", options, ARRAY_SIZE(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (devpts < 0)
        return err_sys(err, ERR_WALL, "cannot make terminals of the cell's own");
    if (view_add(&view->own, devpts, "dev/pts", err) < 0)
        return -1;
    return open_pair(view->cell, devpts, err);
}
