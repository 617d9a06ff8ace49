/* The door between a cell and its parent: frames, and the parent's end against hostile bytes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/door.h"
#include "tap.h"

#define DEADLINE (UINT64_MAX - 1)

/* What the service was asked last, and what it says. */
struct asked {
    int count;
    enum door_call call;
    size_t len;
    char first;
    uint64_t deadline_ns;
    size_t answer_len;
    bool refuses, fails;
};

static int serve(void *data, const struct door_request *request, struct buf *answer,
                 struct tell_denial *ret_denial)
{
    struct asked *asked = data;

    asked->count++;
    asked->call = request->call;
    asked->len = request->len;
    asked->first = request->json[0];
    asked->deadline_ns = request->deadline_ns;
    if (asked->fails)
        return -1;
    if (asked->refuses)
        (void) snprintf(ret_denial->action, sizeof(ret_denial->action), "fs_read");
    for (size_t i = 0; i < asked->answer_len; i++)
        if (buf_add_char(answer, 'a') < 0)
            return -1;
    return 0;
}

struct rig {
    struct asked asked;
    struct door_service service;
    struct door door;
    int cell; /* non-blocking, for the test */
};

static void rig_open(struct rig *rig)
{
    struct err err;

    *rig = (struct rig){.asked = {.answer_len = 3}, .door = DOOR_NONE};
    rig->service = (struct door_service){.data = &rig->asked, .serve = serve};
    if (door_open(&rig->door, &rig->service, &rig->cell, &err) < 0 ||
        fcntl(rig->cell, F_SETFL, O_NONBLOCK) < 0) {
        printf("Bail out! %s\n", err.message);
        exit(1);
    }
}

static void rig_close(struct rig *rig)
{
    door_release(&rig->door);
    cleanup_fd(&rig->cell);
}

static bool turn(struct rig *rig)
{
    struct tell_denial denial;

    return door_turn(&rig->door, DEADLINE, &denial);
}

static void put(struct rig *rig, const void *bytes, size_t len)
{
    if (write(rig->cell, bytes, len) != (ssize_t) len) {
        printf("Bail out! cannot write %zu bytes: %s\n", len, strerror(errno));
        exit(1);
    }
}

static void put_header(struct rig *rig, uint32_t call, uint32_t len)
{
    const struct door_header header = {.magic = DOOR_MAGIC, .call = call, .len = len};

    put(rig, &header, sizeof(header));
}

/* Reads one answer; its length, or -1. */
static ssize_t get(struct rig *rig, uint32_t call)
{
    struct door_header header;
    char body[4096];

    if (read(rig->cell, &header, sizeof(header)) != (ssize_t) sizeof(header) ||
        !door_is_answer(&header, (enum door_call) call) || header.len > sizeof(body))
        return -1;
    return read(rig->cell, body, header.len) == (ssize_t) header.len ? (ssize_t) header.len : -1;
}

/* ---- headers --------------------------------------------------------------------------------- */

static void test_headers(void)
{
    static const struct {
        struct door_header header;
        bool is_request;
        const char *what;
    } rows[] = {
        {{DOOR_MAGIC, DOOR_FS_READ, 0}, true, "the first call, empty"},
        {{DOOR_MAGIC, DOOR_EXEC_RUN, DOOR_MAX_REQUEST}, true, "the last call, as long as it goes"},
        {{DOOR_MAGIC, 0, 2}, false, "call 0"},
        {{DOOR_MAGIC, DOOR_CALLS, 2}, false, "a call that is not there"},
        {{DOOR_MAGIC, UINT32_MAX, 2}, false, "the largest number for a call"},
        {{DOOR_MAGIC, DOOR_FS_READ, DOOR_MAX_REQUEST + 1}, false, "one byte too long"},
        {{DOOR_MAGIC, DOOR_FS_READ, UINT32_MAX}, false, "4 GiB"},
        {{DOOR_MAGIC + 1, DOOR_FS_READ, 2}, false, "another magic number"},
        {{0, 0, 0}, false, "nothing but zeros"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(door_is_request(&rows[i].header) == rows[i].is_request, "a header is %s: %s",
           rows[i].is_request ? "taken" : "refused", rows[i].what);
    const struct door_header answer = {DOOR_MAGIC, DOOR_FS_WRITE, 10};
    ok(door_is_answer(&answer, DOOR_FS_WRITE), "an answer to the call that was made is taken");
    ok(!door_is_answer(&answer, DOOR_FS_READ), "one to another call is not");
    ok(door_find("fs_write") == DOOR_FS_WRITE && door_find("http_fetch") == 0,
       "calls are found by name, and others are not");
}

/* ---- the parent's end ------------------------------------------------------------------------ */

static void test_whole(void)
{
    struct rig rig;

    rig_open(&rig);
    ok(door_wants(&rig.door) == POLLIN, "a door that nobody uses waits for a call");
    put_header(&rig, DOOR_FS_WRITE, 2);
    put(&rig, "{}", 2);
    ok(turn(&rig) && rig.asked.count == 1, "a whole frame is served at once");
    ok(rig.asked.call == DOOR_FS_WRITE && rig.asked.len == 2 && rig.asked.first == '{' &&
           rig.asked.deadline_ns == DEADLINE,
       "with its call, its bytes and the run's deadline");
    ok(get(&rig, DOOR_FS_WRITE) == 3, "and answered");
    put_header(&rig, DOOR_FS_READ, 0);
    ok(turn(&rig) && rig.asked.len == 0 && get(&rig, DOOR_FS_READ) == 3,
       "an empty request is one, too");
    rig_close(&rig);
}

static void test_pieces(void)
{
    struct rig rig;
    const struct door_header header = {.magic = DOOR_MAGIC, .call = DOOR_EXEC_RUN, .len = 5};
    bool holds = true;

    rig_open(&rig);
    for (size_t i = 0; i < sizeof(header); i++) {
        put(&rig, (const char *) &header + i, 1);
        holds = holds && turn(&rig) && rig.asked.count == 0;
    }
    for (int i = 0; i < 4; i++) {
        put(&rig, "x", 1);
        holds = holds && turn(&rig) && rig.asked.count == 0;
    }
    ok(holds, "a frame that comes byte by byte is waited for, never with a wait");
    put(&rig, "x", 1);
    ok(turn(&rig) && rig.asked.count == 1 && rig.asked.len == 5, "and served when it is whole");
    rig_close(&rig);
}

static void test_two(void)
{
    struct rig rig;

    rig_open(&rig);
    put_header(&rig, DOOR_FS_READ, 1);
    put(&rig, "1", 1);
    put_header(&rig, DOOR_FS_WRITE, 1);
    put(&rig, "2", 1);
    ok(turn(&rig) && rig.asked.count == 1 && rig.asked.first == '1',
       "of two calls at once the second waits for its turn");
    ok(turn(&rig) && rig.asked.count == 2 && rig.asked.first == '2', "which comes");
    rig_close(&rig);
}

static void test_nonsense(void)
{
    static const struct door_header headers[] = {
        {0x41414141, 0x41414141, 0x41414141},
        {DOOR_MAGIC, DOOR_FS_READ, UINT32_MAX},
        {DOOR_MAGIC, 77, 1},
    };
    bool holds = true;

    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        struct rig rig;
        rig_open(&rig);
        put(&rig, &headers[i], sizeof(headers[i]));
        holds = holds && !turn(&rig) && rig.asked.count == 0;
        rig_close(&rig);
    }
    ok(holds, "a header that makes no sense ends it before anything is served");
}

static void test_promise(void)
{
    struct rig rig;

    rig_open(&rig);
    put_header(&rig, DOOR_FS_READ, DOOR_MAX_REQUEST);
    put(&rig, "x", 1);
    ok(turn(&rig) && rig.door.request.capacity < DOOR_MAX_REQUEST / 2,
       "no room is made for what a header only promises");
    (void) close(take_fd(&rig.cell));
    ok(turn(&rig) && rig.door.fd < 0 && rig.asked.count == 0,
       "a cell that is gone in the middle of a frame closes the door, and that is all");
    rig_close(&rig);
}

static void test_unread(void)
{
    struct rig rig;

    rig_open(&rig);
    rig.asked.answer_len = DOOR_MAX_ANSWER;
    put_header(&rig, DOOR_FS_READ, 0);
    ok(turn(&rig) && door_wants(&rig.door) == POLLOUT,
       "an answer that nobody reads is kept, and nobody waits for it");
    put_header(&rig, DOOR_FS_READ, 0);
    ok(turn(&rig) && rig.asked.count == 1, "no other call is served before it is read");
    static char bytes[sizeof(struct door_header) + DOOR_MAX_ANSWER];
    size_t got = 0;
    bool is_a = true;
    while (got < sizeof(bytes)) {
        ssize_t n = read(rig.cell, bytes + got, sizeof(bytes) - got);
        if (n <= 0 && !turn(&rig))
            break;
        got += n > 0 ? (size_t) n : 0;
    }
    for (size_t i = sizeof(struct door_header); i < sizeof(bytes); i++)
        is_a = is_a && bytes[i] == 'a';
    ok(got == sizeof(bytes) && is_a, "once it is, all of it arrives");
    rig.asked.answer_len = 3;
    ok(turn(&rig) && turn(&rig) && rig.asked.count == 2, "and then the next call is served");
    rig_close(&rig);
}

static void test_unread_then_gone(void)
{
    struct rig rig;

    rig_open(&rig);
    rig.asked.answer_len = DOOR_MAX_ANSWER;
    put_header(&rig, DOOR_FS_READ, 0);
    (void) turn(&rig);
    (void) close(take_fd(&rig.cell));
    ok(turn(&rig) && rig.door.fd < 0, "a cell that is gone before its answer closes the door");
    rig_close(&rig);
}

static void test_refusals(void)
{
    struct rig rig;
    struct tell_denial denial;

    rig_open(&rig);
    rig.asked.refuses = true;
    put_header(&rig, DOOR_FS_READ, 0);
    ok(door_turn(&rig.door, DEADLINE, &denial) && strcmp(denial.action, "fs_read") == 0,
       "a refusal is told");
    (void) get(&rig, DOOR_FS_READ);
    rig.asked.refuses = false;
    put_header(&rig, DOOR_FS_READ, 0);
    ok(door_turn(&rig.door, DEADLINE, &denial) && denial.action[0] == '\0', "and only once");
    (void) get(&rig, DOOR_FS_READ);
    rig.asked.fails = true;
    put_header(&rig, DOOR_FS_READ, 0);
    ok(turn(&rig) && get(&rig, DOOR_FS_READ) > 10, "without an answer an error is the answer");
    rig_close(&rig);
}

static void test_late(void)
{
    struct rig rig;
    struct tell_denial denial;

    rig_open(&rig);
    put_header(&rig, DOOR_FS_READ, 0);
    ok(door_turn(&rig.door, 1, &denial) && rig.asked.count == 1 && get(&rig, DOOR_FS_READ) < 0,
       "an answer that comes after the run's deadline is not sent");
    rig_close(&rig);
}

static void test_many(void)
{
    struct rig rig;
    bool holds = true;

    rig_open(&rig);
    rig.door.calls = DOOR_MAX_CALLS - 1;
    for (int i = 0; i < 3; i++) {
        put_header(&rig, DOOR_FS_READ, 0);
        holds = holds && turn(&rig) && get(&rig, DOOR_FS_READ) >= 3;
    }
    ok(holds && rig.asked.count == 1, "calls past the most are answered without being looked at");
    rig_close(&rig);
}

int main(void)
{
    (void) signal(SIGPIPE, SIG_IGN); /* as wasp does */
    test_headers();
    test_whole();
    test_pieces();
    test_two();
    test_nonsense();
    test_promise();
    test_unread();
    test_unread_then_gone();
    test_refusals();
    test_late();
    test_many();
    return done();
}
