#include "run/pipes.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

void pipes_init(struct pipes *pipes)
{
    for (int i = 0; i < 3; i++)
        pipes->cell[i] = pipes->ours[i] = -1;
}

int pipes_open(struct pipes *pipes, struct err *err)
{
    for (int i = 0; i < 3; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
            return err_sys(err, ERR_HOST, "cannot make a pipe");
        pipes->cell[i] = pair[i == 0 ? 0 : 1];
        pipes->ours[i] = pair[i == 0 ? 1 : 0];
        if (fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK) < 0)
            return err_sys(err, ERR_HOST, "cannot make a pipe non-blocking");
    }
    return 0;
}

int pipes_give(const struct pipes *pipes, uid_t uid, struct err *err)
{
    for (int i = 0; i < 3; i++)
        if (fchown(pipes->cell[i], uid, (gid_t) uid) < 0)
            return err_sys(err, ERR_HOST, "cannot give the guest its streams");
    return 0;
}

void pipes_close_cell(struct pipes *pipes)
{
    for (int i = 0; i < 3; i++) {
        cleanup_fd(&pipes->cell[i]);
        pipes->cell[i] = -1;
    }
}

void pipes_release(struct pipes *pipes)
{
    pipes_close_cell(pipes);
    for (int i = 0; i < 3; i++) {
        cleanup_fd(&pipes->ours[i]);
        pipes->ours[i] = -1;
    }
}
