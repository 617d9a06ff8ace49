#!/usr/bin/python3
"""Registered secrets leave wasp in no stream, event, message or plan, however the guest writes them;
keys of a known shape in none of wasp's own messages. What nobody registered a guest may print."""

import base64
import json
import os
import re
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

SECRET = "hunter2-Tr0ub4dor&3-correct-horse"
KEY = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ012345"  # in two parts, for those who scan for keys
ENV = {"MY_SECRET": SECRET}
SECRETLY = ("--secret-env", "MY_SECRET")


def check_hidden(done, *texts):
    """Nothing of the outcome has it, and the envelope says that something was taken out."""
    for text in (SECRET, *texts):
        check(text.encode() not in done.raw, f"the envelope shows {text}")
        check(text not in done.said, f"stderr shows {text}")


def sh(script, *options, **how):
    return wasp("exec", *options, "--", "sh", "-c", script, env=ENV, **how)


# ---- what a guest writes ---------------------------------------------------------------------


@test("a native guest gets the variable, and its value is taken out of both streams and counted")
def _():
    script = 'echo "a $MY_SECRET b $MY_SECRET"; echo "c $MY_SECRET" >&2; test ${#MY_SECRET} = 33'
    done = sh(script, *SECRETLY)
    check_equal((done.status, done.stdout, done.stderr),
                (0, "a [redacted] b [redacted]\n", "c [redacted]\n"))
    check_equal(done["redacted"], {"stdout": 2, "stderr": 1})
    check_hidden(done)


@test("without --secret-env the same guest shows it, and nothing says that it was redacted")
def _():
    done = wasp("exec", "--env", f"MY_SECRET={SECRET}", "--", "sh", "-c", "echo a $MY_SECRET")
    check_equal((done.stdout, done["redacted"]), (f"a {SECRET}\n", None))


@test("a guest may print keys that nobody registered: its output is not wasp's to judge")
def _():
    for options in ((), SECRETLY):
        check_equal(sh(f"echo password=a1B2c3D4e5 {KEY}", *options).stdout,
                    f"password=a1B2c3D4e5 {KEY}\n")


@test("the variable is not in the guest's environment unless it is named")
def _():
    check_equal(sh("echo ${MY_SECRET-unset}").stdout, "unset\n")


@test("a secret that is split over two writes, with a flush between, is taken out")
def _():
    source = """import os, sys
secret = os.environ["MY_SECRET"]
for at in range(1, len(secret)):
    for stream in (sys.stdout, sys.stderr):
        stream.write(secret[:at]); stream.flush()
        stream.write(secret[at:] + "\\n"); stream.flush()
for c in secret:
    os.write(1, c.encode())
"""
    done = wasp("code", "--lang", "python", *SECRETLY, "-c", source, env=ENV)
    n = len(SECRET) - 1
    check_equal((done.stdout, done.stderr), ("[redacted]\n" * n + "[redacted]", "[redacted]\n" * n))
    check_equal(done["redacted"], {"stdout": n + 1, "stderr": n})
    check_hidden(done)


@test("the beginning of a secret that does not go on is shown when the guest ends")
def _():
    check_equal(sh(f"printf %s '{SECRET[:20]}'", *SECRETLY).stdout, SECRET[:20])


@test("it is taken out as base64, also within more, as hex, in a URL and in JSON")
def _():
    quoted = SECRET.replace("&", "%26")
    encoded = base64.b64encode(b"user:" + SECRET.encode()).decode()
    source = f"""import os, base64, json, urllib.parse
s = os.environ["MY_SECRET"]
print(base64.b64encode(s.encode()).decode(), base64.b64encode(b"user:" + s.encode()).decode())
print(s.encode().hex(), urllib.parse.quote(s), json.dumps(s))
"""
    done = wasp("code", "--lang", "python", *SECRETLY, "-c", source, env=ENV)
    check_equal(done["redacted"]["stdout"], 5)
    check_hidden(done, quoted, encoded[8:-4], SECRET.encode().hex())


@test("a wasm guest's output is redacted the same way")
def _():
    done = run("dump", *SECRETLY, env=ENV)
    check_in("env MY_SECRET=[redacted]", done.lines())
    check_hidden(done)
    halves = [part.encode().hex() for part in (SECRET[:9], SECRET[9:])]
    done = run("put", *SECRETLY, args=["out", halves[0], "1", "out", halves[1], "1"], env=ENV)
    check_equal((done.stdout, done["redacted"]), ("[redacted]", {"stdout": 1, "stderr": 0}))
    check_in(f"env MY_SECRET={SECRET}", run("dump", "--env", f"MY_SECRET={SECRET}").lines())


@test("the cap cuts what is left after redaction: no cap shows a part of a secret")
def _():
    for cap in range(1, len(SECRET) + 12):
        done = sh('printf "ab%scd" "$MY_SECRET"', *SECRETLY, "--output", str(cap))
        check_equal(done.stdout, "ab[redacted]cd"[:cap], f"with a cap of {cap}")
        check_equal(done["truncated"]["stdout"], cap < 14)
        check_equal(done["usage"]["stdout_bytes"], len(SECRET) + 4)


@test("output that is no text has the secret neither as text nor as base64")
def _():
    done = sh('printf "\\377%s\\376" "$MY_SECRET"', *SECRETLY)
    check_equal(base64.b64decode(done["stdout_base64"]), b"\xff[redacted]\xfe")
    check_equal(done.stdout, "\ufffd[redacted]\ufffd")
    check_hidden(done)


@test("a secret of several lines is taken out on a terminal, too, which ends lines otherwise")
def _():
    secret = "first-line-of-the-key\nsecond-line-of-the-key"
    for options, end in (((), "\n"), (("--tty",), "\r\n")):
        done = wasp("exec", "--secret-env", "PEM", *options, "--", "sh", "-c", 'echo "$PEM"',
                    env={"PEM": secret})
        check("line-of-the-key" not in done.stdout, done.stdout)
        check_in("[redacted]", done.stdout)


@test("events have the stream as the envelope has it")
def _():
    path = os.path.join(new_dir("events"), "events.ndjson")
    source = """import os, sys, time
secret = os.environ["MY_SECRET"]
for i in range(200):
    sys.stdout.write("x" * 61 + secret[:11]); sys.stdout.flush()
    sys.stdout.write(secret[11:] + "\\n"); sys.stdout.flush()
    sys.stderr.write(secret + "\\n"); sys.stderr.flush()
"""
    done = wasp("code", "--lang", "python", *SECRETLY, "--events", path, "-c", source, env=ENV)
    told = read_file(path)
    events = [json.loads(line) for line in told.splitlines()]
    for stream in ("stdout", "stderr"):
        check_equal("".join(event["data"] for event in events if event["event"] == stream),
                    done[stream])
    check(SECRET.encode() not in told and SECRET[:11].encode() not in told, "an event shows it")
    check_equal(done["redacted"], {"stdout": 200, "stderr": 200})


# ---- what wasp says --------------------------------------------------------------------------


@test("messages show neither a registered secret nor what has the shape of a key")
def _():
    for word, hidden in ((SECRET, "[redacted]"), (KEY, "[redacted:github]")):
        for words in (("run", f"/nowhere/{word}.wasm"), ("exec", "--", f"/nowhere/{word}"),
                      ("exec", "--allow-dir", f"/nowhere/{word}", "--", "true"),
                      ("exec", "--isolation", word, "--", "true")):
            done = wasp(words[0], *SECRETLY, *words[1:], env=ENV)
            check(done.status != 0, "it failed")
            check_in(hidden, done.error)
            check_in(hidden, done.said)
            check_hidden(done, word)


@test("without --secret-env the same message has the value")
def _():
    check_in(SECRET, wasp("exec", "--", f"/nowhere/{SECRET}", env=ENV).error)


@test("denials show neither, and nor do their events")
def _():
    path = os.path.join(new_dir("events"), "events.ndjson")
    for word, hidden in ((SECRET, "[redacted]"), (KEY, "[redacted:github]")):
        done = run("fs", *SECRETLY, "--allow-dir", f"{new_dir()}::/d:ro", "--events", path,
                   args=["write", f"/d/{word}", "x"], env=ENV)
        check(done["denials"], f"nothing was denied: {done.raw}")
        check_in(hidden, done["denials"][0]["target"])
        check(word.encode() not in read_file(path), "an event shows it")


@test("a verb without a run shows no key in its line")
def _():
    done = subprocess.run([wasp_path(), "changes", "show", KEY], capture_output=True,
                          env=wasp_env(), check=False)
    check(done.returncode != 0 and KEY.encode() not in done.stderr, done.stderr)
    done = subprocess.run([wasp_path(), KEY], capture_output=True, env=wasp_env(), check=False)
    check_in(b"[redacted:github]", done.stderr)


@test("the plan has the variable's name, and its value nowhere")
def _():
    for words in (("exec", *SECRETLY, "--dry-run", "--", "echo", f"x{SECRET}"),
                  ("run", guest("dump"), *SECRETLY, "--dry-run", "--", f"x{SECRET}")):
        done = wasp(*words, env=ENV, contract=False)
        plan = json.loads(done.raw)
        check_in("MY_SECRET=***", plan["env"])
        check_equal((plan["secret_env"], plan["args"]), (["MY_SECRET"], ["x[redacted]"]))
        check(SECRET.encode() not in done.raw, "the plan shows it")


# ---- asking for it ---------------------------------------------------------------------------


@test("every verb that runs a guest takes --secret-env, and a manifest takes secret_env")
def _():
    ws = new_dir("ws")
    sample = ("sample", "run", "env-report", "--workspace", ws)
    check_equal(wasp("runtime", "add", "dump", guest("dump"), contract=False).status, 0)
    for words in (sample, ("code", "--lang", "bash", "-c", "env"), ("runtime", "run", "dump")):
        done = wasp(words[0], *words[1:], *SECRETLY, env=ENV)
        check_in("MY_SECRET=[redacted]", done.stdout)
        check_hidden(done)
    for manifest in ({"kind": "native-run", "argv": ["env"]},
                     {"kind": "sample", "sample": "env-report", "workspace": ws},
                     {"kind": "wasm-run", "module": guest("dump")}):
        text = json.dumps({**manifest, "secret_env": ["MY_SECRET"]}).encode()
        done = wasp("task", "run", "--manifest", "-", stdin=text, env=ENV)
        check_in("MY_SECRET=[redacted]", done.stdout)
        check_hidden(done)


@test("a variable that is not set, too short, a hook, given twice or with its value is refused")
def _():
    for name, env, status, words in (
        ("NOT_SET", {}, 2, "'NOT_SET' is not set in wasp's own environment"),
        ("EMPTY", {"EMPTY": ""}, 2, "between 4 and 65536 bytes"),
        ("SHORT", {"SHORT": "abc"}, 2, "between 4 and 65536 bytes"),
        ("LD_PRELOAD", {}, 77, "'LD_PRELOAD' makes programs run code"),
        (f"A={SECRET}", {}, 2, "by its name alone"),
    ):
        done = wasp("exec", "--secret-env", name, "--", "true", env=env)
        check_equal((done.status, done["exit_code"]), (status, None))
        check_in(words, done.error)
        check(SECRET not in done.error, done.error)
    done = wasp("exec", *SECRETLY, "--env", "MY_SECRET=x", "--", "true", env=ENV)
    check_in("'MY_SECRET' is given twice", done.error)
    check_equal(wasp("exec", *SECRETLY, "--", "true", env=ENV).status, 0)
    check_equal(wasp("exec", "--secret-env", "S", "--", "true", env={"S": "abcd"}).status, 0)


@test("'task check' judges the names and needs no values")
def _():
    for name, status in (("NOT_SET", 0), ("BASH_ENV", 77)):
        text = json.dumps({"kind": "native-run", "argv": ["env"], "secret_env": [name]}).encode()
        check_equal(wasp("task", "check", "--manifest", "-", stdin=text, contract=False).status,
                    status)


@test("while the guest runs, wasp's own environment no longer has the value, no core could, nor a cell")
def _():
    def about(pid, name):
        try:
            return read_file(f"/proc/{pid}/{name}")
        except OSError:  # it is gone, or of another user namespace
            return b""

    def environments(words):
        process = start("exec", *words, "--stdin", "-", "--", "sh", "-c", "echo; read x",
                        env=ENV, stdin=subprocess.PIPE)
        found = {}
        wait_until(lambda: any(b"read x" in about(pid, "cmdline")
                               for pid in descendants(process.pid)), "the guest")
        for pid in (process.pid, *descendants(process.pid)):
            name = about(pid, "cmdline").split(b"\0")[0]
            found[name] = SECRET.encode() in about(pid, "environ")
        core = re.search(rb"Max core file size +(\w+)", about(process.pid, "limits"))[1]
        process.stdin.close()
        process.stdin = None
        finish(process)
        return found, core

    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    found, core = environments(SECRETLY)
    check_equal(core, b"1", "the largest core of wasp itself")
    check_equal(found.pop(wasp_path().encode()), False, "wasp's own environment")
    check(not any(shown for name, shown in found.items() if b"wasp-cell" in name), found)
    found, core = environments(())
    check_equal((found[wasp_path().encode()], core), (True, b"1048576"), "without --secret-env")


main()
