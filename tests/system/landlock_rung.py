#!/usr/bin/python3
"""The weaker rung, --isolation landlock: it works, it holds what it promises, and nobody gets it
without asking. What an evil engine can do there is in evil.py, life inside Docker in docker.py."""

import ctypes
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

RUNG = ("--isolation", "landlock")


def acts(name, *lines, allow=(), options=RUNG):
    """Does acts of a guest (fs or raw_path), each written as words; gives back a line for each."""
    words = [word for line in lines for word in [",", *line.split(" ")]][1:]
    grants = [word for grant in allow for word in ("--allow-dir", grant)]
    done = run(name, *options, *grants, args=words)
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"the guest ({done.error})")
    return done


def let_through(done):
    return [line for line in done.lines() if line.endswith(" ok")]


# ---- where namespaces are forbidden ----------------------------------------------------------

CLONE_NEWUSER = 0x10000000
SYS_CLONE, SYS_UNSHARE = {"x86_64": (56, 272), "aarch64": (220, 97)}[os.uname().machine]
SYS_CLONE3 = 435
LIBC = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def call(function, *args):
    if function(*args) != 0:
        raise OSError(ctypes.get_errno(), function.__name__)


def deny_namespaces():
    """As Docker's default profile does: no unshare, no clone of a user namespace, no clone3."""
    load, jump_equal, jump_set, answer = 0x20, 0x15, 0x45, 0x06
    allow, error = 0x7FFF0000, 0x00050000
    eperm, enosys = error | 1, error | 38
    lines = [
        (load, 0, 0, 0),  # the number
        (jump_equal, 6, 0, SYS_UNSHARE),
        (jump_equal, 4, 0, SYS_CLONE3),
        (jump_equal, 0, 2, SYS_CLONE),
        (load, 0, 0, 16),  # its flags
        (jump_set, 2, 0, CLONE_NEWUSER),
        (answer, 0, 0, allow),
        (answer, 0, 0, enosys),
        (answer, 0, 0, eperm),
    ]
    packed = b"".join(struct.pack("HBBI", *line) for line in lines)
    call(LIBC.prctl, 38, 1, 0, 0, 0)  # no new privileges
    call(LIBC.prctl, 22, 2, ctypes.byref(Program(len(lines), packed)))  # seccomp, a filter


def allow_no_namespaces():
    """A user namespace in which user.max_user_namespaces is 0."""
    uid, gid = os.getuid(), os.getgid()
    call(LIBC.prctl, 4, 1, 0, 0, 0)  # dumpable again, or /proc/self belongs to root
    call(LIBC.unshare, CLONE_NEWUSER)
    for name, text in (
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", f"0 {uid} 1"),
        ("/proc/self/gid_map", f"0 {gid} 1"),
        ("/proc/sys/user/max_user_namespaces", "0"),
    ):
        with open(name, "w") as file:
            file.write(text)


def check_refused(done, hint):
    check_equal((done.reason, done.status), ("backend_error", 125), "reason and status")
    check_equal((done.stdout, done["enforced"]), ("", []), "output and walls")
    info = done["error_info"]
    check_equal((info["code"], info["step"]), ("wall", "namespaces"), "code and step")
    check_in(hint, info["hint"], "hint")
    check_in(hint, done.error, "error")


@test("where namespaces are forbidden a run is refused, and the hint names the weaker rung")
def _():
    check_refused(run("hello", preexec_fn=deny_namespaces), "--isolation landlock")


@test("where namespaces are forbidden a run that names the weaker rung works")
def _():
    done = run("hello", *RUNG, preexec_fn=deny_namespaces)
    check_equal((done.status, done.stdout), (0, "hello, wasp\n"))


@test("a module is compiled there as well, and only when the weaker rung was asked for")
def _():
    options = ["--no-cache"]
    check_refused(run("hello", *options, preexec_fn=deny_namespaces), "--isolation landlock")
    done = run("hello", *options, *RUNG, preexec_fn=deny_namespaces)
    check_equal((done.status, done["module"]["cached"]), (0, False))


@test("where the host allows no user namespace at all, the same holds")
def _():
    check_refused(run("hello", preexec_fn=allow_no_namespaces), "user.max_")
    check_equal(run("hello", *RUNG, preexec_fn=allow_no_namespaces).status, 0)


@test("--isolation full is refused there, and wins over WASP_ISOLATION=landlock")
def _():
    env = {"WASP_ISOLATION": "landlock"}
    done = run("hello", "--isolation", "full", env=env, preexec_fn=deny_namespaces)
    check_refused(done, "--isolation landlock")
    check_equal(run("hello", env=env, preexec_fn=deny_namespaces).status, 0)


# ---- what stands on the rung -----------------------------------------------------------------


@test("the walls of the rung are named, and no namespace is claimed")
def _():
    walls = run("hello", *RUNG)["enforced"]
    kinds = {wall.partition(":")[0] for wall in walls}
    check_in("isolation:landlock", walls, "enforced")
    wanted = {"isolation", "capabilities", "no-new-privs", "seccomp", "memory", "cpu", "landlock"}
    check_equal(kinds, wanted, "enforced")


@test("a grant is read and written, and what was written is the host's file")
def _():
    ws = new_dir("ws")
    write_file(ws, "in", data="given")
    done = acts("fs", "read in", "write out made", "mkdir d", "rename out d/out", allow=[ws])
    check_equal(done.lines(), ["read: [given] ok", "write: ok", "mkdir: ok", "rename: ok"])
    check_equal(read_file(ws, "d", "out"), b"made")
    check_equal(os.stat(os.path.join(ws, "d", "out")).st_uid, os.getuid(), "owner")


ESCAPES = """\
read 3 ../out/secret
read 3 sub/../../out/secret
read 3 {out}/secret
read 3 /etc/hostname
read 3 relative
read 3 absolute
read 3 dir/secret
read 3 host/etc/hostname
open-dir 3 ..
open-dir 3 dir
open-dir 3 /
stat 3 ../out/secret
stat 3 relative
write 3 ../out/new x
write 3 dir/new x
write 3 relative x
truncate-open 3 relative
mkdir 3 ../out/new
unlink 3 dir/secret
rename 3 mine 3 ../out/mine
rename 3 dir/secret 3 got
link 3 ../out/secret 3 got
link-follow 3 relative 3 got
set-times 3 relative
set-times 3 ../out/secret
readlink 3 /proc/self/exe
"""


def build_trap():
    """A granted folder `in`, beside it a folder `out` with a secret, and links that lead there."""
    top = new_dir("top")
    inside, outside = os.path.join(top, "in"), os.path.join(top, "out")
    write_file(outside, "secret", data="SECRET")
    write_file(inside, "mine", data="mine")
    write_file(inside, "sub", "file", data="deep")
    links = {"relative": "../out/secret", "absolute": f"{outside}/secret", "dir": "../out", "host": "/"}
    for name, target in links.items():
        os.symlink(target, os.path.join(inside, name))
    return top, inside, outside


@test("no path and no link leads out of a grant, and nothing outside changes")
def _():
    _, inside, outside = build_trap()
    before = tree_of(outside)
    done = acts("raw_path", *ESCAPES.format(out=outside).splitlines(), allow=[f"{inside}::/in"])
    check_equal(let_through(done), [])
    check("SECRET" not in done.stdout, "the secret came through")
    check_equal(tree_of(outside), before, "the outside")
    check_equal(sorted(os.listdir(inside)), ["absolute", "dir", "host", "mine", "relative", "sub"])


@test("the same paths work where the grant holds both ends")
def _():
    top, _, _ = build_trap()
    lines = ["read 3 in/relative", "read 3 in/dir/secret", "open-dir 3 in/dir", "stat 3 in/relative",
             "set-times 3 in/relative", "write 3 in/dir/new x", "link 3 out/secret 3 got",
             "rename 3 in/mine 3 out/mine", "unlink 3 in/dir/secret"]  # fmt: skip
    done = acts("raw_path", *lines, allow=[f"{top}::/top"])
    check_equal(len(let_through(done)), len(lines), f"what works of {done.lines()}")


CHANGES = """\
write 3 mine x
write 3 new x
truncate-open 3 mine
mkdir 3 newdir
symlink 3 newlink mine
link 3 mine 3 hard
set-times 3 mine
rename 3 mine 3 moved
unlink 3 relative
unlink 3 sub/file
""".splitlines()


@test("a read-only grant stays byte for byte what it was, also beside a writable one")
def _():
    _, inside, _ = build_trap()
    before = tree_of(inside)
    allow = [f"{inside}::/in:ro", f"{new_dir('rw')}::/rw"]
    for grants in (allow[:1], allow):
        done = acts("raw_path", *CHANGES, "read 3 mine", allow=grants)
        check_equal(let_through(done), ["read: [mine] ok"])
        check_equal(tree_of(inside), before)


@test("the same changes all work in a writable grant")
def _():
    _, inside, _ = build_trap()
    done = acts("raw_path", *CHANGES, allow=[f"{inside}::/in:rw"])
    check_equal(len(let_through(done)), len(CHANGES), f"what works of {done.lines()}")


@test("rename and link across two grants answer xdev, though both lie in one file system")
def _():
    top = new_dir("top")
    a, b = os.path.join(top, "a"), os.path.join(top, "b")
    write_file(a, "x", data="x")
    os.mkdir(b)
    before = tree_of(top)
    done = acts("raw_path", "rename 3 x 4 x", "link 3 x 4 x", allow=[f"{a}::/a", f"{b}::/b"])
    check_equal(done.lines(), ["rename: EXDEV", "link: EXDEV"])
    check_equal(tree_of(top), before)


@test("without a grant there is nothing to open")
def _():
    lines = ["read /etc/hostname", "list .", "list /", "write x y"]
    check_equal(let_through(acts("fs", *lines)), [])


@test("time, memory and output are limited as on the full rung")
def _():
    done = run("spin", *RUNG, "--timeout", "300ms")
    check_equal((done.reason, done.status), ("timeout", 124))
    done = run("memory_bomb", *RUNG, "--memory", "8MiB")
    check_in("memory", done.hit + [done.reason.partition("_")[0]], "limits_hit or reason")
    done = run("hello", *RUNG, "--output", "5")
    check_equal((done.stdout, done["truncated"]["stdout"]), ("hello", True))


@test("kill -9 of wasp ends the guest, though no pid namespace does it")
def _():
    ws = new_dir("ws")
    process = start("run", guest("spin"), *RUNG, "--allow-dir", ws, "--", "begun")
    wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
    below = descendants(process.pid)
    check(below, "the guest has no process of its own")
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(is_alive, below)), f"processes {below} to end", 10)
    check_nothing_left()


main()
