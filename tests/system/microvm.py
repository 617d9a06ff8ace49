#!/usr/bin/python3
"""cgroup v2 for real: wasp in a small virtual machine whose kernel has nothing else.

A kernel of Debian's, an initramfs that is made here, qemu without KVM: no privileges, no disk, no
network. What shall happen in the machine is a scene, a few lines of shell in the words of
tests/microvm/words; all scenes of a machine run in one boot, and each test looks at what came of
its own.
"""

import base64
import lzma
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

QEMU, BUSYBOX = "qemu-system-x86_64", "busybox"
KERNEL = "linux-image-cloud-amd64"
BOOT_SECONDS = 120  # it takes 10; the machine is somebody else's, too
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
CACHE = os.environ.get("WASP_MICROVM_CACHE") or os.path.join(CACHE, "wasp-microvm")

# ---- the kernel: fetched once ------------------------------------------------------------------


def output_of(*argv, **how):
    return subprocess.run(argv, check=True, capture_output=True, timeout=300, **how).stdout


def package_name():
    """The package of today's kernel, which the one without a number depends on."""
    for line in output_of("apt-cache", "depends", KERNEL).decode().splitlines():
        kind, _, name = line.strip().partition(": ")
        if kind == "Depends" and name.startswith("linux-image-"):
            return name
    raise Failed(f"apt-cache knows no {KERNEL}")


def unpack(package, folder):
    """Of the hundred megabytes, the two files that matter: vmlinuz and overlay.ko."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as child:
        with tarfile.open(fileobj=child.stdout, mode="r|") as archive:
            for member in archive:
                name = os.path.basename(member.name)
                if name.startswith("vmlinuz-"):
                    write_file(folder, "vmlinuz", data=archive.extractfile(member).read())
                elif name in ("overlay.ko", "overlay.ko.xz"):
                    data = archive.extractfile(member).read()
                    data = lzma.decompress(data) if name.endswith(".xz") else data
                    write_file(folder, "overlay.ko", data=data)


def fetch(name):
    """Whole or not at all, also if two do it at once: it has its name when all is there."""
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="tmp-") as work:
        output_of("apt-get", "-q", "download", name, cwd=work)
        packages = [file for file in os.listdir(work) if file.endswith(".deb")]
        unpack(os.path.join(work, packages[0]), os.path.join(work, "done"))
        with contextlib.suppress(OSError):  # somebody was quicker
            os.rename(os.path.join(work, "done"), os.path.join(CACHE, name))


def find_kernel():
    """The folder with a kernel that was fetched before, or None."""
    names = sorted(os.listdir(CACHE)) if os.path.isdir(CACHE) else []
    folders = [os.path.join(CACHE, name) for name in names if name.startswith("linux-image-")]
    return next((folder for folder in reversed(folders) if os.listdir(folder)), None)


# ---- what is in the machine --------------------------------------------------------------------


class Archive:
    """A cpio archive as the kernel takes it for its first root."""

    def __init__(self):
        self.parts = []

    def add(self, name, mode, data=b"", device=(0, 0)):
        fields = [len(self.parts) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.parts.append(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def folder(self, name, mode=0o755):
        self.add(name, stat.S_IFDIR | mode)

    def file(self, name, data, mode=0o644):
        self.add(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


UNIT_TESTS = ("test_cgroup", "test_cgroup_place", "test_tree")
PROGRAMS = ("wasp", "wasp-cell", *(f"tests/{name}" for name in UNIT_TESTS))  # static: all they need
USERS = {
    "etc/passwd": "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n",
    "etc/group": "root:x:0:\nuser:x:1000:\n",
}


def compile_static(*path):
    program = os.path.join(new_dir(), "program")
    output_of("cc", "-static", "-O1", "-o", program, os.path.join(*path))
    return read_file(program)


def common_archive(overlay):
    """All but the scenes."""
    archive = Archive()
    folders = ("usr", "usr/bin", "etc", "opt", "opt/wasp", "opt/microvm", "scenes", "proc", "sys",
               "dev", "root", "new")  # fmt: skip
    for name in folders:
        archive.folder(name)
    archive.folder("tmp", 0o1777)
    archive.folder("home", 0o777)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.link("bin", "usr/bin")
    archive.link("usr/bin/sh", "busybox")
    archive.file("usr/bin/busybox", read_file(shutil.which(BUSYBOX)), 0o755)
    archive.file("usr/bin/fork_bomb", compile_static(ROOT, "tests/microvm/fork_bomb.c"), 0o755)
    for name in PROGRAMS:
        data = read_file(os.path.dirname(wasp_path()), name)
        archive.file("opt/wasp/" + os.path.basename(name), data, 0o755)
    for name in ("main", "words"):
        archive.file(f"opt/microvm/{name}", read_file(ROOT, "tests/microvm", name), 0o755)
    archive.file("init", read_file(ROOT, "tests/microvm/init"), 0o755)
    for name, text in USERS.items():
        archive.file(name, text.encode())
    archive.file("opt/overlay.ko", read_file(overlay))
    return archive


# ---- the machine -------------------------------------------------------------------------------


class Machine:
    """One boot; its mode says which cgroups there are (tests/microvm/words)."""

    def __init__(self, mode):
        self.mode = mode
        self.scenes = []
        self.results = None  # not booted yet
        self.trouble = None

    def scene(self, text):
        """Something to happen in the machine; returns what looks at what came of it."""
        number = len(self.scenes)
        self.scenes.append(text)
        return lambda: self.result_of(number)

    def pack(self, folder, kernel):
        """Puts kernel and initramfs there, for whoever boots it."""
        self.folder = os.path.join(folder, self.mode)
        archive = common_archive(os.path.join(kernel, "overlay.ko"))
        archive.file("scenes/mode", self.mode.encode() + b"\n")
        for number, text in enumerate(self.scenes):
            archive.file(f"scenes/{number:02}.sh", text.encode() + b"\n")
        write_file(self.folder, "initramfs", data=archive.bytes())
        shutil.copyfile(os.path.join(kernel, "vmlinuz"), os.path.join(self.folder, "vmlinuz"))

    def command(self):
        # -M microvm has no clock that the kernel could trust without KVM: one boot in three hangs
        return [QEMU, "-M", "q35", "-accel", "tcg", "-m", "512", "-nodefaults", "-no-user-config",
                "-no-reboot", "-display", "none", "-kernel", "vmlinuz", "-initrd", "initramfs",
                "-append", "console=ttyS0 quiet loglevel=4 panic=-1",
                "-serial", "file:console", "-serial", "file:results"]  # fmt: skip

    def boot(self):
        """Until it switches itself off. Sets the results of its scenes, as far as it came."""
        child = subprocess.Popen(self.command(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 preexec_fn=die_with_parent)  # fmt: skip
        try:
            said = child.communicate(timeout=BOOT_SECONDS)[1].decode()
        except subprocess.TimeoutExpired:
            said = f"still running after {BOOT_SECONDS} s"
        finally:
            child.kill()
            child.wait()
        lines = read_file(self.folder, "results").decode(errors="replace").splitlines()
        self.results = [parse_result(line) for line in lines if line.endswith("]")]
        console = read_file(self.folder, "console").decode(errors="replace")
        self.trouble = f"the machine did not come that far: {said} {console[-1500:]}"

    def result_of(self, number):
        """Of one scene. A machine is booted once, also if it fails."""
        if self.results is None:
            self.results = []
            self.boot()
        if number >= len(self.results):
            trouble, self.trouble = self.trouble, "nor did it come this far"
            raise Failed(trouble)
        return self.results[number]


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def parse_result(line):
    """"03 0 [BASE64] [BASE64]": (status, stdout, stderr)."""
    _, status, out, err = line.split(" ")
    decoded = [base64.b64decode(part.strip("[]")) for part in (out, err)]
    return int(status), *decoded


v2, v1 = Machine("v2"), Machine("v1")

# ---- the unit tests, on kernels and in cgroups that are not here -------------------------------


def check_tap(result, least):
    """All of a unit test's lines are good, and there are that many at least."""
    status, out, err = result
    lines = out.decode().splitlines()
    bad = [line for line in lines if line.startswith(("not ok", "#"))]
    check_equal((status, bad), (0, []), f"a unit test in the machine ({short(err)})")
    check_match(r"1\.\.\d+", lines[-1] if lines else "", "the plan")
    check(int(lines[-1].partition("..")[2]) >= least, f"only {lines[-1]} tests")


in_root = v2.scene("test_cgroup v2")
place_in_root = v2.scene("test_cgroup_place v2")
in_tree = v2.scene("test_tree")
in_a_group = v2.scene("in_group tree/leaf test_cgroup v2")
place_in_a_group = v2.scene("in_group tree/leaf test_cgroup_place v2")
in_limited = v2.scene("""
    mkdir -p $groups/tree/limited
    echo 100M >$groups/tree/limited/memory.max
    in_group tree/limited test_cgroup none
    echo max >$groups/tree/limited/memory.max
    in_group tree/limited test_cgroup v2 | sed -n 1p
""")
by_user = v2.scene("delegate user; as_user_in user/shell 'exec test_cgroup v2'")
place_by_user = v2.scene("as_user_in user/shell 'exec test_cgroup_place v2'")
by_stranger = v2.scene("as_user_in tree/leaf 'exec test_cgroup none'")
by_half_user = v2.scene("""
    delegate half
    chown root $groups/half/cgroup.procs
    as_user_in half/shell 'exec test_cgroup none'
""")
in_one_hierarchy = v1.scene("test_cgroup v1")
place_in_one_hierarchy = v1.scene("test_cgroup_place v1")


@test("on cgroup v2, root's cgroup of a run lies below the root and does all it should")
def _():
    check_tap(in_root(), 40)
    check_tap(place_in_root(), 9)


@test("there the watch over processes sees what it should")
def _():
    check_tap(in_tree(), 28)


@test("in a cgroup of its own, which cannot be shared out, root makes it beside that one")
def _():
    check_tap(in_a_group(), 40)
    check_tap(place_in_a_group(), 9)


@test("not if that one has a limit that the run would escape")
def _():
    status, out, _ = in_limited()
    lines = out.decode().splitlines()
    check_equal(lines, ["ok 1 - the kind of cgroup is none", "1..1", "ok 1 - the kind of cgroup is v2"])


@test("an ordinary user makes it where a cgroup is delegated, and it does all it should")
def _():
    check_tap(by_user(), 40)
    check_tap(place_by_user(), 5)


@test("an ordinary user without a delegated one has none")
def _():
    check_tap(by_stranger(), 1)


@test("nor has one who could make it but not go there")
def _():
    check_tap(by_half_user(), 1)


@test("on cgroup v1 with all controllers in one hierarchy it does all it should")
def _():
    check_tap(in_one_hierarchy(), 40)
    check_tap(place_in_one_hierarchy(), 9)


# ---- wasp exec -----------------------------------------------------------------------------------


def exec_scene(command, run_as="sh -c {}", machine=v2):
    """`wasp exec COMMAND`, by root in the first cgroup unless said otherwise."""
    return machine.scene(run_as.format(shlex.quote(f"exec wasp exec {command}")))


def envelope(result):
    """What came back of a run, held to CONTRACT as any."""
    status, out, err = result
    done = Outcome(("exec",), status, out, err)
    check_contract(done)
    return done


def check_limit(result, reason, enforced):
    done = envelope(result)
    check_equal(done.reason, reason, f"reason ({done.error})")
    check_in(enforced, done["enforced"], "enforced")
    return done


HOLD = "dd if=/dev/zero bs={}M count=1 of=/dev/null"
MANY_HOLD = "for i in 1 2 3 4; do dd if=/dev/zero bs=24M count=1 | sleep 60 & done; wait"
SPIN_APART = "while :; do (seq 10000 >/dev/null &); done"  # children that nobody waits for
DELEGATED = "as_user_in user/shell {}"
STRANGE = "as_user_in tree/leaf {}"

many_hold_command = f"--memory 64MiB --timeout 20s -- sh -c {shlex.quote(MANY_HOLD)}"
plain = exec_scene("-- echo hello")
plain_user = exec_scene("-- echo hello", DELEGATED)
plain_strange = exec_scene("-- echo hello", STRANGE)
within_memory = exec_scene(f"--memory 64MiB -- {HOLD.format(24)}")
memory_bomb = exec_scene(f"--memory 64MiB --timeout 20s -- {HOLD.format(100)}")
memory_bomb_user = exec_scene(f"--memory 64MiB --timeout 20s -- {HOLD.format(100)}", DELEGATED)
many_hold = exec_scene(many_hold_command)
many_hold_strange = exec_scene(many_hold_command, STRANGE)
fork_bomb = exec_scene("--processes 16 --timeout 20s -- fork_bomb")
fork_bomb_user = exec_scene("--processes 16 --timeout 20s -- fork_bomb", DELEGATED)
spin_apart = exec_scene(f"--cpu 1s --timeout 20s -- sh -c {shlex.quote(SPIN_APART)}")
nothing_after = v2.scene("nothing_left")
nothing_after_v1 = v1.scene("nothing_left")


@test("wasp exec has its limits from cgroup v2, by root and by a user with a delegated one")
def _():
    for result in (plain, plain_user):
        done = check_limit(result(), "exited", "memory:cgroup-v2")
        check_equal((done.status, done.stdout), (0, "hello\n"))
        for limit in ("cpu", "processes"):
            check_in(f"{limit}:cgroup-v2", done["enforced"], "enforced")


@test("a program that takes all memory ends with memory_limit")
def _():
    for result in (memory_bomb, memory_bomb_user):
        check_limit(result(), "memory_limit", "memory:cgroup-v2")


@test("one that keeps within it does not")
def _():
    done = check_limit(within_memory(), "exited", "memory:cgroup-v2")
    check_equal(done.status, 0)


@test("memory is that of all its processes together")
def _():
    check_limit(many_hold(), "memory_limit", "memory:cgroup-v2")


@test("without a cgroup wasp says so, and its watch counts them together as well")
def _():
    check_limit(plain_strange(), "exited", "memory:rlimit+watch")
    check_limit(many_hold_strange(), "memory_limit", "memory:rlimit+watch")


@test("a fork bomb ends with process_limit")
def _():
    for result in (fork_bomb, fork_bomb_user):
        check_limit(result(), "process_limit", "processes:cgroup-v2")


@test("CPU time is that of all processes, also of those that nobody waited for")
def _():
    check_limit(spin_apart(), "cpu_limit", "cpu:cgroup-v2")


@test("no cgroup is left of all of these, and no machine")
def _():
    for result in (nothing_after, nothing_after_v1):
        check_equal(result()[:2], (0, b""), "cgroups left")
    check_equal(descendants(os.getpid()), [], "processes left")


# ---- main --------------------------------------------------------------------------------------


def why_not():
    if platform.machine() != "x86_64":
        return "the machine is made for x86_64"
    if os.environ.get("WASP_SANITIZED"):
        return "the sanitized programs are not static"
    if not shutil.which(QEMU) or not shutil.which(BUSYBOX):
        return f"no {QEMU} or no {BUSYBOX} here: scripts/setup.sh test"
    if b"/lib64/ld-linux" in read_file(shutil.which(BUSYBOX)):
        return f"{BUSYBOX} here needs libraries: the package busybox-static does not"
    if find_kernel():
        return None
    try:
        fetch(package_name())
    except (OSError, subprocess.SubprocessError, tarfile.TarError, Failed) as why:
        return f"no kernel to boot, and apt-get cannot fetch it: {str(why).splitlines()[0]}"
    return None if find_kernel() else "no kernel to boot"


def prepare(guests):
    for machine in (v2, v1):
        machine.pack(os.path.dirname(guests), find_kernel())


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    main(prepare=prepare)
