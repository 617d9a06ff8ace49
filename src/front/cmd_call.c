/*
 * call: one capability without a guest, by the same rules; one JSON object back.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/input.h"
#include "front/launch.h"
#include "wasp.h"

static int read_arguments(struct launch *launch, struct arena *arena, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(DOOR_MAX_REQUEST);
    struct run_options *options = &launch->options;

    if (strcmp(options->arguments, "-") != 0)
        return 0;
    if (input_read("-", "arguments", &text, &launch->signal, err) < 0)
        return -1;
    if (text.len != strlen(text.data ? text.data : ""))
        return err_set(err, ERR_REQUEST, "the arguments have a NUL byte in them");
    options->arguments = arena_strdup(arena, text.data ? text.data : "");
    return options->arguments ? 0 : err_no_memory(err);
}

static int call_capability(const struct call *call)
{
    struct launch launch;
    struct err err;
    int rc = launch_read(&launch, &call_syntax, BACKEND_NATIVE, call, &err);
    struct run_options *options = &launch.options;
    const struct wasp_report report = {.out = STDOUT_FILENO,
                                       .log = options->quiet ? -1 : STDERR_FILENO};

    if (rc == 0)
        rc = read_arguments(&launch, call->arena, &err);
    if (launch.signal)
        return wasp_cancel(launch.signal, &report);
    if (rc == 0)
        rc = launch_open_gate(&launch, call->arena, &err);
    int status = rc < 0 ? wasp_refuse(&err, &report)
                        : wasp_call(door_find(options->call), options->arguments, &options->request,
                                    &launch.gate, call->arena, &report);
    launch_close_gate(&launch);
    return status;
}

const struct verb verb_call = {
    .syntax = &call_syntax,
    .summary = "use one capability without a guest: fs_read, fs_write or exec_run",
    .about = "Does what a wasm guest can ask for through its door, with the same checks and the "
             "same record. JSON is what the guest would write ('-': on standard input): "
             "'{\"path\":\"/etc/hostname\"}'. exec_run runs inside a native cell that is granted "
             "nothing. The answer is 'answer' in the one JSON object on standard output ('wasp "
             "schema result').",
    .answers_with_envelope = true,
    .main = call_capability,
};
