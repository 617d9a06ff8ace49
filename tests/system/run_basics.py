#!/usr/bin/python3
"""What a caller of `wasp run` holds on to: CONTRACT §1 to §3."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

# ---- the envelope ----------------------------------------------------------------------------


@test("a guest that ends by itself gives status success, exit code 0 and its output")
def _():
    done = run("hello")
    check_equal((done["status"], done["exit_code"], done.reason), ("success", 0, "exited"))
    check_equal((done.stdout, done.stderr, done.error), ("hello, wasp\n", "", None))
    check_equal(done["backend"], "wasm")


@test("a guest that exits 3 says so in exit_code, reason, error and the command's status")
def _():
    done = run("exit_code", args=["3"])
    check_equal((done["status"], done["exit_code"], done.reason), ("error", 3, "exited"))
    check_equal(done.error, "guest exited with code 3")
    check_equal(done.status, 3)


@test("exit codes that look like wasp's own pass through as the guest's")
def _():
    for code in (1, 2, 77, 124, 125, 126, 127, 128, 134, 137, 143, 254, 255):
        done = run("exit_code", args=[str(code)])
        check_equal((done["exit_code"], done.reason, done.status), (code, "exited", code))


@test("an exit code above 255 is whole in exit_code and the status is then 125")
def _():
    for code in (256, 300, 65536, 2**32 - 1):
        done = run("exit_code", args=[str(code)])
        check_equal((done["exit_code"], done.reason, done.status), (code, "exited", 125))


@test("stdout and stderr of the guest come back apart")
def _():
    done = run("put", args=["out", "6f75740a", "2", "err", "6572720a", "3"])
    check_equal((done.stdout, done.stderr), ("out\n" * 2, "err\n" * 3))


@test("run ids are all different and sort by time")
def _():
    ids = [run("hello")["run_id"] for _ in range(3)]
    check_equal(len(set(ids)), 3)
    check_equal(sorted(ids), ids)


@test("the walls that stood are listed, and there are some of each kind")
def _():
    walls = run("hello")["enforced"]
    for wall in (
        "namespace:user",
        "namespace:net",
        "namespace:pid",
        "namespace:mount",
        "seccomp",
        "no-new-privs",
    ):
        check_in(wall, walls, "enforced")
    check(any(wall.startswith("landlock:") for wall in walls), f"no landlock in {walls}")


@test("usage says how much the guest took")
def _():
    usage = run("memory_bomb", "--memory", "16MiB")["usage"]
    check(usage["memory_peak_bytes"] <= 16 << 20, f"memory_peak_bytes is above the limit: {usage}")
    check(usage["memory_peak_bytes"] > 8 << 20, f"memory_peak_bytes is too small: {usage}")
    check(usage["max_rss_bytes"] > 8 << 20, f"max_rss_bytes is too small: {usage}")


@test("a trap is a trap: no exit code, status 134, and error_info says which")
def _():
    kinds = {
        "unreachable": "unreachable",
        "divide_by_zero": "divi",
        "out_of_bounds": "memory",
        "bad_call": "table|indirect|null",
        "stack_overflow": "stack",
    }
    for name, pattern in kinds.items():
        done = run(name)
        check_equal((done["exit_code"], done.reason, done.status), (None, "trap", 134), name)
        check_match(pattern, done.code, f"error_info.code of {name}")


@test("a start function that traps is a trap")
def _():
    done = run("trap_in_start")
    check_equal((done.reason, done.code), ("trap", "unreachable"))


@test("proc_exit in a start function is an exit, and _start is not called")
def _():
    done = run("exit_in_start")
    check_equal((done.reason, done["exit_code"]), ("exited", 5))


@test("a guest without memory that calls WASI ends as a trap that says so, not as a crash")
def _():
    done = run("no_memory")
    check_equal(done.reason, "trap")
    check_in("memory", done.error)


@test("hostile pointers answer EFAULT, and an honest call after them still works")
def _():
    done = run("hostile_pointers", "--allow-dir", new_dir())
    check_equal(done.reason, "exited")
    lines = done.lines()
    check_equal(lines[-2:], ["still here", "fd_write of an honest buffer: ok"])
    wrong = [line for line in lines[:-2] if not line.endswith((": EFAULT", ": EINVAL"))]
    check_equal(wrong, [], "calls that did not fail")


@test("a module for wasi_unstable runs")
def _():
    check_equal(run("hello_unstable").stdout, "hello, old wasi")


# ---- arguments, environment, stdin -----------------------------------------------------------


@test("arguments after -- reach the guest as they are, argv[0] is the module")
def _():
    args = ["", "a b", "--env", "ä", "*", "--", "-", "x\ny"]
    done = run("dump", args=args)
    expected = "".join(f"arg {arg}\n" for arg in [guest("dump")] + args)
    check_equal(done.stdout, expected)


@test("10,000 arguments reach the guest")
def _():
    check_equal(run("count_args", args=["abcd"] * 10000).stdout, "10000 40000\n")


@test("the guest's environment is empty unless given")
def _():
    done = run("dump", env={"SECRET": "host", "TASK_ID": "host"})
    check_equal([line for line in done.lines() if line.startswith("env ")], [])


@test("--env gives exactly what it says, in the order given")
def _():
    done = run(
        "dump",
        "--env",
        "TASK_ID=abc123",
        "--env",
        "EMPTY=",
        "--env=EQ=a=b=c",
        "--env",
        "SP=a b",
        env={"HOST": "1"},
    )
    seen = [line[4:] for line in done.lines() if line.startswith("env ")]
    check_equal(seen, ["TASK_ID=abc123", "EMPTY=", "EQ=a=b=c", "SP=a b"])


@test("without --stdin the guest sees the end of its input at once")
def _():
    done = run("echo_stdin", stdin=b"not for the guest")
    check_equal((done.stdout, done.stderr), ("", "0\n"))


@test("--stdin - hands on wasp's own input")
def _():
    check_equal(run("echo_stdin", "--stdin", "-", stdin=b"for the guest").stdout, "for the guest")


@test("--stdin FILE reads that file")
def _():
    path = write_file(new_dir(), "in.txt", data="from a file")
    check_equal(run("echo_stdin", "--stdin", path).stdout, "from a file")


@test("--stdin of a file that is not there is an error that names it")
def _():
    done = run("echo_stdin", "--stdin", "/nonexistent/in.txt")
    check_in("/nonexistent/in.txt", done.error)
    check(done.status in (2, 125, 126, 127), f"status {done.status}")


@test("a guest that does not read all its input ends all the same, even if that input never ends")
def _():
    with open("/dev/zero", "rb") as zeros:
        done = run("hello", "--stdin", "-", stdin=zeros)
    check_equal(done["status"], "success")
    lines = b"first\n" + b"more\n" * 100000
    check_equal(run("read_line", "--stdin", "-", stdin=lines).stdout, "got first\n")


# ---- directories -----------------------------------------------------------------------------


@test("an allowed directory is found under its path as given, and the first plain one as '.'")
def _():
    ws = new_dir("ws")
    write_file(ws, "input.txt", data="here")
    for path in ("input.txt", "./input.txt", f"{ws}/input.txt"):
        check_equal(
            run("fs", "--allow-dir", ws, args=["read", path]).stdout, "read: [here] ok\n", path
        )


@test("a relative --allow-dir counts from the working directory and is found as written")
def _():
    ws = new_dir("ws")
    write_file(ws, "sub", "f", data="x")
    done = run("fs", "--allow-dir", "./sub", args=["read", "sub/f", ",", "read", "f"], cwd=ws)
    check_equal(done.stdout, "read: [x] ok\nread: [x] ok\n")


@test("HOST::GUEST puts a directory at the guest's path, and only there")
def _():
    ws = new_dir("ws")
    write_file(ws, "f", data="x")
    done = run(
        "fs",
        "--allow-dir",
        f"{ws}::/data",
        args=["read", "/data/f", ",", "write", "/data/g", "y", ",", "read", f"{ws}/f"],
    )
    check_equal(done.lines()[:2], ["read: [x] ok", "write: ok"])
    check(not done.lines()[2].endswith("ok"), "the host's path leads somewhere too")
    check_equal(read_file(ws, "g"), b"y")


@test("two allowed directories are two, each under its own path")
def _():
    a, b = new_dir("a"), new_dir("b")
    write_file(a, "f", data="in a")
    write_file(b, "f", data="in b")
    done = run(
        "fs",
        "--allow-dir",
        a,
        "--allow-dir",
        b,
        args=["read", "f", ",", "read", f"{a}/f", ",", "read", f"{b}/f"],
    )
    check_equal(done.stdout, "read: [in a] ok\nread: [in a] ok\nread: [in b] ok\n")


# ---- options ---------------------------------------------------------------------------------


@test("--quiet leaves out the human line and changes nothing else")
def _():
    loud, quiet = run("exit_code", args=["3"]), run("exit_code", "--quiet", args=["3"])
    check_equal((quiet.said, quiet.status, quiet.error), ("", 3, loud.error))
    check_in(loud.error, loud.said, "human line")


@test("--dry-run shows the plan as JSON and runs nothing")
def _():
    ws = new_dir("ws")
    options = ["--allow-dir", f"{ws}::/d:ro", "--env", "A=1", "--timeout", "2s", "--dry-run"]
    done = run("fs", *options, args=["write", "/d/f", "x"], contract=False)
    check_equal(done.status, 0)
    plan = parse_envelope(done.raw)
    check_equal(
        (plan["module"], plan["env"], plan["args"]), (guest("fs"), ["A=1"], ["write", "/d/f", "x"])
    )
    check_equal(plan["limits"]["timeout_ms"], 2000)
    check_equal([(d["path"], d["access"]) for d in plan["allow_dirs"]], [(ws, "read-only")])
    check_equal(os.listdir(ws), [])


@test("--dry-run of what would be refused is refused in the same words")
def _():
    refused = [wasp("run", guest("hello"), "--env", "A", *more) for more in ([], ["--dry-run"])]
    check_equal(refused[0].error, refused[1].error)


@test("--timings adds timings_us, and without it there are none")
def _():
    check_equal(type(run("hello", "--timings")["timings_us"]), dict)
    check_equal(run("hello")["timings_us"], None)


def executable_files(*options):
    """What the runner of a spinning guest has mapped executable, by file; the kernel's own pages left out."""
    process = start("run", guest("spin"), "--timeout", "60s", "--quiet", *options)
    try:
        wait_until(lambda: descendants(process.pid), "the cell to start")
        (pid,) = descendants(process.pid)
        wait_until(lambda: cpu_ticks(pid) > 5, "the guest to spin")
        maps = read_file(f"/proc/{pid}/maps").decode()
    finally:
        process.terminate()
        finish(process)
    rows = [line.split() for line in maps.splitlines()]
    return {row[5].rpartition("/")[2].rpartition(".")[2] for row in rows if "x" in row[1] and len(row) > 5 and row[5][0] == "/"}


def cpu_ticks(pid):
    return int(read_file(f"/proc/{pid}/stat").decode().rpartition(")")[2].split()[11])


@test("with --hardened no page but the runner's own program is executable; without, the module's code is", only="root")
def _():  # the runner is not dumpable, so only root sees its maps
    run("spin", "--timeout", "100ms")  # both are compiled before, so that their code comes from a file
    run("spin", "--timeout", "100ms", "--hardened")
    check_equal(executable_files("--hardened"), {"wasp-cell-wasm"}, "executable")
    check_equal(executable_files(), {"wasp-cell-wasm", "cwasm"}, "executable")


@test("--hardened runs the same module to the same end")
def _():
    done = run("dump", "--hardened", "--env", "A=1", args=["x"])
    check_equal(done.lines()[1:], ["arg x", "env A=1"])


@test("--isolation landlock runs the module and says so in enforced")
def _():
    ws = new_dir("ws")
    done = run(
        "fs",
        "--isolation",
        "landlock",
        "--allow-dir",
        ws,
        args=["write", "f", "x", ",", "read", "f"],
    )
    check_equal(done.stdout, "write: ok\nread: [x] ok\n")
    check_in("isolation:landlock", done["enforced"], "enforced")
    check("namespace:user" not in done["enforced"], "a namespace is claimed")


@test("the full rung is what one gets without asking")
def _():
    check_in("isolation:full", run("hello")["enforced"], "enforced")


@test("wasp version and wasp help answer with status 0")
def _():
    check_match(r"\d+\.\d+", wasp("version", contract=False).raw.decode())
    text = wasp("help", "run", contract=False)
    check_equal(text.status, 0)
    for option in (b"--allow-dir", b"--env", b"--timeout", b"--memory", b"--stdin"):
        check_in(option, text.raw, "help")


@test("a cell that cannot be started is told as that")
def _():
    programs = new_dir("programs")
    for name in ("wasp", "wasp-cell-wasm", "wasp-compile"):
        shutil.copy(os.path.join(os.path.dirname(wasp_path()), name), programs)
    os.chmod(os.path.join(programs, "wasp-cell-wasm"), 0o644)
    done = subprocess.run([os.path.join(programs, "wasp"), "run", guest("hello")], env=wasp_env(), capture_output=True)
    envelope = parse_envelope(done.stdout)
    check_in("wasp-cell-wasm': Permission denied", envelope["error"])
    check_equal((envelope["reason"], envelope["error_info"]["step"]), ("backend_error", "spawn"))


main()
