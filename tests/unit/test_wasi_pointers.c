/*
 * Guest pointers are claims. Behind the memory lies a page that faults, so a byte too far ends this
 * program.
 */
#include "wasi_rig.h"

static const uint64_t words[] = {
    0,          1,          3,          RIG_MEMORY - 8, RIG_MEMORY - 1, RIG_MEMORY, RIG_MEMORY + 1,
    0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff};
static const uint64_t longs[] = {0,         1,          4096,           (1ULL << 62),
                                 INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};

/* Streams away from the terminal: half of the calls below write to descriptor 1. */
static void hide_streams(int saved[3])
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void) fflush(stdout);
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        if (null < 0 || saved[fd] < 0 || dup2(null, fd) < 0)
            _exit(1);
    }
    (void) close(null); /* its copies are what matters */
}

static void show_streams(const int saved[3])
{
    for (int fd = 0; fd < 3; fd++) {
        (void) dup2(saved[fd], fd); /* a failure shows in the missing plan */
        (void) close(saved[fd]);
    }
}

/* A little of everything at the places where hostile pointers point. */
static void fill_memory(struct rig *rig)
{
    for (uint32_t i = 0; i < RIG_MEMORY; i++)
        rig->memory.base[i] = (uint8_t) (i * 7 + i / 256);
    (void) rig_text(rig, RIG_PATH, "sub/inner");
    struct abi_iovec buffers[] = {{RIG_DATA, 16}, {RIG_MEMORY - 4, 8}, {0xffffffff, 0xffffffff}};
    memcpy(rig->memory.base + RIG_IOV, buffers, sizeof(buffers));
}

static uint32_t try_call(struct rig *rig, const struct wasi_function *function,
                         const uint64_t *args)
{
    return function->call(rig->wasi, &rig->memory, args);
}

/* Each argument in turn is hostile while the others make sense. */
static unsigned int sweep_one(struct rig *rig, const struct wasi_function *function)
{
    static const uint64_t fds[] = {0, 1, 3, 4, 5, 63, 0xffffffff};
    unsigned int calls = 0;
    size_t n = strlen(function->params);

    for (size_t f = 0; f < ARRAY_SIZE(fds); f++)
        for (size_t i = 0; i <= n; i++) {
            bool is_long = i < n && function->params[i] == 'I';
            size_t n_values = is_long ? ARRAY_SIZE(longs) : ARRAY_SIZE(words);
            for (size_t v = 0; v < n_values; v++) {
                uint64_t args[9] = {fds[f], RIG_PATH, 9, RIG_OUT, RIG_DATA, 9, RIG_OUT, 1, RIG_OUT};
                if (i < n)
                    args[i] = is_long ? longs[v] : words[v];
                (void) try_call(rig, function, args); /* that it comes back is the test */
                calls++;
            }
        }
    return calls;
}

/* All arguments at once, from a fixed sequence. */
static unsigned int sweep_all(struct rig *rig, const struct wasi_function *function)
{
    uint64_t seed = 88172645463325252ULL;
    unsigned int calls = 0;

    for (; calls < 400; calls++) {
        uint64_t args[9];
        for (size_t i = 0; i < 9; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bool is_long = function->params[0] != '\0' && i < strlen(function->params) &&
                           function->params[i] == 'I';
            args[i] = is_long ? longs[seed % ARRAY_SIZE(longs)] : words[seed % ARRAY_SIZE(words)];
        }
        args[0] = calls % 2 ? calls % 7 : args[0];
        (void) try_call(rig, function, args); /* as above */
    }
    return calls;
}

static void test_hostile(struct rig *rig, bool unstable)
{
    size_t count;
    const struct wasi_function *table = wasi_functions(unstable, &count);

    rig->deadline_ns = 0; /* long ago: nothing waits */
    for (size_t i = 0; i < count; i++) {
        int saved[3];
        hide_streams(saved);
        rig_start(rig);
        fill_memory(rig);
        unsigned int calls = sweep_one(rig, &table[i]);
        rig_start(rig);
        fill_memory(rig);
        calls += sweep_all(rig, &table[i]);
        show_streams(saved);
        ok(true, "%s of %s survives %u calls with hostile arguments", table[i].name,
           unstable ? "wasi_unstable" : "preview 1", calls);
    }
    rig->deadline_ns = UINT64_MAX;
    rig_start(rig);
}

/* The calls that write one struct or number, and where its pointer stands. */
static const struct {
    const char *name;
    size_t pointer;
    uint32_t size;
    uint64_t args[9];
} writers[] = {
    {"args_sizes_get", 0, 4, {0, RIG_OUT}},
    {"args_sizes_get", 1, 4, {RIG_OUT, 0}},
    {"args_get", 0, 12, {0, RIG_DATA}},
    {"args_get", 1, 10, {RIG_DATA, 0}},
    {"environ_sizes_get", 0, 4, {0, RIG_OUT}},
    {"environ_get", 0, 8, {0, RIG_DATA}},
    {"environ_get", 1, 19, {RIG_DATA, 0}},
    {"clock_res_get", 1, 8, {1, 0}},
    {"clock_time_get", 2, 8, {1, 0, 0}},
    {"fd_fdstat_get", 1, 24, {3, 0}},
    {"fd_filestat_get", 1, 64, {3, 0}},
    {"fd_prestat_get", 1, 8, {3, 0}},
    {"fd_prestat_dir_name", 1, 3, {3, 0, 3}},
    {"path_filestat_get", 4, 64, {3, 0, RIG_PATH, 9, 0}},
    {"path_open", 8, 4, {3, 0, RIG_PATH, 9, 0, 0, 0, 0, 0}},
    {"path_readlink", 5, 4, {3, RIG_PATH2, 2, RIG_DATA, 8, 0}},
    {"path_readlink", 3, 8, {3, RIG_PATH2, 2, 0, 8, RIG_OUT}},
    {"fd_readdir", 1, 64, {3, 0, 64, 0, RIG_OUT}},
    {"fd_readdir", 4, 4, {3, RIG_DATA, 64, 0, 0}},
    {"random_get", 0, 33, {0, 33}},
};

static void test_edges(struct rig *rig)
{
    for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
        uint64_t args[9];
        memcpy(args, writers[i].args, sizeof(args));
        (void) rig_text(rig, RIG_PATH, "sub/inner");
        (void) rig_text(rig, RIG_PATH2, "in");
        args[writers[i].pointer] = RIG_MEMORY - writers[i].size;
        ok(rig_call(rig, writers[i].name, args) == WASI_SUCCESS,
           "%s writes %u bytes up to the very end of memory", writers[i].name, writers[i].size);
        args[writers[i].pointer]++;
        ok(rig_call(rig, writers[i].name, args) == WASI_EFAULT,
           "%s faults when argument %zu reaches one byte further", writers[i].name,
           writers[i].pointer);
        args[writers[i].pointer] = 0xffffffff;
        ok(rig_call(rig, writers[i].name, args) == WASI_EFAULT, "%s faults at the last address",
           writers[i].name);
    }
}

static void test_nothing_lost(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "file", 0, RIGHTS_RW);

    rig_buffer(rig, 4);
    ok(CALL(rig, fd_write, fd, RIG_IOV, 1, RIG_MEMORY - 3) == WASI_EFAULT &&
           strcmp(rig_read_host(rig, "rw/file"), "0123456789") == 0,
       "nothing is written when the count could not be told");
    ok(CALL(rig, fd_write, fd, RIG_IOV, 0x20000000, RIG_OUT) == WASI_EFAULT,
       "a list of buffers longer than memory faults");
    ok(CALL(rig, fd_read, fd, RIG_MEMORY, 0, RIG_OUT) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 0,
       "no buffers at all read nothing");
}

/* Padding would show the guest what lay on our stack. */
static void test_padding(struct rig *rig)
{
    memset(rig->memory.base + RIG_OUT, 0xff, 64);
    (void) CALL(rig, fd_fdstat_get, RIG_RW, RIG_OUT);
    ok(rig->memory.base[RIG_OUT + 1] == 0 && rig_u32(rig, RIG_OUT + 4) == 0,
       "the padding of fdstat is zero");
    memset(rig->memory.base + RIG_OUT, 0xff, 64);
    (void) CALL(rig, fd_filestat_get, RIG_RW, RIG_OUT);
    ok(rig_u64(rig, RIG_OUT + 16) == FILETYPE_DIRECTORY, "the padding of filestat is zero");
    memset(rig->memory.base + RIG_OUT, 0xff, 8);
    (void) CALL(rig, fd_prestat_get, RIG_RW, RIG_OUT);
    ok(rig_u32(rig, RIG_OUT) == 0, "the padding of prestat is zero");
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_edges(&rig);
    test_nothing_lost(&rig);
    test_padding(&rig);
    test_hostile(&rig, false);
    test_hostile(&rig, true);
    ok(strcmp(rig_read_host(&rig, "outside/secret"), "secret") == 0,
       "and nothing outside the grants has changed");
    rig_release(&rig);
    return done();
}
