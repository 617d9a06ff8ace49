/*
 * The resolver: what leads out, each with a control that stays inside; odd paths; read-only grants.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "wasi_rig.h"

static uint32_t try_open(struct rig *rig, const char *path)
{
    return CALL_OPEN(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path, 0, RIGHTS_READ, 0);
}
static uint32_t try_open_directory(struct rig *rig, const char *path)
{
    return CALL_OPEN(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path, OFLAG_DIRECTORY, 0, 0);
}
static uint32_t try_create(struct rig *rig, const char *path)
{
    return CALL_OPEN(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path, OFLAG_CREAT, RIGHTS_RW, 0);
}
static uint32_t try_truncate(struct rig *rig, const char *path)
{
    return CALL_OPEN(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path, OFLAG_TRUNC, RIGHTS_RW, 0);
}
static uint32_t try_stat(struct rig *rig, const char *path)
{
    return CALL_STAT(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path);
}
static uint32_t try_stat_link(struct rig *rig, const char *path)
{
    return CALL_STAT(rig, RIG_RW, 0, path);
}
static uint32_t try_times(struct rig *rig, const char *path)
{
    return CALL_TIMES(rig, RIG_RW, LOOKUP_SYMLINK_FOLLOW, path, 1000);
}
static uint32_t try_times_link(struct rig *rig, const char *path)
{
    return CALL_TIMES(rig, RIG_RW, 0, path, 1000);
}
static uint32_t try_readlink(struct rig *rig, const char *path)
{
    return CALL_READLINK(rig, RIG_RW, path, 64);
}
static uint32_t try_mkdir(struct rig *rig, const char *path)
{
    return CALL_PATH(rig, path_create_directory, RIG_RW, path);
}
static uint32_t try_rmdir(struct rig *rig, const char *path)
{
    return CALL_PATH(rig, path_remove_directory, RIG_RW, path);
}
static uint32_t try_unlink(struct rig *rig, const char *path)
{
    return CALL_PATH(rig, path_unlink_file, RIG_RW, path);
}
static uint32_t try_rename_from(struct rig *rig, const char *path)
{
    return CALL_RENAME(rig, RIG_RW, path, RIG_RW, "got");
}
static uint32_t try_rename_to(struct rig *rig, const char *path)
{
    return CALL_RENAME(rig, RIG_RW, "mine", RIG_RW, path);
}
static uint32_t try_link_from(struct rig *rig, const char *path)
{
    return CALL_LINK(rig, RIG_RW, path, RIG_RW, "got");
}
static uint32_t try_link_to(struct rig *rig, const char *path)
{
    return CALL_LINK(rig, RIG_RW, "file", RIG_RW, path);
}
static uint32_t try_symlink(struct rig *rig, const char *path)
{
    return CALL_SYMLINK(rig, "sub", RIG_RW, path);
}

/* For each call: a path that stays inside and works, and paths that lead out. */
static const struct attempt {
    const char *name;
    uint32_t (*act)(struct rig *rig, const char *path);
    const char *inside;
    const char *outside[8];
} attempts[] = {
    {"path_open",
     try_open,
     "in/../sub/./inner",
     {"/etc/passwd", "../outside/secret", "sub/../../outside/secret", "out", "abs/passwd",
      "rel/secret", "chain/secret"}},
    {"path_open of a directory",
     try_open_directory,
     "in/",
     {"/", "..", "../", "abs/", "rel", "rel/", "chain///", "sub/../.."}},
    {"path_open with CREAT",
     try_create,
     "sub/made",
     {"/tmp/made", "../made", "rel/made", "chain/made", "dangling_out"}},
    {"path_open with TRUNC", try_truncate, "sub/inner", {"../outside/secret", "out", "rel/secret"}},
    {"path_filestat_get",
     try_stat,
     "in/inner",
     {"..", "/etc", "abs", "rel", "out", "chain", "rel/", "sub/../../outside"}},
    {"path_filestat_get without following",
     try_stat_link,
     "rel",
     {"..", "rel/", "abs/", "chain/", "rel/secret", "sub/../.."}},
    {"path_filestat_set_times", try_times, "in/inner", {"..", "out", "abs/", "rel/secret"}},
    {"path_filestat_set_times without following",
     try_times_link,
     "sub/inner",
     {"..", "rel/", "rel/secret", "chain/"}},
    {"path_readlink",
     try_readlink,
     "rel",
     {"..", "rel/", "rel/secret", "../rw/in", "/proc/self/exe"}},
    {"path_create_directory", try_mkdir, "in/made/", {"../made", "rel/made", "/tmp/made", ".."}},
    {"path_remove_directory", try_rmdir, "sub/empty/", {"../outside", "..", "rel/.", "sub/../.."}},
    {"path_unlink_file",
     try_unlink,
     "in/inner",
     {"../outside/secret", "rel/secret", "chain/secret"}},
    {"path_rename from", try_rename_from, "sub/inner", {"../outside/secret", "rel/secret", ".."}},
    {"path_rename to", try_rename_to, "sub/there", {"../outside/secret", "rel/new", "/tmp/new"}},
    {"path_link from", try_link_from, "sub/inner", {"../outside/secret", "rel/secret", "rel/"}},
    {"path_link to", try_link_to, "sub/there", {"../outside/there", "rel/there"}},
    {"path_symlink", try_symlink, "in/there", {"../outside/there", "rel/there", "/tmp/there"}},
};

static bool outside_is_untouched(const struct rig *rig)
{
    struct stat folder, secret;

    return stat(rig_host(rig, "outside"), &folder) == 0 && folder.st_nlink == 2 &&
           stat(rig_host(rig, "outside/secret"), &secret) == 0 && secret.st_nlink == 1 &&
           secret.st_mtim.tv_sec > 1 && !rig_exists(rig, "outside/new") &&
           !rig_exists(rig, "outside/there") && !rig_exists(rig, "outside/made") &&
           strcmp(rig_read_host(rig, "outside/secret"), "secret") == 0;
}

static void test_escapes(const struct attempt *attempt)
{
    struct rig rig;

    rig_init(&rig);
    rig_write_host(&rig, "rw/mine", "mine");
    if (mkdir(rig_host(&rig, "rw/sub/empty"), 0755) < 0)
        rig_die("mkdir");
    for (size_t i = 0; i < ARRAY_SIZE(attempt->outside) && attempt->outside[i] != NULL; i++) {
        unsigned int told = rig.n_denials;
        uint32_t answer = attempt->act(&rig, attempt->outside[i]);
        ok(answer == WASI_EPERM && outside_is_untouched(&rig), "%s does not reach '%s' (%u)",
           attempt->name, attempt->outside[i], answer);
        ok(rig.n_denials == told + 1 && strcmp(rig.denial.rule, "outside-grant") == 0,
           "and the denial is told");
    }
    uint32_t answer = attempt->act(&rig, attempt->inside);
    ok(answer == WASI_SUCCESS, "%s reaches '%s' (%u)", attempt->name, attempt->inside, answer);
    rig_release(&rig);
}

static void test_denial_text(struct rig *rig)
{
    (void) try_open(rig, "../x\n\x1b[31m\xff\xc3\xa9");
    ok(strcmp(rig->denial.action, "path_open") == 0 &&
           strcmp(rig->denial.target, "/rw/../x??[31m?\xc3\xa9") == 0,
       "a denial names the call and the path below the grant, printable: %s", rig->denial.target);
    uint32_t sub = rig_open(rig, RIG_RW, "sub", OFLAG_DIRECTORY, RIGHT_PATH_OPEN);
    (void) CALL_OPEN(rig, sub, 0, "../../outside", 0, 0, 0);
    ok(strcmp(rig->denial.target, "../../outside") == 0,
       "from a folder further down, the path alone");
    ok(CALL_OPEN(rig, sub, 0, "../file", 0, 0, 0) == WASI_EPERM,
       "a descriptor is a capability: not even '..' inside the grant");
}

static char long_path[5000];

static const struct {
    uint32_t (*act)(struct rig *rig, const char *path);
    const char *path;
    uint32_t answer;
    const char *sentence;
} odd_paths[] = {
    {try_open, "", WASI_ENOENT, "an empty path is no file"},
    {try_mkdir, "", WASI_ENOENT, "nor a folder to make"},
    {try_open, long_path, WASI_ENAMETOOLONG, "a path of 5000 bytes is too long"},
    {try_open, "nothing", WASI_ENOENT, "a missing file is missing"},
    {try_open, "file/", WASI_ENOTDIR, "a file with a slash behind it is no directory"},
    {try_open, "file/x", WASI_ENOTDIR, "nor is it with a name behind it"},
    {try_open, "loop", WASI_ELOOP, "a symlink to itself is a loop"},
    {try_open, "dangling", WASI_ENOENT, "a dangling symlink leads nowhere"},
    {try_unlink, "sub", WASI_EISDIR, "a directory is not unlinked"},
    {try_unlink, "sub/", WASI_EISDIR, "nor with a slash"},
    {try_unlink, "file/", WASI_ENOTDIR, "a file is not unlinked with a slash"},
    {try_unlink, ".", WASI_EISDIR, "the directory itself is not unlinked"},
    {try_rmdir, "file", WASI_ENOTDIR, "a file is not removed as a directory"},
    {try_rmdir, "file/", WASI_ENOTDIR, "nor with a slash"},
    {try_rmdir, "sub", WASI_ENOTEMPTY, "a directory with something in it stays"},
    {try_rmdir, ".", WASI_EINVAL, "'.' is not removed"},
    {try_rmdir, "sub/..", WASI_ENOTEMPTY, "nor '..' inside"},
    {try_rmdir, "in/", WASI_ENOTDIR, "a symlink to a directory is not removed as one"},
    {try_mkdir, "file", WASI_EEXIST, "mkdir does not replace a file"},
    {try_mkdir, ".", WASI_EEXIST, "'.' is there already"},
    {try_mkdir, "rel/", WASI_EEXIST, "mkdir does not follow a symlink"},
    {try_symlink, "new/", WASI_ENOENT, "a symlink has no slash behind its name"},
    {try_symlink, "sub/", WASI_EEXIST, "an existing folder is not replaced by a symlink"},
    {try_symlink, "file", WASI_EEXIST, "nor is a file"},
    {try_link_to, "new/", WASI_ENOENT, "a hard link has no slash behind its name"},
    {try_link_to, "dangling", WASI_EEXIST, "a dangling symlink is something"},
    {try_link_from, "sub", WASI_EPERM, "a directory is not linked"},
    {try_link_from, "sub/", WASI_EPERM, "nor with a slash"},
    {try_link_from, "file/", WASI_ENOTDIR, "a file is not linked with a slash"},
    {try_rename_from, "file/", WASI_ENOTDIR, "a file is not renamed with a slash"},
    {try_rename_from, ".", WASI_EBUSY, "'.' is not renamed"},
    {try_readlink, "file", WASI_EINVAL, "a file is no symlink"},
    {try_readlink, "sub/inner", WASI_EINVAL, "nor further down"},
    {try_readlink, "in/", WASI_EINVAL, "a symlink with a slash is what it points to"},
    {try_stat, "file/", WASI_ENOTDIR, "stat of a file with a slash fails"},
    {try_stat, "sub///", WASI_SUCCESS, "stat of a folder with slashes works"},
    {try_stat_link, "dangling", WASI_SUCCESS, "stat of a dangling symlink is that of the link"},
    {try_open, "sub//./../sub///inner", WASI_SUCCESS, "dots and doubled slashes inside are fine"},
};

static void test_odd_paths(struct rig *rig)
{
    memset(long_path, 'a', sizeof(long_path) - 1);
    for (size_t i = 0; i < ARRAY_SIZE(odd_paths); i++) {
        uint32_t answer = odd_paths[i].act(rig, odd_paths[i].path);
        ok(answer == odd_paths[i].answer, "%s (%u)", odd_paths[i].sentence, answer);
    }
    memcpy(rig->memory.base + RIG_PATH, "file\0x", 6);
    ok(CALL(rig, path_open, RIG_RW, 0, RIG_PATH, 5, 0, 0, 0, 0, RIG_OUT) == WASI_EINVAL,
       "a NUL at the end is not part of a path");
    ok(CALL(rig, path_unlink_file, RIG_RW, RIG_PATH, 6) == WASI_EINVAL &&
           rig_exists(rig, "rw/file"),
       "a NUL inside does not cut it");
}

static void test_nofollow(struct rig *rig)
{
    ok(CALL_OPEN(rig, RIG_RW, 0, "in", 0, 0, 0) == WASI_ELOOP,
       "a symlink is not opened unless followed");
    ok(CALL_OPEN(rig, RIG_RW, 0, "in", OFLAG_DIRECTORY, 0, 0) == WASI_ENOTDIR,
       "nor as a directory");
    ok(CALL_OPEN(rig, RIG_RW, 0, "dangling", OFLAG_CREAT, 0, 0) == WASI_ELOOP &&
           !rig_exists(rig, "rw/nowhere"),
       "nothing is created through one");
    ok(try_create(rig, "dangling") == WASI_SUCCESS && rig_exists(rig, "rw/nowhere"),
       "unless it is followed");
    ok(CALL_SYMLINK(rig, "/etc/passwd", RIG_RW, "new") == WASI_EPERM && !rig_exists(rig, "rw/new"),
       "an absolute symlink is not made");
    ok(strcmp(rig->denial.rule, "absolute-link") == 0, "which is told");
    ok(CALL_SYMLINK(rig, "../outside/secret", RIG_RW, "new") == WASI_SUCCESS &&
           try_open(rig, "new") == WASI_EPERM,
       "one that climbs out may be made, but leads nowhere");
    ok(CALL_LINK(rig, RIG_RW, "new", RIG_RW, "hard") == WASI_SUCCESS &&
           try_open(rig, "hard") == WASI_EPERM,
       "and linking it links the symlink");
    ok(CALL_READLINK(rig, RIG_RW, "new", 7) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 7 &&
           memcmp(rig->memory.base + RIG_DATA, "../outs", 7) == 0,
       "readlink fills a small buffer");
    ok(CALL_READLINK(rig, RIG_RW, "new", 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 0,
       "and one of no bytes");
    ok(CALL(rig, path_link, RIG_RW, LOOKUP_SYMLINK_FOLLOW, RIG_PATH, rig_text(rig, RIG_PATH, "in"),
            RIG_RW, RIG_PATH2, rig_text(rig, RIG_PATH2, "x")) == WASI_EINVAL,
       "path_link does not follow symlinks");
}

static void test_read_only(struct rig *rig)
{
    static const uint64_t look = RIGHTS_READ;

    ok(CALL_OPEN(rig, RIG_RO, 0, "file", 0, look, 0) == WASI_SUCCESS,
       "a read-only grant can be read");
    uint32_t fd = rig_u32(rig, RIG_OUT);
    unsigned int told = rig->n_denials;
    const struct {
        uint32_t answer;
        const char *what;
    } rows[] = {
        {CALL_OPEN(rig, RIG_RO, 0, "file", 0, RIGHT_FD_WRITE, 0), "opening for writing"},
        {CALL_OPEN(rig, RIG_RO, 0, "file", 0, RIGHT_FD_ALLOCATE, 0), "opening for allocating"},
        {CALL_OPEN(rig, RIG_RO, 0, "file", OFLAG_TRUNC, 0, 0), "truncating"},
        {CALL_OPEN(rig, RIG_RO, 0, "new", OFLAG_CREAT, 0, 0), "creating"},
        {CALL_OPEN(rig, RIG_RO, 0, "new", OFLAG_CREAT | OFLAG_EXCL, 0, 0), "creating exclusively"},
        {CALL_PATH(rig, path_create_directory, RIG_RO, "new"), "making a folder"},
        {CALL_PATH(rig, path_unlink_file, RIG_RO, "file"), "unlinking"},
        {CALL_PATH(rig, path_remove_directory, RIG_RO, "sub"), "removing a folder"},
        {CALL_RENAME(rig, RIG_RO, "file", RIG_RO, "new"), "renaming inside"},
        {CALL_RENAME(rig, RIG_RO, "file", RIG_RW, "new"), "renaming out of it"},
        {CALL_RENAME(rig, RIG_RW, "file", RIG_RO, "new"), "renaming into it"},
        {CALL_LINK(rig, RIG_RW, "file", RIG_RO, "new"), "linking into it"},
        {CALL_SYMLINK(rig, "file", RIG_RO, "new"), "making a symlink"},
        {CALL_TIMES(rig, RIG_RO, 0, "file", 1000), "setting times by path"},
        {CALL(rig, fd_filestat_set_times, fd, 1000, 1000, FST_MTIM), "setting times by descriptor"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(rows[i].answer == WASI_EROFS, "%s is refused (%u)", rows[i].what, rows[i].answer);
    ok(rig->n_denials == told + ARRAY_SIZE(rows) && strcmp(rig->denial.rule, "read-only") == 0 &&
           strcmp(rig->denial.target, "/ro") == 0,
       "each refusal is told");
    ok(CALL_OPEN(rig, RIG_RO, 0, "file", OFLAG_CREAT, look, 0) == WASI_SUCCESS,
       "O_CREAT for a file that is there creates nothing and works");
    ok(CALL_LINK(rig, RIG_RO, "file", RIG_RW, "stolen") == WASI_EXDEV &&
           !rig_exists(rig, "rw/stolen"),
       "a file cannot be linked out into a writable grant");
    ok(CALL(rig, fd_sync, fd) == WASI_SUCCESS, "there is nothing to sync, which works");
    uint32_t sub =
        rig_open(rig, RIG_RO, "sub", OFLAG_DIRECTORY,
                 RIGHTS_ALL & ~(RIGHT_FD_WRITE | RIGHT_FD_ALLOCATE | RIGHT_FD_FILESTAT_SET_SIZE));
    ok(CALL_PATH(rig, path_create_directory, sub, "new") == WASI_EROFS,
       "folders below are read-only too");
    ok(strcmp(rig_read_host(rig, "ro/file"), "read me") == 0 && !rig_exists(rig, "ro/new"),
       "and the tree is as it was");
}

static void test_across(struct rig *rig)
{
    int fds[] = {rig_open_host(rig, "rw", O_PATH | O_DIRECTORY),
                 rig_open_host(rig, "rw", O_PATH | O_DIRECTORY),
                 rig_open_host(rig, "outside", O_PATH | O_DIRECTORY)};
    struct wasi_preopen preopens[] = {
        {fds[0], "/a", true}, {fds[1], ".", true}, {fds[2], "/b", true}};
    struct wasi_config config = {
        .preopens = preopens, .n_preopens = 3, .limits = &rig->limits, .deadline_ns = UINT64_MAX};
    struct err err;

    wasi_free(rig->wasi);
    if (wasi_new(&config, &rig->wasi, &err) < 0)
        rig_die(err.message);
    ok(CALL_RENAME(rig, 3, "file", 5, "file") == WASI_EXDEV && rig_exists(rig, "rw/file"),
       "rename across two grants is EXDEV, also on one file system");
    ok(CALL_LINK(rig, 5, "secret", 3, "secret") == WASI_EXDEV && !rig_exists(rig, "rw/secret"),
       "link across two grants is EXDEV");
    ok(CALL_RENAME(rig, 3, "file", 4, "moved") == WASI_SUCCESS && rig_exists(rig, "rw/moved"),
       "two names of one grant are one grant");
    ok(CALL_LINK(rig, 4, "moved", 3, "file") == WASI_SUCCESS, "for links as well");
}

static void test_special_files(struct rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                    rig_host(rig, "rw/socket")); /* short */
    if (mkfifo(rig_host(rig, "rw/fifo"), 0600) < 0 || fd < 0 ||
        bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
        rig_die("cannot make special files");
    (void) close(fd); /* its name stays */
    static const uint64_t rights[] = {0, RIGHT_FD_READ, RIGHT_FD_WRITE,
                                      RIGHT_FD_READ | RIGHT_FD_WRITE};
    for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
        ok(CALL_OPEN(rig, RIG_RW, 0, "fifo", 0, rights[i], 0) == WASI_ENOTSUP,
           "a FIFO is not opened and does not block (rights %#llx)",
           (unsigned long long) rights[i]);
        ok(CALL_OPEN(rig, RIG_RW, 0, "socket", 0, rights[i], 0) == WASI_ENOTSUP, "nor is a socket");
        ok(strcmp(rig->denial.rule, "special-file") == 0, "which is told");
    }
    if (mknod(rig_host(rig, "rw/null"), S_IFCHR | 0600, 0x103) < 0) {
        skip("no permission to make a device");
        return;
    }
    uint32_t answer = CALL_OPEN(rig, RIG_RW, 0, "null", 0, RIGHT_FD_READ, 0);
    ok(answer == WASI_ENOTSUP || answer == WASI_EACCES, "a device is not opened");
}

int main(void)
{
    struct rig rig;

    for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
        test_escapes(&attempts[i]);
    rig_init(&rig);
    test_denial_text(&rig);
    rig_start(&rig);
    test_odd_paths(&rig);
    rig_start(&rig);
    test_nofollow(&rig);
    rig_start(&rig);
    test_read_only(&rig);
    rig_start(&rig);
    test_special_files(&rig);
    test_across(&rig);
    rig_release(&rig);
    return done();
}
