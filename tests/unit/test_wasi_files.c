/* Files: bytes, positions, sizes, times, flags. */
#include "wasi_rig.h"

static uint32_t pread_at(struct rig *rig, uint32_t fd, uint32_t len, uint64_t offset)
{
    rig_buffer(rig, len);
    return CALL(rig, fd_pread, fd, RIG_IOV, 1, offset, RIG_OUT);
}

static uint32_t pwrite_at(struct rig *rig, uint32_t fd, const char *text, uint64_t offset)
{
    rig_buffer(rig, rig_text(rig, RIG_DATA, text));
    return CALL(rig, fd_pwrite, fd, RIG_IOV, 1, offset, RIG_OUT);
}

static bool holds(const struct rig *rig, const char *text)
{
    return rig_u32(rig, RIG_OUT) == strlen(text) &&
           memcmp(rig->memory.base + RIG_DATA, text, strlen(text)) == 0;
}

static uint64_t size_of(struct rig *rig, uint32_t fd)
{
    (void) CALL(rig, fd_filestat_get, fd, RIG_OUT); /* a failure shows in the size */
    return rig_u64(rig, RIG_OUT + 32);
}

static void test_bytes(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "bytes", OFLAG_CREAT, RIGHTS_RW);

    ok(fd == 5, "the first file gets the lowest free number");
    ok(rig_write(rig, fd, "hello world") == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 11,
       "a write tells how much was written");
    ok(CALL(rig, fd_tell, fd, RIG_OUT) == WASI_SUCCESS && rig_u64(rig, RIG_OUT) == 11,
       "and moves the position");
    ok(CALL(rig, fd_seek, fd, (uint64_t) -5, 1, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(rig, RIG_OUT) == 6 && rig_read(rig, fd, 64) == WASI_SUCCESS &&
           holds(rig, "world"),
       "a seek from the position goes back");
    ok(pread_at(rig, fd, 4, 1) == WASI_SUCCESS && holds(rig, "ello"), "pread reads anywhere");
    ok(pwrite_at(rig, fd, "J", 0) == WASI_SUCCESS &&
           CALL(rig, fd_tell, fd, RIG_OUT) == WASI_SUCCESS && rig_u64(rig, RIG_OUT) == 11,
       "pwrite leaves the position alone");
    ok(strcmp(rig_read_host(rig, "rw/bytes"), "Jello world") == 0, "the host sees all of it");
    ok(CALL(rig, fd_seek, fd, (uint64_t) -2000, 1, RIG_OUT) == WASI_EINVAL,
       "a seek before 0 is invalid");
    ok(CALL(rig, fd_seek, fd, (uint64_t) INT64_MIN, 0, RIG_OUT) == WASI_EINVAL,
       "far before 0 as well");
    ok(CALL(rig, fd_seek, fd, 0, 3, RIG_OUT) == WASI_EINVAL, "an unknown whence is invalid");
    ok(pread_at(rig, fd, 4, 1ULL << 63) == WASI_EINVAL, "an offset of 2^63 is invalid");
    ok(CALL(rig, fd_seek, fd, 1000, 2, RIG_OUT) == WASI_SUCCESS &&
           rig_read(rig, fd, 8) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 0,
       "behind the end there is nothing to read");
}

static void test_vectors(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "vectors", OFLAG_CREAT, RIGHTS_RW);
    struct abi_iovec buffers[] = {{RIG_DATA, 2}, {RIG_DATA + 10, 0}, {RIG_DATA + 2, 3}};

    (void) rig_text(rig, RIG_DATA, "abcde");
    memcpy(rig->memory.base + RIG_IOV, buffers, sizeof(buffers));
    ok(CALL(rig, fd_write, fd, RIG_IOV, 3, RIG_OUT) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 5 &&
           strcmp(rig_read_host(rig, "rw/vectors"), "abcde") == 0,
       "several buffers are written in order");
    memset(rig->memory.base + RIG_DATA, 0, 16);
    ok(CALL(rig, fd_pread, fd, RIG_IOV, 3, 0, RIG_OUT) == WASI_SUCCESS &&
           memcmp(rig->memory.base + RIG_DATA, "abcde", 5) == 0,
       "and read");
    /* 1500 buffers of one byte, unaligned */
    uint32_t list = RIG_DATA + 8193;
    for (uint32_t i = 0; i < 1500; i++) {
        struct abi_iovec one = {RIG_DATA + i, 1};
        memcpy(rig->memory.base + list + i * sizeof(one), &one, sizeof(one));
    }
    ok(CALL(rig, fd_pwrite, fd, list, 1500, 0, RIG_OUT) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 1024,
       "more buffers than the kernel takes make a short write");
}

static void test_append(struct rig *rig)
{
    ok(CALL_OPEN(rig, RIG_RW, 0, "log", OFLAG_CREAT, RIGHTS_RW, FDFLAG_APPEND | FDFLAG_NONBLOCK) ==
           WASI_SUCCESS,
       "a file opens for appending");
    uint32_t fd = rig_u32(rig, RIG_OUT);
    (void) rig_write(rig, fd, "one");
    (void) CALL(rig, fd_seek, fd, 0, 0, RIG_OUT);
    (void) rig_write(rig, fd, "two");
    ok(strcmp(rig_read_host(rig, "rw/log"), "onetwo") == 0, "every write goes to the end");
    (void) CALL(rig, fd_fdstat_get, fd, RIG_OUT);
    ok(rig->memory.base[RIG_OUT + 2] == (FDFLAG_APPEND | FDFLAG_NONBLOCK),
       "fdstat shows the flags");
    ok(CALL(rig, fd_fdstat_set_flags, fd, 0) == WASI_SUCCESS, "appending can be taken back");
    (void) CALL(rig, fd_seek, fd, 0, 0, RIG_OUT);
    (void) rig_write(rig, fd, "TWO");
    ok(strcmp(rig_read_host(rig, "rw/log"), "TWOtwo") == 0,
       "and then writes go where the position is");
    ok(CALL(rig, fd_fdstat_set_flags, fd, FDFLAG_SYNC) == WASI_ENOTSUP, "SYNC cannot be set later");
    ok(CALL(rig, fd_fdstat_set_flags, fd, 0x100) == WASI_EINVAL, "an unknown flag is invalid");
    ok(CALL_OPEN(rig, RIG_RW, 0, "log", 0, RIGHTS_RW, FDFLAG_SYNC) == WASI_SUCCESS &&
           CALL(rig, fd_fdstat_set_flags, rig_u32(rig, RIG_OUT), FDFLAG_SYNC | FDFLAG_APPEND) ==
               WASI_SUCCESS,
       "SYNC is set when opening, and may then stay");
}

static void test_sizes(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "sized", OFLAG_CREAT, RIGHTS_RW);

    ok(CALL(rig, fd_filestat_set_size, fd, 100) == WASI_SUCCESS && size_of(rig, fd) == 100,
       "a file grows by truncation");
    uint32_t answer = CALL(rig, fd_allocate, fd, 90, 20);
    if (answer == WASI_ENOTSUP)
        skip("this file system cannot allocate");
    else
        ok(answer == WASI_SUCCESS && size_of(rig, fd) == 110, "and by allocation");
    ok(CALL(rig, fd_allocate, fd, 0, 0) == WASI_EINVAL, "nothing is not allocated");
    ok(CALL(rig, fd_allocate, fd, 1ULL << 63, 1) == WASI_EINVAL &&
           CALL(rig, fd_allocate, fd, 1, UINT64_MAX) == WASI_EINVAL,
       "nor anything at or beyond 2^63");
    answer = CALL(rig, fd_allocate, fd, INT64_MAX, INT64_MAX);
    ok(answer == WASI_EFBIG || answer == WASI_ENOTSUP, "nor what would end there");
    ok(CALL(rig, fd_filestat_set_size, fd, 1ULL << 63) == WASI_EINVAL, "a size of 2^63 is invalid");
    answer = CALL(rig, fd_filestat_set_size, fd, INT64_MAX);
    ok(answer == WASI_EFBIG || answer == WASI_EINVAL || answer == WASI_SUCCESS,
       "just below, the host decides");
    ok(CALL(rig, fd_filestat_set_size, fd, 4ULL << 30) == WASI_SUCCESS &&
           size_of(rig, fd) == 4ULL << 30 &&
           pread_at(rig, fd, 4, (4ULL << 30) - 2) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 2,
       "a sparse file of 4 GiB reads at its end");
    ok(CALL(rig, fd_advise, fd, 0, 100, 3) == WASI_SUCCESS, "advice is taken");
    ok(CALL(rig, fd_advise, fd, 0, 100, 6) == WASI_EINVAL &&
           CALL(rig, fd_advise, fd, UINT64_MAX, 1, 0) == WASI_EINVAL,
       "unless it makes no sense");
    ok(CALL(rig, fd_sync, fd) == WASI_SUCCESS && CALL(rig, fd_datasync, fd) == WASI_SUCCESS,
       "syncing works");
    fd = rig_open(rig, RIG_RW, "sized", OFLAG_TRUNC, RIGHT_FD_FILESTAT_GET);
    ok(size_of(rig, fd) == 0,
       "O_TRUNC truncates, also without the right to write through the descriptor");
}

static void test_creating(struct rig *rig)
{
    uint64_t made = wasi_counters(rig->wasi)->files_made;

    ok(CALL_OPEN(rig, RIG_RW, 0, "fresh", OFLAG_CREAT | OFLAG_EXCL, RIGHTS_RW, 0) == WASI_SUCCESS,
       "O_EXCL makes a file");
    ok(CALL_OPEN(rig, RIG_RW, 0, "fresh", OFLAG_CREAT | OFLAG_EXCL, RIGHTS_RW, 0) == WASI_EEXIST,
       "once");
    ok(CALL_OPEN(rig, RIG_RW, 0, "fresh", OFLAG_CREAT, RIGHTS_RW, 0) == WASI_SUCCESS,
       "without it, again");
    ok(wasi_counters(rig->wasi)->files_made == made + 1, "and only what was made is counted");
    ok(CALL_OPEN(rig, RIG_RW, 0, "sub", OFLAG_CREAT, 0, 0) == WASI_EISDIR,
       "a directory is not created as a file");
    ok(CALL_OPEN(rig, RIG_RW, 0, "x", OFLAG_CREAT | OFLAG_DIRECTORY, 0, 0) == WASI_EINVAL &&
           !rig_exists(rig, "rw/x"),
       "nor a file as a directory");
    ok(CALL_OPEN(rig, RIG_RW, 0, "sub", OFLAG_DIRECTORY, RIGHTS_RW, 0) == WASI_EISDIR,
       "a directory is not opened for writing");
    ok(CALL_OPEN(rig, RIG_RW, 0, "file", 0x10, 0, 0) == WASI_EINVAL &&
           CALL_OPEN(rig, RIG_RW, 2, "file", 0, 0, 0) == WASI_EINVAL &&
           CALL_OPEN(rig, RIG_RW, 0, "file", 0, 0, 0x20) == WASI_EINVAL,
       "unknown flags are invalid");
}

static void test_times(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "file", 0, RIGHTS_RW);

    ok(CALL(rig, fd_filestat_set_times, fd, 1000000001, 2000000002, FST_ATIM | FST_MTIM) ==
               WASI_SUCCESS &&
           CALL(rig, fd_filestat_get, fd, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(rig, RIG_OUT + 40) == 1000000001 && rig_u64(rig, RIG_OUT + 48) == 2000000002,
       "times are set to the nanosecond");
    ok(CALL(rig, fd_filestat_set_times, fd, 5, 6, FST_MTIM) == WASI_SUCCESS &&
           CALL(rig, fd_filestat_get, fd, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(rig, RIG_OUT + 40) == 1000000001 && rig_u64(rig, RIG_OUT + 48) == 6,
       "one of them alone");
    ok(CALL(rig, fd_filestat_set_times, fd, 5, 6, FST_MTIM_NOW) == WASI_SUCCESS &&
           CALL(rig, fd_filestat_get, fd, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(rig, RIG_OUT + 48) > 1000000000000000000,
       "or to now");
    ok(CALL(rig, fd_filestat_set_times, fd, 5, 6, FST_MTIM | FST_MTIM_NOW) == WASI_EINVAL &&
           CALL(rig, fd_filestat_set_times, fd, 5, 6, FST_ATIM | FST_ATIM_NOW) == WASI_EINVAL &&
           CALL(rig, fd_filestat_set_times, fd, 5, 6, 0x10) == WASI_EINVAL,
       "a contradiction is invalid");
    ok(CALL_TIMES(rig, RIG_RW, 0, "in", 7000) == WASI_SUCCESS &&
           CALL_STAT(rig, RIG_RW, 0, "in") == WASI_SUCCESS && rig_u64(rig, RIG_OUT + 48) == 7000 &&
           CALL_STAT(rig, RIG_RW, 1, "in") == WASI_SUCCESS && rig_u64(rig, RIG_OUT + 48) != 7000,
       "those of a symlink are its own");
    ok(CALL_TIMES(rig, RIG_RW, 1, "in", 8000) == WASI_SUCCESS &&
           CALL_STAT(rig, RIG_RW, 0, "sub") == WASI_SUCCESS && rig_u64(rig, RIG_OUT + 48) == 8000,
       "unless it is followed");
}

static void test_stat(struct rig *rig)
{
    static const struct {
        uint64_t follow;
        const char *path;
        uint64_t type;
    } rows[] = {{0, "file", FILETYPE_REGULAR_FILE},     {1, "file", FILETYPE_REGULAR_FILE},
                {0, "sub", FILETYPE_DIRECTORY},         {0, "in", FILETYPE_SYMBOLIC_LINK},
                {1, "in", FILETYPE_DIRECTORY},          {0, "in/", FILETYPE_DIRECTORY},
                {0, "in/inner", FILETYPE_REGULAR_FILE}, {0, ".", FILETYPE_DIRECTORY}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(CALL_STAT(rig, RIG_RW, rows[i].follow, rows[i].path) == WASI_SUCCESS &&
               rig_u64(rig, RIG_OUT + 16) == rows[i].type,
           "stat of '%s'%s has the right type", rows[i].path, rows[i].follow ? ", followed," : "");
    struct stat st;
    if (stat(rig_host(rig, "rw/sub/inner"), &st) < 0)
        rig_die("stat");
    (void) CALL_STAT(rig, RIG_RW, 0, "sub/inner");
    ok(rig_u64(rig, RIG_OUT) == st.st_dev && rig_u64(rig, RIG_OUT + 8) == st.st_ino &&
           rig_u64(rig, RIG_OUT + 24) == 1 && rig_u64(rig, RIG_OUT + 32) == 5,
       "and the host's numbers");
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_bytes(&rig);
    test_vectors(&rig);
    test_append(&rig);
    test_sizes(&rig);
    test_creating(&rig);
    test_times(&rig);
    test_stat(&rig);
    rig_release(&rig);
    return done();
}
