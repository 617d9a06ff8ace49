/*
 * Any bytes through a door. The first byte says how: '!' all of the rest as it is, in pieces of the
 * size of the second byte; else it is the number of a call and the rest its JSON. The parent stays
 * within its bounds, and every answer is JSON.
 */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "broker/broker.h"
#include "run/door.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_PIECES 4096

/* Beneath the scope, and never for writing: a corpus should not fill a disk. */
static int check(void *data, const struct broker_use *use, const char **ret_program,
                 struct err *err)
{
    const char *root = data;

    assert(use->capability == CAPABILITY_EXEC_RUN
               ? use->n_argv > 0 && use->argv[use->n_argv] == NULL && ret_program != NULL
               : strncmp(use->path, root, strlen(root)) == 0);
    return use->capability == CAPABILITY_FS_WRITE ? err_set(err, ERR_DENIED, "no") : 0;
}

static int run(void *data, const struct broker_exec *exec, struct buf *answer, struct err *err)
{
    (void) data;
    assert(exec->program[0] != '\0' && exec->args[exec->n_args] == NULL);
    return buf_add_string(answer, "{\"exit_code\":0}") < 0 ? err_no_memory(err) : 0;
}

struct stage {
    char root[64];
    struct broker_scope scope;
    struct broker_quota quota;
    struct broker broker;
};

/* One for all inputs: nothing changes it, which is looked at in the end. */
static struct stage stage;

static void remove_stage(void)
{
    static const char *const names[] = {"f", "l", "e"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert(unlinkat(stage.scope.fd, names[i], 0) == 0);
    (void) close(stage.scope.fd);
    assert(rmdir(stage.root) == 0); /* nothing else was made in it */
}

static void make_stage(void)
{
    stage = (struct stage){.root = "/tmp/wasp-fuzz-door.XXXXXX"};
    assert(mkdtemp(stage.root) != NULL);
    int root = open(stage.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = openat(root, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert(root >= 0 && write(file, "text", 4) == 4 && close(file) == 0);
    assert(symlinkat("f", root, "l") == 0 && symlinkat("/etc", root, "e") == 0);
    /* what a guest writes as "/r/f": the corpus cannot know the real one */
    stage.scope = (struct broker_scope){.path = "/r", .fd = root, .writable = true};
    stage.quota = (struct broker_quota){.disk_bytes = 100, .file_bytes = 100};
    stage.broker = (struct broker){
        .has = {[CAPABILITY_FS_READ] = true,
                [CAPABILITY_FS_WRITE] = true,
                [CAPABILITY_EXEC_RUN] = true},
        .scopes = &stage.scope,
        .n_scopes = 1,
        .quota = &stage.quota,
        .data = stage.root,
        .check = check,
        .run = run,
    };
    assert(atexit(remove_stage) == 0);
}

static int serve(void *data, const struct door_request *request, struct buf *answer,
                 struct tell_denial *ret_denial)
{
    struct json_value *document;
    struct err err;

    assert(request->call > 0 && request->call < DOOR_CALLS && request->len <= DOOR_MAX_REQUEST);
    if (broker_call(data, request->call, request->json, request->len, answer, ret_denial) < 0)
        return -1;
    assert(json_parse(answer->data, answer->len, "answer", &document, &err) == 0);
    json_free(document);
    assert(memchr(ret_denial->target, '\0', sizeof(ret_denial->target)) != NULL);
    return 0;
}

static void send_frames(const uint8_t *data, size_t size)
{
    const struct door_service service = {.data = (void *) (uintptr_t) &stage.broker,
                                         .serve = serve};
    size_t piece = size > 0 && data[0] > 0 ? data[0] : 1;
    struct door door = DOOR_NONE;
    struct tell_denial denial;
    struct err err;
    char sink[65536];
    int cell;

    assert(door_open(&door, &service, &cell, &err) == 0);
    for (size_t at = 1, n = 0; at < size && n < MAX_PIECES; at += piece, n++) {
        size_t len = size - at < piece ? size - at : piece;
        if (send(cell, data + at, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ||
            !door_turn(&door, UINT64_MAX, &denial))
            break;
        while (recv(cell, sink, sizeof(sink), MSG_DONTWAIT) > 0)
            ;
    }
    assert(door.request.len <= DOOR_MAX_REQUEST && door.answer.len <= DOOR_MAX_ANSWER);
    (void) close(cell);
    door_release(&door);
}

static void make_call(const uint8_t *data, size_t size)
{
    struct buf answer = BUF_INIT(DOOR_MAX_ANSWER);
    char *json = malloc(size + 1); /* of the exact size, so that a sanitizer sees its end */
    struct door_request request = {
        .call = (enum door_call)(data[0] % (DOOR_CALLS - 1) + 1), .json = json, .len = size - 1};
    struct tell_denial denial;

    assert(json != NULL);
    memcpy(json, data + 1, size - 1);
    json[size - 1] = '\0';
    (void) serve((void *) (uintptr_t) &stage.broker, &request, &answer, &denial); /* or no memory */
    free(json);
    buf_release(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (stage.root[0] == '\0')
        make_stage();
    if (data[0] == '!')
        send_frames(data + 1, size - 1);
    else
        make_call(data, size);
    return 0;
}
