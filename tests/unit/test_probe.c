/* Probes: the table and its words, one probe in its child, and what follows from what was found. */
#include "run/probe.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "report/doctor.h"
#include "run/probing.h"
#include "tap.h"

static const struct host plain_host = {.kernel = "6.1.0-13-amd64"};
static const struct places no_places = {
    .program_dir = "/nonexistent", .uid_base = 0x78000000, .uid_count = 0x100000};
static const struct scene scene = {.places = &no_places, .host = &plain_host};

/* ---- words ----------------------------------------------------------------------------------- */

static void test_remedies(void)
{
    char subject[2 * REMEDY_SUBJECT_BYTES + 1] = {0}, text[REMEDY_BYTES];

    memset(subject, 'x', sizeof(subject) - 1);
    ok(remedy_text(REMEDY_NONE)[0] == '\0' && remedy_text(REMEDIES)[0] == '\0',
       "no remedy, and none that there is not, have no text");
    for (unsigned int i = REMEDY_NONE + 1; i < REMEDIES; i++) {
        remedy_format((enum remedy) i, subject, text);
        remedy_add_rung(text);
        const char *end = " --isolation landlock";
        bool is_whole =
            strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
        ok(is_whole && !strstr(text, "{}") && !strchr(text, '\n') &&
               sizeof(((struct err *) NULL)->hint) >= REMEDY_BYTES,
           "a remedy fits whole into a hint: %.40s", text);
    }
    remedy_format(REMEDY_MODULE, "overlay", text);
    ok(strcmp(text, "sudo modprobe overlay") == 0, "a remedy names its subject");
}

static const struct explained {
    enum remedy (*why)(const struct host *host, int errnum);
    struct host host;
    int errnum;
    enum remedy remedy;
    const char *sentence;
} explained[] = {
    {host_why_user_namespace,
     {.has_userns_clone_off = true},
     EPERM,
     REMEDY_USERNS_CLONE,
     "Debian's sysctl explains a refused user namespace"},
    {host_why_user_namespace,
     {.has_userns_clone_off = true, .has_outer_seccomp = true},
     EPERM,
     REMEDY_USERNS_CLONE,
     "even behind a filter"},
    {host_why_user_namespace,
     {.has_outer_seccomp = true, .has_apparmor_restriction = true},
     EPERM,
     REMEDY_OUTER_SECCOMP,
     "a filter explains one that fails before AppArmor is asked"},
    {host_why_user_namespace,
     {.has_apparmor_restriction = true},
     EACCES,
     REMEDY_APPARMOR_USERNS,
     "AppArmor explains one that is not allowed"},
    {host_why_user_namespace,
     {.is_chroot = true},
     EPERM,
     REMEDY_CHROOT,
     "a chroot explains one, too"},
    {host_why_user_namespace,
     {.kernel = ""},
     EPERM,
     REMEDY_FORBIDDEN,
     "without a reason that shows, something forbids it"},
    {host_why_user_namespace,
     {.kernel = ""},
     ENOSPC,
     REMEDY_MAX_NAMESPACES,
     "ENOSPC means the sysctl of that name"},
    {host_why_user_namespace,
     {.kernel = ""},
     EINVAL,
     REMEDY_KERNEL_NAMESPACES,
     "EINVAL means a kernel without them"},
    {host_why_namespaces,
     {.has_outer_seccomp = true, .has_apparmor_restriction = true},
     EPERM,
     REMEDY_APPARMOR_USERNS,
     "AppArmor explains a lack of capabilities before a filter does"},
    {host_why_namespaces,
     {.kernel = ""},
     EUSERS,
     REMEDY_MAX_NAMESPACES,
     "EUSERS means the same as ENOSPC"},
};

static void test_reasons(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(explained); i++)
        ok(explained[i].why(&explained[i].host, explained[i].errnum) == explained[i].remedy, "%s",
           explained[i].sentence);
}

static void test_calls(void)
{
    static const struct {
        const char *kernel;
        bool has_outer_seccomp;
        int errnum;
        enum remedy remedy;
    } rows[] = {
        {"5.4.0", false, ENOSYS, REMEDY_KERNEL},        {"5.4.0", true, ENOSYS, REMEDY_KERNEL},
        {"5.13.1", true, ENOSYS, REMEDY_OUTER_SECCOMP}, {"6.1", true, ENOSYS, REMEDY_OUTER_SECCOMP},
        {"6.1", false, ENOSYS, REMEDY_KERNEL},          {"", true, ENOSYS, REMEDY_KERNEL},
        {"6.1", true, EPERM, REMEDY_OUTER_SECCOMP},     {"6.1", false, EPERM, REMEDY_FORBIDDEN},
        {"6.1", true, EACCES, REMEDY_OUTER_LSM},        {"6.1", false, ENODEV, REMEDY_MODULE},
        {"6.1", false, EINVAL, REMEDY_KERNEL},          {"6.1", false, EIO, REMEDY_FORBIDDEN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct host host = {.has_outer_seccomp = rows[i].has_outer_seccomp};
        (void) snprintf(host.kernel, sizeof(host.kernel), "%s", rows[i].kernel); /* fits */
        ok(host_why_call(&host, rows[i].errnum, "5.13") == rows[i].remedy,
           "on Linux '%s'%s, %s of a call since 5.13 gives '%.30s'", rows[i].kernel,
           rows[i].has_outer_seccomp ? " behind a filter" : "", strerror(rows[i].errnum),
           remedy_text(rows[i].remedy));
    }
}

/* ---- one probe ------------------------------------------------------------------------------- */

static void do_nothing(const struct scene *where, struct finding *finding)
{
    (void) where;
    (void) finding;
}

static void miss_something(const struct scene *where, struct finding *finding)
{
    errno = ENOSYS;
    finding_call_failed(finding, where, "magic", "9.9");
    finding->number = 7;
}

static void hang(const struct scene *where, struct finding *finding)
{
    (void) where;
    (void) finding;
    for (;;)
        (void) pause();
}

/* The child says its say and ends; its own child, whom it does not wait for, does not. */
static void leave_one_behind(const struct scene *where, struct finding *finding)
{
    pid_t pid = fork();

    if (pid == 0)
        hang(where, finding);
    finding->number = (uint32_t) pid;
}

static void die_of_filter(const struct scene *where, struct finding *finding)
{
    (void) where;
    (void) finding;
    (void) raise(SIGSYS);
}

static void die_otherwise(const struct scene *where, struct finding *finding)
{
    (void) where;
    (void) finding;
    (void) raise(SIGKILL);
}

static void ruin_text(const struct scene *where, struct finding *finding)
{
    (void) where;
    memset(finding->detail, 'x', sizeof(finding->detail));
    memset(finding->remedy, 'x', sizeof(finding->remedy));
}

static struct finding try_act(probe_act *act)
{
    struct finding finding = {.id = "it"};
    struct err err;

    ok(probe_in_child(&scene, act, &finding, &err) == 0 && strcmp(finding.id, "it") == 0,
       "it is tried in a child");
    return finding;
}

static void test_child(void)
{
    struct finding found = try_act(do_nothing);
    ok(found.status == PROBE_OK && !found.detail[0] && !found.remedy[0],
       "a probe that has nothing to say is ok");
    found = try_act(miss_something);
    ok(found.status == PROBE_MISSING && found.number == 7 && strstr(found.detail, "magic: Func") &&
           strstr(found.remedy, "Linux 9.9"),
       "what it says arrives: %s; %s", found.detail, found.remedy);
    found = try_act(die_of_filter);
    ok(found.status == PROBE_MISSING && strstr(found.detail, "filter") &&
           strstr(found.remedy, "seccomp=unconfined"),
       "one that a filter kills is missing: %s", found.detail);
    found = try_act(die_otherwise);
    ok(found.status == PROBE_UNKNOWN && strstr(found.detail, "signal 9") && found.remedy[0],
       "one that dies otherwise is unknown: %s", found.detail);
    found = try_act(ruin_text);
    ok(strlen(found.detail) == PROBE_DETAIL_BYTES - 1 && strlen(found.remedy) == REMEDY_BYTES - 1,
       "texts end within their room");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

static void test_hang(void)
{
    uint64_t start = clock_monotonic_ns();
    struct finding found = try_act(hang);

    ok(found.status == PROBE_UNKNOWN && strstr(found.detail, "no answer") && found.remedy[0],
       "a probe that hangs is unknown: %s", found.detail);
    ok(clock_monotonic_ns() - start >= PROBE_TIMEOUT_MS * NS_PER_MS, "it had its time");
    found = try_act(leave_one_behind);
    ok(found.status == PROBE_UNKNOWN, "one whose child hangs is unknown, too");
    /* it was in the group that was killed; whoever adopted it reaps it at leisure */
    bool is_gone = false;
    for (int i = 0; i < 1000 && !is_gone; i++) {
        char path[64], state[512] = "";
        (void) snprintf(path, sizeof(path), "/proc/%u/stat", found.number); /* fits */
        FILE *file = fopen(path, "re");
        size_t len = file ? fread(state, 1, sizeof(state) - 1, file) : 0;
        is_gone = len == 0 || strstr(state, ") Z ") || strstr(state, ") X ");
        if (file)
            (void) fclose(file); /* only read */
        (void) usleep(1000);     /* looked at again and again, up to a second */
    }
    ok(is_gone, "and that child does not live on");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_kebab(const char *id)
{
    bool after_letter = false;

    for (; *id; id++) {
        if (*id == '-' ? !after_letter : !islower(*id) && !isdigit(*id))
            return false;
        after_letter = *id != '-';
    }
    return after_letter;
}

static void test_table(const struct checkup *all)
{
    uint32_t needed = 0;
    bool is_kept = true;

    for (size_t i = 0; i < all->count; i++) {
        const struct finding *finding = &all->findings[i];
        bool is_first = checkup_find(all, finding->id) == finding;
        is_kept = is_kept && is_first && is_kebab(finding->id) && finding->what[0] &&
                  strlen(finding->id) <= 15;
        needed |= finding->needed_by;
        bool is_bad = finding->status == PROBE_MISSING || finding->status == PROBE_DEGRADED ||
                      finding->status == PROBE_UNKNOWN;
        ok(is_bad == (finding->remedy[0] || finding->waits_for) && (!is_bad || finding->detail[0]),
           "'%s' has a remedy and a reason if, and only if, something is wrong", finding->id);
    }
    ok(is_kept, "each id is one of its kind, in small letters, and says what it is for");
    ok(all->count > 20 && needed == (UINT32_C(1) << USES) - 1, "every use needs something");
    ok(!checkup_find(all, "nonsense"), "what there is not is not found");
}

/* ---- what follows ---------------------------------------------------------------------------- */

static struct checkup all_well(const struct checkup *real)
{
    struct checkup checkup = *real;

    for (size_t i = 0; i < checkup.count; i++) {
        struct finding *finding = &checkup.findings[i];
        finding->status = PROBE_OK;
        finding->waits_for = NULL;
        finding->detail[0] = finding->remedy[0] = '\0';
    }
    return checkup;
}

static struct finding *find(struct checkup *checkup, const char *id)
{
    return (struct finding *) (uintptr_t) checkup_find(checkup, id);
}

static void test_verdicts(const struct checkup *real)
{
    enum { W = 1 << USE_WASM_FULL, WL = 1 << USE_WASM_LANDLOCK, N = 1 << USE_NATIVE_FULL };
    enum { NP = 1 << USE_NATIVE_NO_PROC, NL = 1 << USE_NATIVE_LANDLOCK, O = 1 << USE_OVERLAY };
    enum { T = 1 << USE_TTY, R = 1 << USE_ROOTFS, L = 1 << USE_LOOPBACK, LIM = 1 << USE_LIMITS };
    enum { PY = 1 << USE_PYTHON, JS = 1 << USE_JAVASCRIPT, BA = 1 << USE_BASH };
    enum { MORE = O | T | R | L, CODE = PY | JS | BA, ALL = (1 << USES) - 1 };
    static const struct {
        const char *ids[2];
        enum probe_status status;
        int lost;
        int exit_status;
    } rows[] = {
        {{NULL}, PROBE_OK, 0, 0},
        {{"openat2"}, PROBE_MISSING, ALL & ~LIM, 125},
        {{"user-namespace"}, PROBE_MISSING, W | N | NP | MORE, 1},
        {{"user-namespace"}, PROBE_UNKNOWN, W | N | NP | MORE, 1},
        {{"user-namespace", "landlock-rung"}, PROBE_MISSING, ALL & ~LIM, 125},
        {{"landlock"}, PROBE_DEGRADED, 0, 0},
        {{"landlock-rung"}, PROBE_MISSING, WL | NL, 0},
        {{"proc"}, PROBE_MISSING, N, 1},
        {{"proc", "nesting-no-proc"}, PROBE_MISSING, N | NP | MORE, 1},
        {{"devices"}, PROBE_MISSING, N | NP | MORE, 1},
        {{"overlayfs"}, PROBE_MISSING, O, 0},
        {{"terminal"}, PROBE_MISSING, T, 0},
        {{"loopback"}, PROBE_MISSING, L, 0},
        {{"idmapped-mounts"}, PROBE_NOT_NEEDED, 0, 0},
        {{"idmapped-mounts"}, PROBE_DEGRADED, 0, 0},
        {{"cgroup"}, PROBE_DEGRADED, LIM, 0},
        {{"cgroup"}, PROBE_MISSING, N | NP | NL | MORE | CODE | LIM, 1},
        {{"process-limit"}, PROBE_DEGRADED, 0, 0},
        {{"cell-native"}, PROBE_MISSING, N | NP | NL | MORE | CODE, 1},
        {{"cell-wasm"}, PROBE_MISSING, W | WL, 1},
        {{"cell-wasm", "cell-native"}, PROBE_MISSING, ALL & ~LIM, 125},
        {{"cache-folder"}, PROBE_DEGRADED, 0, 0},
        {{"state-folder"}, PROBE_MISSING, O, 0},
        {{"node"}, PROBE_MISSING, JS, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct checkup checkup = all_well(real);
        int lost = 0;
        for (size_t j = 0; j < 2 && rows[i].ids[j]; j++)
            find(&checkup, rows[i].ids[j])->status = rows[i].status;
        for (unsigned int use = 0; use < USES; use++) {
            struct verdict_of_use verdict;
            checkup_judge(&checkup, (enum use) use, &verdict);
            lost |= verdict.usable ? 0 : 1 << use;
        }
        ok(lost == rows[i].lost && doctor_exit_status(&checkup) == rows[i].exit_status,
           "with '%s'%s%s %s, that is what is lost, and the exit status is %d",
           rows[i].ids[0] ? rows[i].ids[0] : "nothing", rows[i].ids[1] ? " and " : "",
           rows[i].ids[1] ? rows[i].ids[1] : "", probe_status_name(rows[i].status),
           rows[i].exit_status);
    }
}

static void test_reasons_of_uses(const struct checkup *real)
{
    struct checkup checkup = all_well(real);
    struct verdict_of_use verdict;

    find(&checkup, "namespaces")->status = PROBE_MISSING;
    find(&checkup, "tmpfs")->status = PROBE_UNKNOWN;
    find(&checkup, "tmpfs")->waits_for = "namespaces";
    find(&checkup, "terminal")->status = PROBE_MISSING;
    checkup_judge(&checkup, USE_WASM_FULL, &verdict);
    ok(!verdict.usable && verdict.n_because == 1 && strcmp(verdict.because[0], "namespaces") == 0,
       "what only waits is no reason, what it waits for is one, once");
    checkup_judge(&checkup, USE_TTY, &verdict);
    ok(verdict.n_because == 2 && strcmp(verdict.because[0], "namespaces") == 0 &&
           strcmp(verdict.because[1], "terminal") == 0,
       "what something stands on comes before what it needs itself");
    find(&checkup, "cgroup")->number = CGROUP_V2;
    ok(checkup_limits(&checkup) == CGROUP_V2, "a cgroup holds the limits");
    find(&checkup, "cgroup")->status = PROBE_DEGRADED;
    ok(checkup_limits(&checkup) == CGROUP_NONE, "unless it cannot be used");
}

static void test_text(const struct checkup *real)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct checkup checkup = all_well(real);
    struct finding *finding = find(&checkup, "seccomp");

    finding->status = PROBE_MISSING;
    finding_note(finding, "seen");
    finding_advise(finding, REMEDY_SECCOMP, NULL);
    find(&checkup, "cgroup")->status = PROBE_DEGRADED;
    ok(doctor_write_text(&checkup, &text) == 0, "a checkup is told in words");
    const char *worst = strstr(text.data, "missing     seccomp"),
               *less = strstr(text.data, "degraded"), *fine = strstr(text.data, "\nok ");
    ok(worst && less && fine && worst < less && less < fine, "the worst comes first");
    ok(strstr(text.data, "(seen)\n") && strstr(text.data, "remedy: boot a kernel with CONFIG_SEC"),
       "with what was seen and what to do");
    ok(strstr(text.data, "no          wasm/full        modules, full walls: for want of seccomp\n"),
       "a use that cannot be had says why");
    ok(strstr(text.data, "verdict: nothing can run here\n"), "the verdict ends it");
    struct buf small = BUF_INIT(100);
    ok(doctor_write_text(&checkup, &small) < 0, "words that do not fit are a failure");
    buf_release(&small);
}

int main(void)
{
    static struct checkup all; /* large */
    struct err err = {0};

    test_remedies();
    test_reasons();
    test_calls();
    test_child();
    test_hang();
    if (!ok(probe_all(&no_places, NULL, &all, &err) == 0, "everything is tried%s", err.message))
        return done();
    test_table(&all);
    test_verdicts(&all);
    test_reasons_of_uses(&all);
    test_text(&all);
    return done();
}
