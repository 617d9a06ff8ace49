/*
 * How long it takes to find and read a policy of a thousand rules, each time in a process whose
 * memory is as fresh as a run's, beside fork and exec of true.
 *
 * usage: policy_bench ROUNDS FOLDER, which is ours to write in. Prints a line each: NAME MEDIAN_NS
 * MIN_NS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "plan/document.h"
#include "plan/yaml.h"
#include "store/policies.h"

#define MAX_ROUNDS 10000

static void must(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* ---- a thousand rules ------------------------------------------------------------------------ */

static const struct {
    const char *section, *format;
    int count;
} mix[] = {
    {"filesystem",
     "{\"path\": \"/srv/data/project-%d/src\", \"access\": \"read-write\", \"reason\": "
     "\"sources\"}",
     400},
    {"env", "\"VARIABLE_%d\"", 150},
    {"network",
     "{\"host\": \"host-%d.example.com\", \"ports\": [443], \"methods\": [\"GET\", \"POST\"]}",
     200},
    {"exec", "{\"program\": \"program-%d\", \"args\": [\"status\", \"*\"]}", 150},
    {"code", "{\"module\": \"/srv/modules/%d.wasm\"}", 100},
};

static void write_policy(const char *path)
{
    FILE *file = fopen(path, "we");

    must(file != NULL, path);
    (void) fprintf(file, "{\"version\": 1"); /* fclose tells */
    for (size_t i = 0; i < sizeof(mix) / sizeof(mix[0]); i++) {
        (void) fprintf(file, ",\n\"%s\": {\"allow\": [", mix[i].section);
        for (int n = 0; n < mix[i].count; n++) {
            (void) fprintf(file, "%s\n  ", n ? "," : "");
            (void) fprintf(file, mix[i].format, n);
        }
        (void) fprintf(file, "]}");
    }
    (void) fprintf(file, "}\n");
    must(fclose(file) == 0 && chmod(path, 0600) == 0, path);
}

/* ---- what is measured ------------------------------------------------------------------------ */

struct subject {
    const char *name;
    const char *file; /* of the folder; NULL: fork and exec of true, or a tier alone */
    enum tier tier;
    bool programs;
};

static uint64_t load(const struct subject *subject, const char *folder)
{
    const struct policy_places places = {
        .system_dir = "/nonexistent",
        .file = subject->file,
        .home = folder,
        .tier = subject->tier,
    };
    struct arena *arena = arena_new();
    struct policies policies;
    struct err err;
    uint64_t start_ns = clock_monotonic_ns();

    if (!arena || policies_load(&places, subject->programs, arena, &policies, &err) < 0) {
        (void) fprintf(stderr, "%s\n", arena ? err.message : "no memory"); /* exit says it too */
        exit(1);
    }
    return clock_monotonic_ns() - start_ns;
}

static void run_child(const struct subject *subject, const char *folder, int report)
{
    if (!subject->file && subject->tier == TIER_NONE) {
        (void) execl("/bin/true", "true", (char *) NULL); /* if it fails, the parent is told */
        _exit(1);
    }
    uint64_t took_ns = load(subject, folder);
    must(fd_write_all(report, &took_ns, sizeof(took_ns)) == 0, "pipe");
    _exit(0);
}

static uint64_t measure(const struct subject *subject, const char *folder)
{
    uint64_t start_ns = clock_monotonic_ns(), took_ns = 0;
    int pipes[2], status;

    must(pipe2(pipes, O_CLOEXEC) == 0, "pipe");
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0)
        run_child(subject, folder, pipes[1]);
    must(waitpid(pid, &status, 0) == pid && status == 0, subject->name);
    uint64_t whole_ns = clock_monotonic_ns() - start_ns;
    (void) close(pipes[1]); /* nothing was written through it */
    ssize_t n = fd_read_full(pipes[0], &took_ns, sizeof(took_ns));
    (void) close(pipes[0]);
    return n == sizeof(took_ns) ? took_ns : whole_ns;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static uint64_t times[8][MAX_ROUNDS];
    long rounds = argc == 3 ? strtol(argv[1], NULL, 10) : 0;

    must(rounds > 0 && rounds <= MAX_ROUNDS && chdir(argv[2]) == 0, "usage: ROUNDS FOLDER");
    write_policy("policy.json");
    write_policy("policy.yaml"); /* YAML takes it as it is */
    const struct subject subjects[] = {
        {.name = "true"},
        {.name = "json", .file = "policy.json"},
        {.name = "json-programs", .file = "policy.json", .programs = true},
        {.name = "yaml", .file = "policy.yaml"},
        {.name = "tier-low", .tier = TIER_LOW},
        {.name = "tier-medium", .tier = TIER_MEDIUM},
    };
    const size_t n = sizeof(subjects) / sizeof(subjects[0]);
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++)
            times[i][round] = measure(&subjects[i], argv[2]);
    for (size_t i = 0; i < n; i++) {
        qsort(times[i], (size_t) rounds, sizeof(times[i][0]), compare);
        printf("%s %llu %llu\n", subjects[i].name, (unsigned long long) times[i][rounds / 2],
               (unsigned long long) times[i][0]);
    }
    return 0;
}
