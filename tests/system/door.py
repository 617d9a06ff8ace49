#!/usr/bin/python3
"""The door of a wasm guest: fs_read, fs_write and exec_run, what they do and what they refuse."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

RUST_TARGETS = ("wasm32-wasip1", "wasm32-wasi")
FILES = ("--capability", "fs_read", "--capability", "fs_write")
missing = {}


def build_examples(folder):
    """The two that people are shown."""
    kit = os.path.join(ROOT, "guest", "c")
    made = os.path.join(os.path.dirname(folder), "kit")
    command = ["make", "-s", "-C", kit, f"BUILD={made}", "CLANG=clang -Werror", f"{made}/door.wasm"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    shutil.copy(f"{made}/door.wasm", f"{folder}/door_c.wasm")
    source = os.path.join(ROOT, "examples", "rust-guests", "door", "src", "main.rs")
    for rustc in filter(None, ("/usr/bin/rustc", shutil.which("rustc"))):
        for target in RUST_TARGETS:
            asked = [rustc, "--print", "target-libdir", "--target", target]
            found = subprocess.run(asked, capture_output=True, text=True)
            if found.returncode == 0 and os.path.isdir(found.stdout.strip()):
                command = [rustc, "--target", target, "--edition", "2021", "-O", "-D", "warnings"]
                subprocess.run([*command, "-o", f"{folder}/door_rust.wasm", source], check=True)
                return
    missing["door_rust"] = "no rustc here has a WASI target"


def workspace(**files):
    folder = os.path.realpath(new_dir("workspace"))
    for name, text in files.items():
        write_file(folder, name, data=text)
    return folder


class Knocked:
    """A run of the guest `knock`: its answers, in order."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.answers = []
        for line in outcome.lines():
            check(line.startswith("call: ") and line.endswith(" ok"), f"line: {short(line)}")
            self.answers.append(json.loads(line[len("call: ") : -len(" ok")]))

    def __getitem__(self, index):
        return self.answers[index]

    def codes(self):
        return [answer.get("error", {}).get("code") for answer in self.answers]

    def rules(self):
        check_equal({denial["layer"] for denial in self.outcome["denials"]}, {"door"}, "layers")
        return [denial["rule"] for denial in self.outcome["denials"]]


def knock(options, *calls, **how):
    """Calls are (name, members): one run that makes them all."""
    args = []
    for name, members in calls:
        args += [","] * bool(args) + ["call", name, members if isinstance(members, str) else json.dumps(members)]
    return Knocked(run("knock", *options, args=args, **how))


def execute(argv, *options, commands=(), **members):
    """One exec_run: its answer. Commands are as --command takes them."""
    named = [word for command in commands for word in ("--command", command)]
    made = knock(["--capability", "exec_run", *named, *options], ("exec_run", {"argv": argv, **members}))
    check_equal(made.outcome.reason, "exited", "how the guest ended")
    return made[0]


# ---- the examples ----------------------------------------------------------------------------


for _name, _language in (("door_c", "C"), ("door_rust", "Rust")):

    @test(f"the example in {_language} reads, writes and runs what it was given")
    def _(name=_name):
        if name in missing:
            skip(missing[name])
        folder = workspace(input="a \"line\"\n")
        done = run(name, "--allow-dir", folder, *FILES, "--capability", "exec_run", "--command", "uname -s",
                   args=[f"{folder}/input", f"{folder}/output"])  # fmt: skip
        check_equal((done.status, [line.split(":")[0] for line in done.lines()]),
                    (0, ["fs_read done", "fs_write done", "exec_run done"]))  # fmt: skip
        check_in('a \\"line\\"\\n', done.lines()[0])
        check_in('"stdout":"Linux\\n"', done.lines()[2])
        check_equal(read_file(folder, "output"), b"written through the door\n")
        check_equal(done["denials"], [])

    @test(f"the example in {_language} is refused, and told so, what it was not given")
    def _(name=_name):
        if name in missing:
            skip(missing[name])
        folder = workspace(input="a line\n")
        done = run(name, "--allow-dir", folder, "--capability", "fs_read", args=[f"{folder}/input", f"{folder}/output"])
        check_equal((done.status, [line.split(":")[0] for line in done.lines()]),
                    (1, ["fs_read done", "fs_write refused", "exec_run refused"]))  # fmt: skip
        check_equal([denial["action"] for denial in done["denials"]], ["fs_write", "exec_run"])
        check(not os.path.exists(f"{folder}/output"), "it was written")


# ---- capabilities ----------------------------------------------------------------------------


@test("without any capability each call is answered so, each is a denial, and the guest goes on")
def _():
    made = knock([], ("fs_read", {"path": "/etc/passwd"}), ("fs_write", {"path": "/x", "data": ""}), ("exec_run", {"argv": ["id"]}))
    check_equal(made.codes(), ["capability"] * 3)
    check_equal(made.rules(), ["capability"] * 3)
    check_equal((made.outcome.status, made.outcome["exit_code"]), (0, 0))
    check_in("--capability fs_read", made[0]["error"]["hint"])


@test("one capability is not the other")
def _():
    folder = workspace(file="text")
    calls = [("fs_read", {"path": f"{folder}/file"}), ("fs_write", {"path": f"{folder}/new", "data": "x"}), ("exec_run", {"argv": ["id"]})]
    check_equal(knock(["--allow-dir", folder, "--capability", "fs_read"], *calls).codes(), [None, "capability", "capability"])
    check_equal(knock(["--allow-dir", folder, "--capability", "fs_write"], *calls).codes(), ["capability", None, "capability"])


@test("a capability with a path holds beneath that path and nowhere else")
def _():
    folder = workspace(**{"a/file": "in a", "b/file": "in b"})
    made = knock(["--capability", f"fs_read={folder}/a"], ("fs_read", {"path": f"{folder}/a/file"}), ("fs_read", {"path": f"{folder}/b/file"}))
    check_equal(made.codes(), [None, "denied"])
    check_equal(made[0]["data"], "in a")


@test("an import of http_fetch stops the module before it starts, with its name")
def _():
    done = run("knock_http", "--allow-dir", workspace(), "--capability", "fs_read")
    check_equal((done.reason, done.status), ("not_started", 126))
    check_in("wasp.http_fetch", done.error)
    check("wasp.fs_read" not in done.error, f"error: {done.error}")


@test("pointers outside of memory and requests that are too long are numbers, and the guest goes on")
def _():
    folder = workspace()
    acts = [("at", "fs_read", "0xffffffff", "1"), ("at", "exec_run", "0", "0xffffffff"), ("at", "fs_write", "0x10000", "0x100001"),
            ("call", "fs_read", "{}"), ("answer", "0xfffffff0", "100"), ("answer", "0", "0")]  # fmt: skip
    args = [word for act in acts for word in (*act, ",")][:-1]
    done = run("knock", "--allow-dir", folder, *FILES, "--memory", "4MiB", args=args)
    numbers = [line.split()[1] for line in done.lines()]
    check_equal((numbers[0], numbers[1], numbers[4], numbers[5], done.status), ("-21", "-21", "-21", "0", 0))


# ---- files -----------------------------------------------------------------------------------


@test("a file is read in pieces, as text or as bytes, and no answer is larger than a mebibyte")
def _():
    data = bytes(range(256)) * 8192
    folder = workspace(text="0123456789", binary=data, control="\1" * 1000000)
    read, at = b"", 0
    while True:
        made = knock(["--allow-dir", folder, "--output", "4MiB", *FILES], ("fs_read", {"path": f"{folder}/binary", "offset": at, "max_bytes": 524288}),
                     ("fs_read", {"path": f"{folder}/control", "offset": at, "max_bytes": 524288}),
                     ("fs_read", {"path": f"{folder}/text", "max_bytes": 524289}))  # fmt: skip
        check_equal(made.codes(), [None, None, "invalid"])
        check(len(json.dumps(made[1])) <= 1 << 20, "an answer is too large")
        read += base64.b64decode(made[0]["base64"])
        at = len(read)
        if made[0]["eof"]:
            break
    check(read == data, "what was read is not what is there")


@test("a file is replaced as a whole, made longer, or made; a reader sees the old one or the new")
def _():
    folder = workspace(file="before")
    made = knock(["--allow-dir", folder, *FILES],
                 ("fs_write", {"path": f"{folder}/file", "data": "after"}),
                 ("fs_write", {"path": f"{folder}/file", "data": " more", "mode": "append"}),
                 ("fs_write", {"path": f"{folder}/file", "data": "no", "mode": "create"}),
                 ("fs_write", {"path": f"{folder}/bytes", "base64": "AP8=", "mode": "create"}))  # fmt: skip
    check_equal(made.codes(), [None, None, "exists", None])
    check_equal((read_file(folder, "file"), read_file(folder, "bytes")), (b"after more", b"\0\xff"))
    check_equal(sorted(os.listdir(folder)), ["bytes", "file"])


@test("tricks with paths read and write nothing outside, and the same file by its own path is read")
def _():
    folder, outside = workspace(file="inside"), workspace(secret="secret")
    os.symlink(f"{outside}/secret", f"{folder}/absolute")
    os.symlink(f"../{os.path.basename(outside)}/secret", f"{folder}/relative")
    os.symlink(f"../{os.path.basename(outside)}", f"{folder}/folder")
    os.symlink("/proc/self/root", f"{folder}/root")
    os.symlink("/proc/self/fd", f"{folder}/fds")
    os.mkfifo(f"{folder}/fifo")
    tricks = ["absolute", "relative", "folder/secret", f"../{os.path.basename(outside)}/secret", "root/etc/passwd", "fds/0", "fifo",
              f"root{outside}/secret"]  # fmt: skip
    calls = [call for trick in tricks for call in (("fs_read", {"path": f"{folder}/{trick}"}),
                                                   ("fs_write", {"path": f"{folder}/{trick}", "data": "x", "mode": "append"}))]  # fmt: skip
    calls += [("fs_read", {"path": path}) for path in (f"{outside}/secret", "/etc/passwd", "/proc/self/environ", "file", "")]
    made = knock(["--allow-dir", folder, *FILES], *calls, ("fs_read", {"path": f"{folder}/file"}))
    check_equal(set(made.codes()[:-1]), {"denied", "invalid"}, "codes")
    check_equal(made[-1]["data"], "inside")
    check("secret\"" not in made.outcome.stdout and "root:" not in made.outcome.stdout, "something was read")
    check_equal((read_file(outside, "secret"), os.listdir(outside)), (b"secret", ["secret"]))


@test("a link that stays within is read, and never written through")
def _():
    folder = workspace(file="text")
    os.symlink("file", f"{folder}/link")
    made = knock(["--allow-dir", folder, *FILES], ("fs_read", {"path": f"{folder}/link"}),
                 ("fs_write", {"path": f"{folder}/link", "data": "x"}))  # fmt: skip
    check_equal(made.codes(), [None, "denied"])
    check(os.path.islink(f"{folder}/link"), "the link is gone")


@test("names that make the host run something are not written, unless they are unprotected")
def _():
    folder = workspace(**{".git/hooks/sample": ""})
    os.symlink(".git/hooks", f"{folder}/hooks")
    calls = [("fs_write", {"path": f"{folder}/{name}", "data": "x"}) for name in (".git/hooks/pre-commit", "hooks/pre-push", ".envrc", "plain")]
    made = knock(["--allow-dir", folder, *FILES], *calls)
    check_equal(made.codes(), ["denied", "denied", "denied", None])
    check_equal(set(made.rules()), {"protected-name"})
    made = knock(["--allow-dir", folder, *FILES, "--unprotect", ".git/hooks"], *calls)
    check_equal(made.codes(), [None, None, "denied", None])


@test("a directory granted for reading is not written through the door")
def _():
    folder = workspace(file="text")
    other = workspace()
    made = knock(["--allow-dir", f"{folder}::/in:ro", "--allow-dir", other, *FILES], ("fs_read", {"path": f"{folder}/file"}),
                 ("fs_write", {"path": f"{folder}/new", "data": "x"}), ("fs_write", {"path": f"{other}/new", "data": "x"}))  # fmt: skip
    check_equal(made.codes(), [None, "denied", None])
    check_equal(os.listdir(folder), ["file"])


@test("wasp's own folders are closed, also beneath a path that was given")
def _():
    write_file(state_dir(), "of-a-test", data="state")
    write_file(place_home(), "of-a-test", data="home")
    home = os.path.realpath(place_home())
    made = knock(["--capability", f"fs_read={home}", "--capability", f"fs_write={home}"],
                 ("fs_read", {"path": f"{home}/.local/state/wasp/of-a-test"}),
                 ("fs_write", {"path": f"{home}/.local/state/wasp/grants", "data": "x"}),
                 ("fs_read", {"path": f"{home}/of-a-test"}))  # fmt: skip
    check_equal(made.codes(), ["denied", "denied", None])
    check_equal(made.rules(), ["own-folder", "own-folder"])


@test("the limits of a run on files and disk hold at its door")
def _():
    folder = workspace()
    made = knock(["--allow-dir", folder, *FILES, "--file-size", "10", "--disk", "15"],
                 ("fs_write", {"path": f"{folder}/a", "data": "12345678901"}), ("fs_write", {"path": f"{folder}/a", "data": "1234567890"}),
                 ("fs_write", {"path": f"{folder}/b", "data": "123456"}), ("fs_write", {"path": f"{folder}/b", "data": "12345"}))  # fmt: skip
    check_equal(made.codes(), ["limit", None, "limit", None])


@test("root's door has the rights of whoever owns the directory, and what it makes is theirs", only="root")
def _():
    folder = workspace(file="owner's", others="root's", open="for all")
    for name, uid, mode in (("", 12345, 0o755), ("file", 12345, 0o600), ("others", 0, 0o600), ("open", 0, 0o644)):
        os.chown(os.path.join(folder, name), uid, uid)
        os.chmod(os.path.join(folder, name), mode)
    made = knock(["--allow-dir", folder, *FILES], *[("fs_read", {"path": f"{folder}/{name}"}) for name in ("file", "others", "open")],
                 ("fs_write", {"path": f"{folder}/others", "data": "x", "mode": "append"}),
                 ("fs_write", {"path": f"{folder}/made", "data": "x"}))  # fmt: skip
    check_equal(made.codes(), [None, "unreadable", None, "unreadable", None])
    st = os.stat(f"{folder}/made")
    check_equal((st.st_uid, st.st_gid, st.st_mode & 0o7777), (12345, 12345, 0o644))


# ---- programs --------------------------------------------------------------------------------


@test("a program runs in a native cell of its own, with the run's directories")
def _():
    folder = workspace(file="text")
    script = "cat file; echo made >new; id -u; ls /proc | grep -c '^[0-9]'; cat /etc/shadow"
    answer = execute(["sh", "-c", script], "--allow-dir", folder, commands=["sh -c *"], cwd=folder)
    check_equal(answer["stdout"].splitlines()[0][:4], "text")
    check_match("(Permission denied|No such file)", answer["stderr"])
    check_equal(read_file(folder, "new"), b"made\n")


@test("only a command that was named runs, with arguments that fit, and by its file rather than its name")
def _():
    folder = workspace()
    real = os.path.realpath("/usr/bin/id")
    os.symlink(real, f"{folder}/link")
    shutil.copy(real, f"{folder}/id")
    options = ["--allow-dir", folder, "--capability", "exec_run", "--command", "id -u", "--command", "echo a*b *"]
    calls = [["id", "-u"], [real, "-u"], [f"{folder}/link", "-u"], ["echo", "axb", "more", "and more"], ["echo", "ab"]]
    refused = [["id"], ["id", "-g"], ["id", "-u", "x"], ["echo", "xb"], ["echo"], [f"{folder}/id", "-u"], ["sh", "-c", "id -u"], ["./id", "-u"],
               ["nothing-of-the-kind"]]  # fmt: skip
    made = knock(options, *[("exec_run", {"argv": argv}) for argv in calls + refused])
    check_equal(made.codes()[: len(calls)], [None] * len(calls), "what was named")
    check(all(code in ("denied", "not_found") for code in made.codes()[len(calls) :]), f"the others: {made.codes()[len(calls) :]}")
    check_equal({answer["exit_code"] for answer in made.answers[: len(calls)]}, {0})


@test("what a shell would read stays as it is")
def _():
    words = [";", "$(id)", "`id`", "$HOME", "*", "a b", "&& id", "|", ">x", "\\", "'", '"', "\n", "--", ""]
    answer = execute(["printf", "%s|", *words], commands=["printf *"])
    check_equal(answer["stdout"], "".join(f"{word}|" for word in words))


@test("a guest puts nothing into a program's environment, and wasp's own is not there either")
def _():
    folder = workspace()
    made = knock(["--capability", "exec_run", "--command", "env", "--allow-dir", folder, "--env", "GUEST=1"],
                 ("exec_run", {"argv": ["env"], "env": {"LD_PRELOAD": "/x"}}), ("exec_run", {"argv": ["env"]}),
                 env={"SECRET_TOKEN": "not for guests"})  # fmt: skip
    check_equal(made.codes(), ["invalid", None])
    names = {line.split("=")[0] for line in made[1]["stdout"].splitlines()}
    check(names <= {"PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "PWD", "SHLVL", "_"}, f"names: {names}")


@test("what the calls of a guest take is given back after each")
def _():
    argv = json.dumps({"argv": ["true", "x" * 100000]})
    process = start("run", guest("knock"), "--capability", "exec_run", "--command", "true *",
                    "--timeout", "60s", "--", "many", "400", "exec_run", argv)  # fmt: skip
    peak = 0
    while (now := peak_memory_bytes(process.pid)) is not None:
        peak = max(peak, now)
        time.sleep(0.01)
    check_equal(finish(process).status, 0)
    if "WASP_SANITIZED" not in os.environ:  # a sanitizer needs memory of its own
        check(0 < peak < 16 << 20, f"it grew to {peak} bytes")


@test("a program gets its stdin, and its exit code and both streams come back")
def _():
    answer = execute(["sh", "-c", "cat; echo err >&2; exit 7"], commands=["sh -c *"], stdin="a\nb\n")
    check_equal((answer["exit_code"], answer["reason"], answer["stdout"], answer["stderr"]), (7, "exited", "a\nb\n", "err\n"))


@test("a program that takes longer than it said is ended, and the guest goes on")
def _():
    answer = execute(["sleep", "60"], commands=["sleep *"], timeout_ms=100)
    check_equal((answer["exit_code"], answer["reason"]), (None, "timeout"))


@test("a program cannot outlast the run that asked for it, and nothing of it is left")
def _():
    done = run("knock", "--timeout", "1s", "--capability", "exec_run", "--command", "sleep *",
               args=["call", "exec_run", '{"argv":["sleep","60"],"timeout_ms":60000}'])  # fmt: skip
    check_equal((done.reason, done.status), ("timeout", 124), f"reason and status, with {short(done.stdout)}")
    check_nothing_left()


@test("a program's output is cut to what an answer holds, and flagged")
def _():
    answer = execute(["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' '\\1'; head -c 5000000 /dev/zero >&2"], commands=["sh -c *"])
    check_equal((answer["truncated"], len(answer["stdout"]), answer["exit_code"]), (True, 65536, 0))
    check(len(json.dumps(answer)) <= 1 << 20, "the answer is too large")


@test("a signal to wasp while a program runs ends program and run, with one envelope")
def _():
    process = start("run", guest("knock"), "--capability", "exec_run", "--command", "sleep *", "--", "call", "exec_run",
                    '{"argv":["sleep","60"]}')  # fmt: skip
    wait_until(lambda: any(is_sleeping(pid) for pid in descendants(process.pid)), "the program")
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    check_equal((done.reason, done["signal"], done.status), ("cancelled", 15, 143))
    check_nothing_left()


@test("what a guest writes while programs run for it all arrives")
def _():
    args = []
    for _ in range(20):
        args += ["call", "exec_run", '{"argv":["echo","x"]}', ","]
    done = run("knock", "--capability", "exec_run", "--command", "echo x", args=args[:-1])
    check_equal((done.status, len(done.lines())), (0, 20))


@test("a program that cannot be started is an answer, and the guest goes on")
def _():
    folder = workspace(notes="not a program")
    os.chmod(f"{folder}/notes", 0o755)
    answer = execute([f"{folder}/notes"], "--allow-dir", folder, commands=[f"{folder}/notes"])
    check(answer.get("exit_code") != 0, f"answer: {answer}")
    check_in(answer.get("reason", "denied"), ("not_started", "denied", "exited"))


def is_sleeping(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip() == "sleep"
    return False


def place_home():
    return wasp_env()["HOME"]


main(build_examples)
