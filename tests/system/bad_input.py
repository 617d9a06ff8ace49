#!/usr/bin/python3
"""Bad input, each one valid envelope that says what is wrong, and nothing left behind."""

import base64
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def refused(done, reason, code=None):
    check_equal(done.reason, reason, f"reason ({done.error})")
    check_equal(done["exit_code"], None, "exit_code")
    if code:
        check_equal(done.code, code, f"error_info.code ({done.error})")
    return done


def module_of(data):
    return write_file(new_dir("module"), "m.wasm", data=data)


def bad_module(path, code, *options):
    return refused(run(path, *options), "not_started", code)


# ---- the module ------------------------------------------------------------------------------


@test("a missing module is told in the words callers know, status 127")
def _():
    path = os.path.join(new_dir(), "missing.wasm")
    done = refused(run(path), "not_started", "not_found")
    check_equal(done.error, f"failed to load wasm module `{path}`: failed to read input file")
    check_equal(done.status, 127)


@test("a module in a folder that is not there, or beneath a file, is missing too")
def _():
    for path in ("/nonexistent/m.wasm", guest("hello") + "/m.wasm"):
        check_equal(run(path).status, 127, path)


@test("an unreadable module is found but not runnable", only="user")
def _():
    path = module_of(read_file(guest("hello")))
    os.chmod(path, 0)
    done = bad_module(path, "unreadable")
    check_equal(done.status, 126)
    check_in(path, done.error, "error")


@test("an empty module is malformed")
def _():
    bad_module(module_of(b""), "malformed")


@test("a module cut short anywhere is malformed")
def _():
    whole = read_file(guest("hello"))
    for keep in (3, 7, 8 + 5, len(whole) // 2, len(whole) - 1):
        bad_module(module_of(whole[:keep]), "malformed")


@test("bytes that are no module are malformed, and what they say does not reach the error raw")
def _():
    done = bad_module(module_of(b"\x1b[2J#!/bin/sh\necho pwned\n"), "malformed")
    check("\x1b" not in done.error and "\x1b" not in done.said, "an escape sequence came through")


@test("an ELF program and precompiled code are malformed, not run")
def _():
    bad_module("/bin/true", "malformed")
    bad_module(module_of(b"\x7fELF" + b"\x00" * 4096), "malformed")


@test("a module in the text format is malformed, not compiled")
def _():
    bad_module(module_of(b'(module (func (export "_start")))'), "malformed")


@test("a component is refused by its own name")
def _():
    done = bad_module(module_of(b"\0asm\x0d\x00\x01\x00"), "component")
    check_in("component", done.error)


@test("a 1 GiB module is refused without being read into memory")
def _():
    path = module_of(b"\0asm\1\0\0\0")
    os.truncate(path, 1 << 30)
    process = start("run", path)
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_memory_bytes(process.pid) or 0)
        time.sleep(0.002)
    done = refused(finish(process), "not_started")
    check_in(done.code, ("too_large", "malformed"), "error_info.code")
    if "WASP_SANITIZED" not in os.environ:  # a sanitizer needs memory of its own
        check(peak < 64 << 20, f"wasp had {peak} bytes resident")


@test("a directory as module is refused")
def _():
    bad_module(new_dir("module"), "unreadable")


@test("a FIFO as module is refused at once, not waited for")
def _():
    path = os.path.join(new_dir(), "m.wasm")
    os.mkfifo(path)
    bad_module(path, "unreadable")


@test("a device as module is refused, not read")
def _():
    for path in ("/dev/zero", "/dev/null"):
        bad_module(path, "unreadable")


@test("a module without _start is refused by name, and so is one whose _start takes arguments")
def _():
    check_in("_start", bad_module(guest("no_start"), "no_start").error)
    check_in("_start", bad_module(guest("start_wrong_type"), "no_start").error)


@test("imports that wasp does not offer are all named, and the ones it offers are not")
def _():
    done = bad_module(guest("unknown_imports"), "imports")
    check_in("launch_missiles", done.error)
    check_in("fd_teleport", done.error)
    check("proc_exit" not in done.error, done.error)


@test("a known import with another type is refused by name")
def _():
    check_in("fd_close", bad_module(guest("wrong_import_type"), "imports").error)


@test("a memory minimum above the limit is refused, and the hint names the flag that helps")
def _():
    done = bad_module(guest("large_memory"), "needs_memory")
    check_in("--memory", done["error_info"]["hint"])
    check_equal(run("large_memory", "--memory", "128MiB")["status"], "success")


@test("a table minimum above the limit is refused, and the hint names the flag that helps")
def _():
    done = bad_module(guest("large_table"), "needs_table", "--table", "1000")
    check_in("--table", done["error_info"]["hint"])
    check_equal(run("large_table", "--table", "1048576")["status"], "success")


@test("a module that takes for ever to compile is an ordinary error")
def _():
    # one function of 2.5 million additions: small to send, expensive to compile
    body = b"\x00" + b"\x20\x00" + b"\x20\x00\x6a" * 2_500_000 + b"\x1a\x0b"
    done = run(module_of(wasm_function(body)), "--timeout", "5s", timeout=200)
    check_in(done.reason, ("exited", "not_started"), "reason")
    if done.reason == "not_started":
        check_equal(done.code, "compile_limit")


def wasm_function(body):
    """A module with one function of type (i32) -> () and _start, which calls it with 0."""
    types = b"\x02\x60\x01\x7f\x00\x60\x00\x00"
    start_body = b"\x00\x41\x00\x10\x00\x0b"
    code = b"\x02" + leb(len(body)) + body + leb(len(start_body)) + start_body
    return (
        b"\0asm\1\0\0\0" + section(1, types) + section(3, b"\x02\x00\x01")
        + section(7, b"\x01\x06_start\x00\x01") + section(10, code)
    )  # fmt: skip


# ---- words on the command line ---------------------------------------------------------------


@test("no module, a word too many and an unknown option are usage errors in JSON")
def _():
    for command in (
        ["run"],
        ["run", "--no-such-option", guest("hello")],
        ["run", guest("hello"), "surplus"],
    ):
        done = refused(wasp(*command), "invalid", "usage")
        check_equal(done.status, 2, f"{command}")


@test("an unknown verb, and none at all, are usage errors on stderr")
def _():
    for command in (["rum"], []):
        done = wasp(*command, contract=False)
        check_equal((done.status, done.raw), (2, b""), f"{command}")
        check(done.said, "nothing on stderr")


@test("--quiet holds for usage errors too, wherever it stands")
def _():
    for words in (["--quiet", "--env", "A"], ["--env", "A", "--quiet"]):
        wasp("run", guest("hello"), *words)


@test("a near miss is answered with what was meant")
def _():
    check_in("--timeout", wasp("run", guest("hello"), "--timeuot", "5s").error)


@test("an option without its value is a usage error that names the option")
def _():
    for option in ("--env", "--allow-dir", "--timeout", "--stdin"):
        check_in(option, refused(wasp("run", guest("hello"), option), "invalid").error)


@test("env without '=', without a name or given twice is invalid")
def _():
    for values in (["NOVALUE"], [""], ["=x"], ["A=1", "A=2"], ["A=1", "B=2", "A=1"]):
        options = [word for value in values for word in ("--env", value)]
        done = refused(wasp("run", guest("hello"), *options), "invalid")
        check_equal(done.status, 2, f"{values}")


@test("an env value that is not UTF-8 does not break the JSON")
def _():
    done = wasp("run", guest("dump"), "--env", b"A=\xff\xfe", contract=False)
    check_contract(done)


@test("an argument that is not UTF-8 reaches the guest byte for byte")
def _():
    done = wasp("run", guest("dump"), "--", b"\xff\xfe")
    check_in("\ufffd", done.stdout)
    check_in(b"arg \xff\xfe\n", base64.b64decode(done["stdout_base64"]))


@test("limits of zero, below zero, without a number, with an unknown unit or too large are invalid")
def _():
    bad = {
        "--timeout": (
            "0",
            "0s",
            "0.0000000001ms",
            "-1s",
            "abc",
            "5parsecs",
            "",
            "1e9s",
            "99999999999999999999s",
        ),
        "--memory": ("0", "-1", "64XB", "99GiB", "NaN", "0x10"),
        "--open-files": ("0", "-3", "1.5", "many"),
        "--output": ("0", "1 MiB ", "-1KiB"),
        "--fuel": ("0", "-1"),
    }
    for option, values in bad.items():
        for value in values:
            done = refused(wasp("run", guest("hello"), f"{option}={value}"), "invalid")
            check_in(option, done.error, f"{option}={value}")


@test("the same limit twice is invalid")
def _():
    refused(wasp("run", guest("hello"), "--timeout", "5s", "--timeout", "6s"), "invalid")


@test("an unknown isolation is invalid and names the ones there are")
def _():
    check_in(
        "landlock", refused(wasp("run", guest("hello"), "--isolation", "none"), "invalid").error
    )


# ---- directories -----------------------------------------------------------------------------


@test("an allow-dir that does not exist, or is a file, is refused by name")
def _():
    for path in (os.path.join(new_dir(), "nothing"), guest("hello"), "/dev/null"):
        done = run("hello", "--allow-dir", path)
        check_in(path, done.error)
        check(
            done.reason in ("invalid", "denied", "not_started", "backend_error"),
            f"{path}: {done.reason}",
        )


@test("an empty allow-dir, and unknown or empty guest paths and modes are invalid")
def _():
    ws = new_dir("ws")
    for value in ("", "::/x", f"{ws}::", f"{ws}::/x:wr", f"{ws}::/x:", f"{ws}::/x:ro:rw"):
        refused(wasp("run", guest("hello"), "--allow-dir", value), "invalid")


@test("/ is refused unless it has an explicit guest path and is read-only")
def _():
    for value in ("/", "/::/host", "/::/host:rw", "//", "/.", "/tmp/.."):
        done = run("hello", "--allow-dir", value)
        check(
            done["status"] == "error" and done.reason in ("invalid", "denied"),
            f"{value}: {done.reason}",
        )


@test("the same guest path twice is invalid, whatever way it is written")
def _():
    a, b = new_dir("a"), new_dir("b")
    pairs = (
        (a, a),
        (f"{a}::/d", f"{b}::/d"),
        (f"{a}::/d", f"{b}::/d:ro"),
        (f"{a}::/d", f"{b}::/d/"),
        (a, f"{b}::{a}"),
    )
    for first, second in pairs:
        refused(wasp("run", guest("hello"), "--allow-dir", first, "--allow-dir", second), "invalid")


@test("a grant that holds, is or lies inside wasp's own folders is refused")
def _():
    run("hello")
    cache = cache_dir()
    home = os.path.dirname(os.path.dirname(cache))
    inside = os.path.join(cache, "inside")
    os.makedirs(inside, exist_ok=True)
    link = os.path.join(new_dir(), "link")
    os.symlink(cache, link)
    for path in (cache, inside, home, os.path.dirname(home), os.path.dirname(wasp_path()), link):
        done = run("hello", "--allow-dir", path)
        check(done.reason in ("denied", "invalid"), f"{path}: {done.reason} {done.error}")
    os.rmdir(inside)


@test("a folder beside wasp's own is granted")
def _():
    check_equal(run("hello", "--allow-dir", new_dir("beside"))["status"], "success")


@test("a symlink as the root of the owner's grant is followed")
def _():
    ws = new_dir("ws")
    write_file(ws, "f", data="x")
    link = os.path.join(new_dir(), "link")
    os.symlink(ws, link)
    done = run("fs", "--allow-dir", link, args=["read", "f", ",", "write", "g", "y"])
    check_equal(done.stdout, "read: [x] ok\nwrite: ok\n")
    check_equal(read_file(ws, "g"), b"y")


@test("an allow-dir that the caller itself may not enter is refused, and says why", only="user")
def _():
    path = new_dir("closed")
    write_file(path, "secret", data="x")
    os.chmod(path, 0)
    try:
        done = run("fs", "--allow-dir", f"{path}::/d", args=["read", "/d/secret"])
    finally:
        os.chmod(path, 0o700)
    check("x" not in done.stdout, f"the guest read it: {done.stdout}")
    check_match("ermission|acces", done.stdout + done.stderr + (done.error or ""), "what the guest was told")


@test("a file size limit that wasp itself runs under is an error in JSON, or none at all")
def _():
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    done = run("hello", "--no-cache", preexec_fn=limit)
    check_in(done.reason, ("exited", "backend_error"))


# ---- nothing left ----------------------------------------------------------------------------


@test("none of this left a process, a mount or a temp file")
def _():
    check_nothing_left()


main()
