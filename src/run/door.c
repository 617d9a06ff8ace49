#include "run/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Room is made for what has come, not for what a header promises. */
#define CHUNK_BYTES ((size_t) 64 << 10)

static const char too_many[] =
    "{\"error\":{\"code\":\"limit\",\"message\":\"the run made all the calls it may make through "
    "its door\",\"hint\":\"ask for more with each call, or split the work into several runs\"}}";
static const char no_answer[] =
    "{\"error\":{\"code\":\"host\",\"message\":\"wasp could not put an answer together\","
    "\"hint\":\"ask for less, or try again\"}}";

int door_open(struct door *door, const struct door_service *service, int *ret_cell, struct err *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, ERR_HOST, "cannot make the guest's door");
    door->fd = pair[0];
    door->service = service;
    *ret_cell = pair[1];
    if (fcntl(door->fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, ERR_HOST, "cannot make the guest's door non-blocking");
    return 0;
}

static void close_door(struct door *door)
{
    cleanup_fd(&door->fd);
    door->fd = -1;
}

void door_release(struct door *door)
{
    close_door(door);
    buf_release(&door->request);
    buf_release(&door->answer);
}

short door_wants(const struct door *door)
{
    return door->is_answering ? POLLOUT : POLLIN;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Sends what the socket takes. False once there is nothing to do but wait. */
static bool send_answer(struct door *door)
{
    const size_t head = sizeof(door->answer_header);
    size_t in_head = door->sent < head ? door->sent : head;
    size_t in_body = door->sent - in_head;
    struct iovec parts[] = {
        {(char *) &door->answer_header + in_head, head - in_head},
        {door->answer.data + in_body, door->answer.len - in_body},
    };
    ssize_t n = writev(door->fd, parts, ARRAY_SIZE(parts));

    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            close_door(door); /* EPIPE: the cell closed it */
        return false;
    }
    door->sent += (size_t) n;
    if (door->sent < head + door->answer.len)
        return true;
    buf_release(&door->answer);
    door->is_answering = false;
    return true;
}

/* ---- in -------------------------------------------------------------------------------------- */

static int find_answer(struct door *door, uint64_t deadline_ns, struct tell_denial *ret_denial)
{
    struct door_request request = {
        .call = (enum door_call) door->header.call,
        .json = door->request.data ? door->request.data : "",
        .len = door->request.len,
        .deadline_ns = deadline_ns,
    };

    if (door->calls == DOOR_MAX_CALLS)
        return buf_add_string(&door->answer, too_many);
    door->calls++;
    if (door->service->serve(door->service->data, &request, &door->answer, ret_denial) == 0)
        return 0;
    buf_release(&door->answer);
    return buf_add_string(&door->answer, no_answer);
}

static void serve(struct door *door, uint64_t deadline_ns, struct tell_denial *ret_denial)
{
    if (find_answer(door, deadline_ns, ret_denial) < 0) {
        close_door(door); /* no memory for a hundred bytes: the guest is told by the silence */
        return;
    }
    door->answer_header = (struct door_header){
        .magic = DOOR_MAGIC,
        .call = door->header.call,
        .len = (uint32_t) door->answer.len,
    };
    door->is_answering = true;
    door->sent = 0;
    door->header_len = 0;
    buf_release(&door->request);
}

/* How many bytes came, 0 if there are none yet or the cell is gone. */
static size_t take(struct door *door, void *to, size_t len)
{
    ssize_t n = read(door->fd, to, len);

    if (n > 0)
        return (size_t) n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_door(door);
    return 0;
}

/* What is left of the body. False once there is nothing to do but wait. */
static bool take_body(struct door *door)
{
    size_t left = door->header.len - door->request.len;
    char *room;

    if (left > CHUNK_BYTES)
        left = CHUNK_BYTES;
    if (buf_reserve(&door->request, left, &room) < 0) {
        close_door(door);
        return false;
    }
    size_t n = take(door, room, left);
    buf_commit(&door->request, n);
    return n > 0;
}

bool door_turn(struct door *door, uint64_t deadline_ns, struct tell_denial *ret_denial)
{
    bool was_served = false;

    *ret_denial = (struct tell_denial){.action = ""};
    while (door->fd >= 0) {
        if (door->is_answering) {
            if (!send_answer(door))
                return true;
        } else if (was_served) {
            return true; /* one call a turn: the rest of the run has its turn as well */
        } else if (door->header_len < sizeof(door->header)) {
            size_t n = take(door, (char *) &door->header + door->header_len,
                            sizeof(door->header) - door->header_len);
            door->header_len += n;
            if (n == 0)
                return true;
            if (door->header_len == sizeof(door->header) && !door_is_request(&door->header))
                return false;
        } else if (door->request.len < door->header.len) {
            if (!take_body(door))
                return true;
        } else {
            serve(door, deadline_ns, ret_denial);
            was_served = true;
            if (clock_monotonic_ns() >= deadline_ns)
                return true; /* too late: the run ends now, and not by the guest's own last word */
        }
    }
    return true;
}
