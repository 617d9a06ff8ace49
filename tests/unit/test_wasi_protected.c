/*
 * Protected names in a writable grant: read, but not changed, by whatever way a guest gets there.
 * Each refusal has a control that differs in the name alone.
 */
#include "plan/protected.h"
#include "wasi_rig.h"

#define FOLLOW LOOKUP_SYMLINK_FOLLOW

static void plant_names(struct rig *rig)
{
    static const char *const folders[] = {".git",    ".git/hooks",  ".git/objects", ".git/refs",
                                          ".vscode", "deep",        "deep/er",      "deep/er/.idea",
                                          "plain",   "plain/hooks", ".github"};
    static const char *const files[] = {".git/hooks/pre-commit",
                                        ".git/config",
                                        ".git/index",
                                        ".vscode/tasks.json",
                                        ".envrc",
                                        "deep/.git",
                                        "deep/file",
                                        "deep/er/.idea/xml",
                                        "innocent",
                                        "plain/hooks/file",
                                        "plain/file",
                                        ".github/ci.yml",
                                        ".envrc2"};
    static const struct {
        const char *text, *path;
    } links[] = {
        {".git/hooks", "to_hooks"},           {".git", "to_git"},
        {"../.git/refs/../hooks", "deep/up"}, {"to_git/hooks", "chained"},
        {".mcp.json", "dangling_mcp"},        {".git/config", "to_config"},
        {"plain/hooks", "to_plain"},          {"plain/file", "to_file"},
        {"plain/new", "dangling_plain"},
    };
    char path[128];

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        (void) snprintf(path, sizeof(path), "rw/%s", folders[i]); /* fits */
        if (mkdir(rig_host(rig, path), 0755) < 0)
            rig_die(path);
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        (void) snprintf(path, sizeof(path), "rw/%s", files[i]); /* fits */
        rig_write_host(rig, path, "owner's");
    }
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        (void) snprintf(path, sizeof(path), "rw/%s", links[i].path); /* fits */
        if (symlink(links[i].text, rig_host(rig, path)) < 0)
            rig_die(path);
    }
}

static void init(struct rig *rig)
{
    rig_init(rig);
    plant_names(rig);
}

static bool is_refused(struct rig *rig, uint32_t answer)
{
    return answer == WASI_EACCES && strcmp(rig->denial.rule, "protected-name") == 0;
}

/* ---- every call ------------------------------------------------------------------------------ */

typedef uint32_t attempt(struct rig *rig, uint32_t fd, const char *path);

static uint32_t try_read(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, FOLLOW, path, 0, RIGHTS_READ, 0);
}
static uint32_t try_write(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, FOLLOW, path, 0, RIGHTS_RW, 0);
}
static uint32_t try_append(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, FOLLOW, path, OFLAG_CREAT, RIGHT_FD_WRITE, FDFLAG_APPEND);
}
static uint32_t try_allocate(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, 0, path, 0, RIGHT_FD_READ | RIGHT_FD_ALLOCATE, 0);
}
static uint32_t try_truncate(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, FOLLOW, path, OFLAG_TRUNC, RIGHT_FD_READ, 0);
}
static uint32_t try_create(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, FOLLOW, path, OFLAG_CREAT, RIGHT_FD_READ, 0);
}
static uint32_t try_create_new(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_OPEN(rig, fd, 0, path, OFLAG_CREAT | OFLAG_EXCL, RIGHTS_RW, 0);
}
static uint32_t try_mkdir(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_PATH(rig, path_create_directory, fd, path);
}
static uint32_t try_rmdir(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_PATH(rig, path_remove_directory, fd, path);
}
static uint32_t try_unlink(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_PATH(rig, path_unlink_file, fd, path);
}
static uint32_t try_move_away(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_RENAME(rig, fd, path, RIG_RW, "moved");
}
static uint32_t try_move_in(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_RENAME(rig, RIG_RW, "innocent", fd, path);
}
static uint32_t try_move_in_folder(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_RENAME(rig, RIG_RW, "plain", fd, path);
}
static uint32_t try_link_away(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_LINK(rig, fd, path, RIG_RW, "linked");
}
static uint32_t try_link_in(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_LINK(rig, RIG_RW, "innocent", fd, path);
}
static uint32_t try_symlink(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_SYMLINK(rig, "innocent", fd, path);
}
static uint32_t try_times(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_TIMES(rig, fd, 0, path, 1000000000);
}
static uint32_t try_times_through(struct rig *rig, uint32_t fd, const char *path)
{
    return CALL_TIMES(rig, fd, FOLLOW, path, 1000000000);
}
static uint32_t try_times_opened(struct rig *rig, uint32_t fd, const char *path)
{
    uint32_t failed = try_read(rig, fd, path);

    return failed ? failed
                  : CALL(rig, fd_filestat_set_times, rig_u32(rig, RIG_OUT), 1, 1, FST_MTIM);
}

static const struct {
    const char *what;
    attempt *act;
    const char *refused, *control;
} acts[] = {
    {"opened for writing", try_write, ".envrc", ".envrc2"},
    {"opened for writing in a folder", try_write, ".git/config", ".git/index"},
    {"opened for writing, as a file .git", try_write, "deep/.git", "plain/file"},
    {"appended to", try_append, ".vscode/tasks.json", ".github/ci.yml"},
    {"opened to reserve room", try_allocate, ".envrc", ".envrc2"},
    {"truncated", try_truncate, ".git/hooks/pre-commit", "plain/hooks/file"},
    {"truncated, as a file .git", try_truncate, "deep/.git", "plain/file"},
    {"made", try_create, ".mcp.json", "mcp.json"},
    {"made in git's folder", try_create, ".git/commondir", ".git/common"},
    {"made, as a file .git", try_create, "plain/.git", "plain/git"},
    {"made as a new file", try_create_new, "deep/.bashrc", "deep/bashrc"},
    {"made as a file in the place of a folder", try_create, ".config", "config"},
    {"made as a folder", try_mkdir, ".claude", "claude"},
    {"made as a folder .git", try_mkdir, "plain/.git", "plain/git"},
    {"made as a folder, with a slash", try_mkdir, ".cursor/", "cursor/"},
    {"made as a folder in .config", try_mkdir, ".config/fish", ".config/other"},
    {"removed as a folder", try_rmdir, ".git/hooks", ".git/objects"},
    {"removed as a file", try_unlink, ".envrc", ".envrc2"},
    {"removed as a file .git", try_unlink, "deep/.git", "plain/file"},
    {"removed from a folder", try_unlink, ".vscode/tasks.json", ".github/ci.yml"},
    {"moved away", try_move_away, ".envrc", ".envrc2"},
    {"moved away with its folder", try_move_away, ".git", "deep"},
    {"moved away, .config", try_move_away, ".config", "config"},
    {"put in place by a rename", try_move_in, ".mcp.json", "mcp.json"},
    {"replaced by a rename", try_move_in, ".git/hooks/pre-commit", ".git/index"},
    {"put in place with its folder", try_move_in_folder, "deep/er/.git", "deep/er/git"},
    {"put in place with its folder, in git's", try_move_in_folder, ".git/modules", ".git/others"},
    {"put in place with its folder, .config", try_move_in_folder, "deep/.config", "deep/config"},
    {"linked to another name", try_link_away, ".envrc", ".envrc2"},
    {"linked to another name, as a file .git", try_link_away, "deep/.git", "plain/file"},
    {"put in place by a link", try_link_in, ".profile", "profile"},
    {"put in place by a symlink", try_symlink, ".vscode2/../.zed", ".vscode2/../zed"},
    {"put in place by a symlink, .config", try_symlink, "plain/.config", "plain/config"},
    {"stamped with a time", try_times, ".envrc", ".envrc2"},
    {"stamped with a time in a folder", try_times, ".git/hooks/pre-commit", ".git/index"},
    {"stamped with a time through a link", try_times_through, "to_config", "to_file"},
    {"stamped with a time once it is open", try_times_opened, ".envrc", ".envrc2"},
};

static void prepare_act(struct rig *rig, attempt *act, const char *control)
{
    init(rig);
    if (mkdir(rig_host(rig, "rw/.config"), 0755) < 0 ||
        mkdir(rig_host(rig, "rw/config"), 0755) < 0 ||
        mkdir(rig_host(rig, "rw/.vscode2"), 0755) < 0)
        rig_die(".config");
    /* what is made must not be there */
    if (act == try_create && strstr(control, "config") != NULL &&
        (rmdir(rig_host(rig, "rw/.config")) < 0 || rmdir(rig_host(rig, "rw/config")) < 0))
        rig_die("config");
}

static void test_acts(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
        struct rig rig;
        prepare_act(&rig, acts[i].act, acts[i].control);
        uint32_t refused = acts[i].act(&rig, RIG_RW, acts[i].refused);
        unsigned int told = rig.n_denials;
        bool is_right = is_refused(&rig, refused) && told == 1;
        uint32_t control = acts[i].act(&rig, RIG_RW, acts[i].control);
        if (!ok(is_right && control == WASI_SUCCESS && rig.n_denials == told,
                "'%s' cannot be %s, while '%s' can", acts[i].refused, acts[i].what,
                acts[i].control))
            printf("# answered %u and %u\n", refused, control);
        rig_release(&rig);
    }
}

/* ---- every way ------------------------------------------------------------------------------- */

static const struct {
    const char *dir; /* opened first; NULL: none */
    const char *path;
    const char *control;
} ways[] = {
    {NULL, ".git/hooks/pre-commit", "plain/hooks/file"},
    {NULL, "./.git//hooks/./pre-commit", "./plain//hooks/./file"},
    {NULL, "deep/../.git/config", "deep/../.git/index"},
    {NULL, "deep/er/../../.git/hooks/../config", "deep/er/../../.git/hooks/../index"},
    {NULL, "deep/er/.idea/xml", "deep/../innocent"},
    {NULL, "to_hooks/pre-commit", "to_plain/file"},
    {NULL, "to_hooks/../config", "to_hooks/../index"},
    {NULL, "to_git/hooks/pre-commit", "to_git/index"},
    {NULL, "to_git/config", "to_git/index"},
    {NULL, "deep/up/pre-commit", "deep/../to_plain/file"},
    {NULL, "chained/pre-commit", "chained/../index"},
    {NULL, "to_config", "to_file"},
    {".git", "config", "index"},
    {".git", "hooks/pre-commit", "index"},
    {".git", "hooks/../config", "hooks/../index"},
    {".git", "./config", "./index"},
    {".git/.", "config", "index"},
    {".git/hooks/..", "config", "index"},
    {"to_git", "config", "index"},
    {"to_git/", "hooks/pre-commit", "index"},
    {"deep", ".git", "er/../file"},
    {"deep/..", ".git/config", ".git/index"},
    {".", ".envrc", ".envrc2"},
    {"./.", "to_hooks/pre-commit", "to_plain/file"},
};

/* A folder of which all rights are handed on; NULL: the grant itself. */
static uint32_t open_folder(struct rig *rig, const char *dir)
{
    uint64_t writing = RIGHT_FD_WRITE | RIGHT_FD_ALLOCATE | RIGHT_FD_FILESTAT_SET_SIZE;

    if (dir == NULL)
        return RIG_RW;
    if (CALL(rig, path_open, RIG_RW, FOLLOW, RIG_PATH, rig_text(rig, RIG_PATH, dir),
             OFLAG_DIRECTORY, RIGHTS_ALL & ~writing, RIGHTS_ALL, 0, RIG_OUT) != WASI_SUCCESS)
        rig_die(dir);
    return rig_u32(rig, RIG_OUT);
}

static void test_ways(void)
{
    struct rig rig;

    init(&rig);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        const char *dir = ways[i].dir, *path = ways[i].path;
        uint32_t fd = open_folder(&rig, dir);
        uint32_t written = try_write(&rig, fd, path);
        bool is_right = is_refused(&rig, written);
        uint32_t read = try_read(&rig, fd, path);
        if (read == WASI_SUCCESS)
            (void) CALL(&rig, fd_close, rig_u32(&rig, RIG_OUT)); /* there are 64 */
        uint32_t control = try_write(&rig, fd, ways[i].control);
        if (control == WASI_SUCCESS)
            (void) CALL(&rig, fd_close, rig_u32(&rig, RIG_OUT)); /* likewise */
        if (!ok(is_right && read == WASI_SUCCESS && control == WASI_SUCCESS,
                "from '%s', '%s' is read but not written, '%s' is written", dir ? dir : "the grant",
                path, ways[i].control))
            printf("# answered %u, %u, %u\n", written, read, control);
        if (dir != NULL)
            (void) CALL(&rig, fd_close, fd); /* likewise */
    }
    ok(try_create(&rig, RIG_RW, "dangling_mcp") == WASI_EACCES && !rig_exists(&rig, "rw/.mcp.json"),
       "a link that dangles at a protected name makes nothing there");
    ok(try_create(&rig, RIG_RW, "dangling_plain") == WASI_SUCCESS &&
           rig_exists(&rig, "rw/plain/new"),
       "a link that dangles elsewhere does");
    ok(strcmp(rig_read_host(&rig, "rw/.git/config"), "owner's") == 0,
       "the host's file is as before");
    rig_release(&rig);
}

/* Several acts on a path that begins at a folder or goes through a link. */
static void test_names_through_links(void)
{
    static attempt *const changing[] = {try_mkdir,     try_unlink,    try_rmdir,   try_move_away,
                                        try_link_away, try_move_in,   try_link_in, try_symlink,
                                        try_times,     try_create_new};
    struct rig rig;
    bool by_link = true, by_folder = true, by_both = true;

    init(&rig);
    uint32_t git = open_folder(&rig, ".git"), hooks = open_folder(&rig, "to_hooks");
    for (size_t i = 0; i < ARRAY_SIZE(changing); i++) {
        by_link = is_refused(&rig, changing[i](&rig, RIG_RW, "to_hooks/x")) && by_link;
        by_folder = is_refused(&rig, changing[i](&rig, git, "hooks/x")) && by_folder;
        by_both = is_refused(&rig, changing[i](&rig, hooks, "x")) && by_both;
    }
    ok(by_link, "no act changes a name behind a link to git's hooks");
    ok(by_folder, "nor one in them from an open folder .git");
    ok(by_both, "nor one in the folder that was opened through the link");
    ok(try_mkdir(&rig, git, "new") == WASI_SUCCESS &&
           try_create_new(&rig, RIG_RW, "to_git/new/x") == WASI_SUCCESS &&
           try_unlink(&rig, git, "new/x") == WASI_SUCCESS &&
           try_rmdir(&rig, RIG_RW, "to_git/new") == WASI_SUCCESS,
       "while other names in .git are made and removed by the same ways");
    ok(try_unlink(&rig, RIG_RW, "to_hooks") == WASI_SUCCESS && rig_exists(&rig, "rw/.git/hooks"),
       "a link to a protected name is as any link, and may go");
    ok(CALL_SYMLINK(&rig, ".git/hooks", RIG_RW, "mine") == WASI_SUCCESS &&
           is_refused(&rig, try_create(&rig, RIG_RW, "mine/post-merge")) &&
           !rig_exists(&rig, "rw/.git/hooks/post-merge"),
       "a link that the guest makes itself leads to nothing it may change");
    rig_release(&rig);
}

/* ---- what moves ------------------------------------------------------------------------------ */

static void test_moves(void)
{
    struct rig rig;

    init(&rig);
    uint32_t deep = open_folder(&rig, "deep"), er = open_folder(&rig, "deep/er");
    ok(CALL_RENAME(&rig, RIG_RW, "deep", RIG_RW, "moved") == WASI_SUCCESS &&
           is_refused(&rig, try_write(&rig, RIG_RW, "moved/.git")) &&
           is_refused(&rig, try_write(&rig, RIG_RW, "moved/er/.idea/xml")),
       "a folder may be moved, and what is protected in it is so there too");
    ok(is_refused(&rig, try_write(&rig, deep, ".git")) &&
           is_refused(&rig, try_write(&rig, er, ".idea/xml")),
       "also from a folder that was open before");
    ok(try_create(&rig, er, "new") == WASI_SUCCESS && rig_exists(&rig, "rw/moved/er/new"),
       "where other names are made");
    ok(is_refused(&rig, CALL_RENAME(&rig, RIG_RW, "moved/er", RIG_RW, ".vscode/er")) &&
           is_refused(&rig, CALL_RENAME(&rig, RIG_RW, "moved", RIG_RW, ".git/modules")) &&
           is_refused(&rig, CALL_RENAME(&rig, RIG_RW, "moved", RIG_RW, "plain/.local")),
       "an open folder cannot be moved to where it would be protected");
    uint32_t objects = open_folder(&rig, ".git/objects");
    ok(CALL_RENAME(&rig, RIG_RW, ".git/objects", RIG_RW, "objects") == WASI_SUCCESS &&
           try_create(&rig, objects, "hooks") == WASI_SUCCESS,
       "what lies in .git and is not protected may leave it");
    ok(is_refused(&rig, CALL_RENAME(&rig, RIG_RW, "plain/hooks", RIG_RW, ".git/hooks")),
       "git's hooks cannot be put in place whole");
    rig_release(&rig);
}

/* As `git commit` does it. */
static void test_commit(void)
{
    struct rig rig;

    init(&rig);
    ok(try_create_new(&rig, RIG_RW, ".git/index.lock") == WASI_SUCCESS &&
           CALL_RENAME(&rig, RIG_RW, ".git/index.lock", RIG_RW, ".git/index") == WASI_SUCCESS &&
           try_mkdir(&rig, RIG_RW, ".git/objects/ab") == WASI_SUCCESS &&
           try_create_new(&rig, RIG_RW, ".git/objects/ab/tmp") == WASI_SUCCESS &&
           CALL_LINK(&rig, RIG_RW, ".git/objects/ab/tmp", RIG_RW, ".git/objects/ab/c") ==
               WASI_SUCCESS &&
           try_unlink(&rig, RIG_RW, ".git/objects/ab/tmp") == WASI_SUCCESS &&
           try_create(&rig, RIG_RW, ".git/refs/config") == WASI_SUCCESS &&
           try_create(&rig, RIG_RW, ".git/COMMIT_EDITMSG") == WASI_SUCCESS && rig.n_denials == 0,
       "what a commit writes in .git is written");
    ok(try_create_new(&rig, RIG_RW, ".git/config.lock") == WASI_SUCCESS &&
           is_refused(&rig, CALL_RENAME(&rig, RIG_RW, ".git/config.lock", RIG_RW, ".git/config")),
       "what `git config` does is refused where it matters");
    rig_release(&rig);
}

/* ---- who says what --------------------------------------------------------------------------- */

static void test_unprotected(void)
{
    static const char *const names[] = {".git/hooks", ".envrc", NULL};
    struct rig rig;

    init(&rig);
    rig.unprotected = names;
    rig_start(&rig);
    ok(try_write(&rig, RIG_RW, ".git/hooks/pre-commit") == WASI_SUCCESS &&
           try_create(&rig, RIG_RW, "to_hooks/new") == WASI_SUCCESS &&
           try_unlink(&rig, RIG_RW, ".envrc") == WASI_SUCCESS && rig.n_denials == 0,
       "names that the owner gave may be changed");
    ok(is_refused(&rig, try_write(&rig, RIG_RW, ".git/config")) &&
           is_refused(&rig, try_move_away(&rig, RIG_RW, ".git")),
       "and no others");
    rig_release(&rig);
}

static void test_root(void)
{
    struct rig rig;

    init(&rig);
    rig.at = protected_walk(PROTECTED_NOWHERE, ".git", NULL);
    rig_start(&rig);
    ok(is_refused(&rig, try_create(&rig, RIG_RW, "config")) &&
           is_refused(&rig, try_mkdir(&rig, RIG_RW, "hooks")) &&
           is_refused(&rig, try_create(&rig, RIG_RW, "plain/../config")),
       "a grant that is a .git is no way around");
    ok(try_create(&rig, RIG_RW, "index") == WASI_SUCCESS &&
           try_mkdir(&rig, RIG_RW, "objects") == WASI_SUCCESS,
       "in which the rest is free");
    rig_release(&rig);
}

static void test_read_only(void)
{
    struct rig rig;

    init(&rig);
    rig_write_host(&rig, "ro/.envrc", "owner's");
    rig_start(&rig);
    ok(try_read(&rig, RIG_RO, ".envrc") == WASI_SUCCESS &&
           try_write(&rig, RIG_RO, ".envrc") == WASI_EROFS &&
           strcmp(rig.denial.rule, "read-only") == 0,
       "in a read-only grant all names are read-only alike");
    ok(is_refused(&rig, try_write(&rig, RIG_RW, ".envrc")) &&
           strcmp(rig.denial.action, "path_open") == 0 &&
           strcmp(rig.denial.target, "/rw/.envrc") == 0,
       "a refusal names the call and the path");
    rig_release(&rig);
}

/* As the kernel answers, which is not asked for all of it any more. */
static void test_links(void)
{
    struct rig rig;
    char link[64], target[64];

    init(&rig);
    ok(CALL_OPEN(&rig, RIG_RW, 0, "to_file", 0, RIGHTS_RW, 0) == WASI_ELOOP &&
           CALL_OPEN(&rig, RIG_RW, 0, "to_plain/file", 0, RIGHTS_RW, 0) == WASI_SUCCESS &&
           CALL_OPEN(&rig, RIG_RW, 0, "to_plain/", 0, RIGHTS_READ, 0) == WASI_SUCCESS,
       "a link at the end is not followed unless asked for, or a slash is behind it");
    ok(try_read(&rig, RIG_RW, "loop") == WASI_ELOOP &&
           try_create(&rig, RIG_RW, "loop") == WASI_ELOOP,
       "a link to itself leads nowhere");
    ok(try_create_new(&rig, RIG_RW, "dangling_plain") == WASI_EEXIST &&
           try_mkdir(&rig, RIG_RW, "dangling_plain") == WASI_EEXIST,
       "a new file does not come through a link");
    for (int i = 0; i <= 50; i++) {
        (void) snprintf(link, sizeof(link), "rw/n%d", i);      /* fits */
        (void) snprintf(target, sizeof(target), "n%d", i + 1); /* fits */
        if (symlink(i == 50 ? "file" : target, rig_host(&rig, link)) < 0)
            rig_die(link);
    }
    ok(try_write(&rig, RIG_RW, "n11") == WASI_SUCCESS &&
           try_write(&rig, RIG_RW, "n10") == WASI_ELOOP,
       "of a chain of links 40 are followed, as by the kernel");
    ok(CALL_OPEN(&rig, RIG_RW, FOLLOW, "rel/x", OFLAG_CREAT, RIGHTS_RW, 0) == WASI_EPERM &&
           strcmp(rig.denial.rule, "outside-grant") == 0 && !rig_exists(&rig, "outside/x"),
       "a link that leads out is refused as that");
    rig_release(&rig);
}

int main(void)
{
    test_acts();
    test_ways();
    test_names_through_links();
    test_moves();
    test_commit();
    test_unprotected();
    test_root();
    test_read_only();
    test_links();
    return done();
}
