"""The native cell against tricks that take more than one act, and walls that cannot be built.

tests/system/native_hostile.py makes single acts; here are races, names, leftovers, hostile words, and every lack that must be a refusal.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

SIGNALS = sorted(set(range(1, 65)) - {32, 33})  # those two are the C library's own


def sh(script, *options, **how):
    return wasp("exec", *options, "--", "/bin/sh", "-c", script, **how)


def python(script, *options, **how):
    return wasp("exec", *options, "--", "python3", "-I", "-c", script, **how)


def workspace(*protected):
    """A directory with these files in it."""
    folder = new_dir("ws")
    for path in protected:
        write_file(folder, path, data="theirs\n")
    return folder


def appeared(outcome):
    return sorted(entry["path"] for entry in outcome["host_executed"] or [])


# ---- the process that watches --------------------------------------------------------------------


@test("no signal that a guest sends to the first process ends the run or changes its verdict")
def _():
    for number in SIGNALS:
        script = f"import os, signal, time\nfor n in range(1, 65):\n  n not in (9, 19, 32, 33) and signal.signal(n, signal.SIG_IGN)\nos.kill(1, {number})\ntime.sleep(0.05)\nos._exit(7)"
        outcome = python(script)
        check_equal((outcome.reason, outcome["exit_code"]), ("exited", 7), f"after signal {number}")


@test("a guest that lowers the limits of the first process ends itself alone, and nothing is left")
def _():
    script = "import resource, time\nresource.prlimit(1, resource.RLIMIT_CPU, (0, 0))\nresource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))\ntime.sleep(1)"
    outcome = python(script)
    check_in(outcome.reason, ("exited", "signal", "cpu_limit"), "reason")
    check_nothing_left()


@test("a stopped guest still ends at its time limit, with all its processes")
def _():
    check_equal(sh("sleep 600 & kill -STOP $$", "--timeout", "1s").reason, "timeout")
    check_nothing_left()


@test("processes that left the session and the parent end with the run")
def _():
    outcome = sh("(setsid sh -c 'setsid sleep 600 & sleep 600' &) ; exit 3")
    check_equal((outcome.reason, outcome["exit_code"]), ("exited", 3))
    check_nothing_left()


def has_cgroup(outcome):
    """Without one, memory that no process has mapped is refused: the watch would not see it."""
    return any(wall.startswith("memory:cgroup") for wall in outcome["enforced"])


@test("shared memory, queues and segments of a guest are gone with it")
def _():
    with open("/proc/sysvipc/shm") as file:
        before = file.read()
    outcome = python("import ctypes\nlibc = ctypes.CDLL(None)\nprint(libc.shmget(0x7171, 4096, 0o1600) >= 0)\nopen('/dev/shm/left', 'w').write('x')")
    check_equal(outcome.stdout, f"{has_cgroup(outcome)}\n", "a segment, which is refused where nobody would count it")
    with open("/proc/sysvipc/shm") as file:
        check_equal(file.read(), before, "segments of the host")
    check(not os.path.exists("/dev/shm/left"), "a file is left in the host's /dev/shm")


@test("a guest that crashes leaves no core")
def _():
    folder = workspace()
    outcome = sh("kill -ABRT $$", "--allow-dir", folder)
    check_equal((outcome.reason, outcome["signal"]), ("signal", signal.SIGABRT))
    check_equal(os.listdir(folder), [], "what is left")


# ---- directories that change under it -------------------------------------------------------------


@test("a workspace that is swapped for a link to wasp's own folder again and again never shows what is in it")
def _():
    base = new_dir("swap")
    here, aside = (os.path.join(base, name) for name in ("ws", "aside"))
    write_file(here, "mine", data="mine\n")
    write_file(state_dir(), "theirs", data="theirs\n")
    grant = ["--allow-dir", f"{here}::/ws:ro"]
    check_equal(sh("ls /ws", *grant).stdout, "mine\n")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(here, aside)
            os.symlink(state_dir(), here)
            os.unlink(here)
            os.rename(aside, here)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        outcomes = [sh("ls /ws", *grant) for _ in range(60)]
    finally:
        stop.set()
        thread.join()
    for outcome in outcomes:
        check_in(outcome.reason, ("exited", "denied", "invalid", "backend_error"), "reason")
        check_in(outcome.stdout, ("", "mine\n"), "what was seen")


@test("a link in the workspace to a directory of the host leads nowhere")
def _():
    folder = workspace()
    os.symlink(new_dir("outside"), os.path.join(folder, "link"))
    os.symlink("/etc", os.path.join(folder, "etc"))
    outcome = sh("ls link/; cat etc/shadow etc/hostname", "--allow-dir", folder)
    check_equal(outcome.stdout, "")


@test("a grant inside a grant is not put behind a link that a guest made there")
def _():
    folder, other = workspace("sub/file"), workspace("other")
    check_equal(sh("mv sub gone; ln -s /usr sub", "--allow-dir", folder).status, 0)
    outcome = sh("ls", "--allow-dir", f"{folder}::/ws:rw", "--allow-dir", f"{other}::/ws/sub:rw")
    check_equal(outcome.reason, "invalid")


@test("what wasp itself lives of cannot be granted")
def _():
    write_file(state_dir(), "x")
    for folder in (state_dir(), os.path.dirname(state_dir()), os.path.dirname(wasp_path()), "/"):
        outcome = sh("true", "--allow-dir", f"{folder}::/ws:rw")
        check_in(outcome.reason, ("denied", "invalid"), f"reason for {folder}")


@test("a working directory outside of the view is refused")
def _():
    outside = new_dir("outside")
    for cwd in (outside, "/proc/1/cwd", "/proc/1/root", "/dev/fd/3"):
        check_equal(sh("pwd", "--cwd", cwd).status, 2, f"status with {cwd}")


# ---- names that the host executes -----------------------------------------------------------------

PINNED = ("sub/.git/hooks/pre-commit", "sub/.git/config", ".envrc")


@test("protected names cannot be changed, moved, removed or replaced, nor the directories above them")
def _():
    folder = workspace(*PINNED)
    acts = ["echo x >> .envrc", "mv .envrc y", "rm -f .envrc", "ln -f /usr/bin/env .envrc", "mv sub moved", "mv sub/.git sub/x",
            "mv sub/.git/hooks sub/.git/h", "rm -rf sub/.git/hooks", "echo x > sub/.git/hooks/post-merge", "echo x > sub/.git/config",
            "ln sub/.git/config alias", "cp /dev/null sub/.git/config", "touch new && mv new .envrc", "mount --move sub /tmp",
            "python3 -c 'import ctypes, os; os._exit(ctypes.CDLL(None).renameat2(-100, b\"sub\", -100, b\"sub2\", 2) == 0)' && false"]  # fmt: skip
    before = tree_of(folder)
    os.mkdir(os.path.join(folder, "sub2"))
    for act in acts:
        outcome = sh(act, "--allow-dir", folder)
        check(outcome.status != 0, f"it worked: {act}")
        os.path.exists(os.path.join(folder, "new")) and os.unlink(os.path.join(folder, "new"))
    for path in PINNED:
        check_equal(read_file(folder, path), b"theirs\n", path)
    os.rmdir(os.path.join(folder, "sub2"))
    check_equal(set(tree_of(folder)), set(before), "names")


@test("the same acts work where the names are unprotected")
def _():
    folder = workspace(*PINNED)
    outcome = sh("mv sub moved && echo x > .envrc && rm -rf moved/.git/hooks", "--allow-dir", folder,
                 "--unprotect", ".git", "--unprotect", ".envrc", "--unprotect", ".git/hooks", "--unprotect", ".git/config")  # fmt: skip
    check_equal(outcome.status, 0, f"status ({outcome.stderr})")


@test("protected names that a guest makes are reported, or that they cannot be looked for, whatever it makes of the directory above")
def _():
    make = "mkdir -p x/.git/hooks && echo evil > x/.git/hooks/pre-commit"
    for hide in ("true", "chmod 0300 x", "chmod 0 x/.git", "chmod 0 x", "mv x y", "chmod 0100 x/.git"):
        folder = workspace()
        outcome = sh(f"{make}; {hide}", "--allow-dir", folder)
        told = appeared(outcome) or outcome["host_executed_incomplete"]
        check(told, f"nothing is reported after: {hide}")


@test("a report that cannot be made does not turn a run that was into one that was refused")
def _():
    folder = workspace()
    script = "import os\nfor i in range(30):\n  os.mkdir('a' * 200)\n  os.chdir('a' * 200)\nprint('ran')"
    outcome = python(script, "--allow-dir", folder)
    check_equal(outcome.stdout, "ran\n")
    check(outcome.reason != "denied", "the guest ran, and the reason says that it was not let")


# ---- words ----------------------------------------------------------------------------------------


@test("no escape code of a guest, or of its name, reaches the terminal of whoever called")
def _():
    evil = "\x1b]0;evil\x07\x1b[2J\x9b31m\r"
    for outcome in (sh(f"printf '%s' '{evil}'; printf '%s' '{evil}' >&2; exit 3"), wasp("exec", "--", f"/nonexistent/{evil}"),
                    wasp("exec", "--cwd", f"/{evil}", "--", "true"), wasp("exec", "--allow-dir", f"/x{evil}", "--", "true")):  # fmt: skip
        for byte in ("\x1b", "\x07", "\r", "\x9b"):
            check(byte not in outcome.said, f"{byte!r} on stderr: {outcome.said!r}")


@test("arguments and variables reach the guest as they are, or there is one clear error")
def _():
    words = ["-c", "--", "--allow-dir=/", "a\nb", "$(id)", "", "x" * (100 * 1024), "--isolation"]
    outcome = wasp("exec", "--env", "A=x\ny", "--", "python3", "-I", "-c", "import sys, os\nprint(repr(sys.argv[1:]), repr(os.environ['A']))", *words)
    check_equal(outcome.stdout, f"{words!r} {'x' + chr(10) + 'y'!r}\n")


@test("code in memory runs like any other: what may be executed is no boundary, and it has the same walls")
def _():
    script = ("import os\nfd = os.memfd_create('x')\nos.write(fd, open('/bin/cat', 'rb').read())\n"
              "os.execve(fd, ['cat', '/etc/shadow', '/etc/group'], {})")  # fmt: skip
    outcome = python(script)
    if has_cgroup(outcome):
        check_match("wasp:x:1000", outcome.stdout)
        check_match("No such file", outcome.stderr)
    else:
        check_match("not implemented", outcome.stderr, "memory that no process has mapped, where nobody would count it")


@test("a set-uid program in a directory gives a guest nothing, and anybody else on the host all of it", only="root")
def _():
    folder = new_dir("setuid")
    program = os.path.join(folder, "id")
    shutil.copy("/usr/bin/id", program)
    os.chmod(program, 0o4755)
    free = subprocess.run([program, "-u"], capture_output=True, text=True, user=ORDINARY_UID, group=ORDINARY_UID)
    check_equal(free.stdout, "0\n", "without walls")
    check_equal(sh("/s/id -u; id -u", "--allow-dir", f"{folder}::/s:ro").stdout, "1000\n1000\n")


# ---- walls that cannot be built -------------------------------------------------------------------

LACKS = [
    "clone-user=EPERM",
    "close_range=ENOSYS",
    "fsopen=EPERM",
    "fsopen:proc=EPERM",
    "fsopen:tmpfs=EPERM",
    "landlock=ENOSYS",
    "landlock-version=EOPNOTSUPP",
    "mount_setattr=EPERM",
    "move_mount=EPERM",
    "no-new-privs=EINVAL",
    "nproc=EPERM",
    "open_tree=EPERM",
    "pivot_root=EPERM",
    "secure-bits=EPERM",
    "seccomp=EINVAL",
    "unshare-net=EPERM",
    "unshare-net=ENOSPC",
]


def lacking(rule):
    @test(f"a machine with {rule} is a refusal and nothing weaker")
    def _():
        lack = os.path.join(os.path.dirname(guest("x")), "lack")
        argv = [lack, rule, "--", wasp_path(), "exec", "--", "/bin/echo", "ran"]
        done = subprocess.run(argv, capture_output=True, env=wasp_env(), timeout=60)
        outcome = Outcome(argv[4:], done.returncode, done.stdout, done.stderr)
        check_contract(outcome)
        check("ran" not in outcome.stdout, f"it ran: {outcome['enforced']}")
        check_in(outcome.reason, ("backend_error", "denied"), "reason")
        check(outcome.error, "no error")


for _rule in LACKS:
    lacking(_rule)


# ---- devices ---------------------------------------------------------------------------------------


@test("a guest cannot change the mode, owner or times of the host's devices")
def _():
    before = os.stat("/dev/zero")
    outcome = sh("chmod 0666 /dev/zero; touch /dev/zero; chown 1000 /dev/zero; echo x > /dev/null; head -c1 /dev/zero | wc -c")
    after = os.stat("/dev/zero")
    check_equal((after.st_mode, after.st_mtime_ns, after.st_ctime_ns), (before.st_mode, before.st_mtime_ns, before.st_ctime_ns), "/dev/zero")
    check_equal(outcome.stdout, "1\n", "reading and writing them")


# ---- where it was started -------------------------------------------------------------------------


@test("inside a user namespace, as its root, the walls are the same and nobody is root inside")
def _():
    argv = ["unshare", "-Ur", wasp_path(), "exec", "--", "/bin/sh", "-c", "id -u; cat /etc/shadow /proc/1/environ /proc/1/maps; readlink /proc/1/fd/3 /proc/1/cwd; unshare -U true"]
    done = subprocess.run(argv, capture_output=True, env=wasp_env(), timeout=60)
    outcome = Outcome(argv[3:], done.returncode, done.stdout, done.stderr)
    check_contract(outcome)
    check_equal(outcome.stdout, "1000\n")
    for wall in ("namespace:user", "namespace:no-nesting", "capabilities:none", "no-new-privs", "seccomp", "root:own"):
        check_in(wall, outcome["enforced"], "enforced")


@test("inside a user namespace that the host's root made, a limit that the envelope lists does hold")
def _():  # the kernel never counts processes of the host's root
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; ls /proc | grep -c '^[0-9]'"
    env = wasp_env({"WASP_TEST_WITHOUT": str(1 << 17 | 1 << 18)})  # no cgroup does it instead
    argv = ["unshare", "-Ur", wasp_path(), "exec", "--processes", "5", "--", "/bin/sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, env=env, timeout=60)
    outcome = Outcome(argv[3:], done.returncode, done.stdout, done.stderr)
    check_contract(outcome)
    held = outcome.reason != "exited" or outcome["exit_code"] != 0 or int(outcome.stdout) <= 6
    check(held or "processes:rlimit" not in outcome["enforced"], f"{outcome.stdout.strip()} processes with {outcome['enforced']}")


def prepare(folder):
    shutil.copy(os.path.join(os.path.dirname(os.environ["WASP"]), "lack"), os.path.join(folder, "lack"))


os.environ["WASP"] = os.environ.get("WASP_TEST", os.path.join(ROOT, "build-test", "wasp"))
main(prepare)
