/*
 * race: runs several commands in turn, many times, and prints how long each took: minimum, median
 * and mean in nanoseconds, CPU time and peak memory. In turn, because these machines are noisy:
 * what disturbs one command disturbs its rival as well.
 *
 *   race ROUNDS COMMAND ARG… , COMMAND ARG… , …
 *
 * A command's output goes to /dev/null. One line a command: min median mean cpu(median) maxrss_kib
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 16

struct runner {
    char **argv;
    uint64_t *wall, *cpu;
    long max_rss;
};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

static uint64_t tv_ns(const struct timeval *tv)
{
    return (uint64_t) tv->tv_sec * 1000000000 + (uint64_t) tv->tv_usec * 1000;
}

static void run_once(struct runner *runner, int round, int null)
{
    struct rusage usage;
    int status;
    uint64_t start = now_ns();
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(runner->argv[0], runner->argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0) {
        fprintf(stderr, "race: '%s' failed\n", runner->argv[0]);
        exit(1);
    }
    runner->wall[round] = now_ns() - start;
    runner->cpu[round] = tv_ns(&usage.ru_utime) + tv_ns(&usage.ru_stime);
    if (usage.ru_maxrss > runner->max_rss)
        runner->max_rss = usage.ru_maxrss;
}

static int ascending(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;
    return (left > right) - (left < right);
}

static void print_runner(struct runner *runner, int rounds)
{
    uint64_t sum = 0;
    qsort(runner->wall, (size_t) rounds, sizeof(uint64_t), ascending);
    qsort(runner->cpu, (size_t) rounds, sizeof(uint64_t), ascending);
    for (int i = 0; i < rounds; i++)
        sum += runner->wall[i];
    printf("%llu %llu %llu %llu %ld\n", (unsigned long long) runner->wall[0],
           (unsigned long long) runner->wall[rounds / 2],
           (unsigned long long) (sum / (uint64_t) rounds),
           (unsigned long long) runner->cpu[rounds / 2], runner->max_rss);
}

int main(int argc, char **argv)
{
    struct runner runners[MAX_COMMANDS] = {0};
    int rounds = argc > 2 ? atoi(argv[1]) : 0, count = 0;
    if (rounds <= 0) {
        fprintf(stderr, "usage: race ROUNDS COMMAND ARG… , COMMAND ARG…\n");
        return 2;
    }
    for (int i = 2; i < argc && count < MAX_COMMANDS; i++) {
        struct runner *runner = &runners[count++];
        runner->argv = &argv[i];
        runner->wall = calloc((size_t) rounds, sizeof(uint64_t));
        runner->cpu = calloc((size_t) rounds, sizeof(uint64_t));
        if (runner->wall == NULL || runner->cpu == NULL)
            return 1;
        while (i < argc && strcmp(argv[i], ",") != 0)
            i++;
        argv[i] = NULL; /* argv[argc] is NULL already */
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            run_once(&runners[i], round, null);
    for (int i = 0; i < count; i++)
        print_runner(&runners[i], rounds);
    return 0;
}
