/*
 * What the guest knows of itself: arguments, environment, its end. Other processes do not exist.
 */
#include <sched.h>
#include <string.h>

#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/memory.h"
#include "cell/wasi/state.h"

struct strings {
    const char *const *list;
    size_t count;
};

static uint64_t bytes_of(struct strings strings)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < strings.count; i++)
        bytes += strlen(strings.list[i]) + 1;
    return bytes;
}

static uint32_t put_sizes(const struct wasi_memory *memory, struct strings strings,
                          uint32_t count_at, uint32_t bytes_at)
{
    uint64_t bytes = bytes_of(strings);

    if (bytes > UINT32_MAX || strings.count > UINT32_MAX)
        return WASI_EOVERFLOW;
    if (!memory_put_u32(memory, count_at, (uint32_t) strings.count) ||
        !memory_put_u32(memory, bytes_at, (uint32_t) bytes))
        return WASI_EFAULT;
    return WASI_SUCCESS;
}

/* All ranges are checked before the first byte: the guest sees the whole list or none of it. */
static uint32_t put_strings(const struct wasi_memory *memory, struct strings strings,
                            uint32_t list_at, uint32_t bytes_at)
{
    uint8_t *list = memory_at(memory, list_at, (uint64_t) strings.count * sizeof(uint32_t));
    uint8_t *bytes = memory_at(memory, bytes_at, bytes_of(strings));

    if (list == NULL || bytes == NULL)
        return WASI_EFAULT;
    for (size_t i = 0; i < strings.count; i++) {
        size_t len = strlen(strings.list[i]) + 1;
        memcpy(bytes, strings.list[i], len);
        memcpy(list, &bytes_at, sizeof(bytes_at));
        bytes += len;
        list += sizeof(bytes_at);
        bytes_at += (uint32_t) len;
    }
    return WASI_SUCCESS;
}

static struct strings args_of(const struct wasi *wasi)
{
    return (struct strings){wasi->config.args, wasi->config.n_args};
}

static struct strings environ_of(const struct wasi *wasi)
{
    return (struct strings){wasi->config.env, wasi->config.n_env};
}

uint32_t call_args_get(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return put_strings(memory, args_of(wasi), (uint32_t) args[0], (uint32_t) args[1]);
}

uint32_t call_args_sizes_get(struct wasi *wasi, const struct wasi_memory *memory,
                             const uint64_t *args)
{
    return put_sizes(memory, args_of(wasi), (uint32_t) args[0], (uint32_t) args[1]);
}

uint32_t call_environ_get(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    return put_strings(memory, environ_of(wasi), (uint32_t) args[0], (uint32_t) args[1]);
}

uint32_t call_environ_sizes_get(struct wasi *wasi, const struct wasi_memory *memory,
                                const uint64_t *args)
{
    return put_sizes(memory, environ_of(wasi), (uint32_t) args[0], (uint32_t) args[1]);
}

uint32_t call_proc_exit(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    wasi->exited = true;
    wasi->exit_code = (uint32_t) args[0];
    return WASI_STOP;
}

/* Preview 1 dropped signals; wasi-libc raises by itself. */
uint32_t call_proc_raise(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) wasi;
    (void) memory;
    (void) args;
    return WASI_ENOSYS;
}

uint32_t call_sched_yield(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) wasi;
    (void) memory;
    (void) args;
    (void) sched_yield(); /* cannot fail on Linux */
    return WASI_SUCCESS;
}
