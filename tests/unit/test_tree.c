#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/tree.h"
#include "tap.h"

#define MIB (1024ULL * 1024)
#define BYTES (32 * MIB)
#define BURNT_NS (80 * NS_PER_MS)
#define TICK_NS (10 * NS_PER_MS)
#define MANY 700 /* so many that their numbers fill more than a page */

/* ---- what a tree is made of ------------------------------------------------------------------ */

static void sleep_on(void)
{
    while (pause() < 0)
        ;
}

/* Everything of a tree holds the pipe; once it is made, its maker says so and waits. */
static void tell_and_sleep(int ready)
{
    (void) !write(ready, "", 1);
    sleep_on();
}

static void burn(void)
{
    struct timespec used = {.tv_sec = 0};
    while ((uint64_t) used.tv_nsec < BURNT_NS && used.tv_sec == 0)
        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
            return;
}

static void touch(int sharing)
{
    char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; bytes != MAP_FAILED && i < BYTES; i += 4096)
        ((volatile char *) bytes)[i] = 1;
}

static void make_alone(int ready)
{
    tell_and_sleep(ready);
}

static void make_chain(int ready)
{
    if (fork() > 0)
        sleep_on();
    if (fork() == 0)
        tell_and_sleep(ready);
    sleep_on();
}

static void make_many(int ready)
{
    for (int i = 0; i < MANY; i++)
        if (fork() == 0)
            sleep_on();
    tell_and_sleep(ready);
}

static void *fork_in_thread(void *data)
{
    if (fork() == 0)
        make_alone(*(int *) data);
    sleep_on();
    return NULL;
}

static void make_child_of_thread(int ready)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fork_in_thread, &ready) == 0)
        sleep_on();
}

static void *touch_when_alone(void *data)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char path[64], text[512] = "";
    (void) snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int) getpid());
    while (strstr(text, ") Z ") == NULL) { /* until the first thread has really ended */
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, text, sizeof(text) - 1);
        text[n < 0 ? 0 : n] = '\0';
        (void) close(fd);
        (void) nanosleep(&pause, NULL);
    }
    touch(MAP_PRIVATE);
    tell_and_sleep((int) (intptr_t) data);
    return NULL;
}

static void make_headless(int ready)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch_when_alone, (void *) (intptr_t) ready) == 0)
        pthread_exit(NULL);
}

static void make_waited_burner(int ready)
{
    pid_t pid = fork();
    if (pid == 0) {
        burn();
        _exit(0);
    }
    (void) waitpid(pid, NULL, 0);
    tell_and_sleep(ready);
}

static void make_zombie_burner(int ready)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        burn();
        _exit(0);
    }
    (void) waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT);
    tell_and_sleep(ready);
}

static void make_private_memory(int ready)
{
    touch(MAP_PRIVATE);
    tell_and_sleep(ready);
}

static void make_shared_memory(int ready)
{
    touch(MAP_SHARED);
    tell_and_sleep(ready);
}

static void make_forked_memory(int ready)
{
    touch(MAP_PRIVATE);
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            sleep_on();
    tell_and_sleep(ready);
}

static void make_odd_name(int ready)
{
    (void) prctl(PR_SET_NAME, "a) Z 1 (b) Z", 0, 0, 0);
    make_chain(ready);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The first process of a tree that is ready, in a process group of its own. */
static pid_t grow(void (*make)(int ready))
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void) setpgid(0, 0);
        (void) close(ends[0]);
        make(ends[1]);
        _exit(1);
    }
    (void) close(ends[1]);
    bool is_ready = read(ends[0], &byte, 1) == 1;
    (void) close(ends[0]);
    return is_ready ? pid : -1;
}

/* Its group is killed, then the rest of it is nobody's. */
static void fell(pid_t pid)
{
    (void) kill(-pid, SIGKILL);
    (void) waitpid(pid, NULL, 0);
}

static struct tree look_at(void (*make)(int ready), int (*look)(pid_t, struct tree *))
{
    struct tree tree = {.processes = 0};
    pid_t pid = grow(make);
    if (pid < 0 || look(pid, &tree) < 0)
        printf("# no tree\n");
    if (pid > 0)
        fell(pid);
    return tree;
}

static void test_shapes(int (*look)(pid_t, struct tree *), const char *how)
{
    static const struct {
        void (*make)(int ready);
        uint32_t processes;
        const char *what;
    } shapes[] = {
        {make_alone, 1, "a process alone"},
        {make_chain, 3, "a grandchild"},
        {make_odd_name, 3, "a name that looks like the end of one"},
        {make_child_of_thread, 2, "a child of a thread"},
        {make_headless, 1, "a process whose first thread has ended"},
        {make_zombie_burner, 1, "a dead child, which does not live,"},
        {make_many, MANY + 1, "very many children"},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct tree tree = look_at(shapes[i].make, look);
        if (!ok(tree.processes == shapes[i].processes, "%s: %s is counted right", how,
                shapes[i].what))
            printf("# %u\n", tree.processes);
    }
}

static void test_memory(void)
{
    struct tree alone = look_at(make_alone, tree_look);
    struct tree own = look_at(make_private_memory, tree_look);
    ok(own.rss_bytes >= BYTES, "memory of a process counts");
    ok(alone.rss_bytes < BYTES / 2, "and one without it has not so much");
    ok(look_at(make_shared_memory, tree_look).rss_bytes >= BYTES, "shared memory counts");
    ok(look_at(make_headless, tree_look).rss_bytes >= BYTES,
       "memory counts that the first thread, which has ended, does not show");
    ok(look_at(make_headless, tree_weigh).rss_bytes >= BYTES, "and is weighed");
    ok(look_at(make_forked_memory, tree_look).rss_bytes >= 4 * BYTES,
       "a look counts common pages for each that has them");
    struct tree weighed = look_at(make_forked_memory, tree_weigh);
    ok(weighed.rss_bytes >= BYTES && weighed.rss_bytes < 2 * BYTES, "weighing shares them out");
    ok(weighed.processes == 4, "and counts the processes as well");
}

static void test_cpu(void)
{
    ok(look_at(make_alone, tree_look).cpu_ns < BURNT_NS / 2, "an idle process has used no CPU");
    /* two numbers that are cut to whole ticks each */
    ok(look_at(make_waited_burner, tree_look).cpu_ns >= BURNT_NS - 2 * TICK_NS,
       "CPU time of the dead counts that were waited for");
    ok(look_at(make_zombie_burner, tree_look).cpu_ns >= BURNT_NS - 2 * TICK_NS,
       "and of those that still are to be");
}

static void test_gone(void)
{
    struct tree tree = {.processes = 77};
    pid_t pid = grow(make_alone);
    ok(tree_look(pid, &tree) == 0 && tree.processes == 1, "a process that is there is seen");
    fell(pid);
    tree.processes = 77;
    errno = 0;
    ok(tree_look(pid, &tree) < 0 && errno == ESRCH && tree.processes == 77,
       "one that is gone is an error");
}

/* Children that come and go all the time: whatever is seen, it ends and makes sense. */
static void test_unrest(void)
{
    bool fits = true;
    struct tree tree;
    pid_t pid = fork();
    if (pid == 0) {
        (void) setpgid(0, 0);
        (void) signal(SIGCHLD, SIG_IGN);
        for (;;)
            if (fork() == 0)
                _exit(0);
    }
    (void) setpgid(pid, pid);
    for (int i = 0; i < 200 && fits; i++)
        fits = tree_look(pid, &tree) == 0 && tree.processes >= 1 && tree.rss_bytes < 1ULL << 40;
    ok(fits, "processes that vanish while we look do not confuse it");
    fell(pid);
}

int main(void)
{
    test_shapes(tree_look, "by lists of children");
    test_shapes(tree_scan, "by all processes");
    test_memory();
    test_cpu();
    test_gone();
    test_unrest();
    return done();
}
