#!/usr/bin/python3
"""Granted directories: what works in them, and that nothing leads out.

Each refusal has a control where the same act succeeds.
"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def fs(*acts, allow, name="fs", options=()):
    """Does file acts, each written as words ("write f text"); one line comes back for each."""
    words = [word for act in acts for word in [",", *act.split(" ")]][1:]
    grants = [allow] if isinstance(allow, str) else allow
    options = [word for grant in grants for word in ("--allow-dir", grant)] + list(options)
    done = run(name, *options, args=words)
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"the guest ({done.error})")
    return done


def raw(*acts, allow, options=()):
    """As fs, straight into WASI: each act starts with the descriptor of a grant, 3 and up."""
    return fs(*acts, allow=allow, name="raw_path", options=options)


def let_through(done):
    return [line for line in done.lines() if line.endswith(" ok")]


def refused(done):
    return [line for line in done.lines() if not line.endswith(" ok")]


# ---- what works ------------------------------------------------------------------------------


@test("files are written, appended, overwritten, truncated, renamed and removed on the host")
def _():
    ws = new_dir("ws")
    done = fs(
        "write a hello", "append a ,you", "overwrite a 0 J", "read a", "truncate a 3", allow=ws
    )
    check_equal(refused(done), [])
    check_equal(done.lines()[3], "read: [Jello,you] ok")
    done = fs("mkdir d", "rename a d/b", "read d/b", "write c x", "unlink c", "mkdir e", allow=ws)
    check_equal(refused(done), [])
    done = fs("create d/b x", "rmdir d", "unlink d", "read c", "rmdir e", "rename e f", allow=ws)
    expected = ["create: EEXIST", "rmdir: ENOTEMPTY", "unlink: EISDIR", "read: ENOENT"]
    check_equal(done.lines(), expected + ["rmdir: ok", "rename: ENOENT"])
    check_equal((sorted(os.listdir(ws)), read_file(ws, "d", "b")), (["d"], b"Jel"))


@test("a file that lost its name while it was open is still there for the guest")
def _():
    ws = new_dir("ws")
    check_equal(fs("unlink-open f", allow=ws).stdout, "unlink-open: [gone] ok\n")
    check_equal(os.listdir(ws), [])


@test("hard links and symlinks work inside a grant")
def _():
    ws = new_dir("ws")
    write_file(ws, "a", data="x")
    done = fs("link a hard", "symlink a soft", "readlink soft", "read soft", "stat soft", allow=ws)
    check_equal(refused(done), [])
    check_equal(done.lines()[2:4], ["readlink: [a] ok", "read: [x] ok"])
    check_match(r"\[link 1 ", done.lines()[4])
    check_equal(os.stat(os.path.join(ws, "a")).st_nlink, 2, "links of the file")
    check_equal(os.readlink(os.path.join(ws, "soft")), "a")


@test("timestamps are set and seen on the host")
def _():
    ws = new_dir("ws")
    write_file(ws, "a")
    check_in("[file 0 1234567890]", fs("touch a 1234567890", "stat a", allow=ws).stdout)
    check_equal(os.stat(os.path.join(ws, "a")).st_mtime, 1234567890)


@test("a sparse file past 4 GiB is written and read at its end")
def _():
    ws = new_dir("ws")
    big = 5 << 30
    acts = [f"overwrite big {big} end", f"read-at big {big}"]
    done = fs(*acts, allow=ws, options=["--file-size", "6GiB"])
    check_equal(done.lines(), ["overwrite: ok", "read-at: [end] ok"])
    st = os.stat(os.path.join(ws, "big"))
    check_equal(st.st_size, big + 3)
    check(st.st_blocks * 512 < 1 << 20, "the file is not sparse")


@test("a directory of 3,000 files lists each of them once")
def _():
    ws = new_dir("ws")
    names = {f"file-{number}-{'x' * (number % 50)}" for number in range(3000)}
    for name in names:
        write_file(ws, name)
    listed = re.findall(r"\[(.*?)\]", fs("list .", allow=ws).stdout)
    check_equal((len(listed), set(listed) == names), (3000, True))


@test("files that a guest made belong to who owns the directory")
def _():
    ws = new_dir("ws")
    if os.getuid() == 0:
        os.chown(ws, 4321, 4321)
    fs("write f x", "mkdir d", allow=ws)
    owner = os.stat(ws).st_uid
    check_equal([os.stat(os.path.join(ws, name)).st_uid for name in "fd"], [owner, owner])


@test("started by root, a file of another owner keeps what others may do", only="root")
def _():
    ws = new_dir("ws")
    for name, mode in (("closed", 0o600), ("open", 0o644)):
        os.chown(write_file(ws, name, data="x"), 999, 999)
        os.chmod(os.path.join(ws, name), mode)
    done = fs("read closed", "read open", "append open y", allow=ws)
    check_equal(done.lines(), ["read: EACCES", "read: [x] ok", "append: EACCES"])


@test("file modes of the host hold", only="user")
def _():
    ws = new_dir("ws")
    os.chmod(write_file(ws, "closed", data="x"), 0)
    os.chmod(write_file(ws, "ro", data="x"), 0o444)
    done = fs("read closed", "read ro", "append ro y", allow=ws)
    check_equal(done.lines(), ["read: EACCES", "read: [x] ok", "append: EACCES"])


@test("a name on the host that is not UTF-8 does not stop a listing")
def _():
    ws = new_dir("ws")
    write_file(ws, "fine")
    with open(os.path.join(ws.encode(), b"\xff\xfe"), "w"):
        pass
    check_in("[fine]", fs("list .", allow=ws).stdout)


# ---- nothing leads out -----------------------------------------------------------------------

LINKS = {  # in the granted folder `in`, beside which there is a folder `out` with a secret
    "relative": "../out/secret",
    "absolute": "{out}/secret",
    "chain1": "chain2",
    "chain2": "sub/chain3",
    "sub/chain3": "../../out/secret",
    "dir": "../out",
    "absolute-dir": "{out}",
    "up": "..",
    "host": "/",
    "proc": "/proc/self/root/etc/hostname",
    "dangling": "../out/new",
    "loop": "loop",
    "good": "sub/file",
}


def build_trap():
    """Returns the folder that holds both, the granted one and the one outside."""
    top = new_dir("top")
    inside, outside = os.path.join(top, "in"), os.path.join(top, "out")
    write_file(outside, "secret", data="SECRET")
    write_file(inside, "mine", data="mine")
    write_file(inside, "sub", "file", data="deep")
    for name, target in LINKS.items():
        os.symlink(target.format(out=outside), os.path.join(inside, name))
    return top, inside, outside


ESCAPES = """\
read 3 ../out/secret
read 3 sub/../../out/secret
read 3 ./.././out/secret
read 3 /etc/hostname
read 3 //etc/hostname
read 3 {out}/secret
read 3 absolute
read 3 relative
read 3 relative/
read 3 chain1
read 3 dir/secret
read 3 absolute-dir/secret
read 3 host/etc/hostname
read 3 up/out/secret
read 3 sub/../dir/secret
read 3 proc
open-dir 3 ..
open-dir 3 sub/../..
open-dir 3 dir
open-dir 3 dir/
open-dir 3 host
open-dir 3 up
open-dir 3 /
stat 3 ..
stat 3 ../out/secret
stat 3 relative
stat 3 dir/
stat 3 /
readlink 3 ../in/relative
readlink 3 /proc/self/exe
write 3 ../out/new x
write 3 {out}/new x
write 3 relative x
write 3 dangling x
write 3 dir/new x
truncate-open 3 relative
truncate-open 3 ../out/secret
create-open 3 ../out/new
create-open 3 dangling
mkdir 3 ../out/new
mkdir 3 dir/new
mkdir 3 dir/new/
rmdir 3 ../out
unlink 3 ../out/secret
unlink 3 dir/secret
rename 3 mine 3 ../out/mine
rename 3 mine 3 dir/mine
rename 3 mine 3 {out}/mine
rename 3 ../out/secret 3 got
rename 3 dir/secret 3 got
rename 3 sub 3 ../sub
link 3 ../out/secret 3 got
link 3 dir/secret 3 got
link 3 mine 3 ../out/got
link-follow 3 relative 3 got
link-follow 3 absolute 3 got
symlink 3 ../out/new x
symlink 3 dir/new x
symlink 3 /tmp/new x
set-times 3 ../out/secret
set-times 3 relative
set-times 3 dir/
set-times 3 ..
"""


@test("no path, link or trick leads out of a grant, and nothing outside changes")
def _():
    top, inside, outside = build_trap()
    before = tree_of(outside)
    for act in ESCAPES.format(out=outside).splitlines():
        done = raw(act, allow=f"{inside}::/in")
        check_equal(let_through(done), [], act)
        check("SECRET" not in done.stdout, f"{act} read the secret")
        check_equal(tree_of(outside), before, f"the outside after {act}")
    check_equal(sorted(os.listdir(top)), ["in", "out"])


@test("the same paths work where the grant holds both ends")
def _():
    top, _, _ = build_trap()
    acts = """\
read 3 in/../out/secret
read 3 in/relative
read 3 in/chain1
read 3 in/dir/secret
read 3 in/up/out/secret
read 3 in/good
open-dir 3 in/dir
open-dir 3 in/..
set-times 3 in/relative
write 3 in/dangling x
mkdir 3 in/dir/sub
link 3 in/dir/secret 3 in/got
rename 3 in/mine 3 in/dir/mine
unlink 3 in/dir/secret
"""
    check_equal(refused(raw(*acts.splitlines(), allow=f"{top}::/top")), [])


@test("a way out is recorded as a denial, with the rule and a hint")
def _():
    _, inside, _ = build_trap()
    done = raw("read 3 ../out/secret", "read 3 mine", allow=f"{inside}::/in")
    (denial,) = done["denials"]
    seen = tuple(denial[key] for key in ("layer", "action", "rule"))
    check_equal(seen, ("wasi", "path_open", "outside-grant"))
    check_in("../out/secret", denial["target"], "target")
    check_in("--allow-dir", denial["hint"], "hint")


@test("a file that is just missing is no denial")
def _():
    check_equal(raw("read 3 nothing", allow=new_dir("ws"))["denials"], [])


@test("a symlink that the guest made itself leads nowhere either")
def _():
    _, inside, _ = build_trap()
    for name, target, path in (
        ("made", "../out/secret", "made"),
        ("root", "/", "root/etc/hostname"),
    ):
        done = raw(f"symlink 3 {name} {target}", f"read 3 {path}", allow=f"{inside}::/in")
        check(not done.lines()[1].endswith("ok"), done.stdout)


@test("a link that is swapped in during use never lets a secret through")
def _():
    _, inside, _ = build_trap()
    a, b, t = (os.path.join(inside, name) for name in "abt")
    write_file(a, "secret", data="harmless")
    os.symlink("../out", b)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for source, target in ((a, t), (b, a), (t, b)):
                os.rename(source, target)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        done = raw(*["read 3 a/secret"] * 3000, allow=f"{inside}::/in")
    finally:
        stop.set()
        swapper.join()
    check("SECRET" not in done.stdout, "the secret came through")
    check_in("[harmless]", done.stdout, "control")


@test("a FIFO, a socket or a device in a granted directory neither blocks the guest nor is used")
def _():
    ws = new_dir("ws")
    os.mkfifo(os.path.join(ws, "fifo"))
    names = ["fifo", "socket"]
    if os.getuid() == 0:
        os.mknod(os.path.join(ws, "device"), 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        names.append("device")
    acts = [act for name in names for act in (f"read 3 {name}", f"write 3 {name} x")]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(ws, "socket"))
        done = raw(*acts, allow=f"{ws}::/in", options=["--timeout", "20s"])
    check_equal(let_through(done), [])


@test("without a grant there is nothing to open")
def _():
    check_equal(
        let_through(fs("read /etc/hostname", "list .", "list /", "write x y", allow=[])), []
    )


# ---- read-only -------------------------------------------------------------------------------

CHANGES = """\
write 3 mine x
write 3 new x
create-open 3 new2
truncate-open 3 mine
mkdir 3 newdir
symlink 3 newlink mine
link 3 mine 3 hard
set-times 3 mine
set-times 3 .
rename 3 mine 3 moved
unlink 3 good
unlink 3 sub/file
rmdir 3 empty
""".splitlines()


@test("in a read-only grant every change is refused, and the host's tree stays as it was")
def _():
    _, inside, _ = build_trap()
    os.mkdir(os.path.join(inside, "empty"))
    before = tree_of(inside)
    done = raw(*CHANGES, "read 3 mine", "read 3 good", allow=f"{inside}::/in:ro")
    check_equal(let_through(done), ["read: [mine] ok", "read: [deep] ok"])
    check_equal(tree_of(inside), before)
    check_in("read-only", [denial["rule"] for denial in done["denials"]], "rules of denials")


@test("the same changes all work in a writable grant")
def _():
    _, inside, _ = build_trap()
    os.mkdir(os.path.join(inside, "empty"))
    check_equal(refused(raw(*CHANGES, allow=f"{inside}::/in:rw")), [])


@test("a writable and a read-only grant keep apart: nothing moves from one to the other")
def _():
    ro, rw = new_dir("ro"), new_dir("rw")
    write_file(ro, "a", data="a")
    write_file(rw, "b", data="b")
    before = tree_of(ro), tree_of(rw)
    acts = ["rename 3 a 4 a", "rename 4 b 3 b", "link 3 a 4 a", "link 4 b 3 b"]
    check_equal(let_through(raw(*acts, allow=[f"{ro}::/ro:ro", f"{rw}::/rw"])), [])
    check_equal((tree_of(ro), tree_of(rw)), before)


@test("rename and link across two grants answer xdev, and both trees stay as they were")
def _():
    top = new_dir("top")
    a, b = os.path.join(top, "a"), os.path.join(top, "b")
    write_file(a, "x", data="x")
    write_file(b, "y", data="y")
    before = tree_of(top)
    done = raw("rename 3 x 4 x", "link 3 x 4 x", allow=[f"{a}::/a", f"{b}::/b"])
    check_equal(done.lines(), ["rename: EXDEV", "link: EXDEV"])
    check_equal(tree_of(top), before)
    check_equal(refused(raw("rename 3 a/x 3 b/x", allow=f"{top}::/top")), [])


@test("a grant inside another one keeps its own access")
def _():
    outer = new_dir("outer")
    inner = os.path.join(outer, "inner")
    write_file(inner, "f", data="x")
    allow = [f"{outer}::/outer", f"{inner}::/inner:ro"]
    done = raw("write 4 f y", "read 4 f", "write 3 new x", allow=allow)
    check_equal(let_through(done), ["read: [x] ok", "write: ok"])


@test("/ read-only under a name is never writable, or refused as it holds wasp's own folders")
def _():
    path = "tmp/wasptest-must-not-be"
    done = run("raw_path", "--allow-dir", "/::/host:ro", args=["write", "3", path, "x"])
    check(done.reason == "denied" or let_through(done) == [], done.stdout)
    check(not os.path.exists("/" + path), "a file was written")


@test("a guest that fills the disk gets ENOSPC and an ordinary end", only="root")
def _():
    ws = new_dir("ws")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", ws]).returncode != 0:
        skip("no tmpfs can be mounted here")
    try:
        done = run("fill", "--allow-dir", ws, args=["f", "65536", "9000000"])
        check_match(r"^\d+ ENOSPC\n$", done.stdout)
        check_equal((done["status"], done.hit), ("success", []))
    finally:
        subprocess.run(["umount", ws], check=True)


main()
