#!/usr/bin/python3
"""The samples that come with wasp: listed, built, run."""

import hashlib
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

PROMISED = ("workspace-probe", "workspace-write", "env-report", "hostile-tour")
BASE_FIELDS = ("status", "exit_code", "execution_time_ms", "stdout", "stderr", "error")


def listed():
    done = wasp("sample", "list", contract=False)
    check_equal((done.status, done.said), (0, ""), "status and stderr")
    value = parse_envelope(done.raw)
    check_fits("samples", value)
    return {sample["name"]: sample for sample in value["samples"]}


def build(*words, status=0, **how):
    """`sample build`, held to what every answer of it has."""
    done = wasp("sample", "build", *words, contract=False, **how)
    done.envelope = answer = parse_envelope(done.raw)
    check_fits("answer", answer)
    for field in BASE_FIELDS:
        check_in(field, answer, "answer")
    check_equal(done.status, status, f"status ({answer['error']})")
    check_equal(answer["status"], "error" if status else "success", "status")
    check_equal(len(done.said.splitlines()), 1 if status else 0, "lines on stderr")
    return done


def sample(name, *options, ws=None, args=(), **how):
    ws = ws or new_dir("ws")
    return wasp("sample", "run", name, "--workspace", ws, *options, "--", *args, **how)


def sha256(path):
    return hashlib.sha256(read_file(path)).hexdigest()


# ---- list ------------------------------------------------------------------------------------


@test("sample list names every sample that was promised, what it does and what it needs")
def _():
    samples = listed()
    for name in PROMISED:
        check_in(name, samples, "samples")
    check_in("input.txt", samples["workspace-probe"]["needs"], "needs")
    check_equal(samples["env-report"]["needs"], None, "needs")


@test("words that sample and its verbs do not take are answered with one JSON object, status 2")
def _():
    for words in (["sample"], ["sample", "bogus"], ["sample", "run"], ["sample", "run", "--x"]):
        check_equal(wasp(*words).reason, "invalid", " ".join(words))
    for words in (["sample", "list", "more"], ["sample", "build"], ["sample", "build", "x"]):
        done = wasp(*words, contract=False)
        check_fits("answer", parse_envelope(done.raw))
        check_equal(done.status, 2, " ".join(words))


@test("wasp help knows each verb of sample")
def _():
    for words in (["help", "sample"], ["help", "sample", "build"], ["sample", "run", "--help"]):
        done = wasp(*words, contract=False)
        check_equal((done.status, done.said), (0, ""), " ".join(words))
        check_in(b"usage: wasp sample ", done.raw)


# ---- build -----------------------------------------------------------------------------------


@test("sample build writes the listed bytes, with an ordinary file's mode, and nothing else")
def _():
    for name, about in listed().items():
        folder = new_dir("out")
        path = os.path.join(folder, "out.wasm")
        build(name, path)
        check_equal(sha256(path), about["sha256"], f"sha256 of {name}")
        check_equal(os.stat(path).st_size, about["bytes"], "size")
        check_equal(stat.S_IMODE(os.stat(path).st_mode), 0o644, "mode")
        check_equal(os.listdir(folder), ["out.wasm"], "files")


@test("sample build takes a relative name, from the working directory")
def _():
    folder = new_dir("out")
    build("env-report", "x.wasm", cwd=folder)
    check_equal(os.listdir(folder), ["x.wasm"])


@test("a sample that was built runs as any module does, and as sample run does")
def _():
    path = os.path.join(new_dir("out"), "out.wasm")
    build("env-report", path)
    built = wasp("run", path, "--env", "A=1")
    embedded = sample("env-report", "--env", "A=1")
    for field in ("status", "exit_code", "stdout", "stderr", "error", "reason", "enforced"):
        check_equal(embedded[field], built[field], field)
    check_equal(embedded["module"]["sha256"], built["module"]["sha256"], "sha256")


@test("sample build replaces what is there: a reader finds the old or the new one, always whole")
def _():
    path = os.path.join(new_dir("out"), "out.wasm")
    good = {listed()[name]["sha256"] for name in ("env-report", "hostile-tour")}
    build("env-report", path)
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.add(sha256(path))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for _ in range(20):
            build("hostile-tour", path)
            build("env-report", path)
    finally:
        stop.set()
        reader.join()
    check(seen <= good, f"a reader saw something else: {seen - good}")


@test("sample build replaces a symlink and leaves what it led to as it was")
def _():
    folder = new_dir("out")
    target = write_file(folder, "precious", data="mine")
    path = os.path.join(folder, "out.wasm")
    os.symlink("precious", path)
    build("env-report", path)
    check(not os.path.islink(path), "the link is still there")
    check_equal(read_file(target), b"mine")


@test("--no-clobber leaves what is there, and says so")
def _():
    folder = new_dir("out")
    path = write_file(folder, "out.wasm", data="mine")
    done = build("env-report", path, "--no-clobber", status=2)
    check_in("out.wasm", done.error)
    check_equal((read_file(path), os.listdir(folder)), (b"mine", ["out.wasm"]))
    build("env-report", os.path.join(folder, "new.wasm"), "--no-clobber")


@test("a sample that cannot be written is told, and leaves nothing")
def _():
    folder = new_dir("out")
    os.mkdir(os.path.join(folder, "dir"))
    for path in ("nowhere/x.wasm", "dir", "dir/", "", "x" * 300, "/proc/x.wasm"):
        done = build("env-report", path, status=2 if path in ("", "dir/") else 125, cwd=folder)
        check(done.error, f"no error for {path!r}")
        check_equal(os.listdir(folder), ["dir"], f"files after {path!r}")
        check_equal(os.listdir(os.path.join(folder, "dir")), [], "files in dir")


@test("a folder without write permission is told, and leaves nothing", only="user")
def _():
    folder = new_dir("out")
    os.chmod(folder, 0o555)
    build("env-report", os.path.join(folder, "x.wasm"), status=125)
    check_equal(os.listdir(folder), [])


@test("a full disk keeps the old file whole and leaves nothing else", only="root")
def _():
    folder = new_dir("out")
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder]
    if subprocess.run(mount).returncode != 0:
        skip("no tmpfs can be mounted here")
    try:
        path = write_file(folder, "out.wasm", data="old")
        build("hostile-tour", path, status=125)
        check_equal((read_file(path), os.listdir(folder)), (b"old", ["out.wasm"]))
    finally:
        subprocess.run(["umount", folder], check=True)


@test("an unknown sample is refused with the names of all there are")
def _():
    folder = new_dir("out")
    errors = [build("nope", os.path.join(folder, "x.wasm"), status=2).error]
    done = sample("nope")
    check_equal((done.status, done.reason), (2, "invalid"))
    for error in errors + [done.error]:
        for name in PROMISED:
            check_in(name, error, "error")
    check_equal(os.listdir(folder), [])


# ---- run -------------------------------------------------------------------------------------


@test("workspace-probe prints the workspace's input.txt, byte for byte")
def _():
    for text in ("hello\n", "", "no newline", "ünï\n" * 5000):
        ws = new_dir("ws")
        write_file(ws, "input.txt", data=text)
        check_equal(sample("workspace-probe", ws=ws).stdout, text)


@test("workspace-probe without an input.txt fails, and says what it needs")
def _():
    done = sample("workspace-probe")
    check_equal((done.status, done["exit_code"], done.reason), (1, 1, "exited"))
    check_in("input.txt", done.stderr)


@test("workspace-write writes agent-note.txt on the host and prints written")
def _():
    ws = new_dir("ws")
    done = sample("workspace-write", ws=ws)
    check_equal((done["status"], done.stdout), ("success", "written\n"))
    check_equal(os.listdir(ws), ["agent-note.txt"])
    check(read_file(ws, "agent-note.txt"), "the note is empty")


@test("env-report prints nothing unless something is given, and then exactly that, in order")
def _():
    check_equal(sample("env-report", env={"SECRET": "x"}).stdout, "")
    done = sample("env-report", "--env", "TASK_ID=abc123", "--env", "B=x=y", "--env", "A=")
    check_equal(done.stdout, "TASK_ID=abc123\nB=x=y\nA=\n")


@test("a relative workspace counts from the working directory")
def _():
    top = new_dir("top")
    write_file(top, "ws", "input.txt", data="here")
    check_equal(sample("workspace-probe", ws="ws", cwd=top).stdout, "here")


@test("a sample needs a workspace that is there")
def _():
    done = wasp("sample", "run", "env-report")
    check_equal((done.status, done.reason), (2, "invalid"))
    check_in("--workspace", done.error)
    check(sample("env-report", ws="/nonexistent").status != 0, "a missing workspace was taken")


@test("a sample may be granted more, and its workspace stays '.'")
def _():
    ws, more = new_dir("ws"), new_dir("more")
    write_file(ws, "input.txt", data="workspace")
    write_file(more, "input.txt", data="more")
    options = ["run", "workspace-probe", "--allow-dir", more, "--workspace", ws]
    check_equal(wasp("sample", *options).stdout, "workspace")


@test("limits, pins and the rest of run's options hold for a sample")
def _():
    done = sample("hostile-tour", "--memory", "2MiB", "--timings")
    check_match(r"take all memory: no more after [01] MiB", done.stdout)
    check_in("memory", done.hit)
    check(done["timings_us"], "no timings")
    pin = listed()["env-report"]["sha256"]
    check_equal(sample("env-report", "--module-sha256", pin).status, 0)
    wrong = sample("env-report", "--module-sha256", "0" * 64)
    check_equal((wrong.status, wrong.reason, wrong.code), (126, "not_started", "pin"))


@test("--dry-run shows that the module is embedded")
def _():
    ws = new_dir("ws")
    words = ["sample", "run", "env-report", "--workspace", ws, "--dry-run"]
    plan = parse_envelope(wasp(*words, contract=False).raw)
    check_fits("plan", plan)
    check_equal((plan["module"], plan["embedded"]), ("env-report", True))
    check_equal(plan["allow_dirs"], [{"path": ws, "access": "read-write", "guest": ["."]}])


@test("a sample is compiled once, and no digest of a file is remembered for it")
def _():
    memo = os.path.join(cache_dir(), "memo")
    sample("env-report")
    before = os.listdir(memo)
    check_equal(sample("env-report")["module"]["cached"], True, "cached")
    check_equal(os.listdir(memo), before, "memo")
    check_equal(sample("env-report", "--no-cache")["module"]["cached"], False, "cached")


@test("without a place for a cache a sample still runs")
def _():
    done = sample("env-report", "--env", "A=1", env={"HOME": ""})
    check_equal((done.stdout, done["module"]["cached"]), ("A=1\n", False))


# ---- the tour --------------------------------------------------------------------------------


@test("hostile-tour is refused everything, says so, and leaves its workspace as it was")
def _():
    top = new_dir("top")
    ws = os.path.join(top, "ws")
    write_file(ws, "mine", data="mine")
    done = sample("hostile-tour", ws=ws)
    check_equal((done["status"], done.stderr), ("success", ""))
    *attempts, summary = done.lines()
    check_equal([line for line in attempts if not line.startswith("refused ")], [], "let through")
    check_equal(summary, f"{len(attempts)} attempts, 0 got through")
    check(len(attempts) >= 10, "hardly a tour")
    check_equal((os.listdir(top), os.listdir(ws)), (["ws"], ["mine"]))
    check_equal(read_file(ws, "mine"), b"mine")
    rules = {denial["rule"] for denial in done["denials"]}
    check_equal(rules, {"outside-grant", "absolute-link"}, "rules of the denials")
    check_equal(sorted(done.hit), ["file_size", "memory"], "limits_hit")


@test("hostile-tour says what got through where it was granted, and fails then")
def _():
    etc = new_dir("etc")
    write_file(etc, "passwd", data="x")
    done = sample("hostile-tour", "--allow-dir", f"{etc}::/etc:ro", "--env", "PATH=/bin")
    check_equal((done.status, done.reason), (1, "exited"))
    through = [line for line in done.lines() if line.startswith("GOT THROUGH")]
    check_equal(len(through), 2, f"let through: {through}")
    check_equal(done.lines()[-1].split(", ")[1], "2 got through")


main()
