/*
 * The evil engine: a job for a cell that is hostile native code from its first instruction. It
 * stands in the runner's place, behind the same walls, as if the guest had taken the engine over.
 * Its arguments are those of the guest: PORT PID, and a word for what it should do.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempts.h"
#include "cell/cell.h"
#include "cell/tell.h"
#include "plan/door.h"

static int first_grant(const struct cell *cell, enum access access)
{
    for (size_t i = 0; i < cell->plan.n_grants; i++)
        if (cell->plan.grants[i].access == access)
            return cell->grants[i];
    return -1;
}

/* A lie for every number the parent could believe. */
static void lie(void)
{
    struct tell_done done = {.kind = 77, .exit_code = 0, .limits_hit = ~0U};
    struct err err = {.code = ERR_CODES + 5};
    memset(done.trap_code, 'A', sizeof(done.trap_code));
    memset(done.trap_message, 'B', sizeof(done.trap_message));
    memset(err.message, 'C', sizeof(err.message));
    tell_failed(&err);
    tell_ready(~0U, ~0U);
    for (int i = 0; i < 1000; i++) {
        struct tell_denial denial;
        memset(&denial, 0xff, sizeof(denial));
        tell_denial(&denial);
    }
    (void) !write(CELL_FD_TELL, "?", 1);
    tell_done(&done);
}

/* What only a cell that is not yet running may say. */
static void claim(enum err_code code)
{
    struct err err = {.code = code, .message = "believe me"};
    (void) !write(1, "started\n", 8);
    tell_failed(&err);
    _exit(1);
}

static void call_foreign_architecture(void)
{
#if defined(__x86_64__)
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20 /* getpid on i386 */) : "memory");
    (void) answer;
#endif
}

/* ---- at the door ----------------------------------------------------------------------------- */

/* As much as goes, then it would wait: the parent's bounds are looked at from outside. */
static void push(const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t n = write(CELL_FD_DOOR, at, len);
        if (n <= 0)
            return;
        at += n;
        len -= (size_t) n;
    }
}

static void push_header(uint32_t magic, uint32_t call, uint32_t len)
{
    const struct door_header header = {.magic = magic, .call = call, .len = len};
    push(&header, sizeof(header));
}

static void send_garbage(void)
{
    static const char garbage[4096] = "what is no frame";
    push(garbage, sizeof(garbage));
}

static void send_huge(void)
{
    push_header(DOOR_MAGIC, DOOR_FS_READ, UINT32_MAX);
}

static void send_unknown(void)
{
    push_header(DOOR_MAGIC, DOOR_CALLS, 2);
}

/* The longest request, and then no more of it. */
static void send_half(void)
{
    static const char body[4096];
    push_header(DOOR_MAGIC, DOOR_FS_WRITE, DOOR_MAX_REQUEST);
    push(body, sizeof(body));
    (void) close(CELL_FD_DOOR);
}

static void wait_for_ever(void)
{
    for (;;)
        (void) ppoll(NULL, 0, NULL, NULL); /* only a signal ends it, and it would end us */
}

/* Calls and calls, and not one answer read: both sides' buffers fill. */
static void never_read(void)
{
    for (int i = 0; i < 10000; i++) {
        push_header(DOOR_MAGIC, DOOR_FS_READ, 2);
        push("{}", 2);
    }
}

/* More than a run may make; each answer is read, and the last is printed. */
static void send_many(void)
{
    static char answer[DOOR_MAX_ANSWER];
    struct door_header header = {.len = 0};
    for (int i = 0; i < DOOR_MAX_CALLS + 10; i++) {
        push_header(DOOR_MAGIC, DOOR_EXEC_RUN, 2);
        push("[]", 2);
        if (read(CELL_FD_DOOR, &header, sizeof(header)) != (ssize_t) sizeof(header))
            return;
        for (size_t got = 0; got < header.len;) {
            ssize_t n = read(CELL_FD_DOOR, answer + got, header.len - got);
            if (n <= 0)
                return;
            got += (size_t) n;
        }
    }
    (void) !write(1, answer, header.len);
}

/* Two calls at once, as no runner of ours does; the answers come one after the other. */
static void send_two(void)
{
    static char answer[65536];
    push_header(DOOR_MAGIC, DOOR_FS_READ, 2);
    push("{}", 2);
    push_header(DOOR_MAGIC, DOOR_FS_WRITE, 2);
    push("{}", 2);
    for (int i = 0; i < 2; i++) {
        struct door_header header;
        if (read(CELL_FD_DOOR, &header, sizeof(header)) != (ssize_t) sizeof(header) ||
            read(CELL_FD_DOOR, answer, header.len) != (ssize_t) header.len)
            return;
        (void) !write(1, answer, header.len);
    }
}

static void knock(void)
{
    char byte = 'x';
    bool is_open = read(CELL_FD_DOOR, &byte, 0) == 0;
    (void) !write(1, is_open ? "open" : "none", 4);
}

static const struct door_act {
    const char *name;
    void (*act)(void);
    bool stays; /* and does nothing more, until it is ended */
} door_acts[] = {
    {"door-garbage", send_garbage, true}, {"door-huge", send_huge, true},
    {"door-unknown", send_unknown, true}, {"door-half", send_half, false},
    {"door-unread", never_read, true},    {"door-many", send_many, false},
    {"door-two", send_two, false},        {"door-knock", knock, false},
};

static bool is_door_act(const char *what)
{
    for (size_t i = 0; i < sizeof(door_acts) / sizeof(door_acts[0]); i++)
        if (strcmp(door_acts[i].name, what) == 0) {
            door_acts[i].act();
            if (door_acts[i].stays)
                wait_for_ever();
            return true;
        }
    return false;
}

const bool cell_is_native = false;

int cell_job(struct cell *cell, struct err *err)
{
    const struct plan *plan = &cell->plan;
    if (plan->n_args < 4)
        return err_set(err, ERR_BACKEND, "evil wants PORT PID WHAT");
    struct stage stage = {
        .writable = first_grant(cell, ACCESS_RW),
        .readable = first_grant(cell, ACCESS_RO),
        .code = CELL_FD_CODE,
        .port = atoi(plan->args[1]),
        .pid = atoi(plan->args[2]),
    };
    const char *what = plan->args[3];
    if (cell_shed_loading(cell, err) < 0)
        return -1;
    tell_ready(cell->walls, cell->landlock_abi);
    if (strcmp(what, "lie") == 0)
        lie();
    else if (strcmp(what, "stale") == 0)
        claim(ERR_STALE_CODE);
    else if (strcmp(what, "denied") == 0)
        claim(ERR_DENIED);
    else if (strcmp(what, "close") == 0) {
        (void) close(CELL_FD_TELL);
        for (;;)
            ;
    } else if (strcmp(what, "foreign") == 0)
        call_foreign_architecture();
    else if (!is_door_act(what))
        attempts_run(&stage);
    struct tell_done done = {.kind = DONE_RETURNED};
    tell_done(&done);
    return 0;
}
