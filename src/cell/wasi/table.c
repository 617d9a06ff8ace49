#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cell/wasi/calls.h"

#define ROW(name, params) {#name, params, true, call_##name},
#define ROW_UNSTABLE(name, params) {#name, params, true, unstable_##name},
#define ROW_END(name, params) {#name, params, false, call_##name},
#define ROW_NONE(name, params)

static const struct wasi_function snapshot[] = {WASI_FUNCTIONS(ROW, ROW, ROW, ROW_END)};
static const struct wasi_function unstable[] = {
    WASI_FUNCTIONS(ROW, ROW_UNSTABLE, ROW_NONE, ROW_END)};
static const struct wasi_function door[] = {DOOR_FUNCTIONS(ROW)};

_Static_assert(ARRAY_SIZE(snapshot) == 46, "all of preview 1");
_Static_assert(ARRAY_SIZE(unstable) == 45, "all but sock_accept");

const struct wasi_function *wasi_functions(bool is_unstable, size_t *ret_count)
{
    *ret_count = is_unstable ? ARRAY_SIZE(unstable) : ARRAY_SIZE(snapshot);
    return is_unstable ? unstable : snapshot;
}

static int by_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct wasi_function *) row)->name);
}

const struct wasi_function *wasi_find(const char *module, const char *name)
{
    static const struct {
        const char *module;
        const struct wasi_function *table;
        size_t count;
    } modules[] = {
        {"wasi_snapshot_preview1", snapshot, ARRAY_SIZE(snapshot)},
        {"wasi_unstable", unstable, ARRAY_SIZE(unstable)},
        {"wasp", door, ARRAY_SIZE(door)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
        if (strcmp(modules[i].module, module) == 0)
            return bsearch(name, modules[i].table, modules[i].count, sizeof(*door), by_name);
    return NULL;
}
