/* The table of descriptors: numbers, rights, preopens, the standard streams. */
#include "wasi_rig.h"

static struct abi_fdstat fdstat_of(struct rig *rig, uint32_t fd)
{
    struct abi_fdstat fdstat = {.filetype = 255};

    if (CALL(rig, fd_fdstat_get, fd, RIG_OUT) == WASI_SUCCESS)
        memcpy(&fdstat, rig->memory.base + RIG_OUT, sizeof(fdstat));
    return fdstat;
}

static int count_host_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_renumber(struct rig *rig)
{
    int before = count_host_fds();
    uint32_t one = rig_open(rig, RIG_RW, "file", 0, RIGHTS_READ);
    uint32_t two = rig_open(rig, RIG_RW, "sub/inner", 0, RIGHTS_READ);

    ok(CALL(rig, fd_renumber, one, two) == WASI_SUCCESS && rig_read(rig, two, 3) == WASI_SUCCESS &&
           memcmp(rig->memory.base + RIG_DATA, "012", 3) == 0,
       "renumbering puts one file in another's place");
    ok(CALL(rig, fd_close, one) == WASI_EBADF, "its old number is closed");
    ok(count_host_fds() == before + 1, "and the other file with it");
    ok(CALL(rig, fd_renumber, two, one) == WASI_EBADF &&
           CALL(rig, fd_renumber, one, two) == WASI_EBADF,
       "a number that is not open is no source and no target");
    ok(CALL(rig, fd_renumber, two, two) == WASI_SUCCESS &&
           CALL(rig, fd_tell, two, RIG_OUT) == WASI_SUCCESS,
       "renumbering onto itself does nothing");
    ok(rig_open(rig, RIG_RW, "file", 0, 0) == one, "the free number is used next");
    ok(CALL(rig, fd_renumber, 0xffffffff, two) == WASI_EBADF, "the highest number is not open");
    ok(CALL(rig, fd_close, one) == WASI_SUCCESS && CALL(rig, fd_close, two) == WASI_SUCCESS &&
           count_host_fds() == before,
       "nothing is left open on the host");
}

static void test_preopens(struct rig *rig)
{
    ok(CALL(rig, fd_prestat_get, RIG_RW, RIG_OUT) == WASI_SUCCESS && rig_u32(rig, RIG_OUT + 4) == 3,
       "a preopen tells the length of its name");
    ok(CALL(rig, fd_prestat_dir_name, RIG_RW, RIG_DATA, 4) == WASI_SUCCESS &&
           memcmp(rig->memory.base + RIG_DATA, "/rw", 3) == 0,
       "and the name, also into a larger buffer");
    ok(CALL(rig, fd_prestat_dir_name, RIG_RW, RIG_DATA, 2) == WASI_ENAMETOOLONG,
       "but not into a smaller one");
    ok(CALL(rig, fd_prestat_get, 5, RIG_OUT) == WASI_EBADF &&
           CALL(rig, fd_prestat_get, 0, RIG_OUT) == WASI_EBADF,
       "counting ends behind the last one");
    struct abi_fdstat fdstat = fdstat_of(rig, RIG_RW);
    ok(fdstat.filetype == FILETYPE_DIRECTORY && fdstat.flags == 0 &&
           (fdstat.rights_base & RIGHT_FD_SEEK) == 0 && (fdstat.rights_base & RIGHT_PATH_OPEN) &&
           fdstat.rights_inheriting == RIGHTS_ALL,
       "a preopen is a directory that passes on every right");
    uint32_t again = rig_open(rig, RIG_RW, ".", 0, fdstat.rights_base);
    ok(CALL(rig, fd_prestat_get, again, RIG_OUT) == WASI_EBADF,
       "opened once more it is no preopen");
    ok(CALL(rig, fd_renumber, again, RIG_RW) == WASI_SUCCESS &&
           CALL(rig, fd_prestat_get, RIG_RW, RIG_OUT) == WASI_EBADF &&
           CALL_STAT(rig, RIG_RW, 0, "file") == WASI_SUCCESS,
       "a preopen's number can be taken over");
    ok(CALL(rig, fd_close, RIG_RW) == WASI_SUCCESS &&
           CALL_STAT(rig, RIG_RW, 0, "file") == WASI_EBADF,
       "and closed");
}

static void test_rights(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "file", 0, RIGHTS_RW);
    struct abi_fdstat fdstat = fdstat_of(rig, fd);

    ok(fdstat.rights_base == RIGHTS_RW && fdstat.rights_inheriting == 0,
       "a file has the rights it was opened with");
    ok(CALL(rig, fd_fdstat_set_rights, fd,
            RIGHTS_RW & ~(RIGHT_FD_READ | RIGHT_FD_SEEK | RIGHT_FD_ADVISE), 0) == WASI_SUCCESS,
       "they can be given up");
    ok(rig_read(rig, fd, 1) == WASI_EBADF, "then a read fails");
    ok(CALL(rig, fd_seek, fd, 1, 0, RIG_OUT) == WASI_ENOTCAPABLE, "and a seek");
    ok(CALL(rig, fd_tell, fd, RIG_OUT) == WASI_SUCCESS,
       "while telling the position is a right of its own");
    ok(CALL(rig, fd_advise, fd, 0, 0, 0) == WASI_ENOTCAPABLE, "and advice is none any more");
    ok(CALL(rig, fd_fdstat_set_rights, fd, RIGHTS_RW, 0) == WASI_ENOTCAPABLE &&
           CALL(rig, fd_fdstat_set_rights, fd, 0, RIGHT_FD_READ) == WASI_ENOTCAPABLE,
       "they do not come back");

    uint64_t some = RIGHT_PATH_OPEN | RIGHT_PATH_FILESTAT_GET | RIGHT_FD_READ;
    uint32_t dir = rig_open(rig, RIG_RW, "sub", OFLAG_DIRECTORY, some);
    ok(fdstat_of(rig, dir).rights_base == (RIGHT_PATH_OPEN | RIGHT_PATH_FILESTAT_GET),
       "a directory has no right to read");
    ok(CALL_OPEN(rig, dir, 0, "inner", 0, RIGHT_FD_READ, 0) == WASI_SUCCESS,
       "what it passes on can be had");
    ok(CALL_OPEN(rig, dir, 0, "inner", 0, RIGHT_FD_WRITE, 0) == WASI_ENOTCAPABLE, "and no more");
    ok(CALL_OPEN(rig, dir, 0, "new", OFLAG_CREAT, 0, 0) == WASI_ENOTCAPABLE,
       "creating needs its right");
    ok(CALL_OPEN(rig, dir, 0, "inner", OFLAG_TRUNC, 0, 0) == WASI_ENOTCAPABLE,
       "truncating needs its right");
    ok(CALL_PATH(rig, path_unlink_file, dir, "inner") == WASI_ENOTCAPABLE,
       "unlinking needs its right");
    ok(CALL_OPEN(rig, RIG_RW, 0, "file", 0, RIGHTS_READ | 1ULL << 60, 0) == WASI_SUCCESS,
       "unknown rights are left out");

    ok(rig_read(rig, dir, 1) == WASI_EISDIR && rig_write(rig, dir, "x") == WASI_EISDIR &&
           CALL(rig, fd_seek, dir, 0, 0, RIG_OUT) == WASI_EISDIR &&
           CALL(rig, fd_allocate, dir, 0, 1) == WASI_EISDIR &&
           CALL(rig, fd_filestat_set_size, dir, 0) == WASI_EISDIR &&
           CALL(rig, fd_tell, dir, RIG_OUT) == WASI_EISDIR,
       "a directory has no bytes");
    ok(CALL_OPEN(rig, fd, 0, "x", OFLAG_CREAT, 0, 0) == WASI_ENOTDIR &&
           CALL(rig, fd_readdir, fd, RIG_DATA, 64, 0, RIG_OUT) == WASI_ENOTDIR,
       "a file has no names");
}

static void test_streams(struct rig *rig)
{
    int ends[2];

    ok(CALL(rig, sock_shutdown, 1, 0) == WASI_ENOTSOCK &&
           CALL(rig, sock_shutdown, 99, 0) == WASI_EBADF &&
           CALL(rig, sock_accept, 0, 0, RIG_OUT) == WASI_ENOTSOCK &&
           CALL(rig, sock_recv, 0, 0, 0, 0, 0, 0) == WASI_ENOTSOCK &&
           CALL(rig, sock_send, 1, 0, 0, 0, 0) == WASI_ENOTSOCK,
       "nothing is a socket");
    struct abi_fdstat in = fdstat_of(rig, 0);
    ok(in.filetype != FILETYPE_CHARACTER_DEVICE || (in.rights_base & RIGHT_FD_SEEK) || isatty(0),
       "standard input is a terminal to a libc only if it is one");
    ok(rig_write(rig, 0, "x") == WASI_EBADF, "standard input is not written");

    int saved = fcntl(0, F_DUPFD_CLOEXEC, 10);
    if (saved < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 || dup2(ends[0], 0) < 0)
        rig_die("pipe");
    rig_start(rig);
    in = fdstat_of(rig, 0);
    ok(in.filetype == FILETYPE_UNKNOWN && (in.rights_base & (RIGHT_FD_SEEK | RIGHT_FD_TELL)) == 0,
       "a pipe has no type");
    ok(CALL(rig, fd_seek, 0, 0, 1, RIG_OUT) == WASI_ESPIPE, "and no position");
    rig_buffer(rig, 4);
    ok(CALL(rig, fd_pread, 0, RIG_IOV, 1, 0, RIG_OUT) == WASI_ESPIPE, "nor can it be read at one");
    ok(CALL(rig, fd_fdstat_set_flags, 0, FDFLAG_NONBLOCK) == WASI_SUCCESS &&
           rig_read(rig, 0, 4) == WASI_EAGAIN,
       "an empty pipe would block, and says so if asked to");
    ok(write(ends[1], "abc", 3) == 3 && rig_read(rig, 0, 8) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 3,
       "a filled one is read");
    rig->deadline_ns = 1;
    rig_start(rig);
    ok(rig_read(rig, 0, 4) == WASI_ECANCELED, "a wait for input ends with the run");
    rig->deadline_ns = UINT64_MAX;
    (void) close(ends[1]); /* the writer's end */
    ok(rig_read(rig, 0, 4) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 0,
       "a closed one is at its end");
    ok(CALL(rig, fd_sync, 0) == WASI_EINVAL, "a pipe is not synced");
    ok(CALL(rig, fd_close, 0) == WASI_SUCCESS && fcntl(0, F_GETFD) >= 0,
       "closing a stream leaves the host's open, so that its number is not used for a file");
    ok(rig_open(rig, RIG_RW, "file", 0, 0) == 0, "the guest's number is free");
    ok(CALL(rig, fd_renumber, 1, 0) == WASI_SUCCESS &&
           rig_write(rig, 0, "# through a moved stream\n") == WASI_SUCCESS &&
           rig_write(rig, 1, "x") == WASI_EBADF,
       "a stream can be moved");
    (void) dup2(saved, 0); /* for whoever comes after */
    (void) close(ends[0]);
    (void) close(saved);
}

static void test_broken_pipe(struct rig *rig)
{
    int ends[2], saved = fcntl(2, F_DUPFD_CLOEXEC, 10);

    (void) signal(SIGPIPE, SIG_IGN); /* as the cell does */
    if (saved < 0 || pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[1], 2) < 0)
        rig_die("pipe");
    (void) close(ends[0]); /* nobody reads */
    ok(rig_write(rig, 2, "x") == WASI_EPIPE, "a stream that nobody reads breaks");
    (void) dup2(saved, 2);
    (void) close(ends[1]);
    (void) close(saved);
}

static void test_process(struct rig *rig)
{
    uint32_t code = 0;

    ok(CALL(rig, args_sizes_get, RIG_OUT, RIG_OUT + 4) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 3 && rig_u32(rig, RIG_OUT + 4) == 10,
       "arguments are counted");
    ok(CALL(rig, args_get, RIG_OUT, RIG_DATA) == WASI_SUCCESS &&
           memcmp(rig->memory.base + RIG_DATA, "prog\0one\0", 10) == 0 &&
           rig_u32(rig, RIG_OUT + 4) == RIG_DATA + 5 && rig_u32(rig, RIG_OUT + 8) == RIG_DATA + 9,
       "and copied, an empty one too");
    ok(CALL(rig, environ_sizes_get, RIG_OUT, RIG_OUT + 4) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 2 && rig_u32(rig, RIG_OUT + 4) == 19 &&
           CALL(rig, environ_get, RIG_OUT, RIG_DATA) == WASI_SUCCESS &&
           strcmp((char *) rig->memory.base + RIG_DATA + 4, "LONG=something") == 0,
       "so is the environment");
    ok(CALL(rig, clock_time_get, 4, 0, RIG_OUT) == WASI_EINVAL &&
           CALL(rig, clock_res_get, 99, RIG_OUT) == WASI_EINVAL,
       "an unknown clock is invalid");
    for (uint32_t clock = 0; clock < 4; clock++)
        ok(CALL(rig, clock_time_get, clock, 1, RIG_OUT) == WASI_SUCCESS &&
               rig_u64(rig, RIG_OUT) > 0 &&
               CALL(rig, clock_res_get, clock, RIG_OUT) == WASI_SUCCESS &&
               rig_u64(rig, RIG_OUT) > 0,
           "clock %u tells the time", clock);
    memset(rig->memory.base + RIG_DATA, 0, 64);
    ok(CALL(rig, random_get, RIG_DATA, 64) == WASI_SUCCESS &&
           rig_u64(rig, RIG_DATA) != rig_u64(rig, RIG_DATA + 8),
       "random bytes come");
    ok(CALL(rig, sched_yield, 0) == WASI_SUCCESS, "yielding works");
    ok(CALL(rig, proc_raise, 6) == WASI_ENOSYS, "there are no signals");
    ok(!wasi_exited(rig->wasi, &code), "until it exits, a guest has not exited");
    ok(CALL(rig, proc_exit, 3000000000) == WASI_STOP && wasi_exited(rig->wasi, &code) &&
           code == 3000000000,
       "proc_exit stops it, with any code");
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_renumber(&rig);
    test_preopens(&rig);
    rig_start(&rig);
    test_rights(&rig);
    test_streams(&rig);
    rig_start(&rig);
    test_broken_pipe(&rig);
    test_process(&rig);
    rig_release(&rig);
    return done();
}
