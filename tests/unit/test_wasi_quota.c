/* Limits: disk, file size, open files, each at its edge. */
#include "wasi_rig.h"

static uint32_t hits(const struct rig *rig)
{
    return wasi_counters(rig->wasi)->limits_hit;
}

static void test_disk(struct rig *rig)
{
    rig->limits.value[LIMIT_DISK] = 10;
    rig_start(rig);
    uint32_t fd = rig_open(rig, RIG_RW, "disk", OFLAG_CREAT, RIGHTS_RW);
    ok(rig_write(rig, fd, "1234567") == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 7 &&
           hits(rig) == 0,
       "below the limit nothing is cut");
    ok(rig_write(rig, fd, "89abc") == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 3 &&
           hits(rig) == HIT_DISK,
       "at the edge a write is short");
    ok(rig_write(rig, fd, "x") == WASI_ENOSPC &&
           strcmp(rig_read_host(rig, "rw/disk"), "123456789a") == 0,
       "beyond it there is no space");
    ok(rig_write(rig, fd, "") == WASI_SUCCESS, "though for nothing there is");
    ok(wasi_counters(rig->wasi)->bytes_written == 10, "what was written is counted");
    (void) CALL(rig, fd_seek, fd, 0, 0, RIG_OUT);
    ok(rig_write(rig, fd, "y") == WASI_ENOSPC, "overwriting counts too");
    ok(CALL(rig, fd_allocate, fd, 0, 1) == WASI_ENOSPC, "and allocating");
    ok(CALL(rig, fd_filestat_set_size, fd, 1000) == WASI_SUCCESS, "a sparse file costs nothing");
    ok(rig_write(rig, 1, "# the guest's own streams are no disk\n") == WASI_SUCCESS,
       "nor does standard output");

    rig_start(rig);
    fd = rig_open(rig, RIG_RW, "disk", 0, RIGHTS_RW);
    uint32_t answer = CALL(rig, fd_allocate, fd, 0, 8);
    if (answer == WASI_ENOTSUP)
        skip("this file system cannot allocate");
    else
        ok(answer == WASI_SUCCESS && wasi_counters(rig->wasi)->bytes_written == 8,
           "what is allocated is counted");
    rig->limits.value[LIMIT_DISK] = UNITS_UNLIMITED;
}

/* One byte in each block: how many of them the limit lets through, of `tries`. */
static uint64_t scatter(struct rig *rig, uint32_t fd, uint64_t tries)
{
    uint64_t block = 0;

    rig_buffer(rig, 1);
    while (block < tries &&
           CALL(rig, fd_pwrite, fd, RIG_IOV, 1, block * 4096, RIG_OUT) == WASI_SUCCESS)
        block++;
    return block;
}

static void test_scattered(struct rig *rig)
{
    struct stat st;

    rig->limits.value[LIMIT_DISK] = 64 * 4096;
    rig_start(rig);
    uint32_t fd = rig_open(rig, RIG_RW, "holes", OFLAG_CREAT, RIGHTS_RW);
    (void) scatter(rig, fd, 4096);
    if (stat(rig_host(rig, "rw/holes"), &st) < 0)
        rig_die("holes");
    ok((uint64_t) st.st_blocks * 512 <= 2 * 64 * 4096 && hits(rig) == HIT_DISK,
       "a byte in each block costs the block");
    rig->limits.value[LIMIT_DISK] = 1000;
    rig_start(rig);
    fd = rig_open(rig, RIG_RW, "holes", 0, RIGHTS_RW);
    ok(scatter(rig, fd, 64) == 64, "but only where there was none: overwriting costs its bytes");
    rig->limits.value[LIMIT_DISK] = UNITS_UNLIMITED;
}

/* How many of `tries` names can be made in each of the four ways. */
static unsigned int make_names(struct rig *rig, unsigned int tries)
{
    char name[16];

    for (unsigned int i = 0; i < tries; i++) {
        (void) snprintf(name, sizeof(name), "n%u", i); /* fits */
        uint32_t failed = i % 4 == 0   ? CALL_PATH(rig, path_create_directory, RIG_RW, name)
                          : i % 4 == 1 ? CALL_SYMLINK(rig, "text", RIG_RW, name)
                          : i % 4 == 2 ? CALL_LINK(rig, RIG_RW, "file", RIG_RW, name)
                                       : CALL_OPEN(rig, RIG_RW, 0, name, OFLAG_CREAT, 0, 0);
        if (i % 4 == 3 && !failed)
            (void) CALL(rig, fd_close, rig_u32(rig, RIG_OUT));
        if (failed)
            return i;
    }
    return tries;
}

static void test_names(struct rig *rig)
{
    rig->limits.value[LIMIT_DISK] = 1;
    rig_start(rig);
    ok(make_names(rig, 1000) == 1000 && hits(rig) == 0, "the smallest limit allows a few names");

    rig_release(rig);
    rig_init(rig);
    rig->limits.value[LIMIT_DISK] = 100 * 4096;
    rig_start(rig);
    unsigned int made = make_names(rig, 4000);
    ok(made >= 1000 && made < 1200 && hits(rig) == HIT_DISK, "many names cost a block each");
    ok(CALL_PATH(rig, path_create_directory, RIG_RW, "x") == WASI_ENOSPC &&
           CALL_SYMLINK(rig, "text", RIG_RW, "x") == WASI_ENOSPC &&
           CALL_LINK(rig, RIG_RW, "file", RIG_RW, "x") == WASI_ENOSPC &&
           CALL_OPEN(rig, RIG_RW, 0, "x", OFLAG_CREAT, 0, 0) == WASI_ENOSPC,
       "of every kind");
    ok(CALL_OPEN(rig, RIG_RW, 0, "file", OFLAG_CREAT, 0, 0) == WASI_SUCCESS,
       "though a file that is there can be opened");
    rig->limits.value[LIMIT_DISK] = UNITS_UNLIMITED;
}

static void test_file(struct rig *rig)
{
    rig->limits.value[LIMIT_FILE] = 8;
    rig_start(rig);
    uint32_t fd = rig_open(rig, RIG_RW, "size", OFLAG_CREAT, RIGHTS_RW);
    ok(rig_write(rig, fd, "0123456789") == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 8 &&
           hits(rig) == HIT_FILE,
       "a write ends at the file limit");
    ok(rig_write(rig, fd, "x") == WASI_EFBIG, "and the next one fails");
    rig_buffer(rig, 4);
    ok(CALL(rig, fd_pwrite, fd, RIG_IOV, 1, 6, RIG_OUT) == WASI_SUCCESS &&
           rig_u32(rig, RIG_OUT) == 2,
       "pwrite ends there too");
    ok(CALL(rig, fd_pwrite, fd, RIG_IOV, 1, 1ULL << 40, RIG_OUT) == WASI_EFBIG,
       "or begins behind it");
    ok(CALL(rig, fd_filestat_set_size, fd, 9) == WASI_EFBIG &&
           CALL(rig, fd_filestat_set_size, fd, 7) == WASI_SUCCESS,
       "truncation keeps to it");
    ok(CALL(rig, fd_allocate, fd, 4, 5) == WASI_EFBIG, "and allocation");
    ok(CALL_OPEN(rig, RIG_RW, 0, "size", 0, RIGHTS_RW, FDFLAG_APPEND) == WASI_SUCCESS,
       "an appended file");
    fd = rig_u32(rig, RIG_OUT);
    ok(rig_write(rig, fd, "abc") == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 1,
       "keeps to it from its end");
    ok(CALL(rig, fd_pwrite, fd, RIG_IOV, 1, 0, RIG_OUT) == WASI_EFBIG,
       "with pwrite as well, which appends");
    struct stat st;
    ok(stat(rig_host(rig, "rw/size"), &st) == 0 && st.st_size == 8, "so the file never was larger");
    rig->limits.value[LIMIT_FILE] = UNITS_UNLIMITED;
}

static void test_vector_cut(struct rig *rig)
{
    struct abi_iovec buffers[] = {{RIG_DATA, 3}, {RIG_DATA + 3, 3}, {RIG_DATA + 6, 3}};

    rig->limits.value[LIMIT_DISK] = 5;
    rig_start(rig);
    uint32_t fd = rig_open(rig, RIG_RW, "cut", OFLAG_CREAT, RIGHTS_RW);
    (void) rig_text(rig, RIG_DATA, "abcdefghi");
    memcpy(rig->memory.base + RIG_IOV, buffers, sizeof(buffers));
    ok(CALL(rig, fd_write, fd, RIG_IOV, 3, RIG_OUT) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 5 &&
           strcmp(rig_read_host(rig, "rw/cut"), "abcde") == 0,
       "a cut in the middle of a list of buffers is exact");
    rig->limits.value[LIMIT_DISK] = UNITS_UNLIMITED;
}

static void test_open_files(struct rig *rig)
{
    rig->limits.value[LIMIT_OPEN_FILES] = 7;
    rig_start(rig);
    uint32_t five = rig_open(rig, RIG_RW, "file", 0, 0), six = rig_open(rig, RIG_RW, "file", 0, 0);
    ok(five == 5 && six == 6 && hits(rig) == 0, "descriptors up to the limit");
    ok(CALL_OPEN(rig, RIG_RW, 0, "unborn", OFLAG_CREAT, 0, 0) == WASI_EMFILE &&
           hits(rig) == HIT_OPEN_FILES && !rig_exists(rig, "rw/unborn"),
       "and not one more, nor is a file made for it");
    ok(CALL(rig, fd_close, five) == WASI_SUCCESS && rig_open(rig, RIG_RW, "file", 0, 0) == five,
       "a closed number is free again");
    rig->limits.value[LIMIT_OPEN_FILES] = 1;
    rig_start(rig);
    ok(CALL(rig, fd_prestat_get, RIG_RO, RIG_OUT) == WASI_SUCCESS,
       "what a guest is born with always fits");
    rig->limits.value[LIMIT_OPEN_FILES] = 300;
    rig_start(rig);
    uint32_t fd = 0;
    for (uint32_t i = 5; i < 300; i++)
        fd = rig_open(rig, RIG_RW, "file", 0, 0);
    ok(fd == 299 && CALL_OPEN(rig, RIG_RW, 0, "file", 0, 0, 0) == WASI_EMFILE,
       "the table grows to its limit");
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_disk(&rig);
    test_file(&rig);
    test_vector_cut(&rig);
    test_open_files(&rig);
    test_scattered(&rig);
    test_names(&rig);
    rig_release(&rig);
    return done();
}
