#include "run/hear.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

static bool is_whole(const struct tell *tell, size_t len)
{
    static const size_t bodies[] = {
        [TELL_FAILED] = sizeof(struct err),         [TELL_READY] = sizeof(struct tell_ready),
        [TELL_DENIAL] = sizeof(struct tell_denial), [TELL_DONE] = sizeof(struct tell_done),
        [TELL_HANDLE] = sizeof(struct tell_handle),
    };
    return len >= sizeof(tell->kind) && tell->kind < ARRAY_SIZE(bodies) && tell->kind != 0 &&
           len == offsetof(struct tell, failed) + bodies[tell->kind];
}

#define TERMINATE(array) ((array)[sizeof(array) - 1] = '\0')

void hear_denial(struct watch *watch, struct arena *arena, struct tell_denial *denial)
{
    if (watch->denials == NULL)
        watch->denials = arena_array(arena, TELL_MAX_DENIALS, sizeof(*watch->denials));
    if (watch->denials == NULL || watch->n_denials == TELL_MAX_DENIALS)
        return;
    TERMINATE(denial->action);
    TERMINATE(denial->target);
    TERMINATE(denial->rule);
    (void) redact_text(denial->target, sizeof(denial->target), /* it is fine either way */
                       watch->secrets);
    watch->denials[watch->n_denials++] = *denial;
    if (watch->observer != NULL && watch->observer->denied != NULL)
        watch->observer->denied(watch->observer->data, denial);
}

static void hear_ready(struct watch *watch, const struct tell_ready *ready)
{
    if (watch->ready_heard)
        return;
    watch->ready_heard = true;
    watch->ready = *ready;
    if (watch->observer != NULL && watch->observer->started != NULL)
        watch->observer->started(watch->observer->data);
}

/*
 * After TELL_READY the guest may be speaking: it may say that its own start failed, and nothing
 * about walls, grants or stale code, which would earn it a second run.
 */
static bool may_say(const struct watch *watch, enum err_code code)
{
    if (!watch->ready_heard)
        return code > ERR_NONE && code < ERR_CODES;
    return code == ERR_NOT_FOUND || code == ERR_UNREADABLE || code == ERR_MALFORMED ||
           code == ERR_NO_START || code == ERR_NEEDS_MEMORY || code == ERR_NEEDS_TABLE ||
           code == ERR_BACKEND;
}

static void hear_failure(struct watch *watch, struct err *failed)
{
    if (watch->failed_heard || watch->done_heard || !may_say(watch, failed->code))
        return;
    TERMINATE(failed->step);
    TERMINATE(failed->message);
    TERMINATE(failed->hint);
    watch->failed = *failed;
    watch->failed_heard = true;
}

static void hear_done(struct watch *watch, struct tell_done *done)
{
    if (watch->done_heard || watch->failed_heard || !watch->ready_heard)
        return;
    TERMINATE(done->trap_code);
    TERMINATE(done->trap_message);
    watch->done = *done;
    watch->done_heard = true;
    watch->was_asked = watch->signal != 0;
}

/* The guest's terminal takes the place of its pipes: both of its streams come out of it. */
static void take_terminal(struct watch *watch, int terminal)
{
    int typing = fcntl(terminal, F_DUPFD_CLOEXEC, 0);

    watch->handles.terminal = terminal;
    if (fcntl(terminal, F_SETFL, O_NONBLOCK) < 0 || typing < 0)
        return; /* the guest gets its terminal, and nobody hears it: it ends at its time limit */
    cleanup_fd(&watch->out.fd);
    watch->out.fd = take_fd(&watch->handles.terminal);
    cleanup_fd(&watch->feed->fd);
    watch->feed->fd = typing;
    watch->feed->is_terminal = true;
    watch->feed->awaits_terminal = false;
}

static void hear_handle(struct watch *watch, const struct tell_handle *handle, int *fd)
{
    int *uppers = watch->handles.uppers;

    if (*fd < 0 || watch->ready_heard)
        return;
    if (handle->kind == HANDLE_TERMINAL && watch->feed != NULL && !watch->feed->is_terminal)
        take_terminal(watch, take_fd(fd));
    else if (handle->kind == HANDLE_UPPER && uppers != NULL && handle->grant < REQUEST_MAX_DIRS &&
             uppers[handle->grant] < 0)
        uppers[handle->grant] = take_fd(fd);
}

static void hear(struct watch *watch, struct arena *arena, struct tell *tell, int *fd)
{
    switch ((enum tell_kind) tell->kind) {
    case TELL_FAILED:
        hear_failure(watch, &tell->failed);
        break;
    case TELL_READY:
        hear_ready(watch, &tell->ready);
        break;
    case TELL_DENIAL:
        hear_denial(watch, arena, &tell->denial);
        break;
    case TELL_HANDLE:
        hear_handle(watch, &tell->handle, fd);
        break;
    case TELL_DONE:
        hear_done(watch, &tell->done);
        break;
    }
}

static void take_descriptor(struct msghdr *message, int *ret_fd)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);

    if (header != NULL && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
}

/*
 * False once the cell's end is closed. A datagram of the wrong size is a lie and is dropped, and so
 * are descriptors that come once the guest may be speaking: the kernel finds no room for them.
 */
bool hear_once(struct watch *watch, struct arena *arena)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    _cleanup_fd_ int fd = -1;
    struct tell tell;
    struct iovec bytes = {.iov_base = &tell, .iov_len = sizeof(tell)};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = watch->ready_heard ? NULL : control,
                             .msg_controllen = watch->ready_heard ? 0 : sizeof(control)};
    ssize_t n = recvmsg(watch->child->tell, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    take_descriptor(&message, &fd);
    if (!(message.msg_flags & MSG_TRUNC) && is_whole(&tell, (size_t) n))
        hear(watch, arena, &tell, &fd);
    return true;
}

void hear_rest(struct watch *watch, struct arena *arena)
{
    struct pollfd ready = {.fd = watch->child->tell, .events = POLLIN};
    while (poll(&ready, 1, 0) == 1 && hear_once(watch, arena))
        ;
}
