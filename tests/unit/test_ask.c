/* The question whether to apply: what it shows, and that only a yes at the terminal is one. */
#include "front/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap.h"

static struct change entries[] = {
    {.path = "a\x1b[2J\n", .kind = CHANGE_ADDED, .type = CHANGE_FILE, .content = true, .size = 7},
    {.path = "link",
     .kind = CHANGE_CHANGED,
     .type = CHANGE_SYMLINK,
     .target = "/etc\a",
     .refused = REFUSAL_SYMLINK},
    {.path = ".git/hooks",
     .kind = CHANGE_DELETED,
     .type = CHANGE_DIRECTORY,
     .protected_by = ".git/hooks"},
};
static struct changes_dir dirs[] = {{.host = "/home/me/\x9b"}};
static const struct changes changes = {
    .run_id = "01890a5d-ac96-774b-bcce-b302099a8057",
    .dirs = dirs,
    .n_dirs = 1,
    .counts = {30, 1, 1},
    .n_refused = 1,
    .n_protected = 1,
    .entries = entries,
    .n_entries = ARRAY_SIZE(entries),
};

/* Asks on a terminal of its own, or on none. The caller's end of it is parent. */
static pid_t ask(int *ret_parent, const char *typed_before, bool with_terminal)
{
    int parent = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (parent < 0 || grantpt(parent) < 0 || unlockpt(parent) < 0)
        return -1;
    int child_end = open(ptsname(parent), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (child_end < 0 || write(parent, typed_before, strlen(typed_before)) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        sigset_t held;
        (void) sigemptyset(&held); /* none of these can fail: the numbers are valid */
        (void) sigaddset(&held, SIGINT);
        (void) sigprocmask(SIG_BLOCK, &held, NULL);
        if (setsid() < 0 || (with_terminal && ioctl(child_end, TIOCSCTTY, 0) < 0))
            _exit(2);
        _exit(changes_ask(&changes) ? 0 : 1);
    }
    (void) close(child_end); /* the child has its own */
    *ret_parent = parent;
    return child;
}

/* All that is shown up to the question mark's end. */
static bool read_question(int parent, char *text, size_t size)
{
    size_t used = 0;

    while (used + 1 < size) {
        ssize_t n = read(parent, text + used, size - 1 - used);
        if (n <= 0)
            return false;
        used += (size_t) n;
        text[used] = '\0';
        if (strstr(text, "[yes/no] "))
            return true;
    }
    return false;
}

static int exit_code(pid_t child)
{
    int status = 0;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_answers(void)
{
    static const struct {
        const char *sentence, *before, *typed;
        int code;
    } rows[] = {
        {"yes is a yes", "", "yes\n", 0},
        {"so is y", "", "y\n", 0},
        {"and YES", "", "YES\n", 0},
        {"no is none", "", "no\n", 1},
        {"nor is nothing", "", "\n", 1},
        {"nor yes and more", "", "yes please\n", 1},
        {"nor a long line that begins with it", "", "yesyesyesyesyesyesyes\n", 1},
        {"nor the end of the file", "", "\x04", 1},
        {"nor Ctrl-C", "", "\x03", 1},
        {"what was typed before the question is no answer", "yes\n", "no\n", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[8192] = "";
        int parent = -1;
        pid_t child = ask(&parent, rows[i].before, true);
        if (child < 0) {
            skip("no terminals here");
            return;
        }
        bool asked = read_question(parent, text, sizeof(text)) &&
                     write(parent, rows[i].typed, strlen(rows[i].typed)) > 0;
        if (!asked)
            (void) kill(child, SIGKILL); /* it may be gone */
        int code = exit_code(child);
        ok(asked && code == rows[i].code, "%s", rows[i].sentence);
        (void) close(parent); /* nobody is at its other end */
    }
}

static void test_text(void)
{
    char text[8192] = "";
    int parent = -1;
    pid_t child = ask(&parent, "", true);

    if (child < 0 || !read_question(parent, text, sizeof(text))) {
        skip("no terminals here");
        return;
    }
    ok(strstr(text, "30 added, 1 changed, 1 deleted"), "the question says how much");
    ok(strstr(text, "\"/home/me/\\233\"") && strstr(text, "+ \"a\\033[2J\\n\" (7 bytes)"),
       "and what, with names escaped");
    ok(strstr(text, "~ link -> \"/etc\\a\": refused, is a symlink that leads out") &&
           strstr(text, "- .git/hooks/: protected by .git/hooks"),
       "and what stands against it");
    ok(strstr(text, "and 29 more"), "and how much it does not show");
    bool tame = true;
    for (const char *c = text; *c; c++)
        tame = tame && (*c >= ' ' || *c == '\n' || *c == '\r') && *c != 0x7f;
    ok(tame, "and no byte that a terminal obeys");
    ok(write(parent, "no\n", 3) == 3 && exit_code(child) == 1, "it is answered");
    (void) close(parent); /* as above */
}

static void test_no_terminal(void)
{
    int parent = -1;
    pid_t child = ask(&parent, "yes\n", false);

    ok(child > 0 && exit_code(child) == 1, "no terminal is a no");
    if (parent >= 0)
        (void) close(parent); /* as above */
}

int main(void)
{
    test_answers();
    test_text();
    test_no_terminal();
    return done();
}
