/*
 * A guest that wants too much of one thing: greedy ACT [NUMBER]. It says what it got, or goes on
 * until it is ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t) 1 << 20)

static void say(const char *word, long number)
{
    (void) printf("%s %ld\n", word, number); /* nobody to tell */
    (void) fflush(stdout);
}

static void wait_for_ever(void)
{
    for (;;)
        (void) pause(); /* always EINTR */
}

static void burn_for_ever(void)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void act_fork(long number)
{
    (void) number;
    say("begun", 0);
    for (;;)
        (void) fork(); /* every child does the same */
}

/* Each one is gone before anybody can look at it; its child goes on. */
static void act_run_away(long number)
{
    (void) number;
    say("begun", 0);
    for (;;)
        if (fork() > 0)
            _exit(0);
}

/* Children that wait; how many there could be. */
static void act_hold(long number)
{
    long held = 0;

    for (pid_t pid; held < number && (pid = fork()) >= 0; held++)
        if (pid == 0)
            wait_for_ever();
    say(held < number ? strerrorname_np(errno) : "ok", held);
}

/* Children that are dead and that nobody waits for. */
static void act_zombies(long number)
{
    long made = 0;

    for (pid_t pid; made < number && (pid = fork()) >= 0; made++)
        if (pid == 0)
            _exit(0);
    say(made < number ? strerrorname_np(errno) : "ok", made);
}

/* The program ends at once, and leaves one behind that is in no group or session of its. */
static void act_daemon(long number)
{
    (void) number;
    if (fork() == 0) {
        if (setsid() < 0 || fork() != 0)
            _exit(1);
        burn_for_ever();
    }
    say("left", 0);
}

static void act_stop(long number)
{
    (void) number;
    say("stopping", 0);
    (void) raise(SIGSTOP); /* cannot fail */
    say("went on", 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void act_burn(long number)
{
    say("burning", number);
    for (long i = 1; i < number; i++)
        if (fork() == 0)
            burn_for_ever();
    burn_for_ever();
}

/* Children of some milliseconds, whose time the kernel adds to nobody's. */
static void act_burn_unseen(long number)
{
    (void) signal(SIGCHLD, SIG_IGN); /* cannot fail */
    say("burning", number);
    for (;;) {
        for (long i = 0; i < number; i++)
            if (fork() == 0) {
                for (volatile unsigned long n = 0; n < 20000000; n++)
                    ;
                _exit(0);
            }
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
}

/* ---- memory and files ------------------------------------------------------------------------ */

static void act_memory(long number)
{
    long got = 0;

    for (; got < number; got++) {
        void *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            break;
        memset(at, 1, MIB);
    }
    say(got < number ? strerrorname_np(errno) : "ok", got);
    if (got == number)
        (void) usleep(300000); /* long enough for whoever watches */
}

/* Four processes that have as much together. */
static void act_memory_tree(long number)
{
    say("begun", 0);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            char *at = mmap(NULL, (size_t) number / 4 * MIB, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (at != MAP_FAILED)
                memset(at, 1, (size_t) number / 4 * MIB);
            wait_for_ever();
        }
    (void) sleep(2); /* as above */
    say("ok", number);
}

/* One page table of memory that eight processes have in common: it counts once. */
static void act_memory_shared(long number)
{
    char *at = mmap(NULL, (size_t) number * MIB, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(1);
    memset(at, 1, (size_t) number * MIB);
    for (int i = 0; i < 8; i++)
        if (fork() == 0)
            wait_for_ever();
    (void) sleep(1); /* as above */
    say("ok", number);
}

static void act_files(long number)
{
    char name[32];
    long made = 0;

    for (; made < number; made++) {
        (void) snprintf(name, sizeof(name), "f%ld", made); /* fits */
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
            break;
        (void) close(fd); /* empty */
    }
    say(made < number ? strerrorname_np(errno) : "ok", made);
}

static void act_open(long number)
{
    long held = 0;

    while (held < number && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        held++;
    say(held < number ? strerrorname_np(errno) : "ok", held);
}

static const struct act {
    const char *name;
    void (*act)(long number);
} acts[] = {
    {"fork", act_fork},
    {"run-away", act_run_away},
    {"hold", act_hold},
    {"zombies", act_zombies},
    {"daemon", act_daemon},
    {"stop", act_stop},
    {"burn", act_burn},
    {"burn-unseen", act_burn_unseen},
    {"memory", act_memory},
    {"memory-tree", act_memory_tree},
    {"memory-shared", act_memory_shared},
    {"files", act_files},
    {"open", act_open},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(argv[1], acts[i].name) == 0) {
            acts[i].act(argc > 2 ? strtol(argv[2], NULL, 10) : 1);
            return 0;
        }
    return 2;
}
