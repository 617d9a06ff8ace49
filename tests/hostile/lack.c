/*
 * lack: runs a command on a machine that lacks something, by a seccomp filter around it.
 *
 *     lack CALL=ANSWER… -- COMMAND ARGS…
 *
 * CALL is a row of `calls`; "fsopen:devpts" is fsopen of that alone. ANSWER is an errno by name,
 * "kill", "hang", or "return:N". The last two, and texts, take somebody who answers for the kernel:
 * this program stays as the command's parent then.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_RULES 8
#define RULE_INSTRUCTIONS 6

/* A system call, or only those whose argument, masked, is that value. */
static const struct call {
    const char *name;
    unsigned int number;
    int argument; /* looked at if mask is not 0 */
    uint32_t mask, value;
} calls[] = {
    {"clone-user", SYS_clone, 0, CLONE_NEWUSER, CLONE_NEWUSER},
    {"clone-pidfd", SYS_clone, 0, CLONE_PIDFD, CLONE_PIDFD},
    {"clone3", SYS_clone3},
    {"close_range", SYS_close_range},
    {"fsopen", SYS_fsopen},
    {"ioctl-up", SYS_ioctl, 1, UINT32_MAX, 0x8914}, /* SIOCSIFFLAGS */
    {"landlock", SYS_landlock_create_ruleset},
    {"landlock-version", SYS_landlock_create_ruleset, 2, 1, 1},
    {"memfd_create", SYS_memfd_create},
    {"mount_setattr", SYS_mount_setattr},
    {"move_mount", SYS_move_mount},
    {"no-new-privs", SYS_prctl, 0, UINT32_MAX, PR_SET_NO_NEW_PRIVS},
    {"nproc", SYS_prlimit64, 1, UINT32_MAX, RLIMIT_NPROC},
    {"open_tree", SYS_open_tree},
    {"openat2", SYS_openat2},
    {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"pivot_root", SYS_pivot_root},
    {"seccomp", SYS_seccomp},
    {"secure-bits", SYS_prctl, 0, UINT32_MAX, PR_SET_SECUREBITS},
    {"unshare-net", SYS_unshare, 0, CLONE_NEWNET, CLONE_NEWNET},
    {"unshare-user", SYS_unshare, 0, CLONE_NEWUSER, CLONE_NEWUSER},
};

static const struct errno_name {
    const char *name;
    int number;
} errnos[] = {{"EACCES", EACCES}, {"EINVAL", EINVAL}, {"ENODEV", ENODEV},
              {"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP},
              {"EPERM", EPERM}};

struct rule {
    const struct call *call;
    const char *text; /* of the first argument; NULL: whatever it is */
    int number;       /* errno; 0: the call gives `value` */
    int value;
    bool kills, hangs;
};

static _Noreturn void give_up(const char *what)
{
    (void) fprintf(stderr, "lack: %s\n", what); /* there is nobody else to tell */
    exit(99);
}

static bool is_for_supervisor(const struct rule *rule)
{
    return rule->text || rule->hangs || (!rule->kills && rule->number == 0);
}

/* ---- reading rules --------------------------------------------------------------------------- */

static void parse_answer(struct rule *rule, const char *answer)
{
    rule->kills = strcmp(answer, "kill") == 0;
    rule->hangs = strcmp(answer, "hang") == 0;
    if (strncmp(answer, "return:", 7) == 0)
        rule->value = (int) strtol(answer + 7, NULL, 10);
    for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
        if (strcmp(errnos[i].name, answer) == 0)
            rule->number = errnos[i].number;
    if (!rule->kills && !rule->hangs && rule->number == 0 && rule->value == 0)
        give_up(answer);
}

static struct rule parse_rule(char *word)
{
    struct rule rule = {.call = NULL};
    char *equals = strchr(word, '=');

    if (!equals)
        give_up(word);
    *equals = '\0';
    char *colon = strchr(word, ':');
    if (colon) {
        *colon = '\0';
        rule.text = colon + 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (strcmp(calls[i].name, word) == 0)
            rule.call = &calls[i];
    if (!rule.call)
        give_up(word);
    parse_answer(&rule, equals + 1);
    return rule;
}

/* ---- the filter ------------------------------------------------------------------------------ */

static uint32_t filter_answer(const struct rule *rule)
{
    if (is_for_supervisor(rule))
        return SECCOMP_RET_USER_NOTIF;
    return rule->kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | (uint32_t) rule->number;
}

/* Always as many instructions, so that a rule which is not met skips the rest of it. */
static void write_rule(const struct rule *rule, struct sock_filter code[RULE_INSTRUCTIONS])
{
    const struct call *call = rule->call;
    uint32_t at = (uint32_t) offsetof(struct seccomp_data, args) + 8 * (uint32_t) call->argument;
    const struct sock_filter filled[RULE_INSTRUCTIONS] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at), /* the lower half: these machines are such */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, filter_answer(rule)),
    };

    memcpy(code, filled, sizeof(filled));
}

/* Returns what the kernel gives: a listener if one is asked for. */
static int load_filter(const struct rule *rules, size_t n, bool wants_listener)
{
    struct sock_filter code[MAX_RULES * RULE_INSTRUCTIONS + 1];
    struct sock_fprog program = {.filter = code};

    for (size_t i = 0; i < n; i++)
        write_rule(&rules[i], code + i * RULE_INSTRUCTIONS);
    code[n * RULE_INSTRUCTIONS] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short) (n * RULE_INSTRUCTIONS + 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        give_up("no_new_privs");
    int fd = (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                           wants_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
    if (fd < 0)
        give_up("seccomp");
    return fd;
}

/* ---- answering for the kernel ---------------------------------------------------------------- */

static bool has_text(const struct seccomp_notif *asked, const char *text)
{
    char found[64] = {0};
    struct iovec here = {found, strlen(text) + 1};
    struct iovec there = {(void *) (uintptr_t) asked->data.args[0], here.iov_len};

    return process_vm_readv((pid_t) asked->pid, &here, 1, &there, 1, 0) == (ssize_t) here.iov_len &&
           strcmp(found, text) == 0;
}

static const struct rule *find_rule(const struct rule *rules, size_t n,
                                    const struct seccomp_notif *asked)
{
    for (size_t i = 0; i < n; i++)
        if ((int) rules[i].call->number == asked->data.nr && is_for_supervisor(&rules[i]) &&
            (!rules[i].text || has_text(asked, rules[i].text)))
            return &rules[i];
    return NULL;
}

static void answer_one(int listener, const struct rule *rules, size_t n)
{
    struct seccomp_notif asked = {.id = 0};

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return; /* whoever asked is gone */
    const struct rule *rule = find_rule(rules, n, &asked);
    struct seccomp_notif_resp answer = {.id = asked.id};
    if (rule && rule->hangs)
        return;
    if (!rule) {
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        answer.error = -rule->number;
        answer.val = rule->number ? 0 : rule->value;
    }
    (void) ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* as above */
}

/* Until nobody is left who has the filter. */
static void answer_all(int listener, const struct rule *rules, size_t n)
{
    struct pollfd line = {.fd = listener, .events = POLLIN};

    for (;;) {
        if (poll(&line, 1, -1) < 0 && errno != EINTR)
            return;
        if (line.revents & POLLIN)
            answer_one(listener, rules, n);
        else if (line.revents & (POLLHUP | POLLERR))
            return;
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static int pass_descriptor(int over, int fd, bool sends)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    char byte = 'x';
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(int));
    if ((sends ? sendmsg(over, &message, 0) : recvmsg(over, &message, MSG_CMSG_CLOEXEC)) != 1)
        give_up("the listener does not get across");
    memcpy(&fd, CMSG_DATA(header), sizeof(int));
    return fd;
}

static _Noreturn void become(char **command)
{
    (void) execvp(command[0], command); /* comes back only when it fails */
    give_up(command[0]);
}

static int supervise(const struct rule *rules, size_t n, char **command)
{
    int pair[2], status = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        give_up("socketpair");
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, 15, 0, 0, 0); /* cannot fail: the signal is valid */
        (void) close(pass_descriptor(pair[1], load_filter(rules, n, true), true)); /* sent */
        become(command);
    }
    answer_all(pass_descriptor(pair[0], -1, false), rules, n);
    if (waitpid(pid, &status, 0) < 0)
        give_up("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct rule rules[MAX_RULES];
    size_t n = 0;
    bool needs_supervisor = false;
    int i = 1;

    for (; i < argc && strcmp(argv[i], "--") != 0 && n < MAX_RULES; i++) {
        rules[n] = parse_rule(argv[i]);
        needs_supervisor = is_for_supervisor(&rules[n++]) || needs_supervisor;
    }
    if (i + 1 >= argc || strcmp(argv[i], "--") != 0)
        give_up("usage: lack CALL=ANSWER... -- COMMAND ARGS...");
    if (needs_supervisor)
        return supervise(rules, n, argv + i + 1);
    (void) load_filter(rules, n, false); /* it gives up by itself */
    become(argv + i + 1);
}
