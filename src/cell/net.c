/*
 * The net namespace of a native cell. It takes the kernel as long to make as the whole view, so a
 * helper makes it on another CPU meanwhile: a twentieth of a run less. The helper shares our memory
 * and descriptors: it leaves a descriptor of the namespace and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/cell.h"

#define HELPER_STACK_BYTES 8192

struct cell_net {
    _Alignas(16) char stack[HELPER_STACK_BYTES];
    int proc;   /* the host's: the helper may be late, and the host's tree gone */
    int fd;     /* of the namespace */
    int failed; /* errno */
    pid_t helper;
};

static int make_net(void *data)
{
    struct cell_net *net = data;

    if (unshare(CLONE_NEWNET) < 0)
        net->failed = errno;
    else if ((net->fd = openat(net->proc, "self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
        net->failed = errno;
    _exit(0);
}

int cell_begin_net(struct cell *cell, struct err *err)
{
    if (cell_without(cell, WALL_NET_NAMESPACE))
        return 0;
    struct cell_net *net = calloc(1, sizeof(*net)); /* lives as long as the cell */
    if (net == NULL)
        return err_no_memory(err);
    net->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (net->proc < 0)
        return err_sys(err, ERR_WALL, "cannot open the host's /proc");
    net->helper =
        clone(make_net, net->stack + sizeof(net->stack), CLONE_VM | CLONE_FILES | SIGCHLD, net);
    if (net->helper < 0)
        return err_sys(err, ERR_WALL, "cannot start the helper that makes the net namespace");
    cell->net = net;
    return 0;
}

int cell_join_net(struct cell *cell, struct err *err)
{
    struct cell_net *net = cell->net;

    if (net == NULL)
        return 0;
    while (waitpid(net->helper, NULL, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, ERR_WALL, "cannot wait for the net namespace");
    if (net->failed == 0 && setns(net->fd, CLONE_NEWNET) < 0)
        net->failed = errno;
    if (net->failed != 0) {
        errno = net->failed;
        return cell_refuse_namespaces(err);
    }
    cell->walls |= WALL_NET_NAMESPACE;
    (void) close(net->fd); /* only names it */
    (void) close(net->proc);
    return 0;
}
