#!/usr/bin/python3
"""A native guest's terminal and network: its own, when they were asked for, and nobody else's."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


# ---- terminal --------------------------------------------------------------------------------


@test("--tty gives the guest a terminal of its own; all output comes as stdout")
def _():
    script = "import os; print([os.isatty(n) for n in (0, 1, 2)], os.ttyname(0)); os.write(2, b'err\\n')"
    done = python(script, "--tty")
    check_equal(done.stdout, "[True, True, True] /dev/pts/0\r\nerr\r\n")
    check_equal(done.stderr, "")
    without = python("import os; print([os.isatty(n) for n in (0, 1, 2)])")
    check_equal(without.stdout, "[False, False, False]\n")


@test("with --tty /dev has terminals too, and they are the cell's own")
def _():
    check_equal(listed("/dev", "--tty") - listed("/dev"), {"pts", "ptmx", "tty"})
    check_equal(listed("/dev/pts", "--tty"), {"0", "ptmx"})


@test("the terminal is the guest's controlling one, and job control works")
def _():
    script = "set -m; sleep 60 & jobs; kill %1; wait %1; echo ended $?; echo to > /dev/tty; stty -a | grep -c icanon"
    done = shell(script, "--tty")
    check_match(r"Running +sleep 60", done.stdout)
    check_match(r"ended 143", done.stdout)
    check_match(r"to\r\n1\r\n", done.stdout)


@test("a guest on a terminal can open another pair of its own")
def _():
    script = "import pty, os; m, s = os.openpty(); print(os.ttyname(s)); os.write(s, b'x'); print(os.read(m, 1))"
    check_equal(python(script, "--tty").stdout, "/dev/pts/1\r\nb'x'\r\n")


@test("on a terminal stdin ends, with and without something on it")
def _():
    options = ["--tty", "--timeout", "20s"]
    for _ in range(30):  # it once hung up on a guest that was about to exit, now and then
        check_equal(native("cat", options=options).reason, "exited")
        done = native("cat", options=[*options, "--stdin", "-"], stdin=b"typed\n")
        check_equal((done.reason, done.stdout), ("exited", "typed\r\n" * 2))
    done = native("head", "-n1", options=["--tty", "--stdin", "-"], stdin=b"one\ntwo\n")
    check_match("one", done.stdout)


@test("Ctrl-C on the terminal's input is a signal to the guest")
def _():
    ws = new_dir("ws")
    script = "trap 'echo caught; exit 5' INT; touch begun; while :; do sleep 0.1; done"
    process = start("exec", "--tty", "--stdin", "-", "--timeout", "20s", "--allow-dir", ws, "--",
                    "bash", "-c", script, stdin=subprocess.PIPE)  # fmt: skip
    wait_until(lambda: os.path.exists(os.path.join(ws, "begun")), "the guest to begin")
    process.stdin.write(b"\x03")
    process.stdin.flush()
    done = finish(process)
    check_equal((done["exit_code"], "caught" in done.stdout), (5, True), done.stdout)


# ---- network ---------------------------------------------------------------------------------

TALK = """import socket, threading
s = socket.create_server(("127.0.0.1", 0))
def serve():
    c, _ = s.accept(); c.sendall(b"hello"); c.close()
threading.Thread(target=serve, daemon=True).start()
print(socket.create_connection(s.getsockname()).recv(5))
"""


@test("with --loopback the guest's processes reach each other, without they reach nobody")
def _():
    done = python(TALK, "--loopback")
    check_equal((done.status, done.stdout), (0, "b'hello'\n"), done.stderr)
    check(python(TALK).status != 0, "a connection without --loopback")


@test("a server of the host is reached from outside, and never from inside")
def _():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        line = f"__import__('socket').create_connection(('127.0.0.1', {port}), 3)"
        for options in ((), ("--loopback",)):
            check(tried(line, options=options)[0] in ("ECONNREFUSED", "ENETUNREACH", "EACCES", "EPERM", "EAFNOSUPPORT"), options)


@test("with --loopback there is still no way out")
def _():
    lines = [f"__import__('socket').create_connection(('{host}', 53), 3)" for host in ("10.0.0.1", "8.8.8.8", "169.254.169.254")]
    check(set(tried(*lines, options=["--loopback"])) <= {"ENETUNREACH", "EACCES", "EPERM"}, "a way out")
    script = "import socket; print([name for _, name in socket.if_nameindex()])"
    check_equal(python(script, "--loopback").stdout, "['lo']\n")


@test("a unix socket of the host in a granted directory is not reached")
def _():
    ws = new_dir("ws")
    path = os.path.join(ws, "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()
        probe = socket.socket(socket.AF_UNIX)
        probe.connect(path)
        probe.close()
        line = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/ws/s')"
        for options in ((), ("--loopback",)):
            got = tried(line, options=["--allow-dir", f"{ws}::/ws", *options])
            check(got != ["ok"], f"connected with {options}")


@test("a unix socket of the guest's own works with --loopback")
def _():
    script = (
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen()\n"
        "c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); c.sendall(b'x'); print(s.accept()[0].recv(1))"
    )
    done = python(script, "--loopback")
    check_equal((done.status, done.stdout), (0, "b'x'\n"), done.stderr)


main(wasm=False)
