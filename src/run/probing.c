#include "run/probing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* ---- saying ---------------------------------------------------------------------------------- */

void finding_note(struct finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    /* a detail that is too long is cut: it is for people */
    (void) vsnprintf(finding->detail, sizeof(finding->detail), format, args);
    va_end(args);
}

void finding_set(struct finding *finding, enum probe_status status, int errnum, const char *format,
                 ...)
{
    char text[PROBE_DETAIL_BYTES];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(text, sizeof(text), format, args); /* cut if it must be */
    va_end(args);
    finding->status = status;
    finding_note(finding, "%.*s%s%s", PROBE_DETAIL_BYTES - 64, text, errnum ? ": " : "",
                 errnum ? strerror(errnum) : "");
}

void finding_advise(struct finding *finding, enum remedy remedy, const char *subject)
{
    remedy_format(remedy, subject, finding->remedy);
}

void finding_call_failed(struct finding *finding, const struct scene *scene, const char *call,
                         const char *since)
{
    int number = errno;

    finding_set(finding, PROBE_MISSING, number, "%s", call);
    finding_advise(finding, host_why_call(scene->host, number, since), since);
}

bool finding_death(struct finding *finding, int status)
{
    if (!WIFSIGNALED(status))
        return false;
    int number = WTERMSIG(status);
    if (number == SIGSYS) {
        finding_set(finding, PROBE_MISSING, 0, "a seccomp filter around wasp kills who tries it");
        finding_advise(finding, REMEDY_OUTER_SECCOMP, NULL);
        return true;
    }
    finding_set(finding, PROBE_UNKNOWN, 0, "the probe died of signal %d (%s)", number,
                strsignal(number));
    finding_advise(finding, REMEDY_AGAIN, NULL);
    return true;
}

/* ---- one child ------------------------------------------------------------------------------- */

/* What the child writes to and we read once it is gone. */
static struct finding *share(struct finding *finding)
{
    void *page =
        mmap(NULL, sizeof(*finding), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    memcpy(page, finding, sizeof(*finding));
    return page;
}

static void unshare_finding(struct finding **page)
{
    if (*page)
        (void) munmap(*page, sizeof(**page)); /* cannot fail: it was mapped so */
}

/*
 * Until all who hold the other end of the line are gone, grandchildren too. Not by pidfd: whether
 * there are any is one of the questions.
 */
static bool wait_for_end(int line)
{
    uint64_t deadline = clock_monotonic_ns() + PROBE_TIMEOUT_MS * NS_PER_MS;

    for (uint64_t now = clock_monotonic_ns(); now < deadline; now = clock_monotonic_ns()) {
        struct pollfd end = {.fd = line, .events = POLLIN};
        int n = poll(&end, 1, (int) ((deadline - now) / NS_PER_MS) + 1);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

static void act_as_child(const struct scene *scene, probe_act *act, struct finding *finding)
{
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* cannot fail: the signal is valid */
    (void) setpgid(0, 0); /* one to kill with all that it starts; the parent does it too */
    act(scene, finding);
    _exit(0);
}

/* Grandchildren are in its group. Until we wait for it, no other process has its number. */
static void end_child(pid_t pid, struct finding *finding, bool in_time)
{
    int status = 0;

    if (!in_time) {
        (void) kill(-pid, SIGKILL); /* whoever is gone already needs no killing */
        (void) kill(pid, SIGKILL);  /* likewise */
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!in_time) {
        finding_set(finding, PROBE_UNKNOWN, 0, "no answer within %d ms", PROBE_TIMEOUT_MS);
        finding_advise(finding, REMEDY_AGAIN, NULL);
    } else {
        (void) finding_death(finding, status); /* one that ended by itself has said what it saw */
    }
}

int probe_in_child(const struct scene *scene, probe_act *act, struct finding *finding,
                   struct err *err)
{
    _cleanup_(unshare_finding) struct finding *shared = share(finding);
    int ends[2];

    if (!shared)
        return err_sys(err, ERR_HOST, "cannot share memory with a probe");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, ERR_HOST, "cannot make a pipe");
    _cleanup_fd_ int line = ends[0], held = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, ERR_HOST, "cannot start a process");
    if (pid == 0)
        act_as_child(scene, act, shared);
    (void) setpgid(pid, pid);     /* whoever comes first; the child may be gone already */
    (void) close(take_fd(&held)); /* nothing was written */
    end_child(pid, shared, wait_for_end(line));
    *finding = *shared;
    finding->detail[sizeof(finding->detail) - 1] = '\0';
    finding->remedy[sizeof(finding->remedy) - 1] = '\0';
    return 0;
}
