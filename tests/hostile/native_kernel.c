/* Acts on the kernel itself: its large doors, the machine, limits and foreign ways in. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

#define X32_BIT 0x40000000
#define HIGH_BITS 0x100000000ULL
#define CORE_BYTES 4096

static int done_if(long result)
{
    return result < 0 ? -1 : 0;
}

/* ---- large doors ----------------------------------------------------------------------------- */

static int make_ring(const struct native_stage *stage)
{
    struct io_uring_params params = {0};

    (void) stage;
    return done_if(syscall(SYS_io_uring_setup, 1, &params));
}

static int make_map(const struct native_stage *stage)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY};

    (void) stage;
    attr.key_size = attr.value_size = 4;
    attr.max_entries = 1;
    return done_if(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int count_events(const struct native_stage *stage)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK};

    (void) stage;
    attr.exclude_kernel = 1;
    return done_if(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int catch_faults(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
}

static int watch_file_system(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}

static int open_by_handle(const struct native_stage *stage)
{
    _Alignas(struct file_handle) char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    struct file_handle *handle = (struct file_handle *) bytes;
    int mount, dir = open(stage->rw, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    handle->handle_bytes = MAX_HANDLE_SZ;
    if (dir < 0 || name_to_handle_at(dir, ".", handle, &mount, 0) < 0)
        return -1;
    return done_if(open_by_handle_at(dir, handle, O_RDONLY));
}

static int hide_memory(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(SYS_vmsplice, 1, NULL, 0, 0));
}

static int emulate(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */));
}

/* ---- the machine: each fails for another reason once the permission is there ----------------- */

static int set_clock(const struct native_stage *stage)
{
    struct timex by_nothing = {.modes = ADJ_SETOFFSET};

    (void) stage;
    return done_if(syscall(SYS_clock_adjtime, CLOCK_REALTIME, &by_nothing));
}

static int reboot_machine(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(syscall(SYS_reboot, 0, 0, 0, NULL));
}

static int swap_on(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(syscall(SYS_swapon, "/nonexistent", 0));
}

static int load_module(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(syscall(SYS_init_module, NULL, 0, NULL));
}

static int account(const struct native_stage *stage)
{
    (void) stage;
    return native_let_in(syscall(SYS_acct, "/nonexistent"));
}

static int read_quota(const struct native_stage *stage)
{
    char quota[256];

    (void) stage; /* of another user */
    return native_let_in(syscall(SYS_quotactl, 0x80000700, "/dev/nonexistent", 1, quota));
}

static int take_ports(const struct native_stage *stage)
{
    (void) stage;
#ifdef SYS_iopl
    return done_if(syscall(SYS_iopl, 3));
#else
    errno = ENOSYS;
    return -1;
#endif
}

static int read_kernel_log(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(SYS_syslog, 10 /* how large it is */, NULL, 0));
}

static int rename_host(const struct native_stage *stage)
{
    char name[65] = {0};

    (void) stage;
    if (gethostname(name, sizeof(name) - 1) < 0)
        return -1;
    return sethostname(name, strlen(name));
}

/* ---- more than one's share ------------------------------------------------------------------- */

static int raise_limit(const struct native_stage *stage)
{
    struct rlimit limit;

    (void) stage;
    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return -1;
    if (limit.rlim_max != RLIM_INFINITY)
        limit.rlim_max++;
    return setrlimit(RLIMIT_NPROC, &limit);
}

static int allow_core(const struct native_stage *stage)
{
    struct rlimit limit = {CORE_BYTES, CORE_BYTES};

    (void) stage;
    return setrlimit(RLIMIT_CORE, &limit);
}

/* The test gives the caller the right to it, which a guest must not inherit. */
static int real_time(const struct native_stage *stage)
{
    struct sched_param param = {.sched_priority = 1};

    (void) stage;
    return sched_setscheduler(0, SCHED_FIFO, &param);
}

static int be_nicer_to_itself(const struct native_stage *stage)
{
    (void) stage;
    return setpriority(PRIO_PROCESS, 0, -5);
}

/* ---- terminals ------------------------------------------------------------------------------- */

static int type_with(unsigned long long request)
{
    char key = 'x';

    return done_if(syscall(SYS_ioctl, 0, request, &key));
}

static int type_into_terminal(const struct native_stage *stage)
{
    (void) stage;
    return type_with(TIOCSTI);
}

/* The kernel looks at 32 bits: a filter that looks at 64 lets it through. */
static int type_with_high_bits(const struct native_stage *stage)
{
    (void) stage;
    return type_with(HIGH_BITS | TIOCSTI);
}

static int paste_into_console(const struct native_stage *stage)
{
    char code = 0; /* no such subcode on any terminal: EINVAL or ENOTTY if it is let in */

    (void) stage;
    return native_let_in(syscall(SYS_ioctl, 0, HIGH_BITS | TIOCLINUX, &code));
}

static int change_discipline(const struct native_stage *stage)
{
    int discipline = 0; /* N_TTY, which it has */

    (void) stage;
    return ioctl(0, TIOCSETD, &discipline);
}

/* ---- other ways in --------------------------------------------------------------------------- */

static int call_foreign(const struct native_stage *stage)
{
    (void) stage;
#ifdef __x86_64__
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20 /* getpid on i386 */) : "memory");
    errno = ENOSYS;
    return answer > 0 ? 0 : -1;
#else
    errno = ENOSYS;
    return -1;
#endif
}

/* The kernel masks the bit away only where it knows x32; else it is an unknown number. */
static int call_x32(const struct native_stage *stage)
{
    (void) stage;
    return done_if(syscall(X32_BIT | SYS_getpid));
}

static int call_unknown(const struct native_stage *stage)
{
    (void) stage; /* let in is whatever is not ENOSYS; no kernel has it yet */
    return done_if(syscall(5000));
}

const struct native_act native_kernel[] = {
    {"make-ring", 13, NATIVE_SURFACE, NEEDS_NOTHING, make_ring},
    {"make-map", 11, NATIVE_SURFACE, NEEDS_ROOT, make_map},
    {"count-events", 11, NATIVE_SURFACE, NEEDS_ROOT, count_events},
    {"catch-faults", 11, NATIVE_SURFACE, NEEDS_NOTHING, catch_faults},
    {"watch-file-system", 11, NATIVE_SURFACE, NEEDS_NOTHING, watch_file_system},
    {"open-by-handle", 43, NATIVE_ESCAPE, NEEDS_ROOT, open_by_handle},
    {"hide-memory", 11, NATIVE_SURFACE, NEEDS_NOTHING, hide_memory},
    {"emulate", 11, NATIVE_SURFACE, NEEDS_NOTHING, emulate},
    {"set-clock", 41, NATIVE_ESCAPE, NEEDS_ROOT, set_clock},
    {"reboot", 11, NATIVE_ESCAPE, NEEDS_ROOT, reboot_machine},
    {"swap-on", 38, NATIVE_ESCAPE, NEEDS_ROOT, swap_on},
    {"load-module", 11, NATIVE_ESCAPE, NEEDS_ROOT, load_module},
    {"account", 11, NATIVE_ESCAPE, NEEDS_ROOT, account},
    {"read-quota", 11, NATIVE_SURFACE, NEEDS_ROOT, read_quota},
    {"take-ports", 11, NATIVE_ESCAPE, NEEDS_ROOT, take_ports},
    {"read-kernel-log", 19, NATIVE_ESCAPE, NEEDS_ROOT, read_kernel_log},
    {"rename-host", 11, NATIVE_ESCAPE, NEEDS_ROOT, rename_host},
    {"raise-limit", 37, NATIVE_SURFACE, NEEDS_ROOT, raise_limit},
    {"allow-core", 19, NATIVE_SURFACE, NEEDS_NOTHING, allow_core},
    {"real-time", 41, NATIVE_SURFACE, NEEDS_NOTHING, real_time},
    {"be-nicer-to-itself", 41, NATIVE_SURFACE, NEEDS_NOTHING, be_nicer_to_itself},
    {"type-into-terminal", 1, NATIVE_SURFACE, NEEDS_TERMINAL, type_into_terminal},
    {"type-with-high-bits", 1, NATIVE_SURFACE, NEEDS_TERMINAL, type_with_high_bits},
    {"paste-into-console", 1, NATIVE_SURFACE, NEEDS_TERMINAL, paste_into_console},
    {"change-discipline", 1, NATIVE_SURFACE, NEEDS_TERMINAL, change_discipline},
    {"call-foreign", 12, NATIVE_SURFACE, NEEDS_NOTHING, call_foreign},
    {"call-x32", 12, NATIVE_SURFACE, NEEDS_NOTHING, call_x32},
    {"call-unknown", 11, NATIVE_SURFACE, NEEDS_NOTHING, call_unknown},
    {NULL},
};
