#include "cell/wasi/wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cell/wasi/abi.h"
#include "cell/wasi/clock.h"
#include "cell/wasi/errno.h"
#include "cell/wasi/filestat.h"
#include "cell/wasi/state.h"
#include "plan/door.h"

/* What "unlimited" means for the table, which is memory of ours. */
#define MAX_OPEN_FILES (1U << 20)

/* ---- standard streams ---------------------------------------------------------------------- */

/*
 * A terminal, to a libc, is a character device without the rights to seek and tell. What can seek
 * keeps them, so that /dev/null is none; pipes and sockets have no type of their own.
 */
static struct fd_entry stream_entry(int fd, const struct stat *st)
{
    bool can_seek = lseek(fd, 0, SEEK_CUR) >= 0;
    bool has_type = S_ISREG(st->st_mode) || S_ISCHR(st->st_mode);

    return (struct fd_entry){
        .host = fd,
        .filetype = has_type ? filetype_of(st->st_mode) : FILETYPE_UNKNOWN,
        .is_stdio = true,
        .can_seek = can_seek,
        .grant = GRANT_NONE,
        .base = (fd == STDIN_FILENO ? RIGHT_FD_READ : RIGHT_FD_WRITE) | RIGHT_FD_DATASYNC |
                RIGHT_FD_SYNC | RIGHT_FD_FDSTAT_SET_FLAGS | RIGHT_FD_FILESTAT_GET |
                RIGHT_POLL_FD_READWRITE | (can_seek ? RIGHT_FD_SEEK | RIGHT_FD_TELL : 0),
    };
}

static int add_streams(struct wasi *wasi, struct err *err)
{
    for (int fd = 0; fd < N_STREAMS; fd++) {
        struct stat st;
        uint32_t number;
        if (fstat(fd, &st) < 0)
            return err_sys(err, ERR_HOST, "cannot stat standard stream %d", fd);
        struct fd_entry entry = stream_entry(fd, &st);
        if (fds_add(&wasi->fds, &entry, &number) != WASI_SUCCESS)
            return err_set(err, ERR_HOST, "no memory for the table of descriptors");
    }
    return 0;
}

/* ---- preopens ------------------------------------------------------------------------------ */

/* A second name of a directory is the same grant, unless it gives other access. */
static void find_same(struct wasi *wasi, size_t index)
{
    struct grant *grant = &wasi->grants[index];

    for (grant->same_as = 0; grant->same_as < index; grant->same_as++) {
        const struct grant *other = &wasi->grants[grant->same_as];
        if (other->dev == grant->dev && other->ino == grant->ino &&
            other->writable == grant->writable)
            return;
    }
}

static int add_grant(struct wasi *wasi, const struct wasi_preopen *preopen, struct err *err)
{
    struct grant *grant = &wasi->grants[wasi->n_grants++];
    struct stat st;

    *grant = (struct grant){.root = preopen->fd,
                            .name = preopen->name,
                            .writable = preopen->writable,
                            .at = preopen->at};
    if (fstat(preopen->fd, &st) < 0)
        return err_sys(err, ERR_HOST, "cannot stat the granted directory '%s'", preopen->name);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_HOST, "the grant '%s' is not a directory", preopen->name);
    grant->dev = st.st_dev;
    grant->ino = st.st_ino;
    find_same(wasi, wasi->n_grants - 1);
    return 0;
}

/*
 * A clone of a mount comes as an O_PATH descriptor, which cannot be listed or synchronised: it is
 * opened once more for that. Where the guest may not read the directory, the O_PATH one must do.
 */
static int add_preopen(struct wasi *wasi, size_t index, struct err *err)
{
    const struct grant *grant = &wasi->grants[index];
    _cleanup_fd_ int listable = fd_openat2(grant->root, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0,
                                           RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    struct fd_entry entry = {
        .host = listable >= 0 ? listable : grant->root,
        .filetype = FILETYPE_DIRECTORY,
        .owned = listable >= 0,
        .is_preopen = true,
        .can_seek = true,
        .writable = grant->writable,
        .at = grant->at,
        .grant = (uint32_t) index,
        .base = rights_of_directory,
        .inheriting = RIGHTS_ALL,
    };
    uint32_t number;

    if (listable < 0 && errno != EACCES)
        return err_sys(err, ERR_HOST, "cannot open the granted directory '%s'", grant->name);
    if (fds_add(&wasi->fds, &entry, &number) != WASI_SUCCESS)
        return err_set(err, ERR_HOST, "no memory for the table of descriptors");
    (void) take_fd(&listable); /* the table's now */
    return 0;
}

static int add_preopens(struct wasi *wasi, const struct wasi_config *config, struct err *err)
{
    wasi->grants = calloc(config->n_preopens + 1, sizeof(*wasi->grants));
    if (wasi->grants == NULL)
        return err_set(err, ERR_HOST, "no memory for %zu grants", config->n_preopens);
    for (size_t i = 0; i < config->n_preopens; i++)
        if (add_grant(wasi, &config->preopens[i], err) < 0)
            return -1;
    for (size_t i = 0; i < config->n_preopens; i++)
        if (add_preopen(wasi, i, err) < 0)
            return -1;
    return 0;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* What the guest is born with always fits. */
static uint32_t most_open_files(const struct wasi_config *config)
{
    uint64_t limit = config->limits->value[LIMIT_OPEN_FILES];
    uint64_t born_with = N_STREAMS + config->n_preopens;

    if (limit < born_with)
        limit = born_with;
    return limit < MAX_OPEN_FILES ? (uint32_t) limit : MAX_OPEN_FILES;
}

int wasi_new(const struct wasi_config *config, struct wasi **ret_wasi, struct err *err)
{
    struct wasi *wasi = calloc(1, sizeof(*wasi));

    if (wasi == NULL)
        return err_set(err, ERR_HOST, "no memory for WASI");
    wasi->config = *config;
    /* a request goes out of where its answer comes in */
    wasi->answer.max = sizeof(struct door_header) + DOOR_MAX_REQUEST + DOOR_MAX_ANSWER;
    wasi->config.preopens = NULL;
    wasi->config.limits = NULL;
    wasi->disk_bytes = config->limits->value[LIMIT_DISK];
    wasi->file_bytes = config->limits->value[LIMIT_FILE];
    fds_init(&wasi->fds, most_open_files(config));
    wasi_clock_init(wasi);
    if (add_streams(wasi, err) < 0 || add_preopens(wasi, config, err) < 0) {
        wasi->n_grants = 0; /* their descriptors stay the caller's */
        wasi_free(wasi);
        return -1;
    }
    *ret_wasi = wasi;
    return 0;
}

void wasi_free(struct wasi *wasi)
{
    if (wasi == NULL)
        return;
    fds_release(&wasi->fds);
    buf_release(&wasi->answer);
    for (size_t i = 0; i < wasi->n_grants; i++)
        cleanup_fd(&wasi->grants[i].root);
    free(wasi->grants);
    free(wasi);
}

const struct wasi_counters *wasi_counters(const struct wasi *wasi)
{
    return &wasi->counters;
}

bool wasi_exited(const struct wasi *wasi, uint32_t *ret_code)
{
    if (wasi->exited)
        *ret_code = wasi->exit_code;
    return wasi->exited;
}
