#!/usr/bin/python3
"""What `exec` and `code` take and refuse, and native kinds of manifests: what a request means.

What the cell then does is for other files: here a plan is looked at, or the simplest of programs."""

import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *


def plan(*words, **how):
    """What --dry-run shows, held to the schema."""
    verb, *options = words
    done = wasp(verb, "--dry-run", *options, contract=False, **how)
    shown = parse_envelope(done.raw)
    check_equal(done.status, 0, f"status ({shown.get('error')})")
    check_fits("plan", shown)
    return shown


def task(manifest, *options, verb="run", **how):
    path = write_file(new_dir("task"), "task.json", data=json.dumps(manifest))
    return wasp("task", verb, "--manifest", path, *options, **how)


def check_refused(says, *words, status=2, **how):
    """The same answer from a run and from a dry run."""
    verb, *options = words
    ran, shown = wasp(*words, **how), wasp(verb, "--dry-run", *options, **how)
    for done in (ran, shown):
        check_equal(done.status, status, f"status of {short(words)} ({done.error})")
        check_in(says, done.error, f"error of {short(words)}")
    check_equal(ran["enforced"], [], "walls of what never ran")


# ---- exec --------------------------------------------------------------------------------------


@test("a program runs with its arguments as they are, by words and by manifest")
def _():
    words = ["%s|", "a b", "", "-x", "--", "$HOME", "*"]
    expected = "a b||-x|--|$HOME|*|"
    check_equal(wasp("exec", "--", "printf", *words).stdout, expected)
    argv = {"kind": "native-run", "argv": ["printf", *words]}
    command = {"kind": "native-run", "command": "printf %s| 'a b' \"\" -x -- '$HOME' \\*"}
    check_equal(task(argv).stdout, expected)
    check_in("'|', at byte 10", task(command).error)
    command["command"] = command["command"].replace("%s|", "'%s|'")
    check_fits("request", command)
    check_equal(task(command).stdout, expected)


@test("without a program, or with it in the wrong place, exec shows its form")
def _():
    for words in ([], ["--"], ["ls"], ["ls", "--", "x"], ["--allow-dir", "."]):
        check_refused("wasp exec [OPTIONS] -- PROGRAM ARGS", "exec", *words)


@test("an option that a backend cannot hold is refused, not ignored")
def _():
    check_refused("'--fuel' is not there for a native program", "exec", "--fuel=1", "--", "true")
    check_refused("'--no-cache' is not there", "exec", "--no-cache", "--", "true")
    check_refused("'--cwd' is not there for a wasm module", "run", guest("hello"), "--cwd", "/")
    check_refused("'overlay' is not there", "run", guest("hello"), "--allow-dir", ".::/x:overlay")
    code = ["code", "--lang", "python", "-c", "1"]
    check_refused("'--tty' is not there for the wasm", *code, "--backend", "wasm", "--tty")
    check_refused("'--hardened' is not there for the native", *code, "--hardened")
    check_refused("--runtime is for '--backend wasm'", *code, "--runtime", "x")
    done = task({"kind": "native-run", "argv": ["true"]}, "--no-cache")
    check_equal((done.status, done.reason), (2, "invalid"))
    check_equal(task({"kind": "native-run", "argv": ["true"]}).status, 0)


@test("parts that cannot be had together are refused by run, check and explain alike")
def _():
    folder = new_dir("ws")
    dirs = {"rw": [{"path": folder, "access": "read-write"}], "ro": [{"path": folder}]}
    rows = [
        ("a disk limit cannot be held", {"limits": {"disk_bytes": 9999}, "allow_dirs": dirs["rw"]}),
        ("no directory is an overlay", {"apply": "auto", "allow_dirs": dirs["rw"]}),
        ("no directory is an overlay", {"diff": True}),
        ("no directory can be changed", {"unprotected": [".envrc"], "allow_dirs": dirs["ro"]}),
        ("no loopback of its own", {"network": {"mode": "loopback"}, "isolation": "landlock"}),
        ("cannot count the processes", {"limits": {"processes": 9}, "isolation": "landlock"}),
    ]
    for says, keys in rows:
        manifest = {"kind": "native-run", "argv": ["true"], **keys}
        for verb in ("run", "explain"):
            done = task(manifest, verb=verb)
            check_equal(done.status, 2, f"{verb} of {keys}")
            check_in(says, done.error)
        check_equal(task(manifest, verb="check", contract=False).status, 2, f"check of {keys}")
    disk = {"limits": {"disk_bytes": 1 << 20}, "allow_dirs": dirs["ro"]}
    check_equal(task({"kind": "native-run", "argv": ["true"], **disk}).status, 0, "the control")


@test("the rung that the environment names is judged as one that was asked for")
def _():
    words = ["exec", "--loopback", "--", "true"]
    check_equal(plan(*words)["network"], "loopback")
    check_refused("isolation 'landlock'", *words, env={"WASP_ISOLATION": "landlock"})
    shown = plan("exec", "--isolation=full", *words[1:], env={"WASP_ISOLATION": "landlock"})
    check_equal(shown["isolation"], "full")


# ---- variables ---------------------------------------------------------------------------------


@test("variables that make programs run code are refused unless forced, and only natively")
def _():
    for name in ("LD_PRELOAD", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "GIT_SSH_COMMAND"):
        check_refused(f"'{name}'", "exec", "--env", f"{name}=x", "--", "true", status=77)
        check_in(f"{name}=x", plan("exec", "--env-force", f"{name}=x", "--", "true")["env"])
        check_equal(task({"kind": "native-run", "argv": ["true"], "env": {name: "x"}}).status, 77)
        check_in(f"env {name}=x", run("dump", "--env", f"{name}=x").lines())
    done = wasp("exec", "--env-force", "BASH_ENV=/x", "--", "env")
    check_in("BASH_ENV=/x", done.lines())


@test("a native guest finds six constants, which the owner can replace, and nothing of the host")
def _():
    names = sorted(line.split("=")[0] for line in wasp("exec", "--", "env").lines())
    check_equal(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR", "TZ"])
    done = wasp("exec", "--env", "PATH=/nowhere", "--env", "TZ=CET", "--", "env")
    check_equal(done.status, 0, "the program is found whatever PATH says")
    check_in("PATH=/nowhere", done.lines())
    check_in("TZ=CET", done.lines())


@test("what looks like a credential is named in the plan, and its value is not shown")
def _():
    secret = "ghp_" + "a1" * 18
    given = ["--env", f"DEPLOY={secret}", "--env", "DB_PASSWORD=hunter2", "--env", "A=b"]
    shown = plan("exec", *given, "--", "true")
    check_equal(shown["credentials"], ["DEPLOY", "DB_PASSWORD"])
    check_in("DEPLOY=***", shown["env"])
    check_in("A=b", shown["env"])
    check("hunter2" not in json.dumps(shown) and secret not in json.dumps(shown), "it is shown")
    done = wasp("exec", "--env", "DB_PASSWORD=hunter2", "--", "env")
    check_in("DB_PASSWORD=hunter2", done.lines(), "what the guest gets")


# ---- code --------------------------------------------------------------------------------------


@test("source is taken as text, from a file and from standard input, with arguments behind '--'")
def _():
    source = b'echo "$# $1"\n'
    path = write_file(new_dir("code"), "job.txt", data=source)
    words = ["code", "--lang", "bash"]
    for given, stdin in (["-c", source.decode()], b""), ([path], b""), (["-"], source):
        done = wasp(*words, *given, "--", "a b", "-c", stdin=stdin)
        check_equal((done.status, done.stdout), (0, "2 a b\n"), str(given))
    done = task({"kind": "code", "language": "bash", "source": source.decode(), "args": ["a b"]})
    check_equal(done.stdout, "1 a b\n")


@test("the guest's standard input is not the one that the source came from")
def _():
    folder = new_dir("code")
    path = write_file(folder, "in", data="from a file\n")
    source = b"cat; echo end"
    check_equal(wasp("code", "--lang", "bash", "-", stdin=source).stdout, "end\n")
    done = wasp("code", "--lang", "bash", "-", "--stdin", path, stdin=source)
    check_equal(done.stdout, "from a file\nend\n")
    check_refused("standard input cannot be", "code", "--lang", "bash", "-", "--stdin", "-")
    script = write_file(folder, "job.sh", data=source)
    done = wasp("code", "--lang", "bash", script, "--stdin", "-", stdin=b"piped\n")
    check_equal(done.stdout, "piped\nend\n")


@test("source that is missing, twice there, too large, empty or no text is refused")
def _():
    folder = new_dir("code")
    words = ["code", "--lang", "python"]
    check_refused("no source is given", *words)
    check_refused("the source is given twice", *words, "-c", "1", "x.py")
    check_refused("the source is given twice", *words, "-c", "1", "-")
    check_refused("the source is empty", *words, "-c", "")
    check_refused("the source is empty", *words, "-", stdin=b"")
    check_refused("NUL", *words, "-", stdin=b"1\0")
    check_refused("cannot open the source", *words, os.path.join(folder, "no"), status=127)
    check_refused("not a regular file", *words, folder)
    os.mkfifo(os.path.join(folder, "fifo"))
    check_refused("not a regular file", *words, os.path.join(folder, "fifo"))
    most = b"#" * (1 << 20)
    check_equal(wasp(*words, "-", stdin=most).status, 0, "1 MiB")
    check_refused("larger than 1 MiB", *words, "-", stdin=most + b"\n")
    check_refused("larger than 1 MiB", *words, write_file(folder, "big", data=most + b"\n"))


@test("an unknown language is refused with those there are")
def _():
    check_refused("python, javascript, bash", "code", "--lang", "ruby", "-c", "1")
    done = task({"kind": "code", "language": "ruby", "source": "1"})
    check_in("language: unknown language 'ruby': there are python, javascript, bash", done.error)


@test("a signal while the source is awaited on standard input is answered, as in a run")
def _():
    reader, writer = os.pipe()
    process = start("code", "--lang", "bash", "-", stdin=reader)
    wait_until(lambda: "poll" in read_file(f"/proc/{process.pid}/wchan").decode(), "wasp to wait")
    process.send_signal(signal.SIGTERM)
    done = finish(process, 20)
    check_equal((done.reason, done["signal"], done.status), ("cancelled", 15, 143))
    os.close(reader)
    os.close(writer)


def dumped(*args):
    """What the guest `dump` prints of them."""
    return [f"arg {arg}" for arg in args]


@test("code for wasm is run by the runtime of that name, as its argument")
def _():
    words = ["code", "--lang", "python", "-c", "print(1)", "--backend", "wasm"]
    check_refused("wasp runtime add python MODULE.wasm", *words, status=127)
    for name in ("python", "other"):
        added = wasp("runtime", "add", name, guest("dump"), "--entry-args", name, contract=False)
        check_equal(added.status, 0, name)
    for name, more in ("python", []), ("other", ["--runtime", "other"]):
        done = wasp(*words, *more, "--env", "A=b", "--", "x")
        check_equal((done.status, done["backend"]), (0, "wasm"), done.error)
        check_equal(done.lines(), [*dumped(name, name, "-I", "-c", "print(1)", "x"), "env A=b"])
    manifest = {"kind": "code", "language": "python", "source": "print(1)", "backend": "wasm"}
    check_fits("request", manifest)
    check_equal(task(manifest).lines(), dumped("python", "python", "-I", "-c", "print(1)"))
    check_equal(task({**manifest, "runtime": "other"}).lines()[0], "arg other")
    check_equal(task({**manifest, "runtime": "no"}).status, 127)
    check_equal(task({**manifest, "runtime": "no"}, verb="check", contract=False).status, 0, "check")
    check_refused("no runtime for bash", "code", "--lang", "bash", "-c", "1", "--backend=wasm")


@test("interpreters run isolated from what lies about")
def _():
    folder = new_dir("ws")
    write_file(folder, "json.py", data="print('evil')\n")
    source = "import json, sys; print(sys.flags.isolated)"
    done = wasp("code", "--lang", "python", "-c", source, "--allow-dir", folder)
    check_equal(done.stdout, "1\n")
    flags = {
        "python": ["-I"],
        "javascript": ["--no-global-search-paths"],
        "bash": ["--noprofile", "--norc"],
    }
    for language, expected in flags.items():
        shown = plan("code", "--lang", language, "-c", "1", "--", "x")
        check_equal(shown["args"], [*expected, shown["source"]["file"], "x"], language)


main()
