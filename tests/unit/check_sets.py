"""The syscall sets as text: what the filters of src/walls/ allow, judged without a kernel.

src/walls/generate.c proves that each program decides as its lines do; here it is about the lines.
"""

import ctypes
import glob
import itertools
import os
import re

WALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "walls")
MUTATING = {
    "pwrite64", "pwritev", "ftruncate", "fallocate", "utimensat", "mkdirat", "unlinkat", "renameat2", "linkat", "symlinkat",
}  # fmt: skip
NEVER = {
    "socket", "connect", "bind", "sendto", "sendmsg", "execve", "execveat", "fork", "vfork", "clone3", "ptrace", "process_vm_readv",
    "mount", "open_tree", "move_mount", "fsopen", "pivot_root", "chroot", "unshare", "setns", "setuid", "setresuid", "capset", "bpf",
    "io_uring_setup", "perf_event_open", "userfaultfd", "keyctl", "add_key", "kill", "tgkill", "ioctl", "open", "openat", "prlimit64",
    "memfd_create", "chmod", "fchmod", "fchmodat", "mknodat", "name_to_handle_at", "open_by_handle_at",
}  # fmt: skip
NEVER_NATIVE = {
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise", "clone3", "setns", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "mount", "umount2",
    "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    "open_by_handle_at", "name_to_handle_at", "quotactl", "quotactl_fd", "swapon", "swapoff", "reboot", "kexec_load", "kexec_file_load",
    "init_module", "finit_module", "delete_module", "acct", "iopl", "ioperm", "modify_ldt", "syslog", "settimeofday", "clock_settime",
    "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "vhangup", "uselib", "fanotify_init", "lookup_dcookie", "memfd_secret",
}  # fmt: skip

CONDITION = re.compile(r"(arg|int)(\d)(?: & (\w+))? (==|!=) (\w+)")


class Rule:
    """One line of a set for one of the calls it names."""

    def __init__(self, answer, call, conditions, user, place):
        self.answer, self.call, self.user, self.place = answer, call, user, place
        self.text = conditions
        self.conditions = [parse_condition(text) for text in conditions.split(" and ") if text]

    def fits(self, call, args):
        return call == self.call and all(((args[n] & mask) == value) == equal for n, mask, value, equal in self.conditions)


def parse_condition(text):
    kind, number, mask, relation, value = CONDITION.fullmatch(text.strip()).groups()
    mask = int(mask, 0) if mask else 2**64 - 1
    return int(number), mask & (2**32 - 1) if kind == "int" else mask, int(value, 0), relation == "=="


def read_lines(name):
    """(line number, text in front of the colon, text behind it) of a set or of the list of refused calls."""
    with open(os.path.join(WALLS, name)) as file:
        for number, line in enumerate(file, 1):
            text, _, user = line.split("#")[0].strip().partition(":")
            if text:
                yield number, text.strip(), user.strip()


def read_set(name):
    """Its rules in order, includes and all."""
    rules = []
    for number, text, user in read_lines(name):
        words = text.split()
        if words[0] == "include":
            rules += read_set(words[1])
            continue
        answer = "allow"
        if words[0] == "refuse":
            answer, words = words[1], words[2:]
        names = list(itertools.takewhile(lambda word: not re.match(r"(arg|int)\d", word), words))
        conditions = " ".join(words[len(names):])
        rules += [Rule(answer, call, conditions, user, f"{name}:{number}") for call in names]
    return rules


def judge(rules, call, *args):
    """What the first line that fits says: allow, or the errno."""
    args = list(args) + [0] * (6 - len(args))
    return next((rule.answer for rule in rules if rule.fits(call, args)), "ENOSYS")


def calls(rules):
    return {rule.call for rule in rules if rule.answer == "allow"}


def conditions(rules, call):
    return [rule.text for rule in rules if rule.call == call]


def is_executable_out(rules):
    """Every rule for mapping memory asks that PROT_EXEC is not set."""
    return all("& 0x4 == 0x0" in rule.text for rule in rules if rule.call in ("mmap", "mprotect"))


def is_memory_counted(rules):
    """Every rule for mapping memory asks that it is neither shared nor grows down: RLIMIT_DATA counts neither."""
    return all("and arg3 & 0x101 == 0x0" in text for text in conditions(rules, "mmap"))


def out_of_reach(name):
    """The lines of one file that come behind a line of it that takes everything."""
    decided, found = set(), []
    for rule in (rule for rule in read_set(name) if rule.place.startswith(name + ":")):
        if rule.call in decided:
            found.append(f"{rule.place} {rule.call}")
        if not rule.conditions:
            decided.add(rule.call)
    return found


def telling_values(rules, call, number):
    """Values of one argument on both sides of what the conditions ask."""
    asked = [(mask, value) for rule in rules if rule.call == call for n, mask, value, _ in rule.conditions if n == number]
    flips = [0, 1, 2, 1 << 31, 1 << 32, 1 << 63]
    return sorted({0, 2**64 - 1} | {value ^ flip for mask, value in asked for flip in flips + [mask & -mask]}) if asked else [0]


def widened(narrow, wide):
    """Calls that the narrower set lets through and the wider one does not."""
    both = narrow + wide
    for call in sorted(calls(narrow)):
        for args in itertools.product(*(telling_values(both, call, number) for number in range(6))):
            if judge(narrow, call, *args) == "allow" != judge(wide, call, *args):
                yield f"{call}{args}"
                break


def known_calls():
    """All calls of x86_64 and aarch64 that this machine's libseccomp and kernel headers know."""
    names = set()
    for path in glob.glob("/usr/include/**/asm/unistd_64.h", recursive=True):
        with open(path) as file:
            names |= set(re.findall(r"#define __NR_(\w+) \d", file.read()))
    try:
        library = ctypes.CDLL("libseccomp.so.2")
        with open("/usr/include/seccomp-syscalls.h") as file:
            candidates = set(re.findall(r"#define __SNR_(\w+)", file.read()))
    except OSError:
        return names  # the headers are enough to go on
    for arch in (0xC000003E, 0xC00000B7):
        names |= {name for name in candidates if library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(arch), name.encode()) >= 0}
    return names


HIGH = 1 << 32
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
STREAM, DGRAM, RAW, SEQPACKET, CLOEXEC = 1, 2, 3, 5, 0o2000000
# (call, arguments): what native, native_quiet and native_rung answer; one word stands for all three.
JUDGEMENTS = [
    ("read", (), "allow"),
    ("clone3", (), "ENOSYS"),
    ("clone", (0x003D0F00,), "allow"),  # what pthread_create asks for
    ("clone", (0x01200011,), "allow"),  # and fork
    *[("clone", (flag | 17,), "EPERM") for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)],
    ("clone", (0x10000000 | HIGH,), "EPERM"),
    ("clone", (0x8000 | 17,), "EPERM"),  # CLONE_PARENT
    ("unshare", (0x400,), "allow"),
    *[("unshare", (flag,), "EPERM") for flag in (0x80, 0x20000, 0x10000000, 0x40000000, 0x10000400)],
    ("setns", (), "EPERM"),
    ("ioctl", (0, 0x5401), "allow"),
    ("ioctl", (0, 0x5413), "allow"),
    *[("ioctl", (0, request | high), "EPERM") for request in (0x5412, 0x541C, 0x5423) for high in (0, HIGH, 1 << 63)],
    ("ioctl", (0, 0x8901), "allow"),
    ("mknod", (0, 0o644), "allow"),
    ("mknod", (0, 0o10644), "allow"),
    ("mknod", (0, 0o100644), "allow"),
    *[("mknod", (0, kind | 0o644), "EPERM") for kind in (0o20000, 0o60000, 0o140000)],
    ("mknodat", (0, 0, 0o10644), "allow"),
    ("mknodat", (0, 0, 0o20644), "EPERM"),
    ("renameat2", (0, 0, 0, 0, 1), "allow"),
    ("renameat2", (0, 0, 0, 0, 4), "EINVAL"),
    ("chmod", (0, 0o755), "allow allow EPERM"),
    *[(call, (0, mode), "EPERM") for call in ("chmod", "fchmod") for mode in (0o4755, 0o2755)],
    *[(call, (0, 0, mode), "EPERM") for call in ("fchmodat", "fchmodat2") for mode in (0o4755, 0o2755)],
    ("utimensat", (3, 0), "allow"),
    ("utimensat", (3, 1), "allow allow EPERM"),
    ("personality", (0xFFFFFFFF,), "allow"),
    ("personality", (0x40000,), "allow"),
    ("personality", (0x400000,), "EPERM"),
    ("seccomp", (1, 0), "allow"),
    ("seccomp", (1, 1), "allow"),
    *[("seccomp", (1, flag), "EINVAL") for flag in (2, 4, 8, 9, 32)],
    ("prctl", (15,), "allow"),
    ("prctl", (0x53564D41,), "allow"),
    *[("prctl", (option,), "EINVAL") for option in (28, 35, 59, 62, 67, 0x59616D61)],
    ("socket", (UNIX, STREAM | CLOEXEC), "allow allow EACCES"),
    ("socket", (UNIX, SEQPACKET), "allow allow EACCES"),
    *[("socket", (UNIX, kind), "allow EACCES EACCES") for kind in (DGRAM, DGRAM | CLOEXEC, RAW)],
    *[("socket", (family, STREAM), "allow EACCES EACCES") for family in (INET, INET6, NETLINK)],
    *[("socket", (family, STREAM, 132), "EAFNOSUPPORT EACCES EACCES") for family in (INET, INET6, NETLINK)],
    *[("socket", (family, RAW), "EAFNOSUPPORT EACCES EACCES") for family in (17, 38, 40, 44)],
    *[("socketpair", (UNIX, kind), "allow") for kind in (STREAM, SEQPACKET)],
    *[("socketpair", (UNIX, kind), "allow EACCES EACCES") for kind in (DGRAM, RAW)],
    ("socketpair", (INET, STREAM), "EAFNOSUPPORT EACCES EACCES"),
    ("connect", (), "allow EACCES EACCES"),
    ("sendto", (), "allow"),
    *[("sendto", (0, 0, 0, 0, address), "allow EACCES EACCES") for address in (1, HIGH, 0x7FFF00000000)],
    *[(call, (), "allow allow EACCES") for call in ("shmget", "semget", "msgget", "mq_open", "inotify_add_watch")],
    ("prlimit64", (0,), "allow"),
    ("prlimit64", (1,), "allow allow EPERM"),
    ("sched_setaffinity", (0,), "allow"),
    ("sched_setaffinity", (1,), "allow allow EPERM"),
    ("setpriority", (0, 0), "allow"),
    ("setpriority", (0, 1), "allow allow EPERM"),
    ("setpriority", (2, 0), "allow allow EPERM"),
    ("kill", (1, 9), "allow"),
    ("fcntl", (3, 8, 1), "allow"),
    ("fcntl", (3, 4), "allow"),
]

run, write, load, compile_ = (read_set(name + ".set") for name in ("wasm_run", "wasm_write", "wasm_load", "compile"))
natives = [read_set(name + ".set") for name in ("native", "native_quiet", "native_rung")]
native, named = natives[0], {rule.call for rule in natives[0]}
refused = [call for _, text, _ in read_lines("native_refused.txt") for call in text.split()]
every_set = sorted(os.path.basename(path) for path in glob.glob(os.path.join(WALLS, "*.set")))


def misjudged():
    for call, args, expected in JUDGEMENTS:
        words = expected.split()
        words = words * 3 if len(words) == 1 else words
        answers = [judge(rules, call, *args) for rules in natives]
        if answers != words:
            yield f"{call}{args}: {' '.join(answers)}"


# A sentence, and what is wrong with it: nothing, or a list or True or False.
sentences = [
    ("at most 40 calls are reachable while guest code runs", len(calls(write)) > 40),
    ("a run without a writable grant has none of the calls that change a file", calls(run) & MUTATING),
    ("a run with a writable grant has them", MUTATING - calls(write)),
    ("no executable page can be made while guest code runs", not is_executable_out(run + write)),
    ("no executable page can be made by the compiler", not is_executable_out(compile_)),
    ("no memory can be had past its limit", not is_memory_counted(run + write + compile_)),
    ("the compiler starts threads and never a process", conditions(compile_, "clone") != ["arg0 & 0x10000 == 0x10000"]),
    ("no set of a wasm job has a call that reaches out of the cell", NEVER & calls(load + compile_)),
    ("the compiler has no call that takes a path", {"openat2", "readlinkat"} & calls(compile_)),
    ("each line says why", [rule.place for name in every_set for rule in read_set(name) if not rule.user]),
    ("each line can be reached", [line for name in every_set for line in out_of_reach(name)]),
    ("a native program has none of the calls that no guest may have", NEVER_NATIVE & calls(native)),
    ("every call that is known here is named for native programs or refused", known_calls() - named - set(refused)),
    ("no call is both", named & set(refused)),
    ("no call is refused twice", {call for call in refused if refused.count(call) > 1}),
    ("each refusal says why", [text for _, text, why in read_lines("native_refused.txt") if not why]),
    ("native calls are judged by their arguments as the table says", list(misjudged())),
    ("a run without a network has nothing that one with a network has not", list(widened(natives[1], native))),
    ("the landlock rung has nothing that full isolation has not", list(widened(natives[2], natives[1]))),
]
print(f"1..{len(sentences)}")
for number, (sentence, wrong) in enumerate(sentences, 1):
    print(f"{'not ok' if wrong else 'ok'} {number} - {sentence}")
    if wrong and wrong is not True:
        print(f"# {', '.join(sorted(wrong))}")
