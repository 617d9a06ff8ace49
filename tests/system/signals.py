#!/usr/bin/python3
"""Signals to wasp: the guest ends with it, the envelope still comes, nothing stays."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def begin(name, *args, options=()):
    """Starts a guest that makes a file once it runs, and waits for that file."""
    ws = new_dir("ws")
    process = start(
        "run", guest(name), "--allow-dir", ws, "--timeout", "60s", *options, "--", *args, "begun"
    )
    wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), f"{name} to begin")
    return process


def all_gone(pids):
    wait_until(lambda: not any(map(is_alive, pids)), f"processes {pids} to end", 10)


@test("SIGTERM, SIGINT and SIGHUP end the guest: cancelled, with its output so far")
def _():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for name, args, said in (("sleep", ["60000"], "sleeping\n"), ("spin", [], "spinning\n")):
            process = begin(name, *args)
            below = descendants(process.pid)
            check(below, "the guest has no process of its own")
            process.send_signal(number)
            done = finish(process, 20)
            check_equal(
                (done.reason, done["signal"], done["exit_code"]),
                ("cancelled", number, None),
                f"{name}, {number}",
            )
            check_equal((done.status, done.stdout), (128 + number, said))
            all_gone(below)


@test("a signal to wasp's whole process group, as a terminal sends it, is answered by wasp alone")
def _():
    for isolation in ("full", "landlock"):
        for _ in range(20):
            ws = new_dir("ws")
            process = start(
                "run", guest("sleep"), "--allow-dir", ws, "--isolation", isolation, "--", "60000", "begun",
                start_new_session=True,
            )  # fmt: skip
            wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
            groups = [os.getpgid(pid) for pid in descendants(process.pid)]
            os.killpg(process.pid, signal.SIGINT)
            done = finish(process, 20)
            check_equal((done.reason, done["signal"]), ("cancelled", signal.SIGINT), isolation)
            check(process.pid not in groups, f"{isolation}: the cell is in wasp's process group")


@test("a second signal during the first does no harm")
def _():
    process = begin("spin")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(number)
    done = finish(process, 20)
    check_equal(done.reason, "cancelled")


@test("a signal at any moment of a run gives one whole envelope")
def _():
    for step in range(40):
        process = start("run", guest("sleep"), "--", "20")
        time.sleep(step * 0.001)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=20)
        if process.returncode == -signal.SIGTERM and not stdout:
            continue  # it came before main, when nobody could have blocked it yet
        done = Outcome(process.args[1:], process.returncode, stdout, stderr)
        check_contract(done)
        check(
            done.reason in ("cancelled", "exited"), f"after {step} ms: {done.reason} {done.error}"
        )


@test("a signal while a module is being compiled ends the compiler too")
def _():
    module = write_file(new_dir(), "slow.wasm", data=slow_module())
    process = start("run", module, "--no-cache")
    wait_until(lambda: descendants(process.pid), "the compiler to start")
    below = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    done = finish(process, 20)
    check_equal((done.reason, done.status), ("cancelled", 143))
    all_gone(below)


@test("kill -9 of wasp leaves no process and no mount")
def _():
    for name, args in (("sleep", ["60000"]), ("spin", [])):
        process = begin(name, *args)
        below = descendants(process.pid)
        check(below, "the guest has no process of its own")
        process.kill()
        process.communicate()
        all_gone(below)
    check_nothing_left()


def uid_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        return int(re.search(r"^Uid:\s+(\d+)", file.read(), re.M)[1])
    return 0


@test("kill -9 of wasp while the cell changes its uid, when no death signal is set, ends the cell too")
def _():
    if os.getuid() != 0:
        skip("only a cell that root started changes its uid")
    if not shutil.which("strace"):
        skip("no strace to hold the cell at that moment")
    run("spin", "--timeout", "100ms")  # so that the compiler's cell is not the one that is held
    hold = ["strace", "-f", "-o", os.devnull, "-e", "trace=setresuid", "-e", "inject=setresuid:delay_exit=1000000"]
    command = [*hold, wasp_path(), "run", guest("spin"), "--timeout", "60s"]
    tracer = subprocess.Popen(command, env=wasp_env(), stdout=subprocess.DEVNULL)
    wait_until(lambda: any(map(uid_of, descendants(tracer.pid))), "the cell to change its uid")
    below = descendants(tracer.pid)
    os.kill(min(below), signal.SIGKILL)
    all_gone(below)
    tracer.wait()


@test("kill -9 of wasp while it compiles leaves no process, and the next run works")
def _():
    module = write_file(new_dir(), "slow.wasm", data=slow_module())
    process = start("run", module)
    wait_until(lambda: descendants(process.pid), "the compiler to start")
    below = descendants(process.pid)
    process.kill()
    process.communicate()
    all_gone(below)
    check_equal(run("hello")["status"], "success")
    check_nothing_left()


@test("many runs, a tenth of them killed at random moments, leave nothing after one more run")
def _():
    random.seed(3)
    for number in range(int(os.environ.get("WASPTEST_RUNS", "200"))):
        process = start("run", guest("hello"), *(["--no-cache"] if number % 7 == 0 else []))
        if number % 10 == 0:
            time.sleep(random.random() * 0.02)
            process.kill()
            process.communicate()
        else:
            check_equal(finish(process).stdout, "hello, wasp\n", f"run {number}")
    wait_until(lambda: not descendants(os.getpid()), "all processes to end", 10)
    run("hello")
    check_nothing_left()
    check_equal(os.listdir(os.path.join(cache_dir(), "tmp")), [], "temp files in the cache")
    cgroups = [
        name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if "wasp" in name
    ]
    check_equal(cgroups, [], "cgroups")


@test("a guest process that is killed from outside is told as signal, not as an exit")
def _():
    process = begin("sleep", "60000")
    os.kill(descendants(process.pid)[-1], signal.SIGKILL)
    done = finish(process, 20)
    check_equal(
        (done.reason, done["signal"], done["exit_code"], done.status), ("signal", 9, None, 137)
    )
    check_equal(done.stdout, "sleeping\n")


@test("signals that the caller had blocked or ignored do not keep a guest alive past its time")
def _():
    def block_and_ignore():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)

    check_equal(run("spin", "--timeout", "300ms", preexec_fn=block_and_ignore).reason, "timeout")
    check_equal(run("spin", "--cpu", "300ms", preexec_fn=block_and_ignore).reason, "cpu_limit")
    check_equal(run("hello", preexec_fn=block_and_ignore)["status"], "success")


@test("children that the caller already had are none of wasp's business")
def _():
    done = subprocess.run(
        ["/bin/sh", "-c", 'sleep 0.05 & exec "$0" run "$1"', wasp_path(), guest("hello")],
        capture_output=True,
        env=wasp_env(),
        timeout=60,
    )
    check_equal((done.returncode, parse_envelope(done.stdout)["status"]), (0, "success"))


def slow_module():
    """Many functions of long straight code: a second or more for the compiler."""
    body = b"\x00\x20\x00" + b"\x20\x00\x6a\x20\x00\x6c" * 3000 + b"\x1a\x0b"
    count = 600
    one = leb(len(body)) + body
    start_body = b"\x00\x0b"
    types = b"\x02\x60\x01\x7f\x00\x60\x00\x00"
    functions = leb(count + 1) + b"\x00" * count + b"\x01"
    code = leb(count + 1) + one * count + leb(len(start_body)) + start_body
    exports = b"\x01\x06_start\x00" + leb(count)
    return (
        b"\0asm\1\0\0\0"
        + section(1, types)
        + section(3, functions)
        + section(7, exports)
        + section(10, code)
    )


main()
