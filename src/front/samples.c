#include "front/samples.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "front/options.h"
#include "front/samples.inc" /* scripts/embed-modules.py makes it of samples/ */

/* One row each; the first column is the file's name in C. */
#define SAMPLES(SAMPLE)                                                                          \
    SAMPLE(workspace_probe, "workspace-probe", "prints the workspace's input.txt",               \
           "a file input.txt in the workspace")                                                  \
    SAMPLE(workspace_write, "workspace-write", "writes agent-note.txt into the workspace", NULL) \
    SAMPLE(env_report, "env-report", "prints the variables it was given, one a line", NULL)      \
    SAMPLE(hostile_tour, "hostile-tour",                                                         \
           "tries to read outside, connect, spawn, exhaust memory and disk and leave something " \
           "behind, and prints what came of each attempt; fails if any got through",             \
           NULL)

#define NAME(module, name, description, needs) name,
#define ROW(module, name, description, needs) \
    {name, description, needs, module##_bytes, sizeof(module##_bytes), &module##_digest},

const char *const sample_names[] = {SAMPLES(NAME) NULL};
const struct sample samples[] = {SAMPLES(ROW)};

const struct sample *sample_find(const char *name, struct err *err)
{
    _cleanup_(buf_release) struct buf all = BUF_INIT(sizeof(err->message));
    int found = choice_find(sample_names, name);

    if (found >= 0)
        return &samples[found];
    for (size_t i = 0; sample_names[i]; i++)
        (void) buf_printf(&all, "%s%s", i ? ", " : "", sample_names[i]); /* what fits helps */
    (void) err_set(err, ERR_REQUEST, "unknown sample '%s': there are %s", name,
                   all.data ? all.data : "some"); /* NULL says it */
    return NULL;
}

void sample_put(const struct sample *sample, struct request *request)
{
    request->module = sample->name;
    request->module_bytes = sample->bytes;
    request->module_len = sample->len;
    request->module_digest = sample->digest;
}
