#!/usr/bin/python3
"""Output is bytes, bounded, never lost silently; wasp's own streams may be closed, full or gone."""

import base64
import fcntl
import os
import select
import struct
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def kept(done, stream="stdout"):
    """The exact bytes the envelope holds of a stream."""
    if done[stream + "_base64"] is not None:
        return base64.b64decode(done[stream + "_base64"])
    return done[stream].encode()


def put(data, count=1, *options):
    return run("put", *options, args=["out", data.hex(), str(count)])


# ---- cut and flagged -------------------------------------------------------------------------


@test("output of exactly the cap is whole, one byte more is cut")
def _():
    for size, truncated in ((1000, False), (1001, True)):
        done = put(b"a", size, "--output", "1000")
        check_equal((done.stdout, done["truncated"]["stdout"]), ("a" * 1000, truncated))


@test("the default cap is 1 MiB for each stream, and each is cut on its own")
def _():
    done = run("put", args=["out", "61", str(3 << 20), "err", "62", str(1 << 20)])
    check_equal((len(done.stdout), len(done.stderr)), (1 << 20, 1 << 20))
    check_equal(done["truncated"], {"stdout": True, "stderr": False})
    check_equal((done["usage"]["stdout_bytes"], done["usage"]["stderr_bytes"]), (3 << 20, 1 << 20))


@test("output is cut at a character boundary, whatever the cap")
def _():
    for character in ("é", "€", "😀"):
        data = character.encode()
        for cap in range(20, 26):
            done = put(data, 50, "--output", str(cap))
            check_equal(
                done.stdout, character * (cap // len(data)), f"{character} with a cap of {cap}"
            )
            check_equal(done["stdout_base64"], None)


@test("output that ends in the middle of a character by itself keeps its bytes")
def _():
    done = put("é".encode()[:1])
    check_equal((done.stdout, kept(done)), ("\ufffd", b"\xc3"))


@test("bytes that are not UTF-8 show as U+FFFD, and base64 holds them exactly")
def _():
    for data in (
        b"\xff\xfe",
        b"ok \x80 ok",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
        b"\xe2\x82",
    ):
        done = put(data)
        check_in("\ufffd", done.stdout, f"{data}")
        check_equal(kept(done), data)
        check_equal(done.stdout, data.decode("utf-8", "replace"), f"{data} as text")


@test("text that is UTF-8 has no base64 beside it")
def _():
    check_equal(put("grüße\n".encode())["stdout_base64"], None)


@test("every control character, quote and backslash comes back unaltered")
def _():
    data = bytes(range(0x20)) + b'"\\/\x7f' + "\u0085\u2028\u2029\ufeff".encode()
    done = put(data)
    check_equal(done.stdout.encode(), data)


@test("all 256 byte values come back exactly, on stderr as well")
def _():
    words = [word for byte in range(256) for word in ("err", f"{byte:02x}", "1")]
    check_equal(kept(run("put", args=words), "stderr"), bytes(range(256)))


@test("output without a newline at the end gets none")
def _():
    check_equal(put(b"x").stdout, "x")


# ---- a flood ---------------------------------------------------------------------------------


def peak_of(size):
    """wasp's own peak memory while its guest writes that much, and what came of it."""
    process = start(
        "run", guest("put"), "--timeout", "120s", "--cpu", "120s", "--", "out", "61", str(size)
    )
    peak = 0
    while not select.select([process.stdout], [], [], 0.02)[
        0
    ]:  # until the envelope comes: then the flood is over
        peak = max(peak, peak_memory_bytes(process.pid) or 0)
    return peak, finish(process)


@test("1 GiB of output leaves wasp's memory flat, is counted, and does not fail the guest")
def _():
    peak, done = peak_of(1 << 30)
    check_equal(
        (done["status"], done["truncated"]["stdout"], len(done.stdout)), ("success", True, 1 << 20)
    )
    check_equal(done["usage"]["stdout_bytes"], 1 << 30)
    if "WASP_SANITIZED" not in os.environ:  # a sanitizer needs memory of its own
        check(0 < peak < 8 << 20, f"wasp had {peak} bytes resident")


@test("a flood on both streams at once does not block")
def _():
    words = ["out", "61", "100000", "err", "62", "100000"] * 20
    done = run("put", args=words)
    check_equal(
        (done["status"], done["usage"]["stdout_bytes"], done["usage"]["stderr_bytes"]),
        ("success", 2000000, 2000000),
    )


# ---- wasp's own streams ----------------------------------------------------------------------


def with_streams(redirections, *command):
    """Runs wasp under a shell that changes its streams first: (status, stdout, stderr)."""
    script = f'exec "$0" "$@" {redirections}'
    done = subprocess.run(
        ["/bin/sh", "-c", script, wasp_path(), *command],
        capture_output=True,
        env=wasp_env(),
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@test("a closed or full stdout gives status 125, and the human line says why")
def _():
    for redirection in (">&-", ">/dev/full"):
        status, _, said = with_streams(redirection, "run", guest("hello"))
        check_equal(status, 125, redirection)
        check(len(said.splitlines()) == 1, f"{redirection}: {said!r}")


@test("a reader that has gone away gives status 125, not death by SIGPIPE")
def _():
    reader, writer = os.pipe()
    os.close(reader)
    process = start("run", guest("hello"), stdout=writer)
    os.close(writer)
    check_equal(process.wait(timeout=60), 125)
    process.stderr.close()


@test("a closed or full stderr changes nothing else")
def _():
    for redirection in ("2>&-", "2>/dev/full"):
        status, out, _ = with_streams(redirection, "run", guest("exit_code"), "--", "3")
        check_equal((status, parse_envelope(out)["exit_code"]), (3, 3), redirection)


@test("closed streams are not mixed up with what wasp opens itself")
def _():
    ws = new_dir("ws")
    write_file(ws, "f", data="untouched")
    for redirection in ("<&-", "<&- 2>&-"):
        status, out, _ = with_streams(
            redirection, "run", guest("fs"), "--allow-dir", ws, "--", "read", "f"
        )
        check_equal(
            (status, parse_envelope(out)["stdout"]), (0, "read: [untouched] ok\n"), redirection
        )
    for redirection in (">&-", "<&- >&-", "<&- >&- 2>&-", ">&- 2>&-"):
        status, out, _ = with_streams(
            redirection, "run", guest("fs"), "--allow-dir", ws, "--", "read", "f"
        )
        check_equal((status, out), (125, b""), redirection)
    check_equal((os.listdir(ws), read_file(ws, "f")), (["f"], b"untouched"))


@test("a closed stdin with --stdin - is an error or an end of input, not a wait")
def _():
    status, out, _ = with_streams("<&-", "run", guest("echo_stdin"), "--stdin", "-")
    check(
        parse_envelope(out)["reason"] in ("exited", "invalid", "backend_error"),
        f"{status}: {out!r}",
    )


@test("a reader that is late gets the whole envelope")
def _():
    process = start("run", guest("put"), "--", "out", "61", "900000")
    wait_until(lambda: bytes_waiting(process.stdout) >= 32768, "the pipe to fill up")
    check_equal(len(finish(process).stdout), 900000)


def bytes_waiting(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


main()
