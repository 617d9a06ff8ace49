/*
 * The functions of import module `wasp` (CONTRACT §7; guest/include/wasp_guest.h says it to
 * guests). Beside WASI because it is the same guest, the same memory and the same denials.
 *
 *     NAME(request, len)   asks, and waits for the answer; returns its length
 *     answer(to, cap)      copies the answer of the last call, at most cap bytes; returns how many
 *
 * Less than 0 is an errno of WASI's: the pointer is bad, the request too long, the door broken.
 */
#include "plan/door.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

#define KEPT_BYTES ((size_t) 64 << 10)

_Static_assert(WASI_EFAULT != 1 && WASI_EOVERFLOW != 1 && WASI_EIO != 1 && WASI_ENOMEM != 1,
               "none of them looks like WASI_STOP");
_Static_assert(DOOR_MAX_ANSWER <= INT32_MAX, "an answer's length is an i32");

static uint32_t negative(uint32_t number)
{
    return (uint32_t) - (int32_t) number;
}

/*
 * A large one is given back: it would count against the run's memory, and the allocator could only
 * widen it with a call that the filter has not.
 */
static void forget_answer(struct wasi *wasi)
{
    if (wasi->answer.capacity > KEPT_BYTES)
        buf_release(&wasi->answer);
    wasi->answer.len = 0;
}

/* In one write, so that the parent wakes once. */
static int send_request(struct wasi *wasi, enum door_call call, const void *json, uint32_t len)
{
    struct buf *frame = &wasi->answer; /* its room is free until the answer comes */
    struct door_header header = {.magic = DOOR_MAGIC, .call = call, .len = len};

    if (buf_add(frame, &header, sizeof(header)) < 0 || buf_add(frame, json, len) < 0)
        return -1;
    int rc = fd_write_all(wasi->config.door, frame->data, frame->len);
    forget_answer(wasi);
    return rc;
}

static int receive_answer(struct wasi *wasi, enum door_call call)
{
    struct door_header header;
    char *room;

    if (fd_read_full(wasi->config.door, &header, sizeof(header)) != (ssize_t) sizeof(header) ||
        !door_is_answer(&header, call) || buf_reserve(&wasi->answer, header.len, &room) < 0 ||
        fd_read_full(wasi->config.door, room, header.len) != (ssize_t) header.len)
        return -1;
    buf_commit(&wasi->answer, header.len);
    return 0;
}

/* The run has no capability at all: there is nobody to ask, and the answer is known. */
static uint32_t refuse(struct wasi *wasi, enum door_call call)
{
    struct tell_denial denial = {.rule = RULE_CAPABILITY};
    const char *name = door_names[call];

    (void) snprintf(denial.action, sizeof(denial.action), "%s", name); /* ours, and short */
    (void) snprintf(denial.target, sizeof(denial.target), "%s", name); /* likewise */
    wasi->counters.denials++;
    if (wasi->config.denied != NULL)
        wasi->config.denied(wasi->config.data, &denial);
    if (buf_printf(&wasi->answer,
                   "{\"error\":{\"code\":\"capability\",\"message\":\"the run has no capability "
                   "'%s'\",\"hint\":\"whoever starts the run can give it: --capability %s\"}}",
                   name, name) < 0)
        return negative(WASI_ENOMEM);
    return (uint32_t) wasi->answer.len;
}

static uint32_t ask(struct wasi *wasi, const struct wasi_memory *memory, enum door_call call,
                    const uint64_t *args)
{
    uint32_t len = (uint32_t) args[1];
    const void *json = memory_at(memory, (uint32_t) args[0], len);

    forget_answer(wasi);
    if (json == NULL)
        return negative(WASI_EFAULT);
    if (len > DOOR_MAX_REQUEST)
        return negative(WASI_EOVERFLOW);
    if (!wasi->config.has_door)
        return refuse(wasi, call);
    if (wasi->door_broken)
        return negative(WASI_EIO);
    if (send_request(wasi, call, json, len) == 0 && receive_answer(wasi, call) == 0)
        return (uint32_t) wasi->answer.len;
    /* half a frame may be under way: what comes next would be misread */
    wasi->door_broken = true;
    forget_answer(wasi);
    return negative(WASI_EIO);
}

uint32_t call_fs_read(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return ask(wasi, memory, DOOR_FS_READ, args);
}

uint32_t call_fs_write(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return ask(wasi, memory, DOOR_FS_WRITE, args);
}

uint32_t call_exec_run(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return ask(wasi, memory, DOOR_EXEC_RUN, args);
}

uint32_t call_answer(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    uint32_t cap = (uint32_t) args[1];
    size_t len = wasi->answer.len < cap ? wasi->answer.len : cap;

    if (!memory_put(memory, (uint32_t) args[0], wasi->answer.data, len))
        return negative(WASI_EFAULT);
    return (uint32_t) len;
}
