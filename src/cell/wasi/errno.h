/*
 * errno: the errors a guest sees, and the host's in their terms.
 */
#pragma once

#include <stdint.h>

enum wasi_errno {
    WASI_SUCCESS = 0,
    WASI_E2BIG = 1,
    WASI_EACCES = 2,
    WASI_EAGAIN = 6,
    WASI_EBADF = 8,
    WASI_EBUSY = 10,
    WASI_ECANCELED = 11,
    WASI_EDEADLK = 16,
    WASI_EDOM = 18,
    WASI_EDQUOT = 19,
    WASI_EEXIST = 20,
    WASI_EFAULT = 21,
    WASI_EFBIG = 22,
    WASI_EILSEQ = 25,
    WASI_EINTR = 27,
    WASI_EINVAL = 28,
    WASI_EIO = 29,
    WASI_EISDIR = 31,
    WASI_ELOOP = 32,
    WASI_EMFILE = 33,
    WASI_EMLINK = 34,
    WASI_ENAMETOOLONG = 37,
    WASI_ENFILE = 41,
    WASI_ENOBUFS = 42,
    WASI_ENODEV = 43,
    WASI_ENOENT = 44,
    WASI_ENOLCK = 46,
    WASI_ENOMEM = 48,
    WASI_ENOSPC = 51,
    WASI_ENOSYS = 52,
    WASI_ENOTDIR = 54,
    WASI_ENOTEMPTY = 55,
    WASI_ENOTSOCK = 57,
    WASI_ENOTSUP = 58,
    WASI_ENOTTY = 59,
    WASI_ENXIO = 60,
    WASI_EOVERFLOW = 61,
    WASI_EPERM = 63,
    WASI_EPIPE = 64,
    WASI_ERANGE = 68,
    WASI_EROFS = 69,
    WASI_ESPIPE = 70,
    WASI_ESTALE = 72,
    WASI_ETIMEDOUT = 73,
    WASI_ETXTBSY = 74,
    WASI_EXDEV = 75,
    WASI_ENOTCAPABLE = 76,
};

/* Of a host errno that is not 0; what has no name in WASI is EIO. */
uint32_t wasi_errno_of(int host);
