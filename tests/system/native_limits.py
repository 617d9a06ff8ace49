#!/usr/bin/python3
"""Each limit of a native run holds for all its processes together, ends it with its own reason or is
survived and told, and nothing is left behind."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

# bits of enum tell_wall in src/plan/tell.h
WITHOUT_CGROUPS = str(1 << 17 | 1 << 18)
MIB = 1 << 20


def ways():
    """How limits are held here: as it comes, and (root, with the test build) without a cgroup."""
    found = [{}]
    test_build = os.environ.get("WASP_TEST", os.path.join(ROOT, "build-test", "wasp"))
    if os.getuid() == 0 and os.access(test_build, os.X_OK):
        found.append({"program": test_build, "env": {"WASP_TEST_WITHOUT": WITHOUT_CGROUPS}})
    return found


def has_cgroup(done):
    return any(wall.startswith("memory:cgroup") for wall in done["enforced"])


def greedy(act, number=1, *options, **how):
    """tests/hostile/greedy.c as the guest, at /g."""
    folder = os.path.dirname(guest(""))
    grant = ["--allow-dir", f"{folder}::/g:ro"]
    return native("/g/greedy", act, str(number), options=[*grant, *options], **how)


def ended_by(done, reason, option):
    check_equal((done.reason, done["exit_code"]), (reason, None), f"reason ({done.error})")
    check_in(option, done.error, "error")
    check_nothing_left()


def survived(done, said, hit=()):
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"reason ({done.stderr})")
    check_match(said, done.stdout, "stdout")
    check_equal(done.hit, list(hit), "limits_hit")
    check_nothing_left()


# ---- who holds them --------------------------------------------------------------------------


@test("enforced says what holds memory, CPU time and processes")
def _():
    walls = native("true")["enforced"]
    kinds = dict(wall.split(":") for wall in walls if wall.split(":")[0] in ("memory", "cpu", "processes", "disk"))
    if os.getuid() == 0 and os.access("/sys/fs/cgroup/memory/cgroup.procs", os.W_OK):
        expected = {"memory": "cgroup-v1", "cpu": "cgroup-v1", "processes": "cgroup-v1"}
    elif os.getuid() == 0 and "memory:cgroup-v2" in walls:
        expected = {"memory": "cgroup-v2", "cpu": "cgroup-v2", "processes": "cgroup-v2"}
    else:
        expected = {"memory": "rlimit+watch", "cpu": "rlimit+watch", "processes": "rlimit"}
    check_equal(kinds, {**expected, "disk": "tmpfs"}, "enforced")


@test("without a cgroup the same limits are held by rlimits and by watching, and enforced says so", only="root")
def _():
    if len(ways()) == 1:
        skip("no test build")
    walls = native("true", **ways()[1])["enforced"]
    for wall in ("memory:rlimit+watch", "cpu:rlimit+watch", "processes:rlimit"):
        check_in(wall, walls, "enforced")
    check(not [wall for wall in walls if "cgroup-v" in wall], f"enforced: {walls}")


# ---- time ------------------------------------------------------------------------------------


@test("a guest that sleeps, computes or has stopped itself ends at its time limit, output kept")
def _():
    for act, said in (("burn", "burning 1\n"), ("stop", "stopping 0\n")):
        done = greedy(act, 1, "--timeout", "500ms")
        ended_by(done, "timeout", "--timeout")
        check_equal(done.stdout, said)
    ended_by(shell("echo a; sleep 60", "--timeout", "300ms"), "timeout", "--timeout")
    survived(shell("sleep 0.05; echo slept", "--timeout", "20s"), "slept")


@test("a guest that ignores every signal it can ends at its time limit")
def _():
    script = "trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP XCPU; while :; do sleep 1; done"
    ended_by(shell(script, "--timeout", "500ms"), "timeout", "--timeout")


@test("one process that computes past the CPU limit ends the run with cpu_limit")
def _():
    for way in ways():
        done = greedy("burn", 1, "--cpu", "300ms", **way)
        ended_by(done, "cpu_limit", "--cpu")
        check(done["usage"]["cpu_ms"] >= 250, f"{done['usage']}")


@test("CPU time is that of the whole tree: four processes use it up together")
def _():
    for way in ways():
        done = greedy("burn", 4, "--cpu", "600ms", **way)
        ended_by(done, "cpu_limit", "--cpu")
        check(550 <= done["usage"]["cpu_ms"] < 5000, f"{done['usage']}")


@test("CPU time of children that are dead counts, if somebody waited for them")
def _():
    script = "while :; do seq 200000 | sort -n > /dev/null; done"
    for way in ways():
        ended_by(shell(script, "--cpu", "800ms", **way), "cpu_limit", "--cpu")


@test("CPU time of children whose end is ignored ends the run as well: with a cgroup it counts")
def _():
    for way in ways():
        done = greedy("burn-unseen", 4, "--cpu", "600ms", "--timeout", "8s", **way)
        if has_cgroup(done):
            ended_by(done, "cpu_limit", "--cpu")
        else:
            check_in(done.reason, ("cpu_limit", "timeout"), "reason")
            check_nothing_left()


@test("sleeping costs no CPU time")
def _():
    for way in ways():
        survived(shell("sleep 0.6; echo slept", "--cpu", "200ms", **way), "slept")


# ---- memory ----------------------------------------------------------------------------------


def memory_refused(done, most):
    """A cgroup ends the run; an rlimit refuses, and the guest says how much it got."""
    if has_cgroup(done):
        ended_by(done, "memory_limit", "--memory")
        check(done["usage"]["max_rss_bytes"] <= most * MIB, f"{done['usage']}")
    else:
        survived(done, "^ENOMEM ")
        check(int(done.stdout.split()[1]) <= most, f"got {done.stdout}")


@test("one process gets no more memory than the limit, and what fits is there")
def _():
    for way in ways():
        memory_refused(greedy("memory", 200, "--memory", "64MiB", **way), 64)
        survived(greedy("memory", 40, "--memory", "64MiB", **way), "^ok 40")


@test("the memory limit is for all processes together")
def _():
    for way in ways():
        ended_by(greedy("memory-tree", 128, "--memory", "64MiB", **way), "memory_limit", "--memory")


@test("four processes that stay within the memory limit together are left alone")
def _():
    for way in ways():
        done = greedy("memory-tree", 60, "--memory", "128MiB", **way)
        survived(done, "ok 60\n")


@test("memory that processes have in common counts once")
def _():
    for way in ways():
        survived(greedy("memory-shared", 60, "--memory", "200MiB", **way), "^ok 60")


@test("a child that is killed for memory ends the run, though its parent would go on")
def _():
    folder = os.path.dirname(guest(""))
    script = "/g/greedy memory 200 > /tmp/said; sleep 1; echo alive; cat /tmp/said"
    for way in ways():
        done = shell(script, "--allow-dir", f"{folder}::/g:ro", "--memory", "64MiB", **way)
        if has_cgroup(done):
            ended_by(done, "memory_limit", "--memory")
        else:
            survived(done, "alive\nENOMEM ")


@test("files in scratch count as memory where a cgroup counts, and never go past --disk")
def _():
    script = "head -c 100M /dev/zero > /tmp/f; stat -c %s /tmp/f"
    for way in ways():
        done = shell(script, "--memory", "64MiB", "--disk", "90MiB", **way)
        if has_cgroup(done):
            ended_by(done, "memory_limit", "--memory")
        else:
            check(int(done.stdout) <= 91 * MIB, done.stdout)
    survived(shell(script, "--memory", "300MiB", "--disk", "128MiB"), f"^{100 * MIB}$")


@test("the default memory limit is 512 MiB")
def _():
    memory_refused(greedy("memory", 600), 512)


@test("python and node start within 128 MiB, though they reserve much more")
def _():
    for way in ways():
        survived(python("print('here')", "--memory", "128MiB", **way), "here")
        if shutil.which("node", path="/usr/bin:/usr/local/bin"):
            survived(native("node", "-e", "console.log('here')", options=["--memory", "128MiB"], **way), "here")


# ---- processes -------------------------------------------------------------------------------

BOMBS = {
    "C": ["/g/greedy", "fork"],
    "bash": ["bash", "-c", "b() { b | b & b; }; b"],
    "python": ["/usr/bin/python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"],
}


@test("fork bombs end with a reason of their own, and nothing of them is left")
def _():
    folder = os.path.dirname(guest(""))
    for way in ways():
        for name, argv in BOMBS.items():
            options = ["--allow-dir", f"{folder}::/g:ro", "--timeout", "3s", "--processes", "50"]
            done = native(*argv, options=options, **way)
            check_in(done.reason, ("process_limit", "timeout", "cpu_limit", "exited"), f"reason of {name}")
            check_nothing_left()


@test("a fork bomb that its cgroup counts ends with process_limit")
def _():
    done = greedy("fork", 1, "--timeout", "20s")
    if not has_cgroup(done):
        skip("there is no cgroup for us")
    ended_by(done, "process_limit", "--processes")


@test("a guest that runs away from its pid is gone when the first process is")
def _():
    for way in ways():
        done = greedy("run-away", 1, "--timeout", "3s", **way)
        check_equal(done.stdout, "begun 0\n")
        check_nothing_left()


@test("there are never more processes than the limit; the guest that survives that is told by limits_hit")
def _():
    for way in ways():
        for act in ("hold", "zombies"):
            done = greedy(act, 100, "--processes", "20", **way)
            survived(done, "^EAGAIN 19$", ["processes"] if has_cgroup(done) else [])
            survived(greedy(act, 19, "--processes", "20", **way), "^ok 19$")


@test("threads count as processes do")
def _():
    script = (
        "import threading, time\n"
        "n = 0\n"
        "try:\n"
        "    while n < 100: threading.Thread(target=time.sleep, args=(1,), daemon=True).start(); n += 1\n"
        "except RuntimeError: pass\n"
        "print(n, flush=True); import os; os._exit(0)"
    )
    for way in ways():
        done = python(script, "--processes", "20", **way)
        check_equal(done.stdout, "19\n")


@test("the default is 128 processes")
def _():
    check_equal(greedy("hold", 1000).stdout, "EAGAIN 127\n")


@test("a daemon that left its session is gone after the run")
def _():
    for way in ways():
        survived(greedy("daemon", **way), "^left 0$")


@test("background children that hold stdout do not delay the result")
def _():
    for script in ("sleep 60 & echo done", "(setsid sleep 60 &) ; echo done", "nohup sleep 60 & disown; echo done"):
        done = shell(script, "--timeout", "20s")
        check_equal((done.status, done.stdout), (0, "done\n"), script)
        check(done["usage"]["wall_ms"] < 15000, f"{done['usage']}")
        check_nothing_left()


@test("what background children wrote before the program's end is there")
def _():
    done = shell("(echo early; sleep 60) & sleep 0.3; echo late")
    check_equal(sorted(done.lines()), ["early", "late"])


@test("a storm of orphans is reaped while the program goes on")
def _():
    script = "for n in $(seq 300); do (true & ) ; done; sleep 0.3; ls /proc | grep -c '^[0-9]'"
    done = shell(script, "--processes", "30")
    check_equal(done["exit_code"], 0, done.stderr)
    check(int(done.stdout) < 10, f"{done.stdout} processes are still there")


# ---- files -----------------------------------------------------------------------------------


@test("a process has no more files open than the limit")
def _():
    check_equal(greedy("open", 100, "--open-files", "50").stdout.split()[0], "EMFILE")
    check_equal(greedy("open", 40, "--open-files", "50").stdout, "ok 40\n")
    check_match("^EMFILE 10[012]", greedy("open", 5000).stdout)


@test("the open-file limit cannot be raised from inside")
def _():
    script = "ulimit -n 4096 2>/dev/null || echo refused; ulimit -Hn"
    check_equal(shell(script, "--open-files", "64").stdout, "refused\n64\n")


@test("a file ends exactly at the file size limit: EFBIG for who ignores the signal, death for others")
def _():
    ws = new_dir("ws")
    script = (
        "import signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "f = open('f', 'wb', buffering=0)\n"
        "try:\n"
        "    while True: f.write(b'x' * 1000)\n"
        "except OSError as e: print(e.errno, f.tell())"
    )
    check_equal(python(script, "--file-size", "4500").stdout, "27 4500\n")
    done = shell("exec head -c 10000 /dev/zero > f", "--file-size", "4500", "--allow-dir", ws)
    check_equal((done.reason, done["signal"]), ("signal", signal.SIGXFSZ), done.error)
    check_equal(os.stat(os.path.join(ws, "f")).st_size, 4500, "size on the host")
    survived(shell("head -c 4500 /dev/zero > f; stat -c %s f", "--file-size", "4500"), "^4500$")


@test("scratch is full when /tmp, /dev/shm and HOME together reach --disk, and limits_hit says disk")
def _():
    script = (
        "head -c 3M /dev/zero > /tmp/f && head -c 3M /dev/zero > ~/f && head -c 3M /dev/zero > /dev/shm/f && echo three\n"
        "head -c 9M /dev/zero > /tmp/g 2>/dev/null || echo full\n"
        "cat /tmp/* ~/f /dev/shm/f | wc -c"
    )
    done = shell(script, "--disk", "10MiB")
    check_equal((done.status, done.lines()[:2]), (0, ["three", "full"]))
    check(9 * MIB <= int(done.lines()[2]) <= 11 * MIB, f"{done.lines()[2]} bytes")
    check_equal(done.hit, ["disk"])
    survived(shell(script, "--disk", "32MiB"), "^three\n[0-9]+")


@test("empty files have a limit, too, and limits_hit says disk")
def _():
    done = greedy("files", 100000, "--disk", "1MiB")
    survived(done, "^ENOSPC [0-9]+$", ["disk"])
    check(1000 < int(done.stdout.split()[1]) < 10000, done.stdout)
    survived(greedy("files", 1000, "--disk", "1MiB"), "^ok 1000$")


@test("what is written to an overlay counts against --disk, and the host's directory is as it was")
def _():
    ws = new_dir("ws")
    script = "head -c 9M /dev/zero > f; stat -c %s f"
    done = shell(script, "--allow-dir", f"{ws}::/ws:overlay", "--cwd", "/ws", "--disk", "4MiB")
    check(int(done.stdout) <= 5 * MIB, done.stdout)
    check_in("disk", done.hit, "limits_hit")
    check_equal(os.listdir(ws), [])


@test("--disk together with a read-write grant is refused, alone it is not")
def _():
    ws = new_dir("ws")
    done = native("true", options=["--disk", "4MiB", "--allow-dir", ws])
    check_equal((done.reason, done.status), ("invalid", 2), done.error)
    check_equal(native("true", options=["--disk", "4MiB", "--allow-dir", f"{ws}::/w:ro"]).status, 0)
    check_equal(native("true", options=["--allow-dir", ws]).status, 0)


# ---- output ----------------------------------------------------------------------------------


@test("output past its cap is cut and flagged, and the guest goes on to its own end")
def _():
    done = shell("head -c 100000 /dev/zero | tr '\\0' a; echo b >&2; exit 3", "--output", "1000")
    check_equal((done.reason, done["exit_code"]), ("exited", 3))
    check_equal((done.stdout, done.stderr), ("a" * 1000, "b\n"))
    check_equal(done["truncated"], {"stdout": True, "stderr": False})


@test("with --output-kill output past its cap ends the run with output_limit")
def _():
    done = shell("yes", "--output", "1000", "--output-kill", "--timeout", "20s")
    ended_by(done, "output_limit", "--output")
    check_equal(done.stdout, "y\n" * 500)
    survived(shell("head -c 1000 /dev/zero | tr '\\0' a", "--output", "1000", "--output-kill"), "^a{1000}$")


@test("endless output into a pipe of many writers ends at the time limit, cut")
def _():
    done = shell("yes & yes >&2 & yes", "--timeout", "1s", "--output", "64KiB")
    ended_by(done, "timeout", "--timeout")
    check_equal(done["truncated"], {"stdout": True, "stderr": True})
    check_equal((len(done.stdout), len(done.stderr)), (65536, 65536))


# ---- bad numbers -----------------------------------------------------------------------------


@test("a limit of nothing, or one that is none, is refused before anything runs")
def _():
    for option, value in (("--timeout", "0"), ("--memory", "0"), ("--processes", "0"), ("--disk", "unlimited"), ("--cpu", "x"), ("--fuel", "1")):
        done = native("true", options=[option, value])
        check_equal((done.reason, done.status), ("invalid", 2), f"{option} {value}")
    options = ["--timeout", "unlimited", "--cpu", "unlimited", "--memory", "unlimited"]
    check_equal(native("true", options=options).status, 0)


@test("a memory limit in which not even the cell can start gives a result all the same")
def _():
    for way in ways():
        for size in ("1MiB", "1100KiB", "2MiB"):
            done = native("true", options=["--memory", size], **way)
            check_in(done.reason, ("memory_limit", "backend_error", "not_started", "signal", "exited"), size)
            check_nothing_left()


@test("a memory limit without a unit is taken for the mistake that it is")
def _():
    for size in ("1", "64", "512KiB"):
        done = native("true", options=["--memory", size])
        check_equal((done.status, done.reason), (2, "invalid"), size)
        check_in("MiB", done.error, "error")


def build_greedy(folder):
    source = os.path.join(ROOT, "tests", "hostile", "greedy.c")
    argv = ["cc", "-D_GNU_SOURCE", "-O1", "-static", source, "-o", os.path.join(folder, "greedy")]
    subprocess.run(argv, check=True, stdout=sys.stderr)


main(build_greedy, wasm=False)
