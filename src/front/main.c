/*
 * The command: makes the process safe to work in, finds the verb, ends with its exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/help.h"
#include "front/page.h"
#include "front/verb.h"
#include "wasp.h"

static const struct verb *const verbs[] = {
    &verb_run,     &verb_exec,    &verb_code,   &verb_sample, &verb_task,      &verb_call,
    &verb_runtime, &verb_changes, &verb_policy, &verb_grant,  &verb_approvals, &verb_approve,
    &verb_deny,    &verb_audit,   &verb_gc,     &verb_doctor, &verb_schema,    &verb_completion,
    &verb_help,    &verb_version, NULL,
};

/* What people type who know other commands. */
static const struct alias {
    const char *typed;
    const char *verb;
} aliases[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}};

/*
 * Descriptors 0, 1 and 2 must be taken: otherwise the next file we open becomes "standard output"
 * and is written into. A missing one is put on /dev/null, which keeps what is read or written
 * harmless.
 */
static int open_streams(bool *ret_stdout_was_open, struct err *err)
{
    *ret_stdout_was_open = true;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (fd == STDOUT_FILENO)
            *ret_stdout_was_open = false;
        /*
         * Lower ones are taken by now, so this gets exactly fd. Not CLOEXEC: it is a standard
         * stream.
         */
        if (open("/dev/null", O_RDWR) != fd)
            return err_sys(err, ERR_HOST, "cannot open /dev/null");
    }
    return 0;
}

/*
 * From here on SIGINT, SIGTERM and SIGHUP wait until the run's supervisor reads them, so that they
 * are answered with an envelope; verbs that print none let them through again.
 */
static void hold_signals(int how)
{
    sigset_t held;

    (void) sigemptyset(&held); /* none of these can fail: the numbers are valid */
    (void) sigaddset(&held, SIGINT);
    (void) sigaddset(&held, SIGTERM);
    (void) sigaddset(&held, SIGHUP);
    (void) sigprocmask(how, &held, NULL);
}

static const char *resolve_alias(const char *typed)
{
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
        if (strcmp(aliases[i].typed, typed) == 0)
            return aliases[i].verb;
    return typed;
}

/* `wasp VERB --help`, and only that: anywhere else the word may have been meant for the guest. */
static bool asks_for_help(const char *const *words)
{
    return words[0] && !words[1] &&
           (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0);
}

/* A verb that promised an envelope keeps to it even when there is no memory to begin with. */
static int fail_verb(const struct verb *verb, const struct err *err)
{
    const struct wasp_report report = {.out = STDOUT_FILENO, .log = STDERR_FILENO};

    return verb->answers_with_envelope ? wasp_refuse(err, &report) : page_fail(err);
}

static int call_verb(const struct verb *verb, const char *const *words)
{
    struct call call = {.words = words, .verbs = verbs, .arena = arena_new()};
    struct err err;

    if (!call.arena) {
        (void) err_no_memory(&err); /* always -1 */
        return fail_verb(verb, &err);
    }
    int status = verb->main(&call);
    arena_free(call.arena);
    return status;
}

static int answer(const char *const *words)
{
    struct err err;

    if (!words[0]) {
        (void) err_set(&err, ERR_USAGE, "no verb is given: see 'wasp help'"); /* always -1 */
        return page_fail(&err);
    }
    const struct verb *first = verb_find(verbs, resolve_alias(words[0]), &err);
    if (!first)
        return page_fail(&err);
    if (asks_for_help(++words))
        return help_print_verb(first);
    const struct verb *verb = verb_follow(first, &words, &err);
    if (!verb)
        return fail_verb(first, &err);
    if (!verb->answers_with_envelope)
        hold_signals(SIG_UNBLOCK);
    return asks_for_help(words) ? help_print_verb(verb) : call_verb(verb, words);
}

int main(int argc, char **argv)
{
    bool stdout_was_open = false;
    struct err err;

    hold_signals(SIG_BLOCK);
    /* A reader that left is then an error of write. */
    (void) signal(SIGPIPE, SIG_IGN); /* cannot fail: the number is valid */
    (void) signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write, too */
    /* A caller that ignores its children's end must not make ours vanish before they are reaped. */
    (void) signal(SIGCHLD, SIG_DFL); /* cannot fail either */
    if (open_streams(&stdout_was_open, &err) < 0)
        return page_fail(&err);
    /* Nothing is run whose result nobody could read. */
    if (!stdout_was_open) {
        (void) err_set(&err, ERR_HOST, "standard output is closed"); /* always -1 */
        return page_fail(&err);
    }
    return answer((const char *const *) (argc > 0 ? argv + 1 : argv));
}
