/*
 * native-attempts NAME=VALUE… [ACT…]: all acts, or those, each in a process of its own, and a line
 * for each: NAME ROW escape|surface NEEDS done|refused NUMBER. NUMBER is the errno, or 1000 and the
 * signal that ended it. `native-attempts euid` exits with 0 if it runs as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

#define ACT_SECONDS 10
#define BY_SIGNAL 1000

/* ---- words for the acts ---------------------------------------------------------------------- */

int native_let_in(long result)
{
    if (result >= 0)
        return 0;
    return errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EROFS ? -1 : 0;
}

int native_open(const char *path, int flags)
{
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

const char *native_path(char *buffer, size_t size, const char *dir, const char *name)
{
    int len = snprintf(buffer, size, "%s/%s", dir, name);

    if (len < 0 || (size_t) len >= size)
        exit(2);
    return buffer;
}

int native_open_in(const char *dir, const char *name, int flags)
{
    char path[4096];

    return native_open(native_path(path, sizeof(path), dir, name), flags);
}

/* ---- running them ---------------------------------------------------------------------------- */

/* In a process of its own: an act may leave it in a state that the next would not work in. */
static int run(const struct native_act *act, const struct native_stage *stage)
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (pid == 0) {
        alarm(ACT_SECONDS);
        errno = 0;
        int result = act->act(stage);
        _exit(result == 0 ? 0 : (errno != 0 ? errno : EIO));
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool is_wanted(const char *name, char *const *words)
{
    bool any = false;

    for (; *words != NULL; words++) {
        if (strchr(*words, '=') != NULL)
            continue;
        any = true;
        if (strcmp(*words, name) == 0)
            return true;
    }
    return !any;
}

static void run_all(const struct native_act *acts, const struct native_stage *stage,
                    char *const *words)
{
    static const char *const needs[] = {
        [NEEDS_NOTHING] = "nothing", [NEEDS_ROOT] = "root", [NEEDS_TERMINAL] = "terminal"};

    for (const struct native_act *act = acts; act->name != NULL; act++) {
        if (!is_wanted(act->name, words))
            continue;
        int number = run(act, stage);
        printf("%s %d %s %s %s %d\n", act->name, act->row,
               act->kind == NATIVE_ESCAPE ? "escape" : "surface", needs[act->needs],
               number == 0 ? "done" : "refused", number);
        (void) fflush(stdout); /* the next act may end us all */
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *value_of(char *const *words, const char *name)
{
    size_t len = strlen(name);

    for (; *words != NULL; words++)
        if (strncmp(*words, name, len) == 0 && (*words)[len] == '=')
            return *words + len + 1;
    return "";
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "euid") == 0)
        return geteuid() == 0 ? 0 : 1;
    if (argc < 2)
        return 2;
    char *const *words = argv + 1;
    struct native_stage stage = {
        .ro = value_of(words, "ro"),
        .rw = value_of(words, "rw"),
        .secret = value_of(words, "secret"),
        .abstract = value_of(words, "abstract"),
        .queue = value_of(words, "queue"),
        .port = atoi(value_of(words, "port")),
        .key = atoi(value_of(words, "key")),
        .pid = atoi(value_of(words, "pid")),
        .init = atoi(value_of(words, "init")),
    };
    run_all(native_files, &stage, words);
    run_all(native_reach, &stage, words);
    run_all(native_kernel, &stage, words);
    run_all(native_mounts, &stage, words);
    return 0;
}
