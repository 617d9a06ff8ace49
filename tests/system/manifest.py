#!/usr/bin/python3
"""Requests on disk: what `task` takes, what it refuses, and that it grants no more than it says."""

import base64
import ctypes
import json
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def write_manifest(manifest, folder=None, name="task.json"):
    """Writes it (bytes as they are, anything else as JSON) and returns its path."""
    data = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return write_file(folder or new_dir("task"), name, data=data)


def task(manifest, *options, verb="run", **how):
    path = manifest if isinstance(manifest, str) else write_manifest(manifest)
    return wasp("task", verb, "--manifest", path, *options, **how)


def check_task(manifest, **how):
    """`task check`: its answer, held to the schema."""
    done = task(manifest, verb="check", contract=False, **how)
    done.envelope = parse_envelope(done.raw)
    check_fits("answer", done.envelope)
    check_equal(done["status"], "error" if done.status else "success", "status")
    check_equal(len(done.said.splitlines()), 1 if done.status else 0, "lines on stderr")
    return done


def explain(manifest, **how):
    """`task explain`: the plan, held to the schema."""
    done = task(manifest, verb="explain", contract=False, **how)
    plan = parse_envelope(done.raw)
    check_equal(done.status, 0, f"status ({plan.get('error')})")
    check_fits("plan", plan)
    return plan


def wasm(name, **keys):
    return {"kind": "wasm-run", "module": guest(name), **keys}


# ---- what works ------------------------------------------------------------------------------


@test("a sample in a manifest runs in its workspace, with what it is given")
def _():
    folder = new_dir("task")
    write_file(folder, "workspace", "input.txt", data="from the host\n")
    manifest = {
        "kind": "sample",
        "sample": "workspace-probe",
        "workspace": "workspace",
        "env": {"TASK_ID": "abc123"},
    }
    check_fits("request", manifest)
    done = task(write_manifest(manifest, folder))
    check_equal((done["status"], done.stdout), ("success", "from the host\n"))
    manifest["sample"] = "env-report"
    check_equal(task(write_manifest(manifest, folder)).stdout, "TASK_ID=abc123\n")


@test("a module in a manifest runs with its arguments, variables, input and labels")
def _():
    manifest = wasm("dump", args=["a", "b c"], env={"B": "1", "A": ""}, labels={"team": "x"})
    done = task(manifest)
    check_equal(done["labels"], {"team": "x"}, "labels")
    for word in ("a", "b c", "B=1", "A="):
        check_in(word, done.stdout)
    folder = new_dir("task")
    write_file(folder, "in.txt", data="from a file")
    text = base64.b64encode(b"\0\xff").decode()
    inputs = [
        ({"text": "héllo"}, "héllo"),
        ({"file": "in.txt"}, "from a file"),
        ({"base64": text}, "\0\ufffd"),
    ]
    for stdin, expected in inputs:
        manifest = wasm("echo_stdin", stdin=stdin)
        check_fits("request", manifest)
        check_equal(task(write_manifest(manifest, folder)).stdout, expected, str(stdin))


@test("limits in a manifest hold, and those it does not name keep their defaults")
def _():
    done = task(wasm("spin", limits={"timeout_ms": 300}))
    check_equal((done.status, done.reason), (124, "timeout"))
    done = task(wasm("memory_bomb", limits={"memory_bytes": 4 << 20}))
    check(int(done.stdout) < 4 and "memory" in done.hit, f"{done.stdout} {done.hit}")
    limits = explain(wasm("hello", limits={"timeout_ms": 300}))["limits"]
    check_equal((limits["timeout_ms"], limits["memory_bytes"]), (300, 64 << 20), "limits")


@test("module_sha256 pins the module of a run and that of a sample")
def _():
    good = run("hello")["module"]["sha256"]
    check_equal(task(wasm("hello", module_sha256=good)).status, 0)
    check_equal(task(wasm("hello", module_sha256=good.upper())).status, 0)
    for manifest in (
        wasm("hello", module_sha256="0" * 64),
        {"kind": "sample", "sample": "env-report", "workspace": ".", "module_sha256": "0" * 64},
    ):
        done = task(manifest)
        check_equal((done.status, done.code), (126, "pin"), manifest["kind"])


@test("isolation is the manifest's, else the environment's, else full")
def _():
    landlock = {"WASP_ISOLATION": "landlock"}
    asked = [
        ({}, {}, "full"),
        ({}, landlock, "landlock"),
        ({"isolation": "landlock"}, {}, "landlock"),
        ({"isolation": "full"}, landlock, "full"),
    ]
    for keys, env, expected in asked:
        check_equal(explain(wasm("hello", **keys), env=env)["isolation"], expected, f"{keys} {env}")
    bad = task(wasm("hello"), env={"WASP_ISOLATION": "none"})
    check_equal((bad.status, bad.reason), (2, "invalid"))
    check_in("WASP_ISOLATION", bad.error)


@test("--timings, --quiet and --no-cache go with task run")
def _():
    done = task(wasm("exit_code", args=["3"]), "--timings", "--quiet", "--no-cache")
    check_equal((done.status, done["module"]["cached"]), (3, False))
    check(done["timings_us"], "no timings")


@test("task check and task explain answer for a good manifest and run nothing")
def _():
    folder = new_dir("task")
    manifest = {"kind": "sample", "sample": "workspace-write", "workspace": "ws"}
    manifest["labels"] = {"a": "b"}
    os.mkdir(os.path.join(folder, "ws"))
    path = write_manifest(manifest, folder)
    check_equal(check_task(path)["exit_code"], 0, "exit_code")
    plan = explain(path)
    check_equal((plan["module"], plan["embedded"]), ("workspace-write", True))
    check_equal(plan["labels"], {"a": "b"}, "labels")
    check_equal(os.listdir(os.path.join(folder, "ws")), [], "the workspace")
    check_equal(check_task(wasm("hello", module="missing.wasm")).status, 0, "text is all it judges")


# ---- where it lies ---------------------------------------------------------------------------


@test("relative paths count from the manifest's folder, whatever the working directory")
def _():
    folder = new_dir("task")
    write_file(folder, "m.wasm", data=read_file(guest("fs")))
    write_file(folder, "data", "f", data="here")
    manifest = {
        "kind": "wasm-run",
        "module": "m.wasm",
        "allow_dirs": [{"path": "data"}],
        "args": ["read", "data/f", ",", "read", "f"],
    }
    path = write_manifest(manifest, folder)
    lines = "read: [here] ok\nread: [here] ok\n"
    check_equal(task(path, cwd="/").stdout, lines)
    check_equal(task("task.json", cwd=folder).stdout, lines)
    check_equal(task("./task.json", cwd=folder).stdout, lines)
    name = os.path.basename(folder)
    check_equal(task(f"{name}/task.json", cwd=os.path.dirname(folder)).stdout, lines)


@test("a symlinked manifest is read, and counts from where the link is")
def _():
    real, linked = new_dir("real"), new_dir("linked")
    write_manifest({"kind": "wasm-run", "module": "m.wasm"}, real)
    write_file(linked, "m.wasm", data=read_file(guest("hello")))
    os.symlink(os.path.join(real, "task.json"), os.path.join(linked, "task.json"))
    check_equal(task(os.path.join(linked, "task.json")).status, 0)
    check_equal(task(os.path.join(real, "task.json")).status, 127)


@test("a manifest on standard input counts from the working directory")
def _():
    folder = new_dir("task")
    write_file(folder, "m.wasm", data=read_file(guest("hello")))
    text = json.dumps({"kind": "wasm-run", "module": "m.wasm"}).encode()
    check_equal(task("-", stdin=text, cwd=folder).status, 0)
    check_equal(task("-", stdin=text, cwd=new_dir("other")).status, 127)
    check_equal(task("-", stdin=b"", cwd=folder).reason, "invalid")


@test("a signal while the manifest is awaited on standard input is answered, as in a run")
def _():
    for verb in ("run", "check"):
        reader, writer = os.pipe()
        process = start("task", verb, "--manifest", "-", stdin=reader)
        os.write(writer, b'{"kind":')
        wait_until(lambda: is_waiting(process.pid), "wasp to wait for its input")
        process.send_signal(signal.SIGINT)
        done = finish(process, 20)
        check_equal((done.reason, done["signal"], done.status), ("cancelled", 2, 130), verb)
        os.close(reader)
        os.close(writer)


def is_waiting(pid):
    """It has read what there was, and sleeps in poll."""
    with open(f"/proc/{pid}/wchan") as file:
        return "poll" in file.read()


@test("a manifest that is no regular file is refused, and keeps nobody waiting")
def _():
    folder = new_dir("task")
    os.mkfifo(os.path.join(folder, "fifo"))
    for path in (os.path.join(folder, "fifo"), folder, "/dev/zero", os.path.join(folder, "no")):
        for done in (task(path), check_task(path)):
            check_equal(done.status, 2, path)
            check_in(path, done.error)


# ---- what is refused -------------------------------------------------------------------------

GOOD = {"kind": "wasm-run", "module": "m.wasm"}
DEEP = '{"kind":"wasm-run","module":"m.wasm","args":' + "[" * 40 + "]" * 40 + "}"

# What must be in the error, and the manifest: keys to add to GOOD, or text as it is.
REFUSED = [
    ("bogus: unknown key", {"bogus": 1}),
    ("limits.bogus: unknown key", {"limits": {"bogus": 1}}),
    ("allow_dirs[0].mode: unknown key", {"allow_dirs": [{"path": "a", "mode": "ro"}]}),
    ("kind: unknown kind 'shell'", {"kind": "shell"}),
    ("kind", {"kind": "native-run"}),
    ("kind", {"kind": "code"}),
    ("kind", {"kind": 3}),
    ("args: must be an array, not a string", {"args": "a"}),
    ("args[1]: must be a string", {"args": ["a", 1]}),
    ("env.A: must be a string", {"env": {"A": 1}}),
    ("env", {"env": {"A=B": "x"}}),
    ("module: must be a string, not null", {"module": None}),
    ("module", {"module": ""}),
    ("limits.timeout_ms", {"limits": {"timeout_ms": 0}}),
    ("limits.timeout_ms", {"limits": {"timeout_ms": -1}}),
    ("limits.memory_bytes", {"limits": {"memory_bytes": "unlimited"}}),
    ("limits.processes", {"limits": {"processes": 2}}),
    ("stdin", {"stdin": {"text": "a", "file": "b"}}),
    ("stdin", {"stdin": {}}),
    ("stdin.base64", {"stdin": {"base64": "%%%"}}),
    ("allow_dirs[0].path: is missing", {"allow_dirs": [{}]}),
    ("allow_dirs[0].access", {"allow_dirs": [{"path": "a", "access": "rw"}]}),
    ("allow_dirs[0].access", {"allow_dirs": [{"path": "a", "access": "overlay"}]}),
    ("allow_dirs[1]", {"allow_dirs": [{"path": "a"}, {"path": "./a"}]}),
    ("allow_dirs[0]", {"allow_dirs": [{"path": "/", "access": "read-only"}]}),
    ("module_sha256", {"module_sha256": "abc"}),
    ("isolation", {"isolation": "none"}),
    ("network", {"network": {"mode": "allowlist", "allow": ["x"]}}),
    ("capabilities[0]", {"capabilities": ["net_http"]}),
    ("without a path", {"capabilities": ["fs_read"]}),
    ("no command", {"capabilities": ["exec_run"]}),
    ("'exec_run' is not asked for", {"commands": ["git status"]}),
    ("commands[0]", {"capabilities": ["exec_run"], "commands": ["git; sh"]}),
    ("secrets", {"secrets": ["x"]}),
    ("policy", {"policy": ""}),
    ("tier", {"tier": "none"}),
    ("grants[0]", {"grants": [""]}),
    ("backend", {"backend": "native"}),
    ("workspace", {"workspace": "ws"}),
    ("module: is missing", b'{"kind":"wasm-run"}'),
    ("kind: is missing", b'{"module":"m.wasm"}'),
    ("workspace: is missing", b'{"kind":"sample","sample":"env-report"}'),
    ("sample: unknown sample 'x'", b'{"kind":"sample","sample":"x","workspace":"w"}'),
    ("duplicate", b'{"kind":"wasm-run","module":"a","module":"b"}'),
    ("duplicate", b'{"kind":"wasm-run","module":"a","env":{"A":"1","A":"2"}}'),
    ("manifest", b"[]"),
    ("manifest", b""),
    ("manifest", b"nonsense"),
    ("manifest", b'{"kind":"wasm-run","module":"a"} x'),
    ("manifest", b'{"kind":"wasm-run","module":"a"}{}'),
    ("manifest", b'\xef\xbb\xbf{"kind":"wasm-run","module":"a"}'),
    ("manifest", b'{"kind":"wasm-run","module":"\xff"}'),
    ("manifest", b'{"kind":"wasm-run","module":"a\\u0000b"}'),
    ("manifest", b'{"kind":"wasm-run","module":"a","limits":{"fuel":1.5}}'),
    ("manifest", b'{"kind":"wasm-run","module":"a","limits":{"fuel":9007199254740992}}'),
    ("manifest", DEEP.encode()),
    ("manifest", json.dumps(GOOD).encode().ljust((1 << 20) + 1)),
]


@test("every bad manifest is refused by run, check and explain alike, with its key")
def _():
    for says, manifest in REFUSED:
        if isinstance(manifest, dict):
            manifest = {**GOOD, **manifest}
        path = write_manifest(manifest)
        ran, explained, checked = task(path), task(path, verb="explain"), check_task(path)
        for done in (ran, explained, checked):
            check_equal(done.status, 2, f"status for {short(manifest)}")
            check_in(says, done.error, f"error for {short(manifest)}")
        check_equal((ran.reason, ran["enforced"]), ("invalid", []), short(manifest))
        check_equal((explained.error, checked.error), (ran.error, ran.error), "errors")


@test("what is just within the bounds is taken")
def _():
    for manifest in (
        json.dumps(GOOD).encode().ljust(1 << 20),
        b' \n{"kind":"wasm-run","module":"a","limits":{"fuel":9007199254740991}}\n\t ',
    ):
        check_equal(check_task(manifest).status, 0, short(manifest))


@test("options that belong in the manifest are refused beside it, and so is a missing --manifest")
def _():
    path = write_manifest(wasm("hello"))
    for words in ([], ["--manifest"], ["--manifest", path, "--env", "A=b"], ["--manifest", ""]):
        check_equal(wasp("task", "run", *words).reason, "invalid", str(words))
    for words in (["task"], ["task", "bogus"]):
        check_equal(wasp(*words).status, 2, str(words))


# ---- what it grants --------------------------------------------------------------------------

CHANGES = [
    ["write", "3", "f", "x"], ["write", "3", "new", "x"], ["create-open", "3", "new"],
    ["truncate-open", "3", "f"], ["mkdir", "3", "new"], ["symlink", "3", "new", "f"],
    ["link", "3", "f", "3", "new"], ["set-times", "3", "f"], ["set-times", "3", "."],
    ["rename", "3", "f", "3", "new"], ["rename", "3", "sub/g", "3", "f"], ["unlink", "3", "f"],
    ["rmdir", "3", "empty"],
]  # fmt: skip


def raw(acts, dirs, **keys):
    words = [word for act in acts for word in [","] + act][1:]
    done = task(wasm("raw_path", allow_dirs=dirs, args=words, **keys))
    check_equal(done.reason, "exited", f"reason ({done.error})")
    return done


def make_tree():
    folder = new_dir("tree")
    write_file(folder, "f", data="data")
    write_file(folder, "sub", "g", data="more")
    os.mkdir(os.path.join(folder, "empty"))
    os.symlink("f", os.path.join(folder, "link"))
    return folder


@test("a directory without access is read-only: no call changes it, and its tree is the same after")
def _():
    for access in ({}, {"access": "read-only"}):
        folder = make_tree()
        before = tree_of(folder)
        acts = CHANGES + [["read", "3", "f"], ["read", "3", "link"]]
        done = raw(acts, [{"path": folder, "guest": "/d", **access}])
        check_equal([line for line in done.lines()[:-2] if line.endswith(" ok")], [], "let through")
        check_equal(done.lines()[-2:], ["read: [data] ok"] * 2)
        check_equal(tree_of(folder), before, "the tree")
        check_in("read-only", [denial["rule"] for denial in done["denials"]], "rules")


@test("each of these calls does change a directory that is read-write")
def _():
    for act in CHANGES:
        folder = make_tree()
        before = tree_of(folder)
        done = raw([act], [{"path": folder, "guest": "/d", "access": "read-write"}])
        check_match(r" ok$", done.stdout, str(act))
        check(tree_of(folder) != before, f"{act} changed nothing")


@test("between two directories of a manifest nothing is renamed or linked, and both stay the same")
def _():
    top = new_dir("top")
    a, b = os.path.join(top, "a"), os.path.join(top, "b")
    write_file(a, "x", data="x")
    write_file(b, "y", data="y")
    before = tree_of(top)
    moves = [["rename", "3", "x", "4", "x"], ["rename", "4", "y", "3", "x"]]
    acts = moves + [["link", "3", "x", "4", "x"]]
    dirs = [{"path": p, "guest": g, "access": "read-write"} for p, g in ((a, "/a"), (b, "/b"))]
    check_equal(raw(acts, dirs).lines(), ["rename: EXDEV", "rename: EXDEV", "link: EXDEV"])
    check_equal(tree_of(top), before, "both trees")
    dirs[1]["access"] = "read-only"
    check_equal([line for line in raw(acts, dirs).lines() if line.endswith(" ok")], [])
    check_equal(tree_of(top), before, "both trees")


@test("a sibling of a granted directory stays out of reach, however it is named")
def _():
    top = new_dir("top")
    write_file(top, "in", "f", data="mine")
    write_file(top, "in-too", "f", data="SECRET")
    os.symlink("../in-too", os.path.join(top, "in", "out"))
    acts = [["read", "3", path] for path in ("../in-too/f", "out/f", "../in-too", "./../in-too/f")]
    done = raw(acts + [["read", "3", "f"]], [{"path": os.path.join(top, "in"), "guest": "/in"}])
    check("SECRET" not in done.stdout, done.stdout)
    check_equal(done.lines()[-1], "read: [mine] ok")


@test("a link swapped in during use never leads out of a manifest's directory")
def _():
    top = new_dir("top")
    inside = os.path.join(top, "in")
    write_file(top, "out", "f", data="SECRET")
    write_file(inside, "a", "f", data="harmless")
    os.symlink("../out", os.path.join(inside, "b"))
    stop = threading.Event()
    paths = [os.fsencode(os.path.join(inside, name)) for name in ("a", "b")]

    def swap():
        libc = ctypes.CDLL(None)
        while not stop.is_set():
            libc.renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_EXCHANGE)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = ""
    try:
        dirs = [{"path": inside, "guest": "/in", "access": "read-write"}]
        acts = [["read", "3", "a/f"], ["write", "3", "a/new", "x"]] * 1000
        for _ in range(30):  # until the guest has met both: the folder and the link in its place
            seen += raw(acts, dirs).stdout
            if "[harmless]" in seen and "read: EPERM" in seen:
                break
    finally:
        stop.set()
        swapper.join()
    check("SECRET" not in seen, "the secret came through")
    check_equal(os.listdir(os.path.join(top, "out")), ["f"], "outside")
    check_in("[harmless]", seen, "the folder")
    check_in("read: EPERM", seen, "the link")


@test("a workspace that is the owner's own symlink is followed")
def _():
    top = new_dir("top")
    write_file(top, "ws", "input.txt", data="mine")
    path = write_manifest(
        {"kind": "sample", "sample": "workspace-probe", "workspace": "ws"}, folder=top
    )
    check_equal(task(path).stdout, "mine")
    os.rename(os.path.join(top, "ws"), os.path.join(top, "old"))
    os.symlink("old", os.path.join(top, "ws"))
    check_equal(task(path).stdout, "mine")


@test("a sparse file of 4 GiB and more can be written, measured and read at its end")
def _():
    folder = new_dir("ws")
    end = str((4 << 30) + 7)
    args = ["overwrite", "big", end, "end", ",", "read-at", "big", end, ",", "stat", "big"]
    dirs = [{"path": folder, "guest": ".", "access": "read-write"}]
    done = task(wasm("fs", allow_dirs=dirs, args=args, limits={"file_bytes": 5 << 30}))
    check_equal(done.lines()[:2], ["overwrite: ok", "read-at: [end] ok"])
    check_in(f"[file {(4 << 30) + 10} ", done.lines()[2])
    st = os.stat(os.path.join(folder, "big"))
    check_equal(st.st_size, (4 << 30) + 10, "size")
    check(st.st_blocks * 512 < 1 << 20, "the file is not sparse")
    refused = task(wasm("fs", allow_dirs=dirs, args=["overwrite", "too-big", end, "end"]))
    check_equal(refused.stdout, "overwrite: EFBIG\n", "past the default of 1 GiB")


@test("a write at the edge of the quota is taken in part, and the next is refused")
def _():
    folder = new_dir("ws")
    dirs = [{"path": folder, "guest": ".", "access": "read-write"}]
    args = ["write", "a", "x" * 600, ",", "write", "b", "x" * 600, ",", "append", "b", "x"]
    done = task(wasm("fs", allow_dirs=dirs, args=args, limits={"disk_bytes": 1000}))
    check_equal(done.lines(), ["write: ok", "write: short ok", "append: ENOSPC"])
    sizes = [os.stat(os.path.join(folder, name)).st_size for name in ("a", "b")]
    check_equal((sizes, done.hit), ([600, 400], ["disk"]))
    check_equal(done["usage"]["bytes_written"], 1000, "bytes_written")


@test("none of this left a process, a mount or a temp file")
def _():
    check_nothing_left()


main()
