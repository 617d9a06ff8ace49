/* What is written outside a cell for the guest in it, and with whose rights. */
#include <dirent.h>
#include <sys/fsuid.h>

#include "broker_rig.h"

#define OTHER 54321

static const char *write_file(struct rig *rig, const char *path, const char *more)
{
    return rig_file(rig, DOOR_FS_WRITE, path, more);
}

/* Files under the name that they have until they are whole. */
static bool has_leftovers(const struct rig *rig)
{
    DIR *dir = opendir(rig_path(rig, "rw"));
    bool found = false;

    if (dir == NULL)
        rig_die("rw");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        found = found || strncmp(entry->d_name, ".wasp-", 6) == 0;
    (void) closedir(dir); /* only read from */
    return found;
}

static void test_modes(struct rig *rig)
{
    ok(IS(write_file(rig, "rw/new", ",\"data\":\"first\""), "") && rig_says(rig, "{\"bytes\":5}") &&
           strcmp(rig_read(rig, "rw/new"), "first") == 0 &&
           strcmp(rig->judged, rig_path(rig, "rw/new")) == 0,
       "a new file is written, after it was judged");
    ok((rig_stat(rig, "rw/new").st_mode & 07777) == 0644, "with the mode that the umask leaves");
    ok(IS(write_file(rig, "rw/new", ",\"data\":\"2\""), "") &&
           strcmp(rig_read(rig, "rw/new"), "2") == 0,
       "one that is there is replaced, as a whole");
    ok(IS(write_file(rig, "rw/new", ",\"data\":\"3\",\"mode\":\"append\""), "") &&
           strcmp(rig_read(rig, "rw/new"), "23") == 0,
       "or its end is written");
    ok(IS(write_file(rig, "rw/new", ",\"data\":\"4\",\"mode\":\"create\""), "exists") &&
           strcmp(rig_read(rig, "rw/new"), "23") == 0,
       "or it is refused for being there");
    ok(IS(write_file(rig, "rw/newer", ",\"base64\":\"AP8=\",\"mode\":\"create\""), "") &&
           rig_stat(rig, "rw/newer").st_size == 2,
       "and made if it is not");
    ok(IS(write_file(rig, "rw/newest", ",\"data\":\"\",\"mode\":\"append\""), "") &&
           S_ISREG(rig_stat(rig, "rw/newest").st_mode),
       "a file is made for its end, too");
    ino_t before = rig_stat(rig, "rw/new").st_ino;
    ok(chmod(rig_path(rig, "rw/new"), 04750) == 0 &&
           IS(write_file(rig, "rw/new", ",\"data\":\"5\""), "") &&
           (rig_stat(rig, "rw/new").st_mode & 07777) == 0750 &&
           rig_stat(rig, "rw/new").st_ino != before,
       "replacing keeps the rights, but no set-user-id bit");
    ok(chmod(rig_path(rig, "rw/new"), 06750) == 0 &&
           IS(write_file(rig, "rw/new", ",\"data\":\"\""), "") &&
           (rig_stat(rig, "rw/new").st_mode & 07777) == 0750,
       "nor by nothing at all");
    ok(chmod(rig_path(rig, "rw/new"), 04750) == 0 &&
           IS(write_file(rig, "rw/new", ",\"data\":\"6\",\"mode\":\"append\""), "") &&
           (rig_stat(rig, "rw/new").st_mode & 06000) == 0,
       "nor does writing its end");
    ok(!has_leftovers(rig), "nothing is left behind");
}

static void test_paths(struct rig *rig)
{
    static const struct {
        const char *path, *code, *rule;
        const char *what;
    } rows[] = {
        {"ro/file", "denied", RULE_READ_ONLY, "in a scope for reading"},
        {"outside/x", "denied", RULE_OUTSIDE, "in no scope"},
        {"rw/../outside/x", "invalid", "", "by '..'"},
        {"rw/outdir/x", "denied", RULE_OUTSIDE, "through a link out"},
        {"rw/out", "denied", RULE_SPECIAL, "to where a link leads"},
        {"rw/in", "denied", RULE_SPECIAL, "to where a link within leads"},
        {"rw/nothing/x", "not_found", "", "in a directory that is not there"},
        {"rw/sub", "invalid", "", "over a directory"},
        {"rw/fifo", "denied", RULE_SPECIAL, "into a FIFO"},
        {"rw/.git/hooks/pre-commit", "denied", RULE_PROTECTED, "a hook"},
        {"rw/hooks/pre-commit", "denied", RULE_PROTECTED, "a hook, through a link"},
        {"rw/.bashrc", "denied", RULE_PROTECTED, "a file that shells run"},
        {"rw/sub/.GIT", "denied", RULE_PROTECTED, "a protected name in other letters"},
        {"rw/own/key", "denied", RULE_OWN_FOLDER, "into wasp's own folder"},
        {"rw/state/new", "denied", RULE_OWN_FOLDER, "into wasp's own folder, through a link"},
    };
    static const char *const modes[] = {"replace", "append", "create"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool holds = true;
        for (size_t k = 0; k < ARRAY_SIZE(modes); k++) {
            char more[64];
            (void) snprintf(more, sizeof(more), ",\"data\":\"bad\",\"mode\":\"%s\"",
                            modes[k]); /* fits */
            holds = holds && IS(write_file(rig, rows[i].path, more), rows[i].code) &&
                    rig->n_checks == 0 && strcmp(rig->denial.rule, rows[i].rule) == 0;
        }
        ok(holds, "writing is %s in every mode: %s", rows[i].code, rows[i].what);
    }
    ok(strcmp(rig_read(rig, "outside/secret"), "secret") == 0 &&
           rig_stat(rig, "outside/x").st_ino == 0,
       "and nothing outside has changed");
    ok(IS(write_file(rig, "rw/subdir/x", ",\"data\":\"in\""), "") &&
           strcmp(rig->judged, rig_path(rig, "rw/sub/x")) == 0 &&
           strcmp(rig_read(rig, "rw/sub/x"), "in") == 0,
       "a link on the way that stays within is followed, and judged by where it leads");
    const char *const unprotected[] = {".git/hooks", NULL};
    rig->broker.unprotected = unprotected;
    ok(IS(write_file(rig, "rw/.git/hooks/pre-commit", ",\"data\":\"hook\""), "") &&
           IS(write_file(rig, "rw/.bashrc", ",\"data\":\"x\""), "denied"),
       "a rule that does not hold protects nothing, and the others do");
    rig->broker.unprotected = NULL;
    rig->refuses = true;
    ok(IS(write_file(rig, "rw/file", ",\"data\":\"bad\""), "denied") && rig->n_checks == 1 &&
           strcmp(rig_read(rig, "rw/file"), "0123456789") == 0,
       "what the judge refuses is not written");
    rig->refuses = false;
}

/* A scope that is a protected folder itself: its owner named it; one within .git is none. */
static void test_roots(struct rig *rig)
{
    struct broker_scope before = rig->scopes[0];

    rig->scopes[0] = (struct broker_scope){
        .path = rig_path(rig, "rw/.git"), .fd = rig_open_dir(rig, "rw/.git"), .writable = true};
    ok(IS(write_file(rig, "rw/.git/config", ",\"data\":\"x\""), "denied"),
       "a scope that is .git itself is no way around the names in it");
    ok(IS(write_file(rig, "rw/.git/description", ",\"data\":\"x\""), ""),
       "and the others in it may be written");
    cleanup_fd(&rig->scopes[0].fd);
    rig->scopes[0] = before;
}

static void test_links(struct rig *rig)
{
    rig_text(rig, "outside/shared", "shared");
    if (link(rig_path(rig, "outside/shared"), rig_path(rig, "rw/shared")) < 0)
        rig_die("link");
    ok(IS(write_file(rig, "rw/shared", ",\"data\":\"x\",\"mode\":\"append\""), "denied") &&
           strcmp(rig_read(rig, "outside/shared"), "shared") == 0,
       "a file with another name elsewhere is not written to");
    ok(IS(write_file(rig, "rw/shared", ",\"data\":\"x\""), "") &&
           strcmp(rig_read(rig, "outside/shared"), "shared") == 0 &&
           strcmp(rig_read(rig, "rw/shared"), "x") == 0,
       "but replaced");
}

static void test_quota(struct rig *rig)
{
    rig->quota = (struct broker_quota){.disk_bytes = 10, .file_bytes = 6};
    ok(IS(write_file(rig, "rw/q", ",\"data\":\"1234567\""), "limit") &&
           rig_stat(rig, "rw/q").st_ino == 0,
       "a file above the limit of a file is not written");
    ok(IS(write_file(rig, "rw/q", ",\"data\":\"123456\""), ""), "one at the limit is");
    ok(IS(write_file(rig, "rw/q", ",\"data\":\"7\",\"mode\":\"append\""), "limit"),
       "and cannot grow past it");
    ok(IS(write_file(rig, "rw/q2", ",\"data\":\"12345\""), "limit") &&
           IS(write_file(rig, "rw/q2", ",\"data\":\"1234\""), "") &&
           IS(write_file(rig, "rw/q2", ",\"data\":\"1\""), "limit"),
       "all that is written counts, to the byte");
    rig->quota = (struct broker_quota){.disk_bytes = 1 << 20, .file_bytes = 1 << 16};
}

/* ---- with whose rights ----------------------------------------------------------------------- */

static void give(const struct rig *rig, const char *path, uid_t uid, mode_t mode)
{
    if (lchown(rig_path(rig, path), uid, (gid_t) uid) < 0 || chmod(rig_path(rig, path), mode) < 0)
        rig_die(path);
}

static void test_owner(struct rig *rig)
{
    give(rig, "rw", OTHER, 0755);
    give(rig, "rw/file", OTHER, 0600);
    rig_text(rig, "rw/roots", "root's own");
    give(rig, "rw/roots", 0, 0600);
    rig_text(rig, "rw/open", "for all");
    give(rig, "rw/open", 0, 0644);
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/file", ""), "") && rig_says(rig, "0123"),
       "root reads what the scope's owner can read");
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/open", ""), "") && rig_says(rig, "for all"),
       "and what all can read");
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/roots", ""), "unreadable") && !rig_says(rig, "own\""),
       "but not what only root can");
    ok(IS(write_file(rig, "rw/roots", ",\"data\":\"x\",\"mode\":\"append\""), "unreadable") &&
           IS(write_file(rig, "rw/open", ",\"data\":\"x\",\"mode\":\"append\""), "unreadable"),
       "nor is anybody else's file written to");
    ok(IS(write_file(rig, "rw/made", ",\"data\":\"x\""), "") &&
           rig_stat(rig, "rw/made").st_uid == OTHER && rig_stat(rig, "rw/made").st_gid == OTHER,
       "what is made belongs to the scope's owner");
    give(rig, "rw/sub", 0, 0700);
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/sub/inner", ""), "unreadable"),
       "a folder that its owner cannot enter stays closed");
    give(rig, "rw", 0, 0755);
    give(rig, "rw/file", OTHER, 0600);
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/file", ""), "unreadable"),
       "in a scope of root's the files of others are theirs");
    ok(IS(rig_file(rig, DOOR_FS_READ, "rw/sub/inner", ""), "") && rig_says(rig, "inner"),
       "and root's own are root's");
    ok(setfsuid((uid_t) -1) == 0 && setfsgid((gid_t) -1) == (int) getegid() &&
           access(rig_path(rig, "rw/file"), R_OK) == 0 &&
           strcmp(rig_read(rig, "rw/file"), "0123456789") == 0,
       "afterwards we are root as before");
}

int main(void)
{
    struct rig rig;

    (void) umask(022);
    rig_init(&rig);
    test_modes(&rig);
    test_paths(&rig);
    test_roots(&rig);
    test_links(&rig);
    test_quota(&rig);
    ok(!has_leftovers(&rig), "refusals leave nothing behind, either");
    if (geteuid() == 0)
        test_owner(&rig);
    else
        skip("not root: the rights are the caller's own");
    rig_release(&rig);
    return done();
}
