"""The native cell against a hostile program: THREATS section 3, act by act.

tests/hostile/native_*.c holds the acts. Each is made by a program without walls, where it must work (or the act proves nothing), behind all
walls, and behind all walls but one: then nothing of the host may be reached still. It needs the test build: a release leaves no wall out.
"""

import ctypes
import os
import platform
import pty
import resource
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

# bits of enum tell_wall in src/plan/tell.h
WALLS = {
    "the pid namespace": 1 << 2,
    "the ipc namespace": 1 << 3,
    "the net namespace": 1 << 5,
    "the cgroup namespace": 1 << 6,
    "empty capability sets": 1 << 8,
    "no_new_privs": 1 << 9,
    "Landlock": 1 << 10,
    "seccomp": 1 << 11,
    "rlimits": 1 << 12,
    "a root of its own": 1 << 14,
    "the ban on nested namespaces": 1 << 15,
    "cgroups": 1 << 17 | 1 << 18,
    "pins": 1 << 22,
}
ENFORCED = {  # how the envelope calls them
    "the pid namespace": "namespace:pid",
    "the ipc namespace": "namespace:ipc",
    "the net namespace": "namespace:net",
    "the cgroup namespace": "namespace:cgroup",
    "empty capability sets": "capabilities:none",
    "no_new_privs": "no-new-privs",
    "seccomp": "seccomp",
    "a root of its own": "root:own",
    "the ban on nested namespaces": "namespace:no-nesting",
}

# Acts that do not even work without walls here, and why.
NOT_HERE = {
    "lower-oom-score": "takes CAP_SYS_RESOURCE, which root has not everywhere",
    "raise-limit": "likewise",
    "take-ports": "not on every kernel",
    "load-module": "not on a kernel without modules",
    "open-sysrq": "not on every kernel",
    "read-kcore": "not on every kernel",
    "real-time": "an ordinary caller may have no right to it",
    "be-nicer-to-itself": "likewise",
    "call-x32": "kernels without x32 do not know the number at all",
    "call-unknown": "no kernel has it; a filter that answered anything but ENOSYS would be seen",
    "connect-vsock": "only where there is a virtual machine's socket",
}
# Behind all walls these work, and are meant to.
ALLOWED = {
    "limit-init": "a process of the same user can lower its limits; everything ends with it",
    "be-nicer-to-itself": "only in the test, whose caller has the right to it",
}
SYSV = ("take-segment", "take-semaphores", "take-messages")
SOCKETS = ("connect-ro", "connect-rw", "connect-moved", "sendto-rw", "sendmsg-rw", "sendmsg-by-pair", "sendmsg-raw")
METADATA = ("chmod-ro", "touch-ro", "attribute-ro", "flags-ro", "change-own-program")
# What works with that one wall missing. Each is a place where there is one wall and no second: SECURITY.md says so.
KNOWN = {
    "the pid namespace": {
        "open-host-process": "a descriptor of it; Landlock refuses to signal it, seccomp the rest",
        "move-host-process": "which CPUs a process of the same user runs on",
    },
    "the ipc namespace": {name: "nothing else knows SysV keys; the cell refuses to run without it" for name in SYSV},
    "Landlock": {"write-ro-fifo": "no mount is read-only for a FIFO"},
    "seccomp": {name: "nothing else knows sockets in a directory before Landlock ABI 9, and none are masked without --loopback" for name in SOCKETS}
    | {"connect-vsock": "no namespace holds it", "read-session-key": "keyrings belong to no namespace"},
    "a root of its own": {name: "Landlock knows no right for modes, times and attributes" for name in METADATA},
}

# What a run takes besides once the wall is missing: no /proc can be made in another's pid namespace, nor is there a HOME on the host.
ALSO = {"the pid namespace": ["--proc", "none"], "a root of its own": ["--cwd", "/"]}

SECRET_KEY = ("user", "wasp-secret", b"key")
LIBC = ctypes.CDLL(None, use_errno=True)
CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}  # add_key, keyctl
SYSV_KEY = 0x77A5


# ---- the stage -----------------------------------------------------------------------------------


def prepare(folder):
    program = os.path.join(os.path.dirname(os.environ["WASP"]), "native-attempts")
    shutil.copy(program, os.path.join(folder, "native-attempts"))
    for limit, value in ((resource.RLIMIT_RTPRIO, 2), (resource.RLIMIT_NICE, 26)):  # a guest must not inherit them
        with contextlib.suppress(ValueError):
            resource.setrlimit(limit, (value, value))


def program():
    return os.path.join(os.path.dirname(guest("x")), "native-attempts")


def add_session_key():
    """A keyring of our own, so that nothing of ours is left in the caller's, with a secret in it."""
    add_key, keyctl = CALLS[platform.machine()]
    JOIN_SESSION_KEYRING, SESSION = 1, -3
    ring = LIBC.syscall(keyctl, JOIN_SESSION_KEYRING, None)
    kind, name, value = SECRET_KEY
    return ring > 0 and LIBC.syscall(add_key, kind.encode(), name.encode(), value, len(value), SESSION) > 0


def listener(path, kind=socket.SOCK_STREAM):
    found = socket.socket(socket.AF_UNIX, kind)
    found.bind(path)
    if kind == socket.SOCK_STREAM:
        found.listen(64)
    return found


class Stage:
    """Two granted directories, a secret beside them, and things of the host's to reach for."""

    def __enter__(self):
        self.base = new_dir("s")
        self.ro, self.rw, self.outside = (os.path.join(self.base, name) for name in ("ro", "rw", "outside"))
        self.secret = write_file(self.outside, "secret", data="secret\n")
        for name in ("file", "evil-from", "evil-gone"):
            write_file(self.ro, name, data="kept\n")
        os.mkfifo(os.path.join(self.ro, "fifo"), 0o666)
        for name in ("dir", "evil-holder"):
            os.makedirs(os.path.join(self.rw, name))
        self.open = [os.open(os.path.join(self.ro, "fifo"), os.O_RDONLY | os.O_NONBLOCK)]
        self.sockets = [listener(os.path.join(folder, "sock")) for folder in (self.ro, self.rw, os.path.join(self.rw, "evil-holder"))]
        self.sockets += [listener(os.path.join(self.rw, "dgram"), socket.SOCK_DGRAM), listener("\0wasp-hostile-%d" % os.getpid())]
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        if os.getuid() == 0:
            self.add_roots_own()
        self.add_objects()
        sleep = os.path.join(self.outside, "victim")
        shutil.copy("/bin/sleep", sleep)
        self.victim = subprocess.Popen([sleep, "600"])
        return self

    def add_roots_own(self):
        setuid = os.path.join(self.ro, "setuid")
        shutil.copy(program(), setuid)
        os.chmod(setuid, 0o4755)
        os.mknod(os.path.join(self.ro, "node"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))

    def add_objects(self):
        IPC_CREAT = 0o1000
        self.ids = [LIBC.shmget(SYSV_KEY, 4096, IPC_CREAT | 0o600), LIBC.semget(SYSV_KEY, 1, IPC_CREAT | 0o600),
                    LIBC.msgget(SYSV_KEY, IPC_CREAT | 0o600)]  # fmt: skip
        check(min(self.ids) >= 0, "the SysV objects of the stage")
        self.queue = "/wasp-hostile-%d" % os.getpid()
        queue = LIBC.mq_open(self.queue.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        check(queue >= 0, "the queue of the stage")
        self.open.append(queue)

    def __exit__(self, *_):
        self.victim.kill()
        self.victim.wait()
        LIBC.shmctl(self.ids[0], 0, None)
        LIBC.semctl(self.ids[1], 0, 0)
        LIBC.msgctl(self.ids[2], 0, None)
        LIBC.mq_unlink(self.queue.encode())
        for one in [*self.sockets, self.tcp, self.udp]:
            one.close()
        for fd in self.open:
            os.close(fd)

    def words(self, init, ro=None, rw=None):
        return [f"ro={ro or self.ro}", f"rw={rw or self.rw}", f"secret={self.secret}", f"abstract=wasp-hostile-{os.getpid()}", f"queue={self.queue}",
                f"port={self.port}", f"key={SYSV_KEY}", f"pid={self.victim.pid}", f"init={init}"]  # fmt: skip

    def leak(self):
        """Descriptors on the host's directories, as a careless caller leaves them open."""
        return [os.open(self.outside, os.O_RDONLY), os.open("/", os.O_PATH)]

    def free(self, *acts, **how):
        """Without walls, with a terminal, as itself."""
        master, slave = pty.openpty()
        leaked = self.leak()
        argv = [program(), *self.words(self.victim.pid), *acts]
        try:
            done = subprocess.run(argv, stdin=slave, stdout=subprocess.PIPE, text=True, check=True, pass_fds=leaked, timeout=120,
                                  start_new_session=True, preexec_fn=take_terminal, **how)  # fmt: skip
        finally:
            for fd in (master, slave, *leaked):
                os.close(fd)
        return parse(done.stdout)

    def walled(self, *options, acts=(), without=0, in_place=False, **how):
        """in_place: the directories are found where they are on the host, and so beneath /tmp."""
        leaked = self.leak()
        env = {"WASP_TEST_WITHOUT": str(without)}
        folder = os.path.dirname(program())
        guest = [folder, self.ro, self.rw] if in_place or without & WALLS["a root of its own"] else ["/stage/bin", "/stage/ro", "/stage/rw"]
        hosts = zip((folder, self.ro, self.rw), guest, ("ro", "ro", "rw"))
        grants = [word for host, path, access in hosts for word in ("--allow-dir", f"{host}::{path}:{access}")]
        argv = [os.path.join(guest[0], "native-attempts"), *self.words(1, *guest[1:]), *acts]
        try:
            return wasp("exec", *grants, *options, "--", *argv, env=env, pass_fds=leaked, **how)
        finally:
            for fd in leaked:
                os.close(fd)


def take_terminal():
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Act:
    def __init__(self, line):
        self.name, row, self.kind, self.needs, verdict, number = line.split()
        self.row, self.done, self.number = int(row), verdict == "done", int(number)


def parse(text):
    return {act.name: act for act in map(Act, text.splitlines())}


def done(acts, kind=None):
    return {name for name, act in acts.items() if act.done and kind in (None, act.kind)}


def acts_of(outcome):
    acts = parse(outcome.stdout)
    check(len(acts) > 100, f"the acts were not made: {short(outcome.envelope)}")
    return acts


# ---- with all walls, and with one missing --------------------------------------------------------


@test("every act works for a program without walls, or it is said why it cannot here")
def _():
    with Stage() as stage:
        acts = stage.free()
    failed = {name for name, act in acts.items() if not act.done and (act.needs != "root" or os.getuid() == 0)}
    check_equal(failed - set(NOT_HERE), set(), "acts that fail by themselves")


@test("behind all walls no act works but those that are meant to")
def _():
    with Stage() as stage:
        check_equal(done(acts_of(stage.walled())) - set(ALLOWED), set(), "what worked")


@test("with a terminal of its own no act works but opening that one")
def _():
    with Stage() as stage:
        worked = done(acts_of(stage.walled("--tty")))
        check_equal(worked - set(ALLOWED) - {"open-terminal"}, set(), "what worked")


@test("with a loopback of its own no act works but making sockets that reach nobody")
def _():
    with Stage() as stage:
        worked = done(acts_of(stage.walled("--loopback")))
        check_equal(worked - set(ALLOWED) - {"open-netlink", "send-udp"}, set(), "what worked")


@test("the read-only directory is byte for byte what it was")
def _():
    with Stage() as stage:
        before = tree_of(stage.ro)
        acts_of(stage.walled())
        check_equal(tree_of(stage.ro), before, "the tree")


def without(wall, bit):
    @test(f"without {wall} alone nothing of the host is reached still")
    def _():
        with Stage() as stage:
            before = tree_of(stage.ro)
            outcome = stage.walled(*ALSO.get(wall, []), without=bit)
            if wall in ENFORCED:
                check(ENFORCED[wall] not in outcome["enforced"], f"it stands: {outcome['enforced']}")
            worked = done(acts_of(outcome), "escape")
            check_equal(worked - set(KNOWN.get(wall, {})), set(), "what worked")
            if wall != "a root of its own":
                check_equal(tree_of(stage.ro), before, "the tree")


for _wall, _bit in WALLS.items():
    without(_wall, _bit)


# ---- the weaker rung ------------------------------------------------------------------------------

# No namespaces and the host's own tree: what is listed by name is all that a guest gains by it.
RUNG = {
    "stat-secret": "Landlock knows no right for it",
    "open-host-process": "a descriptor of it; Landlock refuses to signal it, seccomp the rest",
    "run-setuid": "for a caller who is root: the guest has the caller's uid, without capabilities",
}


@test("on the landlock rung no more works than what is said of it")
def _():
    with Stage() as stage:
        outcome = stage.walled("--isolation", "landlock", "--cwd", "/", in_place=True)
        check_in("isolation:landlock", outcome["enforced"], "enforced")
        check_equal(done(acts_of(outcome)) - set(ALLOWED) - set(RUNG), set(), "what worked")


main_with = os.environ.get("WASP_TEST", os.path.join(ROOT, "build-test", "wasp"))
os.environ["WASP"] = main_with
add_session_key()
main(prepare)
