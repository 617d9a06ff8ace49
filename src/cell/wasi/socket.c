/*
 * There are no sockets: a guest holds only files, directories and its three streams.
 */
#include "cell/wasi/calls.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/state.h"

static uint32_t no_socket(struct wasi *wasi, uint32_t fd)
{
    return fds_find(&wasi->fds, fd) == NULL ? WASI_EBADF : WASI_ENOTSOCK;
}

uint32_t call_sock_accept(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return no_socket(wasi, (uint32_t) args[0]);
}

uint32_t call_sock_recv(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return no_socket(wasi, (uint32_t) args[0]);
}

uint32_t call_sock_send(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    (void) memory;
    return no_socket(wasi, (uint32_t) args[0]);
}

uint32_t call_sock_shutdown(struct wasi *wasi, const struct wasi_memory *memory,
                            const uint64_t *args)
{
    (void) memory;
    return no_socket(wasi, (uint32_t) args[0]);
}
