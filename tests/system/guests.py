#!/usr/bin/python3
"""Guests that people write or have: the starter, the Rust examples, the page that teaches both, and
interpreters that others built for WASI. These come with scripts/guests.sh; where they cannot be had
their tests skip."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

RUST_EXAMPLES = os.path.join(ROOT, "examples", "rust-guests")
RUST_TARGETS = ("wasm32-wasip1", "wasm32-wasi")
INTERPRETERS = ("python", "sqlite", "ruby", "php", "quickjs")
RUBY_NEEDS = ("--memory", "256MiB")
missing = {}  # name of a guest: why it is not there

with open(os.path.join(ROOT, "docs", "guests.md")) as page:
    PAGE = page.read()


# ---- making them, before anyone becomes somebody else ----------------------------------------


def find_rust():
    """A rustc that has the target, and the target's name: one before, one since Rust 1.78."""
    for rustc in filter(None, ("/usr/bin/rustc", shutil.which("rustc"))):
        for target in RUST_TARGETS:
            asked = [rustc, "--print", "target-libdir", "--target", target]
            found = subprocess.run(asked, capture_output=True, text=True)
            if found.returncode == 0 and os.path.isdir(found.stdout.strip()):
                return rustc, target
    return None


def build_rust(folder):
    rust = find_rust()
    for name in ("workspace_probe", "workspace_write"):
        if not rust:
            missing[name] = "no rustc here has a WASI target"
            continue
        source = os.path.join(RUST_EXAMPLES, name, "src", "main.rs")
        command = [rust[0], "--target", rust[1], "--edition", "2021", "-O", "-D", "warnings"]
        subprocess.run([*command, "-o", f"{folder}/{name}.wasm", source], check=True)


def build_starter(folder):
    kit = os.path.join(ROOT, "guest", "c")
    command = ["make", "-s", "-C", kit, f"BUILD={folder}", "CLANG=clang -Werror"]
    subprocess.run(command, check=True, stdout=sys.stderr)


def fetch_interpreters(folder):
    fetch = os.path.join(ROOT, "scripts", "guests.sh")
    done = subprocess.run([fetch], capture_output=True, text=True)
    if done.returncode != 0:
        for name in INTERPRETERS:
            missing[name] = (done.stderr.splitlines() or ["scripts/guests.sh failed"])[-1]
        return
    fetched = done.stdout.strip()
    for name in INTERPRETERS:
        shutil.copy(f"{fetched}/{name}.wasm", folder)
    compile_once(folder, os.path.dirname(fetched))


def compile_once(folder, kept):
    """Compiles them into a cache that outlives us, and gives wasp's home a copy: minutes the first
    time, under load, and nothing the next. The key names all that the code depends on."""
    own = {"WASP_CACHE_DIR": f"{kept}/cache", "WASP_STATE_DIR": f"{kept}/state"}
    for name in INTERPRETERS:
        command = [wasp_path(), "run", f"{folder}/{name}.wasm", "--compile-timeout", "5m"]
        subprocess.run(command, env=wasp_env(own), capture_output=True)
    shutil.copytree(own["WASP_CACHE_DIR"], cache_dir())
    shutil.copytree(own["WASP_STATE_DIR"], state_dir())


def make_guests(folder):
    build_starter(folder)
    build_rust(folder)
    fetch_interpreters(folder)


def run_made(name, *options, **how):
    """Runs one of them; the test skips if there is none."""
    if name in missing:
        skip(missing[name])
    return run(name, *options, **how)


def python(source, *options, more=(), **how):
    return run_made("python", *options, args=["-c", source, *more], **how)


def workspace(**files):
    """A new folder with these files, a dot in place of the last underscore of each name."""
    folder = new_dir("workspace")
    for name, text in files.items():
        write_file(folder, ".".join(name.rsplit("_", 1)), data=text)
    return folder


# ---- the guest kit ---------------------------------------------------------------------------


@test("the starter reads a file, writes a file and reports its environment")
def _():
    folder = workspace(input_txt="a line\nanother")
    options = ["--allow-dir", folder, "--env", "TASK_ID=abc123", "--env", "EMPTY="]
    done = run_made("starter", *options, args=["input.txt", "output.txt"])
    check_equal(done.stdout, "TASK_ID=abc123\nEMPTY=\noutput.txt: 2 lines written\n")
    check_equal(read_file(folder, "output.txt"), b"1 a line\n2 another")


@test("the starter inherits no variable of wasp's own environment")
def _():
    folder = workspace(input_txt="")
    options = ["--allow-dir", folder]
    host = {"SECRET_TOKEN": "not for guests", "LANG": "C"}
    done = run_made("starter", *options, args=["input.txt", "output.txt"], env=host)
    check_equal(done.stdout, "output.txt: 0 lines written\n")


@test("the starter without a grant finds no file, and says so with a code of its own")
def _():
    done = run_made("starter", args=["input.txt", "output.txt"])
    check_equal((done.status, done.stdout), (1, ""))
    check_match("^starter: cannot read 'input.txt': ", done.stderr)


@test("the starter with a read-only grant reads, and writes nothing")
def _():
    folder = workspace(input_txt="a line\n")
    before = tree_of(folder)
    done = run_made("starter", "--allow-dir", f"{folder}::.:ro", args=["input.txt", "output.txt"])
    check_equal(done.status, 1)
    check_match("^starter: cannot write 'output.txt': ", done.stderr)
    check_equal(tree_of(folder), before)


@test("workspace_probe in Rust prints the workspace's input.txt, byte for byte")
def _():
    folder = workspace(input_txt=b"a line\n\xff\0 no newline at the end")
    done = run_made("workspace_probe", "--allow-dir", folder)
    check_equal(done["stdout_base64"], "YSBsaW5lCv8AIG5vIG5ld2xpbmUgYXQgdGhlIGVuZA==")


@test("workspace_probe in Rust fails without the file, and without a grant")
def _():
    for options in (["--allow-dir", workspace()], []):
        done = run_made("workspace_probe", *options)
        check_equal((done.status, done.stdout), (1, ""))
        check_match("^workspace_probe: cannot print input.txt: ", done.stderr)


@test("workspace_write in Rust writes agent-note.txt and prints 'written'")
def _():
    folder = workspace()
    done = run_made("workspace_write", "--allow-dir", folder)
    check_equal((done.status, done.stdout), (0, "written\n"))
    check_equal(read_file(folder, "agent-note.txt"), b"written by a guest\n")


@test("workspace_write in Rust writes nothing where it may only read")
def _():
    folder = workspace()
    done = run_made("workspace_write", "--allow-dir", f"{folder}::.:ro")
    check_equal((done.status, done.stdout, os.listdir(folder)), (1, "", []))


def check_page(language):
    """Writes the section's source, runs its first commands, then the page's own run command."""
    text = re.search(rf"^## {language}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    name = re.search(r"`(probe\.\w+)`", text)[1]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    (_, source), (shell, build) = blocks[:2]
    check_equal(shell, "sh", "the second block's language")
    run_command = re.search(r"^```sh\n(wasp run .*?)^```$", PAGE, re.M | re.S)[1]
    folder = new_dir("page")
    write_file(folder, name, data=source)
    write_file(folder, "workspace", "input.txt", data="as the page says\n")
    env = wasp_env({"PATH": f"{os.path.dirname(wasp_path())}:/usr/bin:/bin"})
    command = ["bash", "-euc", build + run_command]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    check_equal(done.returncode, 0, f"status ({done.stderr})")
    check_equal(json.loads(done.stdout)["stdout"], "as the page says\n", "stdout")


@test("the C guest of docs/guests.md builds and runs with the commands shown there")
def _():
    check_page("C")


@test("the Rust guest of docs/guests.md builds and runs with the commands shown there")
def _():
    if find_rust() != ("/usr/bin/rustc", "wasm32-wasi"):
        skip("there is no rustc of Debian's with a WASI target")
    check_page("Rust")


# ---- CPython ---------------------------------------------------------------------------------


@test("CPython computes and prints")
def _():
    done = python("print(6 * 7, 2**100)")
    check_equal((done.status, done.stdout), (0, "42 1267650600228229401496703205376\n"))


@test("CPython's standard library is there: json, os, re and more")
def _():
    done = python(
        "import base64, collections, csv, datetime, decimal, hashlib, itertools, json, os, re\n"
        "print(json.dumps({'a': [1, None]}), re.sub('b+', '-', 'abba'), os.sep)\n"
        "print(hashlib.sha256(b'').hexdigest()[:8], decimal.Decimal(1) / 3)"
    )
    check_equal(done.stderr, "")
    check_equal(done.lines(), ['{"a": [1, null]} a-a /', "e3b0c442 0.3333333333333333333333333333"])


@test("CPython reads, lists and writes a granted directory")
def _():
    folder = workspace(input_txt="from the host")
    os.mkdir(f"{folder}/sub")
    done = python(
        "import os\n"
        "print(open('/data/input.txt').read(), sorted(os.listdir('/data')))\n"
        "open('/data/sub/note', 'w').write('from the guest')\n"
        "os.rename('/data/sub/note', '/data/note.txt')",
        "--allow-dir",
        f"{folder}::/data",
    )
    check_equal((done.stdout, done.stderr), ("from the host ['input.txt', 'sub']\n", ""))
    check_equal(read_file(folder, "note.txt"), b"from the guest")


@test("CPython reads nothing but what was granted, by whatever path")
def _():
    secret = write_file(new_dir("secret"), "key", data="secret")
    folder = workspace(input_txt="granted")
    os.symlink(secret, f"{folder}/link")
    up = os.path.join("..", os.path.basename(os.path.dirname(secret)), "key")
    paths = [
        "/data/input.txt",
        secret,
        f"/data/{up}",
        up,
        "/data/link",
        "/etc/passwd",
        "/proc/self/environ",
    ]
    done = python(
        "import sys\n"
        "for path in sys.argv[1:]:\n"
        "    try: print(open(path).read())\n"
        "    except OSError as error: print('no')",
        "--allow-dir",
        f"{folder}::/data",
        more=paths,
    )
    check_equal((done.lines(), done.stderr), (["granted"] + ["no"] * (len(paths) - 1), ""))


@test("CPython writes nothing where it may only read")
def _():
    folder = workspace(input_txt="granted")
    before = tree_of(folder)
    done = python(
        "import os\n"
        "def attempt(what, *args):\n"
        "    try: what(*args)\n"
        "    except OSError: return 'no'\n"
        "    return 'yes'\n"
        "path = '/data/input.txt'\n"
        "print(attempt(open, path), attempt(open, path, 'a'), attempt(open, '/data/new', 'w'),\n"
        "      attempt(os.unlink, path), attempt(os.rename, path, '/data/x'),\n"
        "      attempt(os.mkdir, '/data/d'), attempt(os.truncate, path, 0),\n"
        "      attempt(os.utime, path, (0, 0)))",
        "--allow-dir",
        f"{folder}::/data:ro",
    )
    check_equal((done.stdout, done.stderr), ("yes no no no no no no no\n", ""))
    check_equal(tree_of(folder), before)


@test("CPython sees no variable but those it was given")
def _():
    source = "import os; print(sorted(os.environ.items()))"
    check_equal(python(source, env={"SECRET_TOKEN": "x"}).stdout, "[]\n")
    given = python(source, "--env", "TASK_ID=abc123", env={"SECRET_TOKEN": "x"})
    check_equal(given.stdout, "[('TASK_ID', 'abc123')]\n")


@test("CPython's exit code passes through, and an exception is its 1 with a traceback")
def _():
    check_equal(python("import sys; sys.exit(3)").status, 3)
    done = python("raise ValueError('so there')")
    check_equal((done.status, done["exit_code"]), (1, 1))
    check_match("Traceback.*\nValueError: so there\n$", done.stderr.replace("\n  ", " "))


@test("CPython takes its program from standard input")
def _():
    done = run_made("python", "--stdin", "-", args=["-", "x"], stdin=b"import sys; print(sys.argv)")
    check_equal(done.stdout, "['-', 'x']\n")


@test("CPython has no other program to run and nobody to connect to")
def _():
    done = python(
        "import os\n"
        "print(hasattr(os, 'fork'), hasattr(os, 'system'))\n"
        "try:\n"
        "    import socket\n"
        "    socket.create_connection(('127.0.0.1', 1))\n"
        "except (ImportError, OSError, AttributeError) as error: print('no')"
    )
    check_equal((done.stdout, done.stderr), ("False False\nno\n", ""))


@test("CPython past its memory gets a MemoryError that it can handle")
def _():
    done = python("try: bytearray(1 << 27)\nexcept MemoryError: print('caught')")
    check_equal((done.status, done.stdout, done.hit), (0, "caught\n", ["memory"]))


# ---- other interpreters, of other ages -------------------------------------------------------


@test("SQLite, a guest of wasi_unstable, answers a query in memory")
def _():
    done = run_made("sqlite", args=[":memory:", "select 6 * 7, upper('sql')"])
    check_equal((done.status, done.stdout), (0, "42|SQL\n"))


@test("SQLite keeps a database in a granted directory from run to run")
def _():
    folder = workspace()
    for expected, query in (
        ("", "create table t (a); insert into t values (1), (2);"),
        ("3\n", "select sum(a) from t; update t set a = a * 10;"),
        ("30\n", "select sum(a) from t;"),
    ):
        done = run_made("sqlite", "--allow-dir", f"{folder}::/data", args=["/data/t.db", query])
        check_equal((done.stdout, done.stderr), (expected, ""))


@test("SQLite cannot change a database that it may only read")
def _():
    folder = workspace()
    made = ["/data/t.db", "create table t (a); insert into t values (7);"]
    run_made("sqlite", "--allow-dir", f"{folder}::/data", args=made)
    before = tree_of(folder)
    for database, query, expected in (
        ("file:/data/t.db?mode=ro", "select a from t;", (0, "7\n")),
        ("file:/data/t.db?mode=ro", "delete from t;", (8, "")),
        ("/data/t.db", "delete from t;", (1, "")),
    ):
        done = run_made("sqlite", "--allow-dir", f"{folder}::/data:ro", args=[database, query])
        check_equal((done.status, done.stdout), expected)
    check_equal(tree_of(folder), before)


@test("Ruby computes, requires a library and reads a granted file")
def _():
    folder = workspace(input_txt="from the host")
    source = 'require "json"; puts 2**70, ({a: 1}).to_json, File.read("/data/input.txt")'
    done = run_made("ruby", *RUBY_NEEDS, "--allow-dir", f"{folder}::/data", args=["-e", source])
    check_equal((done.lines()), ["1180591620717411303424", '{"a":1}', "from the host"])
    check_equal(run_made("ruby", *RUBY_NEEDS, args=["-e", "exit 3"]).status, 3)


@test("PHP runs a script from a granted directory")
def _():
    folder = workspace(job_php="<?php echo json_encode(array_map(fn($n) => $n * $n, [1, 2, 3]));")
    done = run_made("php", "--allow-dir", f"{folder}::/data:ro", args=["-q", "/data/job.php"])
    check_equal((done.status, done.stdout), (0, "[1,4,9]"))


@test("a QuickJS that wants WasmEdge's sockets is refused before it starts, by name")
def _():
    done = run_made("quickjs", args=["-e", "print(6 * 7)"])
    check_equal((done.status, done.reason, done.code), (126, "not_started", "imports"))
    check_in("wasi_snapshot_preview1.sock_connect", done.error)


main(make_guests)
