/* exec_run: a program, in a native cell. The arguments are passed on as they are: no shell. */
#include <string.h>

#include "base/cleanup.h"
#include "broker/calls.h"
#include "plan/keys.h"

struct asked {
    const char **argv; /* NULL-terminated */
    size_t n_argv;
    struct broker_exec exec;
};

static int take_word(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    struct asked *asked = into;

    (void) reading;
    (void) path;
    asked->argv[asked->n_argv++] = json_value_string(value);
    return 0;
}

static int take_argv(struct reading *reading, const char *path, const struct json_value *value,
                     void *into)
{
    struct asked *asked = into;
    size_t count = json_value_count(value);

    if (count == 0 || count > BROKER_MAX_ARGV)
        return key_refuse(reading, path, "must have from 1 to %d words, the program first",
                          BROKER_MAX_ARGV);
    asked->argv = arena_array(reading->arena, count + 1, sizeof(*asked->argv));
    if (asked->argv == NULL)
        return err_no_memory(reading->err);
    if (keys_each_element(reading, path, value, JSON_KIND_STRING, take_word, asked) < 0)
        return -1;
    if (asked->argv[0][0] == '\0')
        return key_refuse(reading, path, "begins with an empty word: name the program");
    return 0;
}

static int take_stdin(struct reading *reading, const char *path, const struct json_value *value,
                      void *into)
{
    (void) reading;
    (void) path;
    ((struct asked *) into)->exec.stdin_text = json_value_string(value);
    return 0;
}

static int take_timeout(struct reading *reading, const char *path, const struct json_value *value,
                        void *into)
{
    int64_t number = json_value_int(value);

    if (number < 1)
        return key_refuse(reading, path, "must be 1 or more");
    ((struct asked *) into)->exec.timeout_ms = (uint64_t) number;
    return 0;
}

static int take_cwd(struct reading *reading, const char *path, const struct json_value *value,
                    void *into)
{
    const char *cwd = json_value_string(value);

    if (cwd[0] != '/')
        return key_refuse(reading, path, "must be absolute");
    ((struct asked *) into)->exec.cwd = cwd;
    return 0;
}

static const struct key keys[] = {
    {"argv", JSON_KIND_ARRAY, 1, true, take_argv},
    {"stdin", JSON_KIND_STRING, 1, false, take_stdin},
    {"timeout_ms", JSON_KIND_INT, 1, false, take_timeout},
    {"cwd", JSON_KIND_STRING, 1, false, take_cwd},
};

int broker_exec_run(struct call *call, const struct json_value *object, struct buf *answer)
{
    const struct broker *broker = call->broker;
    struct reading reading = {
        .arena = call->arena, .err = &call->err, .kind = 1, .shapes = "guest/README.md"};
    struct asked asked = {.argv = NULL};

    if (keys_read(&reading, "", object, keys, ARRAY_SIZE(keys), &asked) < 0)
        return -1;
    call->target = asked.argv[0];
    const struct broker_use use = {
        .capability = CAPABILITY_EXEC_RUN, .argv = asked.argv, .n_argv = asked.n_argv};
    asked.exec.program = asked.argv[0];
    asked.exec.args = asked.argv + 1;
    asked.exec.n_args = asked.n_argv - 1;
    if (call_check(call, &use, &asked.exec.program) < 0)
        return -1;
    return broker->run(broker->data, &asked.exec, answer, &call->err);
}
