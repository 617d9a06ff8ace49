/* What names are on this host, and what the run is bound to by that. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "run/facts.h"
#include "tap.h"

/* A folder of its own with "dir", "file", "link" to dir and "dangling". */
struct place {
    char root[PATH_MAX];
    struct arena *arena;
};

static const char *at(const struct place *place, const char *name)
{
    return arena_printf(place->arena, "%s/%s", place->root, name);
}

static void place_init(struct place *place)
{
    char folder[] = "/tmp/test_facts.XXXXXX";

    place->arena = arena_new();
    if (!place->arena || !mkdtemp(folder) || !realpath(folder, place->root))
        abort();
    _cleanup_fd_ int file = open(at(place, "file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 || fd_write_all(file, "input", 5) < 0 || mkdir(at(place, "dir"), 0700) < 0 ||
        symlink("dir", at(place, "link")) < 0 || symlink("nowhere", at(place, "dangling")) < 0)
        abort();
}

static void place_release(struct place *place)
{
    static const char *const names[] = {"file", "link", "dangling", "dir", "."};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void) remove(at(place, names[i])); /* a test may have removed some */
    (void) rmdir(place->root);
    arena_free(place->arena);
}

static void test_paths(const struct place *place)
{
    const struct {
        const char *name, *real, *asked;
    } rows[] = {
        {"dir", "dir", "dir"},
        {"./dir//", "dir", "dir"},
        {"link", "dir", "link"},
        {"link/.", "dir", "link"},
        {"missing", "missing", "missing"},
        {"link/missing/deep", "dir/missing/deep", "link/missing/deep"},
        {"file/below", "file/below", "file/below"},
        {"dangling", "dangling", "dangling"},
        {"dir/../file", "file", NULL},
        {"missing/../file", NULL, NULL},
    };
    struct fact fact;
    struct err err;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *real = rows[i].real ? at(place, rows[i].real) : NULL;
        const char *asked = rows[i].asked ? at(place, rows[i].asked) : NULL;
        int rc = fact_of_path(at(place, rows[i].name), place->arena, &fact, &err);
        ok(rc == 0 && fact.is_known == (real != NULL) && (!real || strcmp(fact.real, real) == 0),
           "'%s' is, or would be, at '%s'", rows[i].name, real ? rows[i].real : "nobody knows");
        ok(rc == 0 && (asked ? fact.asked && strcmp(fact.asked, asked) == 0 : !fact.asked),
           "'%s' was asked for as '%s'", rows[i].name, asked ? rows[i].asked : "nothing plain");
    }
    ok(fact_of_path("/", place->arena, &fact, &err) == 0 && strcmp(fact.real, "/") == 0,
       "the root is itself");
    ok(fact_of_path("/no-such-thing", place->arena, &fact, &err) == 0 &&
           strcmp(fact.real, "/no-such-thing") == 0 && fact.id.ino == 0,
       "what is missing below the root has no identity");
}

static void test_programs(const struct place *place)
{
    struct fact by_name, by_path;
    struct err err;

    ok(fact_of_program("sh", place->arena, &by_name, &err) == 0 && by_name.is_known &&
           fact_of_program("/bin/sh", place->arena, &by_path, &err) == 0 && by_path.is_known &&
           by_name.id.dev == by_path.id.dev && by_name.id.ino == by_path.id.ino &&
           strcmp(by_name.real, by_path.real) == 0,
       "a program by its name and by its path is one file");
    ok(fact_of_program("no-such-program", place->arena, &by_name, &err) == 0 && !by_name.is_known,
       "what is not there is not known");
    ok(fact_of_program(at(place, "file"), place->arena, &by_name, &err) == 0 && !by_name.is_known,
       "a file that cannot be executed is no program");
    ok(fact_of_program("bin/sh", place->arena, &by_name, &err) == 0 && !by_name.is_known,
       "a relative path is none");
}

/* The facts of a request with one directory and a file as stdin. */
static int find(const struct place *place, const char *dir, struct request *request,
                struct facts *facts)
{
    const struct places places = {.cache_dir = NULL};
    struct principal agent;
    struct err err;

    request_init(request, BACKEND_NATIVE);
    request->stdin_kind = STDIN_FILE;
    request->stdin_path = at(place, "file");
    return principal_parse("agent:a", &agent, &err) < 0 ||
                   request_set_program(request, place->arena, "sh", &err) < 0 ||
                   request_add_dir(request, place->arena, NULL, dir, "/ws", ACCESS_RO, &err) < 0
               ? -1
               : facts_find(request, &agent, &places, place->arena, facts, &err);
}

static void test_binding(const struct place *place)
{
    struct request request;
    struct facts facts;
    struct err err;
    struct stat st;

    ok(find(place, at(place, "link"), &request, &facts) == 0 && facts.link,
       "an agent's link at the root of a grant is noticed");
    ok(find(place, at(place, "dir"), &request, &facts) == 0 && !facts.link &&
           facts.program.is_known,
       "a directory itself is none");
    ok(facts_bind(&facts, &request, place->arena, &err) == 0 && stat(at(place, "dir"), &st) == 0 &&
           request.dirs[0].is_judged && request.dirs[0].judged.ino == st.st_ino &&
           request.judged_program.ino == facts.program.id.ino,
       "the run is bound to the directory and the program that were seen");
    ok(request.stdin_kind == STDIN_BYTES && request.stdin_len == 5 &&
           memcmp(request.stdin_bytes, "input", 5) == 0,
       "what the guest reads from a small file is read beforehand");
}

static void test_module(const struct place *place)
{
    const struct places places = {.cache_dir = NULL};
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    struct principal owner;
    struct request request;
    struct facts facts;
    struct err err;

    principal_owner(&owner);
    request_init(&request, BACKEND_WASM);
    request.module = at(place, "dir");
    ok(facts_find(&request, &owner, &places, place->arena, &facts, &err) == 0 &&
           !facts.has_module_sha256 && facts_bind(&facts, &request, place->arena, &err) == 0 &&
           request.module_sha256 && strcmp(request.module_sha256, zeros) == 0,
       "a module that could not be read is pinned to what nothing has");
}

int main(void)
{
    _cleanup_(place_release) struct place place;

    place_init(&place);
    test_paths(&place);
    test_programs(&place);
    test_binding(&place);
    test_module(&place);
    return done();
}
