#include "cell/wasi/errno.h"

#include <errno.h>

#include "base/cleanup.h"

/*
 * What files, directories, pipes and clocks can answer; a guest never meets the errors of sockets.
 */
static const uint8_t names[] = {
    [E2BIG] = WASI_E2BIG,         [EACCES] = WASI_EACCES,
    [EAGAIN] = WASI_EAGAIN,       [EBADF] = WASI_EBADF,
    [EBUSY] = WASI_EBUSY,         [ECANCELED] = WASI_ECANCELED,
    [EDEADLK] = WASI_EDEADLK,     [EDOM] = WASI_EDOM,
    [EDQUOT] = WASI_EDQUOT,       [EEXIST] = WASI_EEXIST,
    [EFAULT] = WASI_EFAULT,       [EFBIG] = WASI_EFBIG,
    [EILSEQ] = WASI_EILSEQ,       [EINTR] = WASI_EINTR,
    [EINVAL] = WASI_EINVAL,       [EISDIR] = WASI_EISDIR,
    [ELOOP] = WASI_ELOOP,         [EMFILE] = WASI_EMFILE,
    [EMLINK] = WASI_EMLINK,       [ENAMETOOLONG] = WASI_ENAMETOOLONG,
    [ENFILE] = WASI_ENFILE,       [ENOBUFS] = WASI_ENOBUFS,
    [ENODEV] = WASI_ENODEV,       [ENOENT] = WASI_ENOENT,
    [ENOLCK] = WASI_ENOLCK,       [ENOMEM] = WASI_ENOMEM,
    [ENOSPC] = WASI_ENOSPC,       [ENOSYS] = WASI_ENOSYS,
    [ENOTDIR] = WASI_ENOTDIR,     [ENOTEMPTY] = WASI_ENOTEMPTY,
    [ENOTTY] = WASI_ENOTTY,       [ENXIO] = WASI_ENXIO,
    [EOPNOTSUPP] = WASI_ENOTSUP,  [EOVERFLOW] = WASI_EOVERFLOW,
    [EPERM] = WASI_EPERM,         [EPIPE] = WASI_EPIPE,
    [ERANGE] = WASI_ERANGE,       [EROFS] = WASI_EROFS,
    [ESPIPE] = WASI_ESPIPE,       [ESTALE] = WASI_ESTALE,
    [ETIMEDOUT] = WASI_ETIMEDOUT, [ETXTBSY] = WASI_ETXTBSY,
    [EXDEV] = WASI_EXDEV,
};

uint32_t wasi_errno_of(int host)
{
    if (host <= 0 || (size_t) host >= ARRAY_SIZE(names) || names[host] == WASI_SUCCESS)
        return WASI_EIO;
    return names[host];
}
