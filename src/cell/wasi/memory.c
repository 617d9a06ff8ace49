#include "cell/wasi/memory.h"

#include "cell/wasi/abi.h"
#include "cell/wasi/errno.h"

uint32_t span_take(const struct wasi_memory *memory, uint32_t pointer, uint32_t count,
                   struct span *ret_span)
{
    const uint8_t *list = memory_at(memory, pointer, (uint64_t) count * sizeof(struct abi_iovec));
    if (list == NULL)
        return WASI_EFAULT;

    ret_span->count = count < SPAN_MAX_BUFFERS ? (int) count : SPAN_MAX_BUFFERS;
    ret_span->bytes = 0;
    for (int i = 0; i < ret_span->count; i++) {
        struct abi_iovec buffer;
        memcpy(&buffer, list + (size_t) i * sizeof(buffer), sizeof(buffer));
        void *at = memory_at(memory, buffer.buf, buffer.len);
        if (at == NULL)
            return WASI_EFAULT;
        ret_span->buffers[i] = (struct iovec){at, buffer.len};
        ret_span->bytes += buffer.len; /* 1024 times 4 GiB fits */
    }
    return WASI_SUCCESS;
}

void span_cut(struct span *span, size_t bytes)
{
    if (bytes >= span->bytes)
        return;
    span->bytes = bytes;
    for (int i = 0; i < span->count; i++) {
        if (bytes <= span->buffers[i].iov_len) {
            span->buffers[i].iov_len = bytes;
            span->count = i + 1;
            return;
        }
        bytes -= span->buffers[i].iov_len;
    }
}
