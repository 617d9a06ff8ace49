#!/usr/bin/python3
"""Each limit ends the run with its own reason, or the guest survives it and limits_hit says so."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def ended_by(done, reason, option, kept):
    """That limit ended the run, its option is named, and what the guest wrote before is there."""
    check_equal((done.reason, done["exit_code"]), (reason, None), f"reason ({done.error})")
    check_in(option, done.error, "error")
    check_equal(done.stdout, kept, "stdout")


# ---- time ------------------------------------------------------------------------------------


@test("a guest that computes for ever ends at its time limit, its output kept")
def _():
    ended_by(run("spin", "--timeout", "300ms"), "timeout", "--timeout", "spinning\n")


@test("a guest that sleeps ends at its time limit, its output kept")
def _():
    ended_by(
        run("sleep", "--timeout", "300ms", args=["60000"]), "timeout", "--timeout", "sleeping\n"
    )


@test("a guest that waits for a clock that never comes ends at its time limit")
def _():
    ended_by(run("poll_forever", "--timeout", "300ms"), "timeout", "--timeout", "waiting\n")


@test("a guest that waits for input that never comes ends at its time limit")
def _():
    reader, writer = os.pipe()
    done = run("echo_stdin", "--stdin", "-", "--timeout", "300ms", stdin=reader)
    os.close(reader)
    os.close(writer)
    ended_by(done, "timeout", "--timeout", "")


@test("a guest within its time limit does not meet it")
def _():
    check_equal(run("sleep", "--timeout", "20s", args=["50"]).stdout, "sleeping\nslept\n")


@test("the time limit is the guest's: execution_time_ms and usage.wall_ms hold it")
def _():
    done = run("spin", "--timeout", "300ms")
    check(300 <= done["execution_time_ms"] < 5000, f"execution_time_ms {done['execution_time_ms']}")
    check_equal(done["usage"]["wall_ms"], done["execution_time_ms"])


@test("a guest that computes past its CPU limit ends with cpu_limit")
def _():
    done = run("spin", "--cpu", "300ms", "--timeout", "60s")
    ended_by(done, "cpu_limit", "--cpu", "spinning\n")
    check(done["usage"]["cpu_ms"] >= 290, f"{done['usage']}")


@test("sleeping costs no CPU time")
def _():
    check_equal(run("sleep", "--cpu", "200ms", args=["600"])["status"], "success")


@test("a time limit may be written as unlimited")
def _():
    check_equal(run("hello", "--timeout", "unlimited", "--cpu", "unlimited")["status"], "success")


# ---- fuel ------------------------------------------------------------------------------------


@test("a guest that runs out of fuel ends with fuel_limit")
def _():
    ended_by(run("spin", "--fuel", "1000000"), "fuel_limit", "--fuel", "spinning\n")


@test("fuel used is the same for the same work, and is reported")
def _():
    used = [run("hello", "--fuel", "1000000")["fuel"]["used"] for _ in range(2)]
    check(used[0] == used[1] and 0 < used[0] < 1000000, f"fuel used: {used}")


@test("without --fuel there is no fuel in the envelope")
def _():
    check_equal(run("hello")["fuel"], None)


# ---- memory, table, stack --------------------------------------------------------------------


@test("memory past the limit is refused, the guest goes on, and limits_hit says memory")
def _():
    for limit in (2, 8, 64):
        done = run("memory_bomb", "--memory", f"{limit}MiB")
        check_equal((done.reason, done["exit_code"]), ("exited", 0))
        check_equal(done.hit, ["memory"])
        check(
            limit - 2 <= int(done.stdout) < limit, f"with {limit} MiB the guest got {done.stdout!r}"
        )


@test("the default memory limit is 64 MiB")
def _():
    done = run("memory_bomb")
    check(62 <= int(done.stdout) < 64, f"the guest got {done.stdout!r} MiB")


@test("a guest that meets no limit has no limits_hit")
def _():
    check_equal(run("hello")["limits_hit"], None)


@test("a table past its limit is refused, the guest goes on, and limits_hit says table")
def _():
    done = run("grow_table", "--table", "100000")
    check_equal((done.reason, done["exit_code"], done.hit), ("exited", 7, ["table"]))
    check_equal(run("grow_table", "--table", "2000000")["status"], "success")


@test("endless recursion is a stack overflow trap, with any stack")
def _():
    for stack in ("64KiB", "1MiB", "16MiB"):
        done = run("stack_overflow", "--stack", stack)
        check_equal((done.reason, done.code), ("trap", "stack_overflow"), stack)


@test("a larger stack carries a deeper recursion")
def _():
    small, large = (run("recurse", "--stack", size, args=["20000"]) for size in ("128KiB", "16MiB"))
    check_equal(small.reason, "trap")
    check_equal(large.stdout, "20000\n")


# ---- output ----------------------------------------------------------------------------------


@test("output past its cap is cut and flagged, and the guest goes on to its own end")
def _():
    done = run("put", "--output", "1000", args=["out", "61", "5000", "err", "62", "10"])
    check_equal((done.reason, done["exit_code"]), ("exited", 0))
    check_equal((done.stdout, done.stderr), ("a" * 1000, "b" * 10))
    check_equal(done["truncated"], {"stdout": True, "stderr": False})


@test("with --output-kill output past its cap ends the run with output_limit, the head kept")
def _():
    done = run("put", "--output", "1000", "--output-kill", args=["out", "61", "100000000"])
    ended_by(done, "output_limit", "--output", "a" * 1000)


@test("with --output-kill a guest within its cap is left alone")
def _():
    check_equal(
        run("put", "--output", "1000", "--output-kill", args=["out", "61", "1000"])["status"],
        "success",
    )


# ---- files -----------------------------------------------------------------------------------


def fill(*options, chunk, total):
    ws = new_dir("ws")
    done = run("fill", "--allow-dir", ws, *options, args=["f", str(chunk), str(total)])
    written, why = done.stdout.split()
    check_equal(os.stat(os.path.join(ws, "f")).st_size, int(written), "size on the host")
    return done, int(written), why


@test("writes stop exactly at the disk limit, the last one short, and limits_hit says disk")
def _():
    for chunk in (1, 1000, 4096):
        done, written, why = fill("--disk", "4500", chunk=chunk, total=100000)
        check_equal((written, why, done.hit), (4500, "ENOSPC", ["disk"]), f"chunk {chunk}")
        check_equal(done["usage"]["bytes_written"], 4500)


@test("writes up to the disk limit do not meet it")
def _():
    done, written, why = fill("--disk", "4500", chunk=1000, total=4500)
    check_equal((written, why, done.hit), (4500, "ok", []))


@test("the disk limit counts all files together, and what is written twice")
def _():
    ws = new_dir("ws")
    text = "x" * 400
    done = run(
        "fs",
        "--allow-dir",
        ws,
        "--disk",
        "1000",
        args=["write", "a", text, ",", "write", "a", text, ",", "write", "b", text],
    )
    check_equal(done.lines()[:2], ["write: ok", "write: ok"])
    check_equal(os.stat(os.path.join(ws, "b")).st_size, 200)


@test("making a file larger without writing counts against the disk limit or takes no disk")
def _():
    ws = new_dir("ws")
    write_file(ws, "f")
    done = run("fs", "--allow-dir", ws, "--disk", "1MiB", args=["truncate", "f", "500000000"])
    st = os.stat(os.path.join(ws, "f"))
    check(st.st_blocks * 512 <= 1 << 20, f"{st.st_blocks * 512} bytes on disk: {done.stdout}")


@test("a file stops exactly at the file size limit, and limits_hit says file_size")
def _():
    done, written, why = fill("--file-size", "4500", chunk=1000, total=100000)
    check_equal((written, why), (4500, "EFBIG"))
    check_match("file", " ".join(done.hit), "limits_hit")


@test("neither truncate nor a write far out makes a file larger than the file size limit")
def _():
    ws = new_dir("ws")
    write_file(ws, "f")
    acts = [
        "truncate",
        "f",
        "4501",
        ",",
        "overwrite",
        "f",
        "4500",
        "x",
        ",",
        "overwrite",
        "f",
        "9000000000",
        "x",
    ]
    done = run("fs", "--allow-dir", ws, "--file-size", "4500", args=acts)
    check_equal(done.lines(), ["truncate: EFBIG", "overwrite: EFBIG", "overwrite: EFBIG"])
    check_equal(os.stat(os.path.join(ws, "f")).st_size, 0)
    check_equal(
        run("fs", "--allow-dir", ws, "--file-size", "4501", args=acts[:3]).stdout, "truncate: ok\n"
    )


@test("open files past the limit are refused with EMFILE, and limits_hit says so")
def _():
    ws = new_dir("ws")
    write_file(ws, "f")
    done = run("open_many", "--allow-dir", f"{ws}::/d", "--open-files", "20", args=["/d/f", "100"])
    got, why = done.stdout.split()
    check(why == "EMFILE" and 10 <= int(got) <= 20, done.stdout)
    check_match("open", " ".join(done.hit), "limits_hit")
    enough = run(
        "open_many", "--allow-dir", f"{ws}::/d", "--open-files", "200", args=["/d/f", "100"]
    )
    check_equal((enough.stdout, enough.hit), ("100 ok\n", []))


@test("1000 open files are within the default")
def _():
    ws = new_dir("ws")
    write_file(ws, "f")
    check_equal(run("open_many", "--allow-dir", ws, args=["f", "1000"]).stdout, "1000 ok\n")


main()
