/*
 * path_open. Only regular files and directories become descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/calls.h"
#include "cell/wasi/denial.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"
#include "cell/wasi/path.h"
#include "cell/wasi/quota.h"

/* A descriptor with one of these must be open for writing on the host. */
#define RIGHTS_TO_WRITE (RIGHT_FD_WRITE | RIGHT_FD_ALLOCATE | RIGHT_FD_FILESTAT_SET_SIZE)
#define RIGHTS_TO_READ (RIGHT_FD_READ | RIGHT_FD_READDIR)

/* The guest's arguments by name. */
struct request {
    uint32_t lookup;
    uint32_t oflags;
    uint64_t base;
    uint64_t inheriting;
    uint32_t fdflags;
};

static struct request request_of(const uint64_t *args)
{
    return (struct request){
        .lookup = (uint32_t) args[1],
        .oflags = (uint32_t) args[4],
        .base = args[5] & RIGHTS_ALL,
        .inheriting = args[6] & RIGHTS_ALL,
        .fdflags = (uint32_t) args[7],
    };
}

static bool makes_sense(const struct request *request)
{
    uint32_t nonsense = OFLAG_CREAT | OFLAG_DIRECTORY;

    return !(request->lookup & ~(uint32_t) LOOKUP_SYMLINK_FOLLOW) &&
           !(request->oflags & ~(uint32_t) OFLAGS_ALL) &&
           !(request->fdflags & ~(uint32_t) FDFLAGS_ALL) &&
           (request->oflags & nonsense) != nonsense;
}

static uint64_t rights_needed(const struct request *request)
{
    return RIGHT_PATH_OPEN | (request->oflags & OFLAG_CREAT ? RIGHT_PATH_CREATE_FILE : 0) |
           (request->oflags & OFLAG_TRUNC ? RIGHT_PATH_FILESTAT_SET_SIZE : 0);
}

/* Creating is another matter: below a read-only grant, O_CREAT for a file that exists is fine. */
static bool writes(const struct request *request)
{
    return (request->base & RIGHTS_TO_WRITE) || (request->oflags & OFLAG_TRUNC) ||
           (request->oflags & (OFLAG_CREAT | OFLAG_EXCL)) == (OFLAG_CREAT | OFLAG_EXCL);
}

/*
 * The host's flags but for O_CREAT and O_EXCL. O_NONBLOCK, because a FIFO in a granted directory
 * would block us for ever; regular files do not care. O_TRUNC works with O_RDONLY on Linux if the
 * file may be written.
 */
static int host_flags(const struct request *request)
{
    static const struct {
        uint32_t fdflag;
        int host;
    } rows[] = {{FDFLAG_APPEND, O_APPEND},
                {FDFLAG_DSYNC, O_DSYNC},
                {FDFLAG_RSYNC, O_RSYNC},
                {FDFLAG_SYNC, O_SYNC}};
    bool reads = request->base & RIGHTS_TO_READ;
    int flags = O_NONBLOCK | O_NOCTTY;

    if (request->base & RIGHTS_TO_WRITE)
        flags |= reads ? O_RDWR : O_WRONLY;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        flags |= request->fdflags & rows[i].fdflag ? rows[i].host : 0;
    flags |= request->lookup & LOOKUP_SYMLINK_FOLLOW ? 0 : O_NOFOLLOW;
    flags |= request->oflags & OFLAG_DIRECTORY ? O_DIRECTORY : 0;
    return flags | (request->oflags & OFLAG_TRUNC ? O_TRUNC : 0);
}

/*
 * Without O_CREAT first: so we know whether a file was made, and whether a read-only grant would
 * have had to let it.
 */
static uint32_t open_or_create(struct wasi *wasi, const struct path *path,
                               const struct request *request, int *ret_fd, uint8_t *ret_at)
{
    int flags = host_flags(request);
    bool must_be_new = request->oflags & OFLAG_EXCL && request->oflags & OFLAG_CREAT;
    enum path_change change = writes(request) ? CHANGE_NAME : CHANGE_NOTHING;
    uint32_t failed =
        must_be_new ? WASI_ENOENT : path_reach(wasi, path, flags, change, ret_fd, ret_at);

    if (failed != WASI_ENOENT || !(request->oflags & OFLAG_CREAT))
        return failed;
    if (!path->dir->writable) {
        wasi_deny(wasi, path->need->action, path->dir, path->text, RULE_READ_ONLY);
        return WASI_EROFS;
    }
    failed = quota_check_name(wasi);
    if (!failed)
        failed = path_reach(wasi, path, flags | O_CREAT | (must_be_new ? O_EXCL : 0), CHANGE_NAME,
                            ret_fd, ret_at);
    if (!failed)
        quota_charge_name(wasi);
    return failed;
}

/*
 * Pipes, sockets and devices lead to other processes and drivers, whoever put them into a granted
 * directory.
 */
static uint32_t check_type(struct wasi *wasi, const struct path *path, int fd,
                           uint8_t *ret_filetype)
{
    struct stat st;

    if (filestat_host(fd, &st) < 0)
        return wasi_errno_of(errno);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        wasi_deny(wasi, path->need->action, path->dir, path->text, RULE_SPECIAL);
        return WASI_ENOTSUP;
    }
    *ret_filetype = filetype_of(st.st_mode);
    return WASI_SUCCESS;
}

static struct fd_entry entry_for(const struct fd_entry *dir, const struct request *request, int fd,
                                 uint8_t at, uint8_t filetype)
{
    bool is_directory = filetype == FILETYPE_DIRECTORY;

    return (struct fd_entry){
        .host = fd,
        .filetype = filetype,
        .owned = true,
        .can_seek = true,
        .writable = dir->writable,
        .at = at,
        .flags = (uint16_t) request->fdflags,
        .grant = dir->grant,
        .base = request->base & (is_directory ? rights_of_directory : rights_of_file),
        .inheriting = is_directory ? request->inheriting : 0,
    };
}

static uint32_t open_entry(struct wasi *wasi, const struct path *path,
                           const struct request *request, uint32_t *ret_fd)
{
    _cleanup_fd_ int host = -1;
    uint8_t filetype = FILETYPE_UNKNOWN, at = 0;
    uint32_t failed = open_or_create(wasi, path, request, &host, &at);

    if (failed == WASI_ENXIO) { /* a socket, or a FIFO that nobody reads */
        wasi_deny(wasi, path->need->action, path->dir, path->text, RULE_SPECIAL);
        failed = WASI_ENOTSUP;
    }
    if (!failed)
        failed = check_type(wasi, path, host, &filetype);
    if (!failed && filetype == FILETYPE_DIRECTORY && (request->oflags & OFLAG_CREAT))
        failed = WASI_EISDIR; /* as the kernel would say, had it been asked to create */
    if (failed)
        return failed;
    struct fd_entry entry = entry_for(path->dir, request, host, at, filetype);
    failed = fds_add(&wasi->fds, &entry, ret_fd);
    if (!failed)
        (void) take_fd(&host); /* the table's now */
    return failed;
}

uint32_t call_path_open(struct wasi *wasi, const struct wasi_memory *memory, const uint64_t *args)
{
    struct request request = request_of(args);
    struct path_need need = {"path_open", rights_needed(&request), writes(&request)};
    uint32_t fd_at = (uint32_t) args[8];
    struct path path;
    uint32_t fd;
    uint32_t failed = path_take(wasi, memory, (uint32_t) args[0], (uint32_t) args[2],
                                (uint32_t) args[3], &need, &path);

    if (failed)
        return failed;
    if (memory_at(memory, fd_at, sizeof(fd)) == NULL)
        return WASI_EFAULT;
    if (!makes_sense(&request))
        return WASI_EINVAL;
    if ((request.base | request.inheriting) & ~path.dir->inheriting)
        return WASI_ENOTCAPABLE;
    if (!fds_has_room(&wasi->fds)) {
        wasi->counters.limits_hit |= HIT_OPEN_FILES;
        return WASI_EMFILE;
    }
    failed = open_entry(wasi, &path, &request, &fd);
    if (failed)
        return failed;
    (void) memory_put_u32(memory, fd_at, fd); /* checked above */
    return WASI_SUCCESS;
}
