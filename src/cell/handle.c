/*
 * In a file of its own: a cell around an engine has no call for it, and none in its filter.
 */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "cell/tell.h"
#include "plan/plan.h"

int tell_handle(enum handle_kind kind, uint32_t grant, int fd)
{
    struct tell tell = {.kind = TELL_HANDLE, .handle = {.kind = kind, .grant = grant}};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {.iov_base = &tell,
                          .iov_len = offsetof(struct tell, handle) + sizeof(tell.handle)};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    return sendmsg(CELL_FD_TELL, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}
