/*
 * wasi_unstable: what lies elsewhere in memory or has another number. poll_oneoff is in
 * test_wasi_poll.c.
 */
#include "wasi_rig.h"

static void test_filestat(struct rig *rig, uint32_t type, uint64_t size, const char *what)
{
    ok(rig_u32(rig, RIG_OUT + 16) == type && rig_u32(rig, RIG_OUT + 20) == 1 &&
           rig_u64(rig, RIG_OUT + 24) == size && rig_u64(rig, RIG_OUT + 40) > 1000000000000000000 &&
           rig->memory.base[RIG_OUT + 56] == 0xee,
       "the filestat of %s has 56 bytes and a 32-bit count of links", what);
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    rig.module = "wasi_unstable";
    uint32_t fd = rig_open(&rig, RIG_RW, "file", 0, RIGHTS_RW);
    memset(rig.memory.base + RIG_OUT, 0xee, 64);
    ok(CALL(&rig, fd_filestat_get, fd, RIG_OUT) == WASI_SUCCESS, "a descriptor has a filestat");
    test_filestat(&rig, FILETYPE_REGULAR_FILE, 10, "a descriptor");
    memset(rig.memory.base + RIG_OUT, 0xee, 64);
    ok(CALL_STAT(&rig, RIG_RW, 0, "sub/inner") == WASI_SUCCESS, "so has a path");
    test_filestat(&rig, FILETYPE_REGULAR_FILE, 5, "a path");
    ok(CALL(&rig, fd_filestat_get, fd, RIG_MEMORY - 56) == WASI_SUCCESS &&
           CALL(&rig, fd_filestat_get, fd, RIG_MEMORY - 55) == WASI_EFAULT,
       "it may end with the memory, and not later");

    ok(CALL(&rig, fd_seek, fd, 4, 2, RIG_OUT) == WASI_SUCCESS && rig_u64(&rig, RIG_OUT) == 4,
       "whence 2 is the start");
    ok(CALL(&rig, fd_seek, fd, 1, 0, RIG_OUT) == WASI_SUCCESS && rig_u64(&rig, RIG_OUT) == 5,
       "0 the position");
    ok(CALL(&rig, fd_seek, fd, (uint64_t) -1, 1, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(&rig, RIG_OUT) == 9,
       "1 the end");
    ok(CALL(&rig, fd_seek, fd, 0, 3, RIG_OUT) == WASI_EINVAL, "3 is none");

    rig.module = "wasi_snapshot_preview1";
    ok(CALL(&rig, fd_seek, fd, 4, 0, RIG_OUT) == WASI_SUCCESS && rig_u64(&rig, RIG_OUT) == 4,
       "in preview 1 the start is 0, on the same descriptor");
    ok(CALL(&rig, fd_filestat_get, fd, RIG_OUT) == WASI_SUCCESS &&
           rig_u64(&rig, RIG_OUT + 24) == 1 && rig_u64(&rig, RIG_OUT + 32) == 10,
       "and the filestat has 64 bytes");
    rig_release(&rig);
    return done();
}
