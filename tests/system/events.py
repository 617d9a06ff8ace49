#!/usr/bin/python3
"""--events: what is told while a run goes on, to whom, and that nobody can hold up a run with it."""

import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits, no_duplicate_keys
from wasptest import *


def parse_events(raw):
    """Each line held to the schema, all of them to what CONTRACT says of a run's events."""
    check(raw.endswith(b"\n"), f"the last line is cut: {short(raw[-200:])}")
    lines = raw.decode("utf-8").splitlines()
    events = [json.loads(line, object_pairs_hook=no_duplicate_keys) for line in lines]
    for event in events:
        check_fits("events", event)
    check_equal([event["event"] for event in events].count("exit"), 1, "exit events")
    check_equal(events[-1]["event"], "exit", "the last event")
    check_equal(len({event["run_id"] for event in events}), 1, "run ids")
    seqs = [event["seq"] for event in events]
    check_equal(seqs, sorted(set(seqs)), "seq")
    dropped = events[-1]["dropped"]
    check_equal(events[-1]["seq"], len(events) + dropped, "seq of the last event")
    return events


def check_agree(events, done):
    """The last event says what the envelope says."""
    last = events[-1]
    for key in ("run_id", "status", "exit_code", "reason", "error"):
        check_equal(last[key], done[key], key)
    check_equal(last["exit_status"], done.status, "exit_status")
    check_equal(last["rai_level"], "success" if done.status == 0 else "error", "rai_level")
    for stream in ("stdout", "stderr"):
        told = [event["data"] for event in events if event["event"] == stream]
        if last["dropped"] == 0:
            check_equal("".join(told), done[stream], f"data of {stream}")
    if last["dropped"] == 0:
        told = [event["denial"] for event in events if event["event"] == "denial"]
        check_equal(told, done["denials"], "denials")


def events_file():
    return os.path.join(new_dir("events"), "events.ndjson")


def observed(*command, **how):
    """Runs wasp with --events into a file; returns the outcome and the events."""
    path = events_file()
    at = command.index("--") if "--" in command else len(command)
    words = [*command[:at], "--events", path, *command[at:]]
    done = wasp(*words, **how)
    events = parse_events(read_file(path))
    check_agree(events, done)
    return done, events


def names(events):
    return [event["event"] for event in events]


def run_guest(name, *options, args=()):
    return observed("run", guest(name), *options, "--", *args)


# ---- what is told ----------------------------------------------------------------------------


@test("a run tells start, output and exit, in this order")
def _():
    done, events = run_guest("hello")
    check_equal(names(events), ["start", "stdout", "exit"])
    check_equal(events[0]["module"], guest("hello"), "module")
    check_equal([event["seq"] for event in events], [1, 2, 3], "seq")


@test("sample run and task run tell the same")
def _():
    ws = new_dir("ws")
    done, events = observed("sample", "run", "env-report", "--workspace", ws, "--env", "A=1")
    check_equal(names(events), ["start", "stdout", "exit"])
    manifest = {"kind": "sample", "sample": "env-report", "workspace": ws, "env": {"A": "1"}}
    path = write_file(new_dir("task"), "task.json", data=json.dumps(manifest))
    done, events = observed("task", "run", "--manifest", path)
    check_equal((names(events), events[1]["data"]), (["start", "stdout", "exit"], "A=1\n"))


@test("every way a run ends has its exit event, and only a guest that started a start event")
def _():
    broken = write_file(new_dir("m"), "broken.wasm", data="\0asm nonsense")
    for command, started in (
        (["run", guest("exit_code"), "--", "3"], True),
        (["run", guest("unreachable")], True),
        (["run", guest("spin"), "--timeout", "300ms"], True),
        (["run", guest("spin"), "--cpu", "300ms"], True),
        (["run", guest("put"), "--output", "10", "--output-kill", "--", "out", "61", "99"], True),
        (["run", "/nonexistent.wasm"], False),
        (["run", broken], False),
        (["run", guest("unknown_imports")], False),
        (["run", guest("hello"), "--module-sha256", "0" * 64], False),
        (["run", guest("hello"), "--allow-dir", "/nonexistent"], False),
    ):
        done, events = observed(*command)
        check_equal("start" in names(events), started, f"start in {' '.join(command)}")


@test("what is refused before it is a request has one event: exit")
def _():
    bad = write_file(new_dir("task"), "task.json", data="nonsense")
    for command in (
        ["run"],
        ["run", guest("hello"), "--bogus"],
        ["run", "--bogus", "x", guest("hello"), "--env", "A"],
        ["run", guest("hello"), "--memory", "0"],
        ["sample", "run", "nope", "--workspace", "."],
        ["sample", "run", "env-report"],
        ["task", "run"],
        ["task", "run", "--manifest", bad],
        ["task", "run", "--manifest", "/nonexistent"],
    ):
        done, events = observed(*command)
        check_equal((names(events), done.reason), (["exit"], "invalid"), " ".join(command))
    done, events = observed("run", guest("hello"), env={"WASP_CACHE_MAX": "nonsense"})
    check_equal(names(events), ["exit"], "a bad environment")


@test("a cancelled run has its exit event, with the output so far before it")
def _():
    for number in (signal.SIGTERM, signal.SIGINT):
        path, ws = events_file(), new_dir("ws")
        words = ["--allow-dir", ws, "--events", path, "--", "60000", "begun"]
        process = start("run", guest("sleep"), *words)
        wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
        process.send_signal(number)
        done = finish(process, 20)
        events = parse_events(read_file(path))
        check_agree(events, done)
        check_equal((names(events), done.reason), (["start", "stdout", "exit"], "cancelled"))


@test("output is told while the guest runs, not when it ends")
def _():
    path = events_file()
    process = start("run", guest("sleep"), "--events", path, "--", "60000")
    wait_until(lambda: os.path.exists(path) and b"sleeping" in read_file(path), "the output")
    check(process.poll() is None, "wasp has ended already")
    process.terminate()
    finish(process, 20)


@test("a heartbeat comes while nothing else happens")
def _():
    path = events_file()
    process = start("run", guest("sleep"), "--events", path, "--", "60000")
    wait_until(lambda: os.path.exists(path) and b"heartbeat" in read_file(path), "a heartbeat")
    process.terminate()
    finish(process, 20)
    events = parse_events(read_file(path))
    beats = [event["elapsed_ms"] for event in events if event["event"] == "heartbeat"]
    check(beats and beats[0] >= 5000, f"heartbeats: {beats}")


@test("denials are told with their rule and hint")
def _():
    done, events = observed("sample", "run", "hostile-tour", "--workspace", new_dir("ws"))
    denials = [event for event in events if event["event"] == "denial"]
    check(len(denials) >= 5, f"denials: {len(denials)}")
    check_equal({event["rai_level"] for event in denials}, {"warn"})


@test("bytes that are no text are mended as in the envelope, whatever the writes")
def _():
    parts = ["c3", "a9", "ff", "e282", "ac", "f09f", "90", "9d", "e2", "0a", "00", "1b5b316d", "c3"]
    args = [word for part in parts for word in ("out", part, "1", "err", part, "1")]
    done, events = run_guest("put", args=args)
    check_equal(done.stdout, "é\ufffd€🐝\ufffd\n\0\x1b[1m\ufffd")
    done, events = run_guest("put", args=["out", "00", "30000", "err", "f09f909d", "9000"])
    check(all(len(json.dumps(event)) < 25000 for event in events), "an event is huge")


@test("output past its limit is told once for each stream, and no more of it after that")
def _():
    args = ["out", "c3a9", "600000", "err", "62", "2000000", "out", "61", "100000"]
    done, events = run_guest("put", args=args)
    check_equal(done["truncated"], {"stdout": True, "stderr": True}, "truncated")
    for stream in ("stdout", "stderr"):
        mine = [event for event in events if event["event"] == stream]
        cut = [at for at, event in enumerate(mine) if event.get("truncated")]
        check_equal(cut, [len(mine) - 1], f"where {stream} is cut")
    done, events = run_guest("put", args=["out", "61", str(1 << 20)])
    check(not any(event.get("truncated") for event in events), "output at its limit was cut")


@test("no line is longer than a pipe takes in one piece")
def _():
    path = events_file()
    wasp("run", guest("put"), "--events", path, "--", "out", "01", "100000", "out", "61", "500000")
    check(max(map(len, read_file(path).splitlines())) < 4096, "a line is longer")


# ---- where it goes ---------------------------------------------------------------------------


@test("the file is made for its owner alone, and is added to by the next run")
def _():
    path = events_file()
    for count in (1, 2):
        wasp("run", guest("hello"), "--events", path)
        lines = [json.loads(line) for line in read_file(path).splitlines()]
        check_equal([line["seq"] for line in lines], [1, 2, 3] * count, "seq")
    check_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    check_equal(len({line["run_id"] for line in lines}), 2, "run ids")


@test("a descriptor takes events: a pipe, a file, a socket")
def _():
    reader, writer = os.pipe()
    ours, theirs = socket.socketpair()
    with open(events_file(), "wb+") as file:
        for fd in (writer, file.fileno(), theirs.fileno()):
            words = ["--events", f"fd:{fd}"]
            check_equal(run("hello", *words, pass_fds=[fd]).status, 0)
        file.seek(0)
        got = [os.read(reader, 65536), file.read(), ours.recv(65536)]
    for raw in got:
        check_equal(names(parse_events(raw)), ["start", "stdout", "exit"])
    check(os.get_blocking(writer), "the caller's pipe was made non-blocking")
    os.close(reader)
    os.close(writer)


@test("events never go where the result goes, nor where nothing can be written")
def _():
    folder = new_dir("out")
    precious = write_file(folder, "precious", data="mine")
    os.symlink("precious", os.path.join(folder, "link"))
    with open(precious, "rb") as reading:
        for where in ("fd:1", "fd:", "fd:x", "fd:-1", "fd:77", f"fd:{reading.fileno()}", ""):
            done = run("hello", "--events", where, pass_fds=[reading.fileno()])
            check_equal((done.reason, done.status), ("invalid", 2), where)
    for where in (os.path.join(folder, "link"), folder, "/nonexistent/events"):
        done = run("hello", "--events", where)
        check_equal((done.reason, done.status), ("backend_error", 125), where)
    check_equal(read_file(precious), b"mine")


@test("a pipe that is standard output under another number is refused, too")
def _():
    for quiet in ([], ["--quiet"]):
        words = ["run", guest("hello"), "--events", "fd:2", *quiet]
        process = start(*words, stderr=subprocess.STDOUT)
        lines = process.communicate(timeout=60)[0].splitlines()
        check_equal((process.returncode, len(lines)), (2, 2 - len(quiet)), "status and lines")
        check_equal(json.loads(lines[0])["reason"], "invalid", "reason")


@test("a dry run has no events and makes no file")
def _():
    path = events_file()
    done = wasp("run", guest("hello"), "--dry-run", "--events", path, contract=False)
    check_equal((done.status, os.path.exists(path)), (0, False))


# ---- who reads it ----------------------------------------------------------------------------


@test("a pipe that nobody reads neither holds up nor fails the guest")
def _():
    reader, writer = os.pipe()
    args = ["out", "61", "900000", "err", "62", "900000"]
    done = run("put", "--events", f"fd:{writer}", args=args, pass_fds=[writer])
    check_equal((done["status"], len(done.stdout), len(done.stderr)), ("success", 900000, 900000))
    os.close(writer)
    with open(reader, "rb") as file:
        lines = file.read().splitlines()
    check(lines, "the pipe took nothing at all")
    for line in lines:
        check_fits("events", json.loads(line))


@test("a reader that goes away, or was never there, costs the guest nothing")
def _():
    reader, writer = os.pipe()
    os.close(reader)
    done = run("put", "--events", f"fd:{writer}", args=["out", "61", "900000"], pass_fds=[writer])
    check_equal((done["status"], len(done.stdout)), ("success", 900000))
    os.close(writer)


@test("a file on a full disk costs the guest nothing")
def _():
    done = run("put", "--events", "/dev/full", args=["out", "61", "900000"])
    check_equal((done["status"], len(done.stdout)), ("success", 900000))


@test("a FIFO without a reader is refused at once, and one with a reader is used")
def _():
    path = os.path.join(new_dir("events"), "fifo")
    os.mkfifo(path)
    check_equal(run("hello", "--events", path).status, 125)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    check_equal(run("hello", "--events", path).status, 0)
    check_equal(names(parse_events(os.read(reader, 65536))), ["start", "stdout", "exit"])
    os.close(reader)


@test("a result that cannot be written is told as the exit status it gives")
def _():
    path = events_file()
    with open("/dev/full", "wb") as full:
        process = start("run", guest("hello"), "--events", path, stdout=full)
        process.communicate(timeout=60)
    check_equal(process.returncode, 125, "status")
    last = parse_events(read_file(path))[-1]
    check_equal((last["exit_status"], last["exit_code"]), (125, 0))
    check_equal(last["rai_level"], "error", "rai_level")


main()
