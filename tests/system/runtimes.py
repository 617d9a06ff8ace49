#!/usr/bin/python3
"""Interpreters by name: added, listed, run, removed."""

import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

no_python = None  # why there is no CPython


def fetch_python(folder):
    """With its compiled code, where another test has kept it: compiling takes its time."""
    global no_python
    done = subprocess.run([f"{ROOT}/scripts/guests.sh"], capture_output=True, text=True)
    if done.returncode != 0:
        no_python = (done.stderr.splitlines() or ["scripts/guests.sh failed"])[-1]
        return
    fetched = done.stdout.strip()
    shutil.copy(f"{fetched}/python.wasm", folder)
    for kept, ours in (("cache", cache_dir()), ("state", state_dir())):
        if os.path.isdir(f"{fetched}/../{kept}"):
            shutil.copytree(f"{fetched}/../{kept}", ours)


class Registry:
    """The runtimes of a state folder of its own."""

    def __init__(self, state=None):
        self.state = state or os.path.join(new_dir("state"), "wasp")
        self.folder = os.path.join(self.state, "runtimes")
        self.env = {"WASP_STATE_DIR": self.state}

    def answer(self, verb, *words, status=0, **how):
        """A verb that runs no guest, held to what every answer has."""
        done = wasp("runtime", verb, *words, contract=False, env=self.env, **how)
        done.envelope = answer = parse_envelope(done.raw)
        check_fits("answer", answer)
        check_equal(done.status, status, f"status of {verb} {words} ({answer['error']})")
        check_equal(answer["status"], "error" if status else "success", "status")
        check_equal(len(done.said.splitlines()), 1 if status else 0, "lines on stderr")
        return done

    def add(self, name, module, *options, **how):
        path = module if os.sep in module else guest(module)
        return self.answer("add", name, path, *options, **how)

    def rm(self, name, **how):
        return self.answer("rm", name, **how)

    def run(self, name, *options, args=(), **how):
        return wasp("runtime", "run", name, *options, "--", *args, env=self.env, **how)

    def plan(self, name, *options):
        done = wasp("runtime", "run", name, "--dry-run", *options, contract=False, env=self.env)
        plan = parse_envelope(done.raw)
        check_fits("plan", plan)
        return plan

    def list(self):
        done = wasp("runtime", "list", contract=False, env=self.env)
        check_equal((done.status, done.said), (0, ""), "status and stderr")
        value = parse_envelope(done.raw)
        check_fits("runtimes", value)
        return value

    def names(self):
        return [runtime["name"] for runtime in self.list()["runtimes"]]

    def files(self, suffix):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(suffix))

    def gc(self):
        done = wasp("gc", "--json", contract=False, env=self.env)
        check_equal((done.status, done.said), (0, ""), "status and stderr")
        return parse_envelope(done.raw)["removed"]


def sha256(path):
    return hashlib.sha256(read_file(path)).hexdigest()


def variant(number):
    """A module that is like dump, but for one custom section."""
    name = b"variant" + str(number).encode()
    data = read_file(guest("dump")) + section(0, leb(len(name)) + name)
    return write_file(new_dir("variant"), "dump.wasm", data=data)


# ---- add, list, rm ---------------------------------------------------------------------------


@test("what was added is listed with digest, size, directories and arguments, sorted by name")
def _():
    registry = Registry()
    lib = new_dir("lib")
    check_equal(registry.list(), {"runtimes": [], "problems": [], "schema": "wasp.runtimes/1"})
    registry.add("zig", "hello")
    registry.add("py-3.12", "dump", "--dir", f"{lib}::/lib", "--entry-args", "-I", "--entry-args=")
    first, second = registry.list()["runtimes"]
    check_equal((first["name"], second["name"]), ("py-3.12", "zig"), "names")
    check_equal(first["sha256"], sha256(guest("dump")), "sha256")
    check_equal(first["bytes"], os.stat(guest("dump")).st_size, "bytes")
    check_equal(first["dirs"], [{"host": lib, "guest": "/lib"}], "dirs")
    check_equal(first["entry_args"], ["-I", ""], "entry_args")
    check_equal((second["dirs"], second["entry_args"]), ([], []), "what the other is given")


@test("records and modules are for their owner alone, and a record is what list shows")
def _():
    registry = Registry()
    registry.add("a", "hello")
    for path, mode in ((registry.state, 0o700), (registry.folder, 0o700)):
        check_equal(stat.S_IMODE(os.stat(path).st_mode), mode, path)
    (module,) = registry.files(".wasm")
    check_equal(module, sha256(guest("hello")) + ".wasm", "module")
    check_equal(stat.S_IMODE(os.stat(f"{registry.folder}/{module}").st_mode), 0o400, "its mode")
    check_equal(read_file(registry.folder, module), read_file(guest("hello")), "its bytes")
    record = json.loads(read_file(registry.folder, "a.json"))
    check_equal(registry.list()["runtimes"], [record])
    check_equal(sorted(os.listdir(registry.folder)), sorted(["a.json", module, "tmp"]))
    check_equal(os.listdir(f"{registry.folder}/tmp"), [])


@test("names with the same content share one module, and the last one takes it along")
def _():
    registry = Registry()
    path = write_file(new_dir("m"), "m.wasm", data=read_file(guest("hello")))
    for name in ("a", "b"):
        registry.add(name, path)
    os.unlink(path)  # what becomes of the file does not matter: the module is a copy
    check_equal(len(registry.files(".wasm")), 1, "modules")
    registry.rm("a")
    check_equal((registry.names(), registry.run("b").stdout), (["b"], "hello, wasp\n"))
    registry.rm("b")
    check_equal(os.listdir(registry.folder), ["tmp"])


@test("a name that is taken is replaced only with --replace, and the old module goes")
def _():
    registry = Registry()
    registry.add("a", "hello")
    before = tree_of(registry.folder)
    check_in("--replace", registry.add("a", "dump", status=2).error)
    check_equal({**tree_of(registry.folder), ".": 0, "tmp": 0}, {**before, ".": 0, "tmp": 0})
    registry.add("a", "dump", "--replace")
    check_equal(registry.files(".wasm"), [sha256(guest("dump")) + ".wasm"])
    check_equal(registry.run("a").stdout, "arg a\n")
    registry.add("new", "dump", "--replace")


@test("names that a file or a reader could trip over are refused by every verb")
def _():
    registry = Registry()
    bad = ("", ".", "..", "../x", "a/b", ".a", "_a", "A", "ä", "a b", "a\n", "a" * 65)
    for name in bad:
        check_in("cannot name a runtime", registry.add(name, "hello", status=2).error)
        check_in("cannot name a runtime", registry.rm(name, status=2).error)
        done = registry.run(name)
        check_equal((done.status, done.reason), (2, "invalid"), name)
    registry.add("a" * 64, "hello")
    check_equal(registry.names(), ["a" * 64])


@test("what is not there is not run or removed, and the error says where to look")
def _():
    registry = Registry()
    done = registry.run("nope")
    check_equal((done.status, done.reason, done.code), (127, "not_started", "not_found"))
    for error in (done.error, registry.rm("nope", status=127).error):
        check_in("wasp runtime list", error)


@test("words that runtime and its verbs do not take are answered with one JSON object, status 2")
def _():
    for words in (["runtime"], ["runtime", "bogus"], ["runtime", "run"]):
        check_equal(wasp(*words).reason, "invalid", " ".join(words))
    registry = Registry()
    for words in (["list", "x"], ["add"], ["add", "a"], ["rm"], ["rm", "a", "b"], ["add", "--x"]):
        registry.answer(*words, status=2)


@test("a module that is none is refused, and leaves nothing")
def _():
    registry = Registry()
    folder = new_dir("bad")
    os.mkfifo(f"{folder}/fifo")
    with open(f"{folder}/large", "wb") as file:
        file.truncate((256 << 20) + 1)
    write_file(folder, "empty")
    write_file(folder, "short", data=b"\0asm")
    write_file(folder, "text", data="(module)\n")
    write_file(folder, "component", data=b"\0asm\x0d\0\1\0")
    expected = {"fifo": "unreadable", "large": "too_large", "empty": "malformed", "text": "malformed",
                "short": "malformed", "component": "component", "missing": "not_found", ".": "unreadable"}
    for name, code in expected.items():
        done = registry.add("a", f"{folder}/{name}", status=127 if code == "not_found" else 126)
        check_equal(done.code, code, name)
        check_in(f"failed to load wasm module `{folder}/{name}`", done.error)
    check_equal(os.listdir(registry.folder), ["tmp"])
    check_equal(os.listdir(f"{registry.folder}/tmp"), [])


@test("directories that cannot be given are refused when they are added")
def _():
    registry = Registry()
    lib = new_dir("lib")
    write_file(lib, "file")
    for value in (lib, f"{lib}::", "::/x", f"{lib}::/x:rw", f"{lib}::/x:ro", f"{lib}/none::/x", f"{lib}/file::/x"):
        registry.add("a", "hello", "--dir", value, status=2)
    registry.add("a", "hello", "--dir", f"{lib}::/x", "--dir", f"{lib}::/x/", status=2)
    check_equal(registry.names(), [])


# ---- run -------------------------------------------------------------------------------------


@test("a runtime runs as its module does under run, called by its name")
def _():
    registry = Registry()
    registry.add("dump", "dump")
    options = ["--env", "A=1", "--timeout", "10s"]
    ours, plain = registry.run("dump", *options, args=["x"]), run("dump", *options, args=["x"])
    check_equal(ours.stdout, "arg dump\narg x\nenv A=1\n")
    for field in ("status", "exit_code", "stderr", "error", "reason", "enforced", "denials"):
        check_equal(ours[field], plain[field], field)
    check_equal(ours["module"]["sha256"], plain["module"]["sha256"], "sha256")
    check(registry.state not in ours.stdout, "the guest is told of the state folder")


@test("a runtime's arguments stand before those of the run")
def _():
    registry = Registry()
    registry.add("d", "dump", "--entry-args", "-c", "--entry-args", "--", "--entry-args", "a b")
    check_equal(registry.run("d", args=["x", ""]).stdout, "arg d\narg -c\narg --\narg a b\narg x\narg \n")
    check_equal(registry.run("d").lines()[-1], "arg a b")


@test("a runtime finds its directories, and cannot change anything there")
def _():
    registry = Registry()
    top = new_dir("top")
    write_file(top, "lib", "f", data="text")
    registry.add("fs", "fs", "--dir", "lib::/lib", cwd=top)
    before = tree_of(f"{top}/lib")
    acts = ["read /lib/f", "write /lib/f x", "append /lib/f x", "create /lib/g x", "unlink /lib/f",
            "rename /lib/f /lib/g", "mkdir /lib/d", "truncate /lib/f 0", "touch /lib/f 1"]
    done = registry.run("fs", args=" , ".join(acts).split())
    read, *others = done.lines()
    check_equal(read, "read: [text] ok")
    check_equal([line for line in others if not line.endswith(" EROFS")], [], "not refused")
    check_equal(tree_of(f"{top}/lib"), before, "the directory")
    registry.add("free", "fs")
    done = registry.run("free", "--allow-dir", f"{top}/lib::/lib", args=" , ".join(acts).split())
    check("EROFS" not in done.stdout, "nothing is to be seen where all is allowed")
    check(tree_of(f"{top}/lib") != before, "nothing is changed where all is allowed")


@test("a run grants more beside a runtime's directories, and its first one is '.'")
def _():
    registry = Registry()
    lib, mine = new_dir("lib"), new_dir("mine")
    write_file(lib, "f", data="lib")
    write_file(mine, "f", data="mine")
    registry.add("fs", "fs", "--dir", f"{lib}::/lib")
    done = registry.run("fs", "--allow-dir", mine, args="read f , read /lib/f , write f x".split())
    check_equal(done.lines(), ["read: [mine] ok", "read: [lib] ok", "write: ok"])


@test("a directory of the run's own in a runtime's place is refused")
def _():
    registry = Registry()
    lib, mine = new_dir("lib"), new_dir("mine")
    registry.add("fs", "fs", "--dir", f"{lib}::/lib")
    done = registry.run("fs", "--allow-dir", f"{mine}::/lib")
    check_equal((done.status, done.reason), (2, "invalid"))
    for part in ("runtime 'fs'", "'/lib'", mine):
        check_in(part, done.error)


@test("a directory that is gone, or is wasp's own, ends a run before it starts")
def _():
    registry = Registry()
    lib = new_dir("lib")
    registry.add("gone", "hello", "--dir", f"{lib}::/lib")
    os.rmdir(lib)
    check_in(lib, registry.run("gone").error)
    registry.add("own", "hello", "--dir", f"{registry.state}::/state")
    done = registry.run("own")
    check_equal((done.status, done.reason), (77, "denied"))


@test("--dry-run shows the copy, its pin, its name and all it is given")
def _():
    registry = Registry()
    lib = new_dir("lib")
    registry.add("d", "dump", "--dir", f"{lib}::/lib", "--entry-args", "-c")
    digest = sha256(guest("dump"))
    plan = registry.plan("d")
    check_equal(plan["module"], f"{registry.folder}/{digest}.wasm", "module")
    check_equal((plan["module_sha256"], plan["argv0"], plan["args"]), (digest, "d", ["-c"]))
    check_equal(plan["allow_dirs"], [{"path": lib, "access": "read-only", "guest": ["/lib"]}])


# ---- what is not as it was -------------------------------------------------------------------


@test("a copy that was changed is refused by its digest, also right after a good run, until it is added again")
def _():
    registry = Registry()
    registry.add("a", "hello")
    for _ in range(2):
        check_equal(registry.run("a").status, 0)
    (module,) = registry.files(".wasm")
    os.chmod(f"{registry.folder}/{module}", 0o600)
    for data in (read_file(guest("dump")), read_file(guest("hello"))[:-1], b""):
        write_file(registry.folder, module, data=data)
        done = registry.run("a")
        check_equal((done.status, done.reason, done.code), (126, "not_started", "pin"))
        check_in("--replace", done.error)
    check_equal([problem["name"] for problem in registry.list()["problems"]], ["a"])
    registry.add("a", "hello", "--replace")
    check_equal((registry.run("a").status, registry.list()["problems"]), (0, []))


@test("of the recorded digest and a pin of the run's own both must hold")
def _():
    registry = Registry()
    registry.add("a", "hello")
    check_equal(registry.run("a", "--module-sha256", sha256(guest("hello"))).status, 0)
    done = registry.run("a", "--module-sha256", sha256(guest("dump")))
    check_equal((done.status, done.code), (126, "pin"))


@test("damaged records are told by list, not run, and can be removed")
def _():
    registry = Registry()
    for name in ("good", "torn", "lost"):
        registry.add(name, "hello" if name != "lost" else "dump")
    write_file(registry.folder, "torn.json", data="{")
    os.unlink(f"{registry.folder}/{sha256(guest('dump'))}.wasm")
    found = registry.list()
    check_equal([runtime["name"] for runtime in found["runtimes"]], ["good"])
    check_equal([problem["name"] for problem in found["problems"]], ["lost", "torn"])
    for name in ("lost", "torn"):
        done = registry.run(name)
        check_equal((done.status, done.code), (125, "host"), name)
        check_in("is damaged", done.error)
        registry.rm(name)
    check_equal((registry.list()["problems"], registry.run("good").status), ([], 0))


@test("gc removes modules that no record names and what a killed wasp was writing, and nothing else")
def _():
    registry = Registry()
    registry.add("a", "hello")
    write_file(registry.folder, f"{'0' * 64}.wasm", data="x")
    write_file(registry.folder, "tmp", "0123456789abcdef", data="x")
    check_equal((registry.gc(), registry.gc()), (2, 0), "removed")
    check_equal((registry.run("a").status, os.listdir(f"{registry.folder}/tmp")), (0, []))


@test("a state folder that cannot be used is one clear error")
def _():
    top = new_dir("top")
    write_file(top, "file")
    os.mkdir(f"{top}/open", 0o755)
    os.makedirs(f"{top}/inner/runtimes")
    os.chmod(f"{top}/inner", 0o700)
    for name in ("file", "file/below", "open", "inner"):
        registry = Registry(f"{top}/{name}")
        for answer in (registry.add("a", "hello", status=125), registry.rm("a", status=125),
                       registry.answer("list", status=125), registry.run("a")):
            check_equal((answer.status, answer.code), (125, "host"), name)
            check_in(top, answer.error)


@test("without a home there is nowhere to keep runtimes, and the error names the variable to set")
def _():
    for words in (["list"], ["rm", "a"], ["add", "a", guest("hello")], ["run", "a"]):
        done = wasp("runtime", *words, contract=False, env={"HOME": ""})
        check_equal(done.status, 125, words)
        check_in("WASP_STATE_DIR", parse_envelope(done.raw)["error"])


@test("a state folder without write permission is one clear error", only="user")
def _():
    top = new_dir("top")
    os.chmod(top, 0o555)
    check_in("ermission denied", Registry(f"{top}/state").add("a", "hello", status=125).error)
    check_equal(os.listdir(top), [])


@test("a state folder that belongs to somebody else is not used", only="root")
def _():
    registry = Registry()
    registry.add("a", "hello")
    os.chown(registry.folder, ORDINARY_UID, ORDINARY_UID)
    check_in("not yours alone", registry.answer("list", status=125).error)
    check_in("not yours alone", registry.run("a").error)


@test("a full disk leaves the old runtime as it was", only="root")
def _():
    registry = Registry()
    registry.add("a", "hello")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", f"{registry.folder}/tmp"]
    if subprocess.run(mount).returncode != 0:
        skip("no tmpfs can be mounted here")
    try:
        registry.add("a", "dump", "--replace", status=125)
        check_equal(os.listdir(f"{registry.folder}/tmp"), [])
    finally:
        subprocess.run(["umount", f"{registry.folder}/tmp"], check=True)
    check_equal(registry.run("a").stdout, "hello, wasp\n")


# ---- several at once -------------------------------------------------------------------------


def at_once(registry, commands):
    """Starts them all, then waits for each: their exit statuses."""
    started = [start("runtime", *words, env=registry.env) for words in commands]
    for process in started:
        parse_envelope(process.communicate(timeout=60)[0])
    return [process.returncode for process in started]


@test("of several that add the same name at once exactly one succeeds")
def _():
    registry = Registry()
    modules = [variant(number) for number in range(8)]
    statuses = at_once(registry, [["add", "a", module] for module in modules])
    check_equal(sorted(statuses), [0] + [2] * 7)
    kept = modules[statuses.index(0)]
    check_equal(registry.files(".wasm"), [sha256(kept) + ".wasm"])
    check_equal(registry.run("a").stdout, "arg a\n")


@test("adding, replacing and removing at once never takes a module from a name that is left")
def _():
    registry = Registry()
    modules = [variant(number) for number in range(2)]
    for turn in range(4):
        commands = [["add", f"r{number}", modules[(number + turn) % 2], "--replace"] for number in range(6)]
        commands += [["rm", f"r{number}"] for number in range(3)]
        statuses = at_once(registry, commands)
        check_equal(statuses[:6], [0] * 6, "statuses of add")
        check(set(statuses[6:]) <= {0, 127}, f"statuses of rm: {statuses[6:]}")
    found = registry.list()
    check_equal(found["problems"], [])
    named = {runtime["sha256"] + ".wasm" for runtime in found["runtimes"]}
    check_equal(registry.files(".wasm"), sorted(named), "modules")
    check_equal(os.listdir(f"{registry.folder}/tmp"), [], "temporary files")


@test("a run finds the old or the new module while it is replaced")
def _():
    registry = Registry()
    modules = [variant(number) for number in range(2)]
    registry.add("a", modules[0])
    digests = set()
    for turn in range(6):
        replace = start("runtime", "add", "a", modules[turn % 2], "--replace", env=registry.env)
        runs = [start("runtime", "run", "a", env=registry.env) for _ in range(3)]
        digests |= {finish(run)["module"]["sha256"] for run in runs}
        check_equal((replace.communicate(), replace.returncode)[1], 0, "status of add")
    check(digests <= {sha256(module) for module in modules}, f"other digests: {digests}")


# ---- a real one ------------------------------------------------------------------------------


@test("CPython as a runtime computes, imports from its directory, and reads nothing else")
def _():
    if no_python:
        skip(no_python)
    registry = Registry(state_dir())
    lib = new_dir("lib")
    write_file(lib, "tools.py", data="def double(n): return 2 * n\n")
    registry.add("python", "python", "--dir", f"{lib}::/lib", "--entry-args", "-B")
    options = ["--env", "PYTHONPATH=/lib", "--compile-timeout", "5m"]
    done = registry.run("python", *options, args=["-c", "import tools; print(tools.double(21))"])
    check_equal((done.stdout, done.stderr), ("42\n", ""))
    for path, error in (("/lib/new", "Read-only file system"), ("/etc/passwd", "Errno")):
        done = registry.run("python", *options, args=["-c", f"open({path!r}, 'w')"])
        check_equal((done.status, done.reason), (1, "exited"), path)
        check_in(error, done.stderr)
    check_equal(os.listdir(lib), ["tools.py"])
    registry.rm("python")


main(prepare=fetch_python)
