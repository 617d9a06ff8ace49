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

/* Waits for a message: its byte, and the descriptors in it. */
static int receive(char *ret_byte, int fds[CELL_MAX_FDS], size_t *ret_count, struct err *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CELL_MAX_FDS)];
    struct iovec bytes = {.iov_base = ret_byte, .iov_len = 1};
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
    *ret_count = 0;
    if (header == NULL)
        return 0;
    if (header->cmsg_type != SCM_RIGHTS || (message.msg_flags & MSG_CTRUNC))
        return err_set(err, ERR_BACKEND, "a message came without its descriptors");
    *ret_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(header), *ret_count * sizeof(int));
    return 0;
}

/* The descriptors take the lowest free numbers, in order: those of enum cell_fd. */
static int receive_descriptors(size_t *ret_count, struct err *err)
{
    int fds[CELL_MAX_FDS];
    char byte;
    if (receive(&byte, fds, ret_count, err) < 0)
        return -1;
    for (size_t i = 0; i < *ret_count; i++)
        if (fds[i] != (int) i + (i >= CELL_FD_TELL)) /* the socket's own number is taken */
            return err_set(err, ERR_BACKEND, "descriptor %d came as %d", (int) i, fds[i]);
    return 0;
}

int cell_await_go(struct cell *cell, struct err *err)
{
    int entries[CELL_MAX_FDS];
    size_t count;
    char go;
    if (receive(&go, entries, &count, err) < 0)
        return -1;
    cell->in_cgroup = go == GO_IN_CGROUP;
    for (size_t i = 0; i < count; i++) {
        if (write(entries[i], "0", 1) != 1)
            return err_sys(err, ERR_WALL, "cannot enter the cgroup of the run");
        (void) close(entries[i]); /* what was written took effect at once */
    }
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
    int first = cell_first_grant(plan);
    if (plan->identity == IDENTITY_RANGE && plan->native.rootfs[0] != '\0')
        cell->rootfs = first++;
    if (plan->isolation != cell->isolation || plan->n_grants > CELL_MAX_GRANTS ||
        (plan->has_door && plan->job != JOB_WASM) || count != (size_t) first - 1 + passed)
        return err_set(err, ERR_BACKEND, "the plan does not fit the cell");
    for (size_t i = 0; i < CELL_MAX_GRANTS; i++)
        cell->grants[i] = i < passed ? first + (int) i : -1;
    return 0;
}
