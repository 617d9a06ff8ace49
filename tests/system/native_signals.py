#!/usr/bin/python3
"""Signals to wasp reach a native guest; it ends with wasp whatever it does; events tell of it."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits, no_duplicate_keys
from wasptest import *

ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLITE = "trap 'echo got {0}; exit 3' {0}; sleep 60 & touch begun; while :; do sleep 0.05; done"
STUBBORN = "trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 60) & touch begun; while :; do sleep 0.05; done"


def begin(script, *options, **how):
    """Starts a bash script that makes the file `begun`, and waits for that."""
    ws = new_dir("ws")
    process = start("exec", "--allow-dir", ws, *options, "--", "bash", "-c", script, **how)
    wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
    return process


def all_gone(pids):
    wait_until(lambda: not any(map(is_alive, pids)), f"processes {pids} to end", 10)


@test("SIGTERM, SIGINT and SIGHUP to wasp reach the guest, whose last words are kept")
def _():
    for number in ASKED:
        process = begin(POLITE.format(number.name[3:]))
        below = descendants(process.pid)
        process.send_signal(number)
        done = finish(process, 20)
        check_equal((done.reason, done["signal"], done["exit_code"]), ("cancelled", number, None))
        check_equal((done.status, done.stdout), (128 + number, f"got {number.name[3:]}\n"))
        all_gone(below)
        check_nothing_left()


@test("a guest without a trap ends at the signal: cancelled, not signal")
def _():
    process = begin("touch begun; exec sleep 60")
    process.send_signal(signal.SIGTERM)
    done = finish(process, 20)
    check_equal((done.reason, done["signal"], done.status), ("cancelled", signal.SIGTERM, 143))


@test("a guest that ignores the signal is killed after its grace")
def _():
    process = begin(STUBBORN, "--timeout", "60s")
    below = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    done = finish(process, 20)
    check_equal((done.reason, done["signal"]), ("cancelled", signal.SIGTERM))
    all_gone(below)
    check_nothing_left()


@test("a second signal ends the grace")
def _():
    process = begin(STUBBORN, "--timeout", "60s")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)  # two at once are one
    process.send_signal(signal.SIGINT)
    done = finish(process, 20)
    check_equal(done.reason, "cancelled")
    check(done["usage"]["wall_ms"] < 15000, f"{done['usage']}")
    check_nothing_left()


@test("a guest that stopped itself is ended by a signal all the same")
def _():
    process = begin("touch begun; kill -STOP $$; echo went on")
    process.send_signal(signal.SIGTERM)
    done = finish(process, 20)
    check_equal((done.reason, done["signal"]), ("cancelled", signal.SIGTERM))


@test("a signal to wasp's whole process group, as a terminal sends it, is answered by wasp alone")
def _():
    for _ in range(5):
        process = begin(POLITE.format("INT"), start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        done = finish(process, 20)
        check_equal((done.reason, done.stdout), ("cancelled", "got INT\n"))


@test("a signal at any moment of a run gives one whole envelope")
def _():
    for step in range(40):
        process = start("exec", "--", "sleep", "0.02")
        time.sleep(step * 0.001)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=20)
        if process.returncode == -signal.SIGTERM and not stdout:
            continue  # it came before main, when nobody could have blocked it yet
        done = Outcome(process.args[1:], process.returncode, stdout, stderr)
        check_contract(done)
        check(done.reason in ("cancelled", "exited"), f"after {step} ms: {done.reason} {done.error}")
    check_nothing_left()


@test("kill -9 of wasp leaves no process and no mount, and its cgroup goes with the next sweep")
def _():
    for script in (STUBBORN, "touch begun; while :; do :; done", "(setsid sleep 60 &); touch begun; sleep 60"):
        process = begin(script)
        below = descendants(process.pid)
        check(below, "the guest has no process of its own")
        process.kill()
        process.communicate()
        all_gone(below)
    wasp("gc", contract=False)
    check_nothing_left()


@test("kill -9 of the guest from outside is told as signal")
def _():
    process = begin("touch begun; exec sleep 60")
    victim = [pid for pid in descendants(process.pid) if b"sleep\0" in read_file(f"/proc/{pid}/cmdline")]
    os.kill(victim[0], signal.SIGKILL)
    done = finish(process, 20)
    check_equal((done.reason, done["signal"], done["exit_code"]), ("signal", 9, None))


@test("kill -9 of the cell's first process ends the whole run, and is told")
def _():
    process = begin("sleep 60 & touch begun; sleep 60")
    below = descendants(process.pid)
    os.kill(below[0], signal.SIGKILL)
    done = finish(process, 20)
    check_in(done.reason, ("signal", "backend_error"), "reason")
    all_gone(below)
    check_nothing_left()


@test("signals that the caller had blocked or ignored are the guest's to have again")
def _():
    def block_and_ignore():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    done = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", preexec_fn=block_and_ignore)
    check_equal(done.lines(), ["SigBlk:\t" + "0" * 16, "SigIgn:\t" + "0" * 16])
    done = shell("sleep 60", "--timeout", "300ms", preexec_fn=block_and_ignore)
    check_equal(done.reason, "timeout")
    check_equal(shell("sleep 0 | true; wait; echo ok", preexec_fn=block_and_ignore).stdout, "ok\n")


@test("a guest in the foreground of nothing sends signals to its own group alone")
def _():
    done = shell("trap 'echo mine' TERM; kill -TERM 0; echo after")
    check_equal((done.status, done.stdout), (0, "mine\nafter\n"))


# ---- stdin -----------------------------------------------------------------------------------


@test("stdin is fed as it comes, and its end is the guest's end of file")
def _():
    ws = new_dir("ws")
    script = "while read -r line; do echo $line > seen-$line; done; echo end"
    process = start("exec", "--stdin", "-", "--allow-dir", ws, "--", "bash", "-c", script, stdin=subprocess.PIPE)
    for word in ("one", "two", "three"):
        process.stdin.write(f"{word}\n".encode())
        process.stdin.flush()
        wait_until(lambda: os.path.exists(os.path.join(ws, f"seen-{word}")), f"{word} to be read")
    done = finish(process)
    check_equal((done.status, done.stdout), (0, "end\n"))


@test("an endless stdin ends with the guest")
def _():
    with open("/dev/zero", "rb") as zero:
        done = native("head", "-c", "1000000", options=["--stdin", "-"], stdin=zero)
    check_equal((done.status, done["usage"]["stdout_bytes"]), (0, 1000000))


@test("a guest that never reads a stdin that never ends is ended at its time limit")
def _():
    with open("/dev/zero", "rb") as zero:
        done = native("sleep", "60", options=["--stdin", "-", "--timeout", "300ms"], stdin=zero)
    check_equal(done.reason, "timeout")


# ---- events ----------------------------------------------------------------------------------


def observed(*command, options=(), process=None):
    path = os.path.join(new_dir("events"), "events.ndjson")
    done = native(*command, options=["--events", path, *options])
    lines = read_file(path).decode().splitlines()
    events = [json.loads(line, object_pairs_hook=no_duplicate_keys) for line in lines]
    for event in events:
        check_fits("events", event)
    last = events[-1]
    for key in ("run_id", "status", "exit_code", "reason", "error"):
        check_equal(last[key], done[key], key)
    check_equal([event["event"] for event in events].count("exit"), 1, "exit events")
    return done, events


@test("a native run tells start, output and exit, and the last event says what the envelope says")
def _():
    done, events = observed("bash", "-c", "echo out; sleep 0.1; echo err >&2; exit 4")
    check_equal([event["event"] for event in events], ["start", "stdout", "stderr", "exit"])
    check_equal([event.get("data") for event in events[1:3]], ["out\n", "err\n"])
    check_equal((events[0]["program"], done["exit_code"]), ("bash", 4))


@test("a run that is refused, or has no program, tells start or not, and exactly one exit")
def _():
    _, events = observed("nosuchprogram")
    check_equal(events[-1]["event"], "exit")
    check_equal(events[-1]["reason"], "not_started")


@test("a limit that ends the run is in the last event")
def _():
    _, events = observed("sleep", "60", options=["--timeout", "200ms"])
    check_equal(events[-1]["reason"], "timeout")


@test("on a terminal output is told as stdout")
def _():
    _, events = observed("bash", "-c", "echo a; echo b >&2", options=["--tty"])
    told = "".join(event["data"] for event in events if event["event"] == "stdout")
    check_equal(told, "a\r\nb\r\n")


main(wasm=False)
