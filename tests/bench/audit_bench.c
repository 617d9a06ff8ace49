/*
 * audit_bench: what the audit log costs. In turn, because these machines are noisy.
 *
 *   audit_bench FOLDER ROUNDS RECORDS
 *
 * Prints medians in nanoseconds: fork+exec of /bin/true; a log opened, two records, closed, as a
 * run does; one record to an open log; then one record of RECORDS verified: wall time, CPU time.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/audit.h"
#include "report/audit_verify.h"

/* As a run of a native program by an agent writes it at its end. */
static void fill(struct audit_record *record, const struct digest *digest)
{
    *record = (struct audit_record){
        .event = "end",
        .run_id = "0198c0de-0000-7000-8000-000000000000",
        .principal = "agent:builder",
        .backend = "native",
        .tier = "medium",
        .policy = digest,
        .subject = digest,
        .subject_kind = "argv_sha256",
        .decision = "allow",
        .rule = "user policy.yaml:12 exec.allow",
        .reason = "exited",
        .has_exit_code = true,
        .has_usage = true,
        .wall_ms = 12,
        .cpu_ms = 5,
        .max_rss_bytes = 1048576,
    };
}

static void fail(const struct err *err)
{
    fprintf(stderr, "audit_bench: %s\n", err->message);
    exit(1);
}

static struct audit *open_log(const char *folder)
{
    const struct audit_settings settings = {.durability = DURABILITY_KILL};
    struct audit *audit = NULL;
    struct err err;

    if (audit_open(folder, &settings, &audit, &err) < 0)
        fail(&err);
    return audit;
}

static void append(struct audit *audit, const struct audit_record *record)
{
    struct err err;

    if (audit_append(audit, record, NULL, &err) < 0)
        fail(&err);
}

static void run_true(void)
{
    static char program[] = "/bin/true";
    char *const argv[] = {program, NULL};
    int status;
    pid_t pid = vfork();

    if (pid == 0) {
        (void) execv(program, argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        exit(1);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

    return left < right ? -1 : left > right;
}

static void print_median(uint64_t *times, size_t n)
{
    qsort(times, n, sizeof(*times), compare);
    printf("%" PRIu64 " ", times[n / 2]);
}

static void time_appends(const char *folder, size_t rounds, const struct audit_record *record)
{
    uint64_t *times = calloc(3 * rounds, sizeof(*times));

    if (!times)
        exit(1);
    for (size_t i = 0; i < rounds; i++) {
        uint64_t start = clock_monotonic_ns();
        run_true();
        times[i] = clock_monotonic_ns() - start;
        start = clock_monotonic_ns();
        struct audit *audit = open_log(folder);
        append(audit, record);
        append(audit, record);
        audit_close(audit);
        times[rounds + i] = clock_monotonic_ns() - start;
        audit = open_log(folder);
        append(audit, record);
        start = clock_monotonic_ns();
        append(audit, record);
        times[2 * rounds + i] = clock_monotonic_ns() - start;
        audit_close(audit);
    }
    for (size_t i = 0; i < 3; i++)
        print_median(times + i * rounds, rounds);
    free(times);
}

static uint64_t cpu_ns(void)
{
    struct timespec time = {0};

    (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time); /* every kernel has it */
    return (uint64_t) time.tv_sec * NS_PER_S + (uint64_t) time.tv_nsec;
}

static void on_finding(const struct audit_finding *finding, void *data)
{
    (void) data;
    fprintf(stderr, "audit_bench: %s\n", finding->what);
    exit(1);
}

static void time_verify(const char *folder, uint64_t records, const struct audit_record *record)
{
    struct audit *audit = open_log(folder);
    struct audit_place place = {0};
    struct audit_verdict verdict;
    struct err err;

    while (place.seq < records)
        if (audit_append(audit, record, &place, &err) < 0)
            fail(&err);
    audit_close(audit);
    uint64_t start = clock_monotonic_ns(), cpu = cpu_ns();
    if (audit_verify(folder, NULL, on_finding, NULL, &verdict, &err) < 0)
        fail(&err);
    uint64_t wall_ns = clock_monotonic_ns() - start;
    printf("%" PRIu64 " %" PRIu64 "\n", wall_ns / verdict.lines, (cpu_ns() - cpu) / verdict.lines);
}

int main(int argc, char **argv)
{
    struct audit_record record;
    struct digest digest = {{1}};

    if (argc != 4)
        return 2;
    fill(&record, &digest);
    time_appends(argv[1], strtoul(argv[2], NULL, 10), &record);
    time_verify(argv[1], strtoul(argv[3], NULL, 10), &record);
    return 0;
}
