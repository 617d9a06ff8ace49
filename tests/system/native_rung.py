#!/usr/bin/python3
"""--isolation landlock for native guests: it works without namespaces, shows what it allows of the
host and nothing else, and leaves no process behind."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

RUNG = ("--isolation", "landlock")


def on_rung(script, *options, **how):
    return shell(script, *RUNG, *options, **how)


def landlock_abi():
    CREATE_RULESET, VERSION = 444, 1
    return ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)


def need_rung():
    if landlock_abi() < 6:
        skip("the kernel's Landlock does not hold signals back (ABI 6)")


def tried(*lines, options=()):
    script = (
        "import errno, os, sys\n"
        "for line in sys.argv[1:]:\n"
        "    try: exec(line); print('ok')\n"
        "    except OSError as e: print(errno.errorcode[e.errno])"
    )
    done = python(script, *RUNG, *options, args=lines)
    check_equal(done.status, 0, done.stderr or done.error)
    return done.lines()


@test("a kernel that cannot hold signals back refuses the rung, naming what it needs")
def _():
    if landlock_abi() >= 6:
        skip("this kernel can")
    done = on_rung("true")
    check_equal(done.status, 125)
    check_in("Landlock ABI 6", done.error, "error")


@test("programs run on the rung, and what stands is named")
def _():
    need_rung()
    done = on_rung("seq 100 | awk '{ s += $1 } END { print s }'; python3 -c 'print(6 * 7)'")
    check_equal((done.status, done.stdout), (0, "5050\n42\n"), done.stderr)
    walls = done["enforced"]
    check_in("isolation:landlock", walls, "enforced")
    check_in("seccomp", walls, "enforced")
    check_equal([wall for wall in walls if wall.startswith(("namespace", "root", "disk"))], [])


@test("a granted directory is read and written, and is where the guest begins")
def _():
    need_rung()
    ws = new_dir("ws")
    write_file(ws, "in", data="given\n")
    done = on_rung("pwd; cat in; echo made > out; mkdir d; mv out d/", "--allow-dir", ws)
    check_equal(done.stdout, f"{os.path.realpath(ws)}\ngiven\n", done.stderr)
    check_equal(read_file(ws, "d", "out"), b"made\n")
    check_equal(os.stat(os.path.join(ws, "d")).st_uid, os.getuid(), "owner")


@test("of the host only what is granted and the system's programs can be opened")
def _():
    need_rung()
    ws, other = new_dir("ws"), new_dir("other")
    write_file(other, "secret", data="SECRET")
    os.chmod(os.path.join(other, "secret"), 0o644)
    closed = [f"open('{other}/secret')", f"os.listdir('{other}')", "open('/etc/hostname')", "open('/etc/fstab')", "open('/etc/shadow')", "os.listdir('/root')",
              "os.listdir('/home')", "open('/proc/self/status')", "open('/proc/1/status')", "os.listdir('/sys')", "os.listdir('/run')",
              "open('/tmp/wasp-test-file', 'w')", f"open('{other}/new', 'w')", f"os.mkdir('{other}/d')", f"os.remove('{other}/secret')",
              f"os.rename('{other}/secret', '{ws}/got')", f"os.link('{other}/secret', '{ws}/got')", "open('/dev/kmsg')", "open('/usr/new', 'w')"]  # fmt: skip
    got = tried(*closed, options=["--allow-dir", ws])
    check_equal([line for line, verdict in zip(closed, got) if verdict == "ok"], [], "what worked")
    check_equal(os.listdir(other), ["secret"])
    opened = tried(f"open('{other}/secret')", f"open('{ws}/new', 'w')", "os.listdir('/usr/bin')", "open('/dev/null', 'w')", options=["--allow-dir", ws, "--allow-dir", other])
    check_equal(opened, ["ok"] * 4, "the same where it is granted")


@test("a read-only grant is not written to, the same grant read-write is")
def _():
    need_rung()
    ws = new_dir("ws")
    path = os.path.realpath(ws)
    script = "echo x 2>/dev/null > new && echo wrote || echo refused"
    check_equal(on_rung(script, "--allow-dir", f"{path}::{path}:ro", "--cwd", path).stdout, "refused\n")
    check_equal(os.listdir(ws), [])
    check_equal(on_rung(script, "--allow-dir", ws).stdout, "wrote\n")


@test("the guest can signal its own processes and no others, not even the cell")
def _():
    need_rung()
    victim = subprocess.Popen(["sleep", "60"])
    try:
        lines = [f"os.kill({victim.pid}, 0)", f"os.kill({victim.pid}, 9)", "os.kill(os.getppid(), 9)", "os.kill(1, 0)", "os.kill(os.getpid(), 0)"]
        check_equal(tried(*lines), ["EPERM", "EPERM", "EPERM", "EPERM", "ok"])
        check(victim.poll() is None, "the victim is dead")
        os.kill(victim.pid, 0)
    finally:
        victim.kill()
        victim.wait()


@test("there is no network and no socket of the host's")
def _():
    need_rung()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        line = f"__import__('socket').create_connection(('127.0.0.1', {port}), 3)"
        check(tried(line)[0] in ("EACCES", "EPERM", "EAFNOSUPPORT"), "connected")


@test("orphans, daemons and stopped processes end with the run")
def _():
    need_rung()
    for script in ("sleep 60 & echo done", "(setsid sleep 60 &); echo done", "(setsid bash -c 'kill -STOP $$' &); sleep 0.1; echo done",
                   "for n in 1 2 3; do (setsid bash -c 'trap \"\" TERM HUP; while :; do sleep 1; done' &) ; done; echo done"):  # fmt: skip
        done = on_rung(script, "--timeout", "20s")
        check_equal((done.status, done.stdout), (0, "done\n"), f"{script}: {done.stderr}")
        check_nothing_left()


@test("time, CPU time, memory and output have their limits, and nothing is left")
def _():
    need_rung()
    done = on_rung("sleep 60 & sleep 60", "--timeout", "500ms")
    check_equal((done.reason, done.status), ("timeout", 124))
    check_nothing_left()
    done = on_rung("(while :; do :; done) & while :; do :; done", "--cpu", "600ms")
    check_equal(done.reason, "cpu_limit")
    check_nothing_left()
    hog = "import time; x = bytearray(200 << 20); time.sleep(1); print('got it')"
    done = python(hog, *RUNG, "--memory", "64MiB")
    check("got it" not in done.stdout, "more memory than the limit")
    check_equal(python(hog, *RUNG, "--memory", "400MiB").stdout, "got it\n")
    done = on_rung("yes | head -c 5000", "--output", "1000")
    check_equal((len(done.stdout), done["truncated"]["stdout"]), (1000, True))


@test("a fork bomb on the rung ends at its time limit, and nothing is left")
def _():
    need_rung()
    done = on_rung("for n in 1 2 3 4 5 6 7 8; do (while :; do sleep 0.01; done) & done; wait", "--timeout", "1s")
    check_equal(done.reason, "timeout")
    check_nothing_left()


@test("SIGTERM to wasp reaches the guest, and kill -9 of wasp leaves no process")
def _():
    need_rung()
    for number, said in ((signal.SIGTERM, "bye\n"), (signal.SIGKILL, None)):
        ws = new_dir("ws")
        script = "trap 'echo bye; exit 0' TERM; sleep 60 & touch begun; while :; do sleep 0.05; done"
        process = start("exec", *RUNG, "--allow-dir", ws, "--", "bash", "-c", script)
        wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
        below = descendants(process.pid)
        process.send_signal(number)
        if said:
            done = finish(process)
            check_equal((done.reason, done.stdout), ("cancelled", said))
        else:
            process.communicate()
        wait_until(lambda: not any(map(is_alive, below)), f"processes {below} to end", 10)
        wasp("gc", contract=False)
        check_nothing_left()


@test("what needs namespaces is refused on the rung, and works on the full one")
def _():
    need_rung()
    ws = new_dir("ws")
    for options in (["--allow-dir", f"{ws}::/ws"], ["--allow-dir", f"{ws}::{ws}:overlay"], ["--tty"], ["--loopback"],
                    ["--proc", "none"], ["--disk", "1MiB"], ["--processes", "5"]):  # fmt: skip
        done = native("true", options=[*RUNG, *options])
        check_equal((done.reason, done.status), ("invalid", 2), f"{options}: {done.error}")
        check_in("landlock", done.error, "error")
        check_equal(native("true", options=options).status, 0, f"{options} on the full rung")


main(wasm=False)
