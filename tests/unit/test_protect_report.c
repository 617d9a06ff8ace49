/*
 * What is reported after a run: protected names that appeared or changed.
 */
#include "protect_rig.h"

/* ---- afterwards ------------------------------------------------------------------------------ */

struct scene {
    int dir;
    struct arena *arena;
    struct protect_want want;
    struct protect_pins pins;
    struct protect_found *found;
    size_t count, more;
};

static void start_scene(struct scene *scene, struct arena *arena, bool unheld)
{
    static const char *const tree[] = {
        ".git/hooks/pre-commit", ".git/config", ".git/index", "a/.envrc",
        ".vscode/tasks.json",    "plain",       NULL};
    struct err err;

    *scene = (struct scene){
        .dir = new_tree(), .arena = arena, .want = {.names = true, .unheld = unheld}};
    plant_all(tree);
    if (protect_scan(scene->dir, root, &scene->want, arena, &scene->pins, &err) < 0)
        die(err.message);
}

static bool reports(struct scene *scene, const char *const *expected)
{
    struct err err;
    size_t n = 0;
    bool same = protect_report(scene->dir, root, &scene->want, &scene->pins, scene->arena,
                               &scene->found, &scene->count, &scene->more, &err) == 0;

    for (; expected[n] != NULL; n++) {
        bool is_there = false;
        for (size_t i = 0; i < scene->count; i++)
            is_there = strcmp(scene->found[i].path, expected[n]) == 0 || is_there;
        same = is_there && same;
    }
    same = same && scene->count == n && scene->more == 0;
    for (size_t i = 0; !same && i < scene->count; i++)
        printf("# found %s (%s)\n", scene->found[i].path, scene->found[i].rule);
    return same;
}

static void write_to(const char *path)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0 || write(fd, "x", 1) != 1)
        die(path);
}

static void test_report(struct arena *arena)
{
    static const char *const none[] = {NULL};
    static const char *const made[] = {
        ".git/commondir", "new/.git", "new/.git/config", ".mcp.json", "b/.profile", "l/.zed", NULL};
    static const char *const replaced[] = {".git/config", NULL};
    struct scene scene;

    start_scene(&scene, arena, false);
    plant("other/file");
    plant(".git/objects/ab/c");
    write_to(".git/index");
    ok(reports(&scene, none), "what was there, and other names that are new, are not reported");
    plant(".git/commondir");
    plant("new/.git/config");
    plant("new/.git/objects/x");
    plant(".mcp.json");
    plant("b/.profile");
    plant("l/.zed -> ..");
    ok(reports(&scene, made), "protected names that appeared are, links among them");
    ok(strcmp(scene.found[0].rule, protected_move(scene.found[0].path, NULL)) == 0,
       "with the rule");
    (void) close(scene.dir); /* only a path */

    start_scene(&scene, arena, false);
    plant(".git/config.lock");
    if (rename(".git/config.lock", ".git/config") < 0)
        die("rename");
    ok(reports(&scene, replaced), "a pinned name that the host replaced is reported");
    (void) close(scene.dir); /* only a path */
}

static void test_report_unheld(struct arena *arena)
{
    static const char *const none[] = {NULL};
    static const char *const changed[] = {".git/hooks/pre-commit", "a/.envrc", NULL};
    static const char *const added[] = {".git/hooks/pre-commit", "a/.envrc", ".git/hooks",
                                        ".git/hooks/post-merge", NULL};
    struct scene scene;

    start_scene(&scene, arena, true);
    write_to(".git/index");
    ok(reports(&scene, none), "where nothing was held, what did not change is not reported");
    write_to(".git/hooks/pre-commit");
    write_to("a/.envrc");
    struct timespec past[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    if (utimensat(AT_FDCWD, "a/.envrc", past, 0) < 0)
        die("utimensat");
    ok(reports(&scene, changed), "what changed in place is, whatever time it claims");
    plant(".git/hooks/post-merge");
    ok(reports(&scene, added), "and what was added in a protected directory");
    (void) close(scene.dir); /* only a path */
}

static void test_report_closed(struct arena *arena)
{
    struct scene scene;
    struct err err;

    start_scene(&scene, arena, false);
    plant("hidden/.envrc");
    plant(".mcp.json");
    if (chmod("hidden", 0111) < 0)
        die("chmod");
    int rc = protect_report(scene.dir, root, &scene.want, &scene.pins, arena, &scene.found,
                            &scene.count, &scene.more, &err);
    if (geteuid() == 0)
        ok(rc == 0 && scene.count == 2, "for root no directory is closed");
    else
        ok(rc == -1 && strstr(err.message, "hidden") != NULL && scene.count == 1,
           "a directory that was closed is told, and the rest is reported");
    if (chmod("hidden", 0755) < 0)
        die("chmod");
    (void) close(scene.dir); /* only a path */
}

static void test_report_bound(struct arena *arena)
{
    struct scene scene;
    struct err err;
    char path[64];

    start_scene(&scene, arena, false);
    for (int i = 0; i < PROTECT_MAX_PINS + 7; i++) {
        (void) snprintf(path, sizeof(path), "d%d/.envrc", i); /* fits */
        plant(path);
    }
    ok(protect_report(scene.dir, root, &scene.want, &scene.pins, arena, &scene.found, &scene.count,
                      &scene.more, &err) == 0 &&
           scene.count == PROTECT_MAX_PINS && scene.more == 7,
       "a flood of them is counted");
    (void) close(scene.dir); /* only a path */
}

int main(void)
{
    struct arena *arena = rig_begin();

    test_report(arena);
    test_report_unheld(arena);
    test_report_closed(arena);
    test_report_bound(arena);
    rig_end(arena);
    return done();
}
