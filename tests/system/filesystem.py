#!/usr/bin/python3
"""Granted directories: what works in them, and that nothing leads out. Each refusal has a control where the same act succeeds."""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *




def fs(*acts, allow, guest_name="fs", **how):
    """Runs file acts, each a list of words, and returns one line for each."""
    words = [word for act in acts for word in [","] + list(act)][1:]
    options = [word for grant in ([allow] if isinstance(allow, str) else allow) for word in ("--allow-dir", grant)]
    done = run(guest_name, *options, *how.pop("options", ()), args=words, **how)
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"the guest ({done.error} {done.stderr})")
    return done


def raw(*acts, allow, **how):
    return fs(*acts, allow=allow, guest_name="raw_path", **how)


# ---- what works ------------------------------------------------------------------------------


@test("files are written, appended, overwritten, truncated, renamed and removed on the host")
def _():
    ws = new_dir("ws")
    done = fs(
        ["write", "a", "hello"], ["append", "a", " you"], ["overwrite", "a", "0", "J"], ["read", "a"], ["truncate", "a", "3"],
        ["mkdir", "d"], ["rename", "a", "d/b"], ["read", "d/b"], ["create", "d/b", "x"], ["write", "c", ""], ["unlink", "c"],
        ["mkdir", "e"], ["rmdir", "e"], ["rmdir", "d"], ["unlink-open", "f"], allow=ws,
    )  # fmt: skip
    expected = [
        "write: ok", "append: ok", "overwrite: ok", "read: [Jello you] ok", "truncate: ok", "mkdir: ok", "rename: ok",
        "read: [Jel] ok", "create: EEXIST", "write: ok", "unlink: ok", "mkdir: ok", "rmdir: ok", "rmdir: ENOTEMPTY",
        "unlink-open: [gone] ok",
    ]  # fmt: skip
    check_equal(done.lines(), expected)
    check_equal(sorted(os.listdir(ws)), ["d"])
    check_equal(read_file(ws, "d", "b"), b"Jel")


@test("hard links and symlinks work inside a grant")
def _():
    ws = new_dir("ws")
    write_file(ws, "a", data="x")
    done = fs(["link", "a", "hard"], ["symlink", "a", "soft"], ["readlink", "soft"], ["read", "soft"], ["stat", "soft"], allow=ws)
    check_equal(done.lines()[:4], ["link: ok", "symlink: ok", "readlink: [a] ok", "read: [x] ok"])
    check_match(r"\[link 1 ", done.lines()[4])
    check(os.path.samefile(os.path.join(ws, "a"), os.path.join(ws, "hard")), "the hard link is another file")
    check_equal(os.readlink(os.path.join(ws, "soft")), "a")


@test("timestamps are set and seen on the host")
def _():
    ws = new_dir("ws")
    write_file(ws, "a")
    done = fs(["touch", "a", "1234567890"], ["stat", "a"], allow=ws)
    check_in("[file 0 1234567890]", done.stdout)
    check_equal(os.stat(os.path.join(ws, "a")).st_mtime, 1234567890)


@test("a sparse file past 4 GiB is written and read at its end")
def _():
    ws = new_dir("ws")
    big = str(5 << 30)
    acts = [["overwrite", "big", big, "end"], ["read-at", "big", big], ["stat", "big"]]
    done = fs(*acts, allow=ws, options=["--file-size", "6GiB"])
    check_equal(done.lines()[:2], ["overwrite: ok", "read-at: [end] ok"])
    st = os.stat(os.path.join(ws, "big"))
    check_equal(st.st_size, (5 << 30) + 3)
    check(st.st_blocks * 512 < 1 << 20, "the file is not sparse")


@test("a directory of 3,000 files lists each of them once")
def _():
    ws = new_dir("ws")
    names = {f"file-{number}-{'x' * (number % 50)}" for number in range(3000)}
    for name in names:
        write_file(ws, name)
    listed = re.findall(r"\[(.*?)\]", fs(["list", "."], allow=ws).stdout)
    check_equal((len(listed), set(listed) == names), (3000, True))


@test("files that a guest made belong to who owns the directory")
def _():
    ws = new_dir("ws")
    if os.getuid() == 0:
        os.chown(ws, 4321, 4321)
    fs(["write", "f", "x"], ["mkdir", "d"], allow=ws)
    owner = os.stat(ws).st_uid
    check_equal([os.stat(os.path.join(ws, name)).st_uid for name in ("f", "d")], [owner, owner])


@test("started by root, a file of another owner keeps what others may do", only="root")
def _():
    ws = new_dir("ws")
    for name, mode in (("closed", 0o600), ("open", 0o644)):
        os.chown(write_file(ws, name, data="x"), 999, 999)
        os.chmod(os.path.join(ws, name), mode)
    done = fs(["read", "closed"], ["read", "open"], ["append", "open", "y"], allow=ws)
    check_equal(done.lines(), ["read: EACCES", "read: [x] ok", "append: EACCES"])


@test("file modes of the host hold", only="user")
def _():
    ws = new_dir("ws")
    os.chmod(write_file(ws, "closed", data="x"), 0)
    os.chmod(write_file(ws, "ro", data="x"), 0o444)
    check_equal(fs(["read", "closed"], ["read", "ro"], ["append", "ro", "y"], allow=ws).lines(), ["read: EACCES", "read: [x] ok", "append: EACCES"])


@test("a name on the host that is not UTF-8 does not stop a listing")
def _():
    ws = new_dir("ws")
    write_file(ws, "fine")
    with open(os.path.join(ws.encode(), b"\xff\xfe"), "w"):
        pass
    check_in("[fine]", fs(["list", "."], allow=ws).stdout)


# ---- nothing leads out -----------------------------------------------------------------------


def build_trap():
    """A granted folder `in` beside a folder `out` with a secret, and links from one to the other."""
    top = new_dir("top")
    inside, outside = os.path.join(top, "in"), os.path.join(top, "out")
    write_file(outside, "secret", data="SECRET")
    write_file(inside, "mine", data="mine")
    write_file(inside, "sub", "file", data="deep")
    links = {
        "absolute": f"{outside}/secret", "relative": "../out/secret", "chain1": "chain2", "chain2": "sub/chain3",
        "sub/chain3": "../../out/secret", "dir": "../out", "absolute-dir": outside, "host": "/", "up": "..",
        "proc": "/proc/self/root/etc/hostname", "dangling": "../out/new", "loop": "loop", "good": "sub/file",
    }  # fmt: skip
    for name, target in links.items():
        os.symlink(target, os.path.join(inside, name))
    return top, inside, outside


ESCAPES = [
    ["read", "3", "../out/secret"], ["read", "3", "sub/../../out/secret"], ["read", "3", "./.././out/secret"],
    ["read", "3", "/etc/hostname"], ["read", "3", "//etc/hostname"], ["read", "3", "{out}/secret"],
    ["read", "3", "absolute"], ["read", "3", "relative"], ["read", "3", "relative/"], ["read", "3", "chain1"],
    ["read", "3", "dir/secret"], ["read", "3", "absolute-dir/secret"], ["read", "3", "host/etc/hostname"],
    ["read", "3", "up/out/secret"], ["read", "3", "proc"], ["read", "3", "sub/../dir/secret"],
    ["open-dir", "3", ".."], ["open-dir", "3", "dir"], ["open-dir", "3", "dir/"], ["open-dir", "3", "host"], ["open-dir", "3", "/"],
    ["open-dir", "3", "up"], ["open-dir", "3", "sub/../.."],
    ["stat", "3", ".."], ["stat", "3", "../out/secret"], ["stat", "3", "relative"], ["stat", "3", "dir/"], ["stat", "3", "/"],
    ["readlink", "3", "../in/relative"], ["readlink", "3", "/proc/self/exe"],
    ["write", "3", "../out/new", "x"], ["write", "3", "relative", "x"], ["write", "3", "dangling", "x"], ["write", "3", "dir/new", "x"],
    ["write", "3", "{out}/new", "x"], ["truncate-open", "3", "relative"], ["truncate-open", "3", "../out/secret"],
    ["create-open", "3", "../out/new"], ["create-open", "3", "dangling"],
    ["mkdir", "3", "../out/new"], ["mkdir", "3", "dir/new"], ["mkdir", "3", "dir/new/"], ["rmdir", "3", "../out"],
    ["unlink", "3", "../out/secret"], ["unlink", "3", "dir/secret"],
    ["rename", "3", "mine", "3", "../out/mine"], ["rename", "3", "mine", "3", "dir/mine"], ["rename", "3", "mine", "3", "{out}/mine"],
    ["rename", "3", "../out/secret", "3", "got"], ["rename", "3", "dir/secret", "3", "got"], ["rename", "3", "sub", "3", "../sub"],
    ["link", "3", "../out/secret", "3", "got"], ["link", "3", "dir/secret", "3", "got"], ["link", "3", "mine", "3", "../out/got"],
    ["link-follow", "3", "relative", "3", "got"], ["link-follow", "3", "absolute", "3", "got"],
    ["symlink", "3", "../out/new", "x"], ["symlink", "3", "dir/new", "x"], ["symlink", "3", "/tmp/new", "x"],
    ["set-times", "3", "../out/secret"], ["set-times", "3", "relative"], ["set-times", "3", "dir/"], ["set-times", "3", ".."],
]  # fmt: skip


@test("no path, link or trick leads out of a grant, and nothing outside changes")
def _():
    top, inside, outside = build_trap()
    before = tree_of(outside)
    for act in ESCAPES:
        act = [word.replace("{out}", outside) for word in act]
        done = raw(act, allow=f"{inside}::/in")
        check(not done.stdout.endswith(" ok\n"), f"{act} answered {done.stdout!r}")
        check("SECRET" not in done.stdout, f"{act} read the secret")
        check_equal(tree_of(outside), before, f"the outside after {act}")
    check_equal(sorted(os.listdir(top)), ["in", "out"])


@test("the same paths work where the grant holds both ends")
def _():
    top, _, _ = build_trap()
    done = raw(
        ["read", "3", "in/../out/secret"], ["read", "3", "in/relative"], ["read", "3", "in/chain1"], ["read", "3", "in/dir/secret"],
        ["open-dir", "3", "in/dir"], ["open-dir", "3", "in/.."], ["read", "3", "in/up/out/secret"], ["set-times", "3", "in/relative"],
        ["link-follow", "3", "in/relative", "3", "in/got"], ["rename", "3", "in/mine", "3", "in/dir/mine"], ["mkdir", "3", "in/dir/new"],
        ["unlink", "3", "in/dir/secret"], ["write", "3", "in/dangling", "x"], ["read", "3", "in/good"], allow=f"{top}::/top",
    )  # fmt: skip
    check_equal([line for line in done.lines() if not line.endswith(" ok")], [])


@test("a way out is recorded as a denial, with the rule and a hint")
def _():
    _, inside, _ = build_trap()
    done = raw(["read", "3", "../out/secret"], ["read", "3", "mine"], allow=f"{inside}::/in")
    check_equal([(d["layer"], d["action"], d["target"], d["rule"]) for d in done["denials"]], [("wasi", "path_open", "../out/secret", "outside-grant")])
    check_in("--allow-dir", done["denials"][0]["hint"], "hint")


@test("a file that is just missing is no denial")
def _():
    check_equal(raw(["read", "3", "nothing"], allow=new_dir("ws"))["denials"], [])


@test("a symlink that the guest made itself leads nowhere either")
def _():
    _, inside, _ = build_trap()
    done = raw(["symlink", "3", "made", "../out/secret"], ["read", "3", "made"], ["symlink", "3", "host2", "/"], ["read", "3", "host2/etc/hostname"], allow=f"{inside}::/in")
    lines = done.lines()
    check(not lines[1].endswith("ok") and not lines[3].endswith("ok"), f"{lines}")


@test("a link that is swapped in during use never lets a secret through")
def _():
    top, inside, outside = build_trap()
    os.mkdir(os.path.join(inside, "a"))
    write_file(inside, "a", "secret", data="harmless")
    os.symlink("../out", os.path.join(inside, "b"))
    stop = threading.Event()

    def swap():
        flip = [(os.path.join(inside, x), os.path.join(inside, y)) for x, y in (("a", "t"), ("b", "a"), ("t", "b"))]
        while not stop.is_set():
            for source, target in flip:
                os.rename(source, target)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        done = raw(*[["read", "3", "a/secret"]] * 3000, allow=f"{inside}::/in")
    finally:
        stop.set()
        swapper.join()
    check("SECRET" not in done.stdout, "the secret came through")
    check_in("[harmless]", done.stdout, "control")


@test("a FIFO, a socket or a device in a granted directory neither blocks the guest nor is used")
def _():
    ws = new_dir("ws")
    os.mkfifo(os.path.join(ws, "fifo"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(ws, "socket"))
    if os.getuid() == 0:
        os.mknod(os.path.join(ws, "device"), 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    acts = [[act, "3", name] + more for name in ("fifo", "socket", "device") for act, more in (("read", []), ("write", ["x"]))]
    if os.getuid() != 0:
        acts = acts[:4]
    done = raw(*acts, allow=f"{ws}::/in", options=["--timeout", "20s"])
    check_equal([line for line in done.lines() if line.endswith(" ok")], [])
    listener.close()


# ---- read-only -------------------------------------------------------------------------------

CHANGES = [
    ["write", "3", "mine", "x"], ["write", "3", "new", "x"], ["create-open", "3", "new2"], ["truncate-open", "3", "mine"],
    ["mkdir", "3", "newdir"], ["symlink", "3", "newlink", "mine"], ["link", "3", "mine", "3", "hard"], ["set-times", "3", "mine"],
    ["set-times", "3", "."], ["rename", "3", "mine", "3", "moved"], ["unlink", "3", "good"], ["unlink", "3", "sub/file"], ["rmdir", "3", "empty"],
]  # fmt: skip


@test("in a read-only grant every change is refused, reading works, and the host's tree stays as it was")
def _():
    _, inside, _ = build_trap()
    os.mkdir(os.path.join(inside, "empty"))
    before = tree_of(inside)
    done = raw(*CHANGES, ["read", "3", "mine"], ["read", "3", "good"], allow=f"{inside}::/in:ro")
    check_equal([line for line in done.lines()[:-2] if line.endswith(" ok")], [], "changes that were let through")
    check_equal(done.lines()[-2:], ["read: [mine] ok", "read: [deep] ok"])
    check_equal(tree_of(inside), before)
    check(any(d["rule"] == "read-only" for d in done["denials"]), f"denials: {done['denials']}")


@test("the same changes all work in a writable grant")
def _():
    _, inside, _ = build_trap()
    os.mkdir(os.path.join(inside, "empty"))
    for allow in (f"{inside}::/in:rw",):
        check_equal([line for line in raw(*CHANGES, allow=allow).lines() if not line.endswith(" ok")], [])


@test("a writable and a read-only grant keep apart: nothing moves from one to the other")
def _():
    ro, rw = new_dir("ro"), new_dir("rw")
    write_file(ro, "a", data="a")
    write_file(rw, "b", data="b")
    before = tree_of(ro), tree_of(rw)
    allow = [f"{ro}::/ro:ro", f"{rw}::/rw"]
    acts = [["rename", "3", "a", "4", "a"], ["rename", "4", "b", "3", "b"], ["link", "3", "a", "4", "a"], ["link", "4", "b", "3", "b"]]
    done = raw(*acts, allow=allow)
    check_equal([line for line in done.lines() if line.endswith(" ok")], [])
    check_equal((tree_of(ro), tree_of(rw)), before)


@test("rename and link across two grants answer xdev, even where both lie in one folder, and both stay as they were")
def _():
    top = new_dir("top")
    a, b = os.path.join(top, "a"), os.path.join(top, "b")
    write_file(a, "x", data="x")
    write_file(b, "y", data="y")
    before = tree_of(top)
    done = raw(["rename", "3", "x", "4", "x"], ["link", "3", "x", "4", "x"], allow=[f"{a}::/a", f"{b}::/b"])
    check_equal(done.lines(), ["rename: EXDEV", "link: EXDEV"])
    check_equal(tree_of(top), before)
    check_equal(raw(["rename", "3", "a/x", "3", "b/x"], allow=f"{top}::/top").stdout, "rename: ok\n")


@test("a grant inside another one keeps its own access")
def _():
    outer = new_dir("outer")
    inner = os.path.join(outer, "inner")
    write_file(inner, "f", data="x")
    done = raw(["write", "4", "f", "y"], ["read", "4", "f"], ["write", "3", "new", "x"], allow=[f"{outer}::/outer", f"{inner}::/inner:ro"])
    lines = done.lines()
    check(not lines[0].endswith(" ok"), lines[0])
    check_equal(lines[1:], ["read: [x] ok", "write: ok"])


@test("/ can be granted read-only under a name, and only for reading")
def _():
    done = raw(["open-dir", "3", "etc"], ["write", "3", "tmp/wasptest-must-not-be", "x"], allow="/::/host:ro")
    check_equal(done.lines()[0], "open-dir: ok")
    check(not done.lines()[1].endswith(" ok") and not os.path.exists("/tmp/wasptest-must-not-be"), done.stdout)


@test("without a grant there is nothing to open")
def _():
    done = run("fs", args=["read", "/etc/hostname", ",", "list", ".", ",", "list", "/", ",", "write", "x", "y"])
    check_equal([line for line in done.lines() if line.endswith(" ok")], [])


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
