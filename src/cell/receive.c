#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/cell.h"
#include "plan/pack.h"

/* The memfd is sealed, so what is mapped here cannot change under us. */
static int read_plan(struct plan *ret_plan, struct err *err)
{
    struct stat st;
    if (fstat(CELL_FD_PLAN, &st) < 0)
        return err_sys(err, ERR_BACKEND, "no plan on descriptor %d", CELL_FD_PLAN);
    if (st.st_size <= 0 || st.st_size > PACK_MAX_BYTES)
        return err_set(err, ERR_BACKEND, "a plan of %lld bytes", (long long) st.st_size);
    size_t len = (size_t) st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, CELL_FD_PLAN, 0);
    if (bytes == MAP_FAILED)
        return err_sys(err, ERR_BACKEND, "cannot map the plan");
    return plan_unpack(bytes, len, ret_plan, err);
}

/* Waits for the one message. The descriptors in it take the lowest free numbers, in order. */
static int receive_descriptors(size_t *ret_count, struct err *err)
{
    int fds[CELL_MAX_FDS];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))];
    char go;
    struct iovec bytes = {.iov_base = &go, .iov_len = 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(CELL_FD_TELL, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, ERR_BACKEND,
                       "cannot receive the plan: this program is started by wasp only");
    if (n == 0)
        _exit(1); /* the parent is gone, and so are we */
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS || (message.msg_flags & MSG_CTRUNC))
        return err_set(err, ERR_BACKEND, "the plan came without its descriptors");
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(header), count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        if (fds[i] != (int) i + (i >= CELL_FD_TELL)) /* the socket's own number is taken */
            return err_set(err, ERR_BACKEND, "descriptor %d came as %d", (int) i, fds[i]);
    *ret_count = count;
    return 0;
}

int cell_receive_plan(struct cell *cell, struct err *err)
{
    size_t count;
    if (receive_descriptors(&count, err) < 0 || read_plan(&cell->plan, err) < 0)
        return -1;
    const struct plan *plan = &cell->plan;
    /* as an ordinary user the cell opens the grants itself, later */
    size_t passed = plan->identity == IDENTITY_USER ? 0 : plan->n_grants;
    int first = cell_first_grant(plan->job);
    if (plan->isolation != cell->isolation || plan->n_grants > CELL_MAX_GRANTS ||
        count != (size_t) first - 1 + passed)
        return err_set(err, ERR_BACKEND, "the plan does not fit the cell");
    for (size_t i = 0; i < CELL_MAX_GRANTS; i++)
        cell->grants[i] = i < passed ? first + (int) i : -1;
    return 0;
}
