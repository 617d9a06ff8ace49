/* Policies as files: which are in force, which are refused, and what their names are here. */
#include "store/policies.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/match.h"
#include "tap.h"

#define VERSION "version: 1\n"

/* A folder for the whole test, and places in it. */
struct scene {
    char base[64];
    struct arena *arena;
    struct policy_places places;
};

static void must(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        abort();
    }
}

static const char *path_in(struct scene *scene, const char *name)
{
    const char *path = arena_printf(scene->arena, "%s/%s", scene->base, name);

    must(path != NULL, "memory");
    return path;
}

static void make_dir(struct scene *scene, const char *name)
{
    must(mkdir(path_in(scene, name), 0755) == 0 || errno == EEXIST, name);
}

static void put(struct scene *scene, const char *name, const char *text)
{
    const char *path = path_in(scene, name);
    (void) unlink(path); /* it may not be there */
    _cleanup_fd_ int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

    must(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0, name);
    must(fchmod(fd, 0644) == 0, name);
}

static void drop(struct scene *scene, const char *name)
{
    must(remove(path_in(scene, name)) == 0, name);
}

static int load(struct scene *scene, struct policies *policies, struct err *err)
{
    *err = (struct err){.code = ERR_NONE};
    *policies = (struct policies){.count = 0};
    return policies_load(&scene->places, true, scene->arena, policies, err);
}

static void scene_init(struct scene *scene)
{
    *scene = (struct scene){.base = "/tmp/wasp-policies-XXXXXX", .arena = arena_new()};
    must(scene->arena && mkdtemp(scene->base), "mkdtemp");
    must(chmod(scene->base, 0755) == 0, "chmod");
    make_dir(scene, "etc");
    make_dir(scene, "user");
    make_dir(scene, "home");
    make_dir(scene, "home/p");
    make_dir(scene, "home/p/q");
    make_dir(scene, "home/p/q/r");
    scene->places = (struct policy_places){
        .system_dir = path_in(scene, "etc"),
        .user_dir = path_in(scene, "user"),
        .home = path_in(scene, "home"),
        .cwd = path_in(scene, "home/p/q/r"),
    };
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw; /* nftw's; remove knows by itself */
    return remove(path);
}

static void scene_release(struct scene *scene)
{
    must(nftw(scene->base, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "nftw");
    arena_free(scene->arena);
}

/* ---- which are in force ---------------------------------------------------------------------- */

static void test_layers(struct scene *scene)
{
    struct policies policies, again;
    struct err err;

    ok(load(scene, &policies, &err) == 0 && policies.count == 0, "with no file there is no layer");
    scene->places.is_agent = true;
    ok(load(scene, &policies, &err) == 0 && policies.count == 1 &&
           strcmp(policies.layers[0].where, "tier low") == 0,
       "an agent without a policy gets tier low");

    make_dir(scene, "home/p/.wasp");
    make_dir(scene, "home/p/q/r/.wasp");
    put(scene, "home/p/.wasp/policy.yaml", VERSION "filesystem: {allow: [src]}\ntier: high\n");
    put(scene, "home/p/q/r/.wasp/policy.json", "{\"version\": 1}");
    ok(load(scene, &policies, &err) == 0 && policies.count == 4 &&
           policies.layers[0].layer == LAYER_PROJECT && policies.layers[1].layer == LAYER_PROJECT &&
           strstr(policies.layers[0].where, "/p/.wasp/policy.yaml") &&
           strstr(policies.layers[1].where, "/r/.wasp/policy.json") &&
           strcmp(policies.layers[2].where, "tier low") == 0 &&
           strcmp(policies.layers[3].where, "tier high") == 0,
       "projects above are in force too, the nearest last; they do not lift tier low");
    const struct rule *rule = &policies.layers[0].rules[SECTION_FILESYSTEM][VERDICT_ALLOW].items[0];
    ok(strcmp(rule->path, path_in(scene, "home/p/src")) == 0,
       "a project's relative path counts from the project");

    if (geteuid() == 0)
        put(scene, "etc/policy.yaml", VERSION "tier: medium\n");
    put(scene, "user/policy.json", "{\"version\": 1, \"tier\": \"medium\"}");
    int rc = load(scene, &policies, &err);
    ok(rc == 0 && policies.layers[policies.count - 3].layer == LAYER_PROJECT &&
           strcmp(policies.layers[policies.count - 2].where, "tier medium") == 0 &&
           strcmp(policies.layers[policies.count - 1].where, "tier high") == 0,
       "with a user's policy there is no tier low, and a tier is there once %s", err.message);
    if (geteuid() == 0)
        ok(policies.layers[0].layer == LAYER_SYSTEM && policies.layers[1].layer == LAYER_USER,
           "the system's comes first, then the user's");
    else
        skip("only root can have a system's policy");

    ok(load(scene, &again, &err) == 0 && digest_equal(&policies.digest, &again.digest),
       "the same layers have the same digest");
    put(scene, "home/p/q/r/.wasp/policy.json", "{\"version\": 1, \"id\": \"x\"}");
    ok(load(scene, &again, &err) == 0 && !digest_equal(&policies.digest, &again.digest),
       "a changed one has another");
}

/* With the layers that test_layers left. */
static void test_places(struct scene *scene)
{
    struct policies policies;
    struct err err;

    scene->places.file = "preset:agent-skill";
    ok(load(scene, &policies, &err) == 0 &&
           strcmp(policies.layers[geteuid() == 0].where, "preset:agent-skill") == 0,
       "--policy takes the user's place");
    scene->places.file = "preset:nonsense";
    ok(load(scene, &policies, &err) < 0 && err.code == ERR_REQUEST &&
           strstr(err.message, "there is no preset 'nonsense'"),
       "a preset that is not there is refused");
    scene->places.file = NULL;
    scene->places.tier = TIER_LOW;
    ok(load(scene, &policies, &err) == 0 &&
           strcmp(policies.layers[policies.count - 3].where, "tier low") == 0,
       "the request's tier is in force besides");
    scene->places.tier = TIER_NONE;
    scene->places.cwd = NULL;
    ok(load(scene, &policies, &err) == 0 && policies.layers[policies.count - 2].layer == LAYER_USER,
       "without a working directory there are no projects");
    scene->places.cwd = path_in(scene, "home/p/q/r");
    if (geteuid() == 0)
        drop(scene, "etc/policy.yaml");
    drop(scene, "home/p/.wasp/policy.yaml");
    drop(scene, "home/p/.wasp");
    drop(scene, "home/p/q/r/.wasp/policy.json");
    drop(scene, "home/p/q/r/.wasp");
    drop(scene, "user/policy.json");
    scene->places.is_agent = false;
}

/* ---- which are refused ----------------------------------------------------------------------- */

static bool is_refused(struct scene *scene, const char *says, const char *what)
{
    struct policies policies;
    struct err err;
    int rc = load(scene, &policies, &err);

    return ok(rc < 0 && err.code == ERR_REQUEST && strstr(err.message, says),
              "%s is refused: %s%s%s", what, rc < 0 ? err.message : "it is not",
              err.hint[0] ? "; " : "", err.hint);
}

static bool is_taken(struct scene *scene)
{
    struct policies policies;
    struct err err;
    int rc = load(scene, &policies, &err);

    return ok(rc == 0 && policies.count > 0, "the same file, mended, is %s",
              err.message[0] ? err.message : "taken");
}

static void test_files(struct scene *scene)
{
    put(scene, "user/policy.yaml", VERSION);
    is_taken(scene);
    put(scene, "user/policy.json", "{\"version\": 1}");
    is_refused(scene, "keep one of them", "a folder with both spellings");
    drop(scene, "user/policy.json");

    must(chmod(path_in(scene, "user/policy.yaml"), 0664) == 0, "chmod");
    is_refused(scene, "can be written by others", "a file that the group can write");
    must(chmod(path_in(scene, "user/policy.yaml"), 0646) == 0, "chmod");
    is_refused(scene, "can be written by others", "a file that all can write");
    must(chmod(path_in(scene, "user/policy.yaml"), 0400) == 0, "chmod");
    is_taken(scene);
    must(chmod(path_in(scene, "user"), 01777) == 0, "chmod");
    is_refused(scene, "the folder of a policy", "a folder that others can write, sticky or not,");
    must(chmod(path_in(scene, "user"), 0755) == 0, "chmod");
    is_taken(scene);

    must(rename(path_in(scene, "user/policy.yaml"), path_in(scene, "user/real.yaml")) == 0, "mv");
    must(symlink("real.yaml", path_in(scene, "user/policy.yaml")) == 0, "symlink");
    is_refused(scene, "is a symbolic link", "a link");
    drop(scene, "user/policy.yaml");
    must(mkfifo(path_in(scene, "user/policy.yaml"), 0600) == 0, "mkfifo");
    is_refused(scene, "is no regular file", "a fifo, without waiting for its writer,");
    drop(scene, "user/policy.yaml");
    make_dir(scene, "user/policy.yaml");
    is_refused(scene, "is no regular file", "a folder in the file's place");
    drop(scene, "user/policy.yaml");
    must(rename(path_in(scene, "user/real.yaml"), path_in(scene, "user/policy.yaml")) == 0, "mv");
    is_taken(scene);

    must(truncate(path_in(scene, "user/policy.yaml"), (off_t) POLICY_MAX_BYTES + 1) == 0 ||
             errno == EACCES,
         "truncate");
    must(chmod(path_in(scene, "user/policy.yaml"), 0600) == 0 &&
             truncate(path_in(scene, "user/policy.yaml"), (off_t) POLICY_MAX_BYTES + 1) == 0,
         "truncate");
    is_refused(scene, "larger than 1 MiB", "a file that is too large");
    put(scene, "user/policy.yaml", VERSION "nonsense: 1\n");
    is_refused(scene, "/user/policy.yaml:2: nonsense: unknown key", "a file with a problem");
    put(scene, "user/policy.yaml", VERSION "filesystem: {allow: [work]}\n");
    is_refused(scene, "must be an absolute path", "a relative path in a user's policy");
    put(scene, "user/policy.yaml", "");
    is_refused(scene, "is empty", "an empty file");
    drop(scene, "user/policy.yaml");
}

static void test_projects(struct scene *scene)
{
    put(scene, "home/p/.wasp", "x");
    is_refused(scene, "is no folder", "a file called .wasp");
    drop(scene, "home/p/.wasp");
    make_dir(scene, "elsewhere");
    put(scene, "elsewhere/policy.yaml", VERSION);
    must(symlink(path_in(scene, "elsewhere"), path_in(scene, "home/p/.wasp")) == 0, "symlink");
    is_refused(scene, "is no folder", "a link called .wasp");
    drop(scene, "home/p/.wasp");
    make_dir(scene, "home/p/.wasp");
    put(scene, "home/p/.wasp/policy.yaml", VERSION);
    is_taken(scene);
    must(chmod(path_in(scene, "home/p/.wasp"), 0777) == 0, "chmod");
    is_refused(scene, "the folder of a policy", "a project's folder that others can write");
    drop(scene, "home/p/.wasp/policy.yaml");
    struct policies policies;
    struct err err;
    ok(load(scene, &policies, &err) == 0 && policies.count == 0,
       "a folder .wasp without a policy is no layer");
    drop(scene, "home/p/.wasp");
    drop(scene, "elsewhere/policy.yaml");
    drop(scene, "elsewhere");
}

static void test_owners(struct scene *scene)
{
    if (geteuid() != 0) {
        skip("only root can give files away");
        return;
    }
    put(scene, "user/policy.yaml", VERSION);
    must(chown(path_in(scene, "user/policy.yaml"), 12345, 12345) == 0, "chown");
    is_refused(scene, "belongs to uid 12345, not to you or root", "somebody else's file");
    must(chown(path_in(scene, "user/policy.yaml"), 0, 0) == 0, "chown");
    must(chown(path_in(scene, "user"), 12345, 12345) == 0, "chown");
    is_refused(scene, "the folder of a policy", "a file in somebody else's folder");
    must(chown(path_in(scene, "user"), 0, 0) == 0, "chown");
    is_taken(scene);
    drop(scene, "user/policy.yaml");

    /* The system's must be root's also when we are somebody else. */
    put(scene, "etc/policy.yaml", VERSION);
    is_taken(scene);
    must(chown(path_in(scene, "etc/policy.yaml"), 12345, 12345) == 0, "chown");
    must(seteuid(12345) == 0, "seteuid");
    is_refused(scene, "not to root", "a system's policy that is our own");
    must(seteuid(0) == 0, "seteuid");
    must(chown(path_in(scene, "etc/policy.yaml"), 0, 0) == 0, "chown");
    must(seteuid(12345) == 0, "seteuid");
    is_taken(scene);
    must(seteuid(0) == 0, "seteuid");
    drop(scene, "etc/policy.yaml");
}

/* ---- what names are -------------------------------------------------------------------------- */

static void test_links(struct scene *scene)
{
    struct policies policies;
    struct err err;

    make_dir(scene, "data");
    make_dir(scene, "data/sub");
    make_dir(scene, "home/w");
    must(symlink(path_in(scene, "data"), path_in(scene, "home/link")) == 0, "symlink");
    must(symlink(path_in(scene, "data"), path_in(scene, "home/w/link")) == 0, "symlink");
    must(symlink("nowhere", path_in(scene, "home/dangling")) == 0, "symlink");
    put(scene, "user/policy.yaml",
        VERSION "filesystem:\n"
                "  allow:\n"
                "    - ~/link\n"
                "    - ~/link/sub\n"
                "    - ~/link/not/there\n"
                "    - ~/p\n"
                "    - {path: ~/w, access: read-write}\n"
                "    - ~/w/link\n"
                "    - ~/dangling\n"
                "    - \"*\"\n"
                "  deny: [~/w/link]\n");
    if (!ok(load(scene, &policies, &err) == 0, "links are resolved %s", err.message))
        return;
    const struct rule *rules = policies.layers[0].rules[SECTION_FILESYSTEM][VERDICT_ALLOW].items;
    const struct rule *deny = policies.layers[0].rules[SECTION_FILESYSTEM][VERDICT_DENY].items;
    ok(rules[0].real && strcmp(rules[0].real, path_in(scene, "data")) == 0, "a link is followed");
    ok(rules[1].real && strcmp(rules[1].real, path_in(scene, "data/sub")) == 0, "so is one above");
    ok(rules[2].real && strcmp(rules[2].real, path_in(scene, "data/not/there")) == 0,
       "also where the rest is not there yet");
    ok(!rules[3].real && !rules[4].real && !rules[7].real, "what is no link stays as written");
    ok(!rules[5].real,
       "a rule that allows does not follow a link that a guest could have put there");
    ok(deny[0].real && strcmp(deny[0].real, path_in(scene, "data")) == 0,
       "a rule that denies does");
    ok(!rules[6].real, "a link to nothing leads nowhere");
    drop(scene, "user/policy.yaml");
    drop(scene, "home/link");
    drop(scene, "home/w/link");
    drop(scene, "home/dangling");
}

static void test_programs(struct scene *scene)
{
    static const char *const args[] = {"-c", "x"};
    struct policies policies;
    struct err err;
    struct stat sh;

    must(stat("/bin/sh", &sh) == 0, "/bin/sh");
    const struct file_id id = {sh.st_dev, sh.st_ino};
    put(scene, "home/sh", "not the real one");
    must(chmod(path_in(scene, "home/sh"), 0755) == 0, "chmod");
    must(symlink("/bin/sh", path_in(scene, "home/link")) == 0, "symlink");
    put(scene, "user/policy.yaml",
        VERSION "exec:\n"
                "  allow:\n"
                "    - {program: sh, args: [-c, \"*\"], match: [sh -c x, /bin/sh -c], "
                "no_match: [sh, cat -c]}\n"
                "    - /bin/sh\n"
                "    - ~/link\n"
                "    - no-such-program-here\n"
                "    - /usr/bin\n"
                "    - ~/sh\n"
                "    - {program: no-such-program-here, match: [anything]}\n");
    if (!ok(load(scene, &policies, &err) == 0, "programs are found %s", err.message))
        return;
    const struct rule *rules = policies.layers[0].rules[SECTION_EXEC][VERDICT_ALLOW].items;
    ok(match_program(&rules[0], &id, args, 2) && match_program(&rules[1], &id, args, 2) &&
           match_program(&rules[2], &id, args, 2),
       "a name, a path and a link to it are the same program");
    ok(!rules[3].has_program_id && !rules[4].has_program_id,
       "what is not there, or is a folder, is no program");
    ok(rules[5].has_program_id && !match_program(&rules[5], &id, args, 2),
       "another file of the same name is another program");
    ok(policies_load(&scene->places, false, scene->arena, &policies, &err) == 0 &&
           !policies.layers[0].rules[SECTION_EXEC][VERDICT_ALLOW].items[1].has_program_id,
       "programs are looked for only if that is asked for");

    put(scene, "user/policy.yaml",
        VERSION "exec:\n  allow:\n    - ls\n    - {program: sh, match: [sh -c x, cat]}\n");
    is_refused(scene, ":5: exec.allow[1].match[1]: 'cat' is not matched", "a wrong example");
    put(scene, "user/policy.yaml", VERSION "exec: {deny: [{program: sh, no_match: [sh x]}]}\n");
    is_refused(scene, "exec.deny[0].no_match[0]: 'sh x' is matched", "a wrong counterexample");
    put(scene, "user/policy.yaml", VERSION "exec: {allow: [{program: sh, match: [\"sh | x\"]}]}\n");
    is_refused(scene, "exec.allow[0].match[0]", "an example that only a shell would understand");
    drop(scene, "user/policy.yaml");
    drop(scene, "home/sh");
    drop(scene, "home/link");
}

/* ---- check ----------------------------------------------------------------------------------- */

static void test_check(struct scene *scene)
{
    struct policy_problems problems;
    struct policy policy;
    struct err err = {0};
    const char *home = scene->places.home;

    put(scene, "user/x.yml", VERSION "filesystem: {allow: [~/work]}\n");
    ok(policies_check(path_in(scene, "user/x.yml"), home, scene->arena, &policy, &problems, &err) ==
               0 &&
           problems.count == 0,
       "a good file is good, whatever it is called %s", err.message);
    put(scene, "user/x.yml", VERSION "a: 1\nb: 2\n");
    ok(policies_check(path_in(scene, "user/x.yml"), home, scene->arena, &policy, &problems, &err) <
               0 &&
           problems.count == 2 && problems.items[1].line == 3,
       "all problems of a bad one are told");
    put(scene, "user/x.yml", VERSION "exec: {allow: [{program: sh, match: [cat, ls]}]}\n");
    ok(policies_check(path_in(scene, "user/x.yml"), home, scene->arena, &policy, &problems, &err) <
               0 &&
           problems.count == 2 && strcmp(problems.items[1].key, "exec.allow[0].match[1]") == 0,
       "so are those of its examples");
    must(chmod(path_in(scene, "user/x.yml"), 0666) == 0, "chmod");
    ok(policies_check(path_in(scene, "user/x.yml"), home, scene->arena, &policy, &problems, &err) <
               0 &&
           problems.count == 0 && strstr(err.message, "can be written by others") &&
           strstr(err.hint, "chmod go-w"),
       "its mode is judged, too");
    ok(policies_check(path_in(scene, "user/none.yaml"), home, scene->arena, &policy, &problems,
                      &err) < 0 &&
           strstr(err.message, "there is no policy"),
       "a file that is not there is told");
    ok(policies_check("/etc/passwd", home, scene->arena, &policy, &problems, &err) < 0 &&
           strstr(err.message, "must end in .yaml or .json"),
       "another kind of file is refused");
    make_dir(scene, "home/p/.wasp");
    put(scene, "home/p/.wasp/policy.yaml", VERSION "filesystem: {allow: [src]}\n");
    ok(policies_check(path_in(scene, "home/p/.wasp/policy.yaml"), home, scene->arena, &policy,
                      &problems, &err) == 0 &&
           policy.layer == LAYER_PROJECT &&
           strcmp(policy.rules[SECTION_FILESYSTEM][VERDICT_ALLOW].items[0].path,
                  path_in(scene, "home/p/src")) == 0,
       "in a folder .wasp it is a project's %s", err.message);
}

int main(void)
{
    struct scene scene;

    (void) umask(022); /* the modes below are meant */
    scene_init(&scene);
    test_layers(&scene);
    test_places(&scene);
    test_files(&scene);
    test_projects(&scene);
    test_owners(&scene);
    test_links(&scene);
    test_programs(&scene);
    test_check(&scene);
    scene_release(&scene);
    return done();
}
