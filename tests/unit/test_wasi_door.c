/* The door as a guest sees it: import module `wasp`, without an engine, with a parent of paper. */
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "plan/door.h"
#include "wasi_rig.h"

#define AT 1024

static int32_t call(struct rig *rig, const char *name, uint32_t pointer, uint32_t len)
{
    return (int32_t) rig_call(rig, name, (const uint64_t[]){pointer, len});
}

static int32_t ask(struct rig *rig, const char *name, const char *json)
{
    memcpy(rig->memory.base + AT, json, strlen(json));
    return call(rig, name, AT, (uint32_t) strlen(json));
}

/* The answer as text. */
static const char *answer(struct rig *rig)
{
    static char text[4096];
    int32_t len = call(rig, "answer", 8192, sizeof(text) - 1);

    if (len < 0)
        return "";
    memcpy(text, rig->memory.base + 8192, (size_t) len);
    text[len] = '\0';
    return text;
}

/* A parent that answers each frame with `len` letters, or with what `lie` says. */
enum lie { HONEST, OTHER_CALL, TOO_LONG, CUT, GONE };

static void be_parent(int fd, enum lie lie, uint32_t len)
{
    static char bytes[DOOR_MAX_ANSWER];
    struct door_header header;

    memset(bytes, 'p', sizeof(bytes));
    while (fd_read_full(fd, &header, sizeof(header)) == (ssize_t) sizeof(header)) {
        if (!door_is_request(&header) ||
            fd_read_full(fd, bytes, header.len) != (ssize_t) header.len || lie == GONE)
            _exit(1);
        memset(bytes, 'p', header.len);
        header.len = lie == TOO_LONG ? DOOR_MAX_ANSWER + 1 : len;
        header.call = lie == OTHER_CALL ? header.call % 3 + 1 : header.call;
        if (fd_write_all(fd, &header, sizeof(header)) < 0 ||
            fd_write_all(fd, bytes, lie == CUT ? len / 2 : len) < 0 || lie == CUT)
            _exit(1);
    }
    _exit(0);
}

/* A guest with a door to such a parent. */
static pid_t open_door(struct rig *rig, enum lie lie, uint32_t len)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        rig_die("socketpair");
    rig->has_door = true;
    rig->door = pair[0];
    rig_start(rig);
    pid_t pid = fork();
    if (pid < 0)
        rig_die("fork");
    if (pid == 0) {
        (void) close(pair[0]);
        be_parent(pair[1], lie, len);
    }
    (void) close(pair[1]);
    return pid;
}

static void close_door(struct rig *rig, pid_t pid)
{
    (void) close(rig->door);
    (void) waitpid(pid, NULL, 0); /* how it ended is its own affair */
    rig->has_door = false;
}

static void test_without(struct rig *rig)
{
    rig_start(rig);
    ok(ask(rig, "fs_read", "{}") > 0 && strstr(answer(rig), "\"code\":\"capability\"") != NULL,
       "without a door a call is answered: the capability is missing");
    ok(rig->n_denials == 1 && strcmp(rig->denial.action, "fs_read") == 0 &&
           strcmp(rig->denial.rule, RULE_CAPABILITY) == 0,
       "and the denial is told");
    ok(ask(rig, "exec_run", "{}") > 0 && strstr(answer(rig), "exec_run") != NULL &&
           wasi_counters(rig->wasi)->denials == 2,
       "each of them is counted");
}

static void test_with(struct rig *rig)
{
    pid_t pid = open_door(rig, HONEST, 5);

    ok(ask(rig, "fs_write", "{\"a\":1}") == 5 && strcmp(answer(rig), "ppppp") == 0,
       "a call gives the length of the parent's answer, and `answer` its bytes");
    ok(strcmp(answer(rig), "ppppp") == 0, "which stay until the next call");
    rig->memory.base[AT + 2] = '?';
    ok(call(rig, "answer", AT, 2) == 2 && rig->memory.base[AT + 2] == '?',
       "no more is copied than there is room for");
    ok(call(rig, "answer", AT, 0) == 0, "none of it into no room");
    ok(call(rig, "answer", RIG_MEMORY - 2, 5) == -WASI_EFAULT, "nor past the end of memory");
    ok(call(rig, "answer", RIG_MEMORY - 5, 100) == 5,
       "a room that ends behind memory is fine if the answer does not");
    ok(call(rig, "fs_read", RIG_MEMORY - 2, 3) == -WASI_EFAULT &&
           call(rig, "fs_read", UINT32_MAX, UINT32_MAX) == -WASI_EFAULT,
       "a request outside of memory is refused");
    ok(answer(rig)[0] == '\0', "and has no answer");
    ok(call(rig, "exec_run", RIG_MEMORY, 0) == 5, "an empty one goes through");
    close_door(rig, pid);
}

static void test_long(struct rig *rig)
{
    const struct wasi_memory small = rig->memory;
    _cleanup_free_ void *large = calloc(2, DOOR_MAX_REQUEST);
    pid_t pid = open_door(rig, HONEST, DOOR_MAX_ANSWER);

    rig->memory = (struct wasi_memory){large, 2 * DOOR_MAX_REQUEST};

    ok(call(rig, "fs_write", 0, DOOR_MAX_REQUEST) == DOOR_MAX_ANSWER,
       "the longest request gets the longest answer");
    ok(call(rig, "fs_write", 0, DOOR_MAX_REQUEST + 1) == -WASI_EOVERFLOW,
       "a longer one is refused here");
    ok(call(rig, "fs_read", 0, 1) == DOOR_MAX_ANSWER, "and the door is as it was");
    close_door(rig, pid);
    rig->memory = small;
}

static void test_broken(struct rig *rig)
{
    static const struct {
        enum lie lie;
        const char *what;
    } rows[] = {
        {OTHER_CALL, "answers another call"},
        {TOO_LONG, "announces too long an answer"},
        {CUT, "ends in the middle of an answer"},
        {GONE, "is gone"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        pid_t pid = open_door(rig, rows[i].lie, 10);
        ok(ask(rig, "fs_read", "{}") == -WASI_EIO && answer(rig)[0] == '\0' &&
               ask(rig, "fs_read", "{}") == -WASI_EIO,
           "a door whose parent %s is broken for good", rows[i].what);
        close_door(rig, pid);
    }
}

int main(void)
{
    struct rig rig;

    (void) signal(SIGPIPE, SIG_IGN); /* as the cell does */
    ok(wasi_find("wasp", "http_fetch") == NULL, "there is no http_fetch");
    ok(wasi_find("wasp", "fd_read") == NULL && wasi_find("wasi_unstable", "fs_read") == NULL,
       "the modules do not offer each other's functions");
    rig_init(&rig);
    rig.module = "wasp";
    test_without(&rig);
    test_with(&rig);
    test_long(&rig);
    test_broken(&rig);
    rig_release(&rig);
    return done();
}
