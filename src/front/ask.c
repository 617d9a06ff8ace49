#include "front/ask.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define SHOWN_PLAN 4096 /* bytes of a plan */
#define SHOWN 20        /* entries; more scroll away unread */

/* ---- the question ---------------------------------------------------------------------------- */

/* Each returns 0, or -1 as buf_add. */

static int add_entry(struct buf *text, const struct change *change)
{
    static const char signs[CHANGE_KINDS] = {'+', '~', '-'};

    if (buf_printf(text, "  %c ", signs[change->kind]) < 0 ||
        change_quote(text, "", change->path) < 0)
        return -1;
    if (change->type == CHANGE_SYMLINK && change->target &&
        (buf_add_string(text, " -> ") < 0 || change_quote(text, "", change->target) < 0))
        return -1;
    if (change->type == CHANGE_DIRECTORY && buf_add_char(text, '/') < 0)
        return -1;
    if (change->content && buf_printf(text, " (%" PRIu64 " bytes)", change->size) < 0)
        return -1;
    if (change->refused)
        return buf_printf(text, ": refused, %s\n", change_refusals[change->refused].text);
    if (change->protected_by)
        return buf_printf(text, ": protected by %s\n", change->protected_by);
    return buf_add_char(text, '\n');
}

static int add_head(struct buf *text, const struct changes *changes)
{
    if (buf_add_string(text, "wasp: the run changed") < 0)
        return -1;
    for (size_t i = 0; i < changes->n_dirs; i++)
        if (buf_add_string(text, i ? ", " : " ") < 0 ||
            change_quote(text, "", changes->dirs[i].host) < 0)
            return -1;
    return buf_printf(text,
                      ":\n  %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " deleted, %" PRIu64
                      " bytes; 'wasp changes diff %s' shows all\n",
                      changes->counts[CHANGE_ADDED], changes->counts[CHANGE_CHANGED],
                      changes->counts[CHANGE_DELETED], changes->bytes, changes->run_id);
}

static int add_question(struct buf *text, const struct changes *changes)
{
    size_t shown = changes->n_entries < SHOWN ? changes->n_entries : SHOWN;
    uint64_t left = changes_total(changes) - shown;
    uint64_t bad = changes->n_refused + changes->n_protected;

    if (add_head(text, changes) < 0)
        return -1;
    for (size_t i = 0; i < shown; i++)
        if (add_entry(text, &changes->entries[i]) < 0)
            return -1;
    if (left > 0 && buf_printf(text, "  and %" PRIu64 " more\n", left) < 0)
        return -1;
    if (bad > 0 && buf_printf(text, "  refused or protected: %" PRIu64 "\n", bad) < 0)
        return -1;
    return buf_add_string(text, "apply? [yes/no] ");
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The terminal, if we are the ones who are read from and written to there. */
static int open_terminal(void)
{
    _cleanup_fd_ int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (tty < 0 || !isatty(tty) || tcgetpgrp(tty) != getpgrp())
        return -1;
    return take_fd(&tty);
}

/* A descriptor that is readable while one of them is pending; it is not taken from there. */
static int watch_signals(void)
{
    sigset_t signals;

    (void) sigemptyset(&signals); /* none of these can fail: the numbers are valid */
    (void) sigaddset(&signals, SIGINT);
    (void) sigaddset(&signals, SIGTERM);
    (void) sigaddset(&signals, SIGHUP);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

#define PATIENCE_MS (5 * 60 * 1000)

/* One line; a longer one is no answer. */
static enum gate_word read_word(int tty)
{
    _cleanup_fd_ int signals = watch_signals();
    struct pollfd events[] = {{.fd = tty, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    char line[16];

    /* no answer is an answer: whoever called us waits for the result */
    if (signals < 0 || poll(events, ARRAY_SIZE(events), PATIENCE_MS) <= 0 || events[1].revents != 0)
        return WORD_NONE;
    ssize_t n = read(tty, line, sizeof(line));
    if (n <= 0)
        return WORD_NONE;
    if (line[n - 1] != '\n')
        return WORD_NO;
    line[n - 1] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0 ? WORD_YES : WORD_NO;
}

/* Puts the question to the terminal. */
static enum gate_word ask(int tty, const struct buf *text)
{
    (void) tcflush(tty, TCIFLUSH); /* what was typed before was no answer to this */
    return fd_write_all(tty, text->data, text->len) == 0 ? read_word(tty) : WORD_NONE;
}

bool changes_ask(const struct changes *changes)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT((size_t) 1024 * 1024);
    _cleanup_fd_ int tty = open_terminal();

    return tty >= 0 && add_question(&text, changes) == 0 && ask(tty, &text) == WORD_YES;
}

/* ---- approval -------------------------------------------------------------------------------- */

static int add_item(struct buf *text, const struct approval_item *item)
{
    if (buf_printf(text, "  %s ", capability_rows[item->capability].name) < 0 ||
        change_quote(text, "", item->scope) < 0)
        return -1;
    if (item->rule && (buf_add_string(text, ", by ") < 0 || change_quote(text, "", item->rule) < 0))
        return -1;
    if (item->reason &&
        (buf_add_string(text, ": ") < 0 || change_quote(text, "", item->reason) < 0))
        return -1;
    return buf_add_char(text, '\n');
}

/* All of it, source and input too, if that can be read at a glance. */
static int add_plan(struct buf *text, const struct approval *approval)
{
    if (strlen(approval->plan) <= SHOWN_PLAN)
        return buf_add_string(text, "  in full: ") < 0 || change_quote(text, "", approval->plan) < 0
                   ? -1
                   : buf_add_char(text, '\n');
    return approval->id[0] ? buf_printf(text, "  in full: wasp approvals %s\n", approval->id) : 0;
}

static int add_approval(struct buf *text, const struct approval *approval)
{
    if (buf_add_string(text, "wasp: ") < 0 || change_quote(text, "", approval->holder) < 0 ||
        buf_add_string(text, " wants to run ") < 0 ||
        change_quote(text, "", approval->summary) < 0 || buf_add_char(text, '\n') < 0 ||
        add_plan(text, approval) < 0 || buf_add_string(text, "and needs approval for\n") < 0)
        return -1;
    for (size_t i = 0; i < approval->n_items; i++)
        if (add_item(text, &approval->items[i]) < 0)
            return -1;
    return buf_add_string(text, "approve it this once? [yes/no] ");
}

enum gate_word approval_ask(const struct approval *approval)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT((size_t) 1024 * 1024);
    _cleanup_fd_ int tty = open_terminal();

    return tty >= 0 && add_approval(&text, approval) == 0 ? ask(tty, &text) : WORD_NONE;
}
