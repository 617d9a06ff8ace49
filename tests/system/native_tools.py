#!/usr/bin/python3
"""The interpreters and tools that must work inside a native cell, walls and all."""

import base64
import hashlib
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

HELLO_C = '#include <stdio.h>\nint main(void) { puts("hello from C"); return 0; }\n'
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # the guest's
IDENTITY = "-c user.name=Me -c user.email=me@example.org"


def need(*tools):
    """They must be there for a guest too: what lies in a home folder is not."""
    for tool in tools:
        if not shutil.which(tool, path=PATH):
            skip(f"{tool} is not installed")


def worked(done, said):
    check_equal((done.status, done.stdout), (0, said), f"status and stdout ({done.stderr})")
    check_equal(done.hit, [], "limits_hit")


def row(sentence, tools, argv, said, *options):
    """One test: the program ends with 0 and says exactly this."""

    @test(sentence)
    def _():
        need(*tools.split())
        worked(native(*argv, options=options), said)


def py(sentence, script, said, *options):
    row(sentence, "python3", ["python3", "-c", script], said, *options)


def sh(sentence, tools, script, said, *options):
    row(sentence, f"bash {tools}", ["bash", "-c", "set -e\n" + script], said, *options)


def js(sentence, script, said, *options):
    row(sentence, "node", ["node", "-e", script], said, *options)


# ---- python ----------------------------------------------------------------------------------

py(
    "python starts other programs and reads what they say",
    "import subprocess as s\n"
    "print(s.run('tr a-z A-Z', shell=True, input='abc', text=True, capture_output=True).stdout)",
    "ABC\n",
)
py(
    "python runs threads",
    "import threading\n"
    "got, lock = [], threading.Lock()\n"
    "def work(n):\n"
    "    with lock: got.append(n * n)\n"
    "them = [threading.Thread(target=work, args=(n,)) for n in range(50)]\n"
    "[t.start() for t in them], [t.join() for t in them]\n"
    "print(sum(got))",
    "40425\n",
)
py(
    "python's multiprocessing pools work, forked and spawned",
    "import multiprocessing as m\n"
    "for way in ('fork', 'spawn'):\n"
    "    with m.get_context(way).Pool(4) as pool: print(way, sum(pool.map(abs, range(-100, 0))))",
    "fork 5050\nspawn 5050\n",
)
py(
    "python's fork server, which connects to a socket, works with --loopback",
    "import multiprocessing as m\n"
    "with m.get_context('forkserver').Pool(4) as pool: print(sum(pool.map(abs, range(-100, 0))))",
    "5050\n",
    "--loopback",
)
py(
    "python's concurrent futures and shared memory work",
    "import concurrent.futures as f, multiprocessing.shared_memory as s\n"
    "with f.ProcessPoolExecutor(2) as pool: print(list(pool.map(pow, [2, 3], [10, 4])))\n"
    "m = s.SharedMemory(create=True, size=4096); m.buf[0] = 7; print(m.buf[0])\n"
    "m.close(); m.unlink()",
    "[1024, 81]\n7\n",
)
py(
    "python's asyncio runs programs",
    "import asyncio\n"
    "async def main():\n"
    "    them = [await asyncio.create_subprocess_exec('echo', str(n), stdout=-1) for n in (1, 2)]\n"
    "    print([(await t.communicate())[0] for t in them])\n"
    "asyncio.run(main())",
    "[b'1\\n', b'2\\n']\n",
)
py(
    "python keeps a database in a file and reads it back",
    "import sqlite3\n"
    "db = sqlite3.connect('data.db'); db.execute('pragma journal_mode=wal')\n"
    "db.execute('create table t(n)'); db.executemany('insert into t values(?)', ((n,) for n in range(1000)))\n"
    "db.commit(); db.close()\n"
    "print(sqlite3.connect('data.db').execute('select count(*), sum(n) from t').fetchone())",
    "(1000, 499500)\n",
)
py(
    "python has ssl and the host's certificate authorities",
    "import ssl\n"
    "c = ssl.create_default_context()\n"
    "print(c.verify_mode == ssl.CERT_REQUIRED, type(ssl.get_default_verify_paths().cafile or ''))",
    "True <class 'str'>\n",
)
py(
    "python makes temporary files and directories, in /tmp",
    "import tempfile, os\n"
    "with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d:\n"
    "    print(os.path.dirname(f.name), os.path.dirname(d), os.listdir(d))\n"
    "with tempfile.TemporaryFile() as f: f.write(b'x' * 100000); print(f.tell())",
    "/tmp /tmp []\n100000\n",
)
py(
    "python lists the root and knows who it is",
    "import os, pwd, grp, socket, getpass\n"
    "print({'usr', 'tmp', 'home', 'proc', 'dev', 'etc'} <= set(os.listdir('/')))\n"
    "me = pwd.getpwuid(os.getuid())\n"
    "print(me.pw_name, me.pw_dir, grp.getgrgid(os.getgid()).gr_name, socket.gethostname())\n"
    "print(os.path.expanduser('~'), getpass.getuser(), os.getcwd())",
    "True\nwasp /home/wasp wasp wasp\n/home/wasp wasp /home/wasp\n",
)
py(
    "python's signals, alarms and waits work",
    "import os, signal, time\n"
    "signal.signal(signal.SIGALRM, lambda *_: print('alarm', flush=True))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()\n"
    "pid = os.fork() or os._exit(3)\n"
    "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    "pid = os.fork()\n"
    "if pid == 0: time.sleep(60)\n"
    "os.kill(pid, 15); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "alarm\n3\n-15\n",
)
py(
    "python maps, locks and watches files",
    "import mmap, fcntl, os, select\n"
    "f = open('f', 'w+b'); f.write(b'a' * 8192); f.flush(); fcntl.flock(f, fcntl.LOCK_EX)\n"
    "m = mmap.mmap(f.fileno(), 0); m[0:1] = b'b'; m.flush(); f.seek(0); print(f.read(2))\n"
    "r, w = os.pipe(); e = select.epoll(); e.register(r, select.EPOLLIN)\n"
    "os.write(w, b'x'); print(len(e.poll(1)))",
    "b'ba'\n1\n",
)
py(
    "python talks to itself through socket pairs",
    "import socket\n"
    "a, b = socket.socketpair(); a.sendall(b'ping'); print(b.recv(4))",
    "b'ping'\n",
)
py(
    "numbers and time are what they are outside",
    "import time, os, decimal\n"
    "print(time.tzname[0], len(os.urandom(8)), os.cpu_count() > 0, decimal.Decimal(1) / 8)",
    "UTC 8 True 0.125\n",
)


def build_wheel(folder):
    """A package without a tool to build it: a wheel is a zip file with three texts in it."""
    name, info = "waspwheel", "waspwheel-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "def greet():\n    return 'hello from a wheel'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
        record += f"{path},sha256={digest.rstrip('=')},{len(text)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    path = os.path.join(folder, f"{name}-1.0-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in files.items():
            wheel.writestr(inner, text)
    return path


def has_module(name):
    argv = ["/usr/bin/python3", "-c", f"import {name}"]
    return subprocess.run(argv, capture_output=True, env=wasp_env()).returncode == 0


@test("pip installs a local wheel into HOME, and python imports it")
def _():
    need("python3")
    if not has_module("pip"):
        skip("pip is not installed")
    folder = new_dir("wheel")
    build_wheel(folder)
    script = (
        "set -e\n"
        "python3 -m pip install -q --no-index --no-cache-dir --target ~/lib /wheel/*.whl >&2\n"
        "PYTHONPATH=~/lib python3 -c 'import waspwheel; print(waspwheel.greet())'"
    )
    worked(shell(script, "--allow-dir", f"{folder}::/wheel:ro"), "hello from a wheel\n")


@test("a virtual environment is made in a granted directory, and a local wheel installed in it")
def _():
    need("python3")
    if not has_module("ensurepip"):
        skip("python3-venv is not installed")
    folder, ws = new_dir("wheel"), new_dir("ws")
    build_wheel(folder)
    script = (
        "set -e\n"
        "python3 -m venv env\n"
        "env/bin/pip install -q --no-index --no-cache-dir --disable-pip-version-check /wheel/*.whl >&2\n"
        "env/bin/python -c 'import waspwheel; print(waspwheel.greet())'"
    )
    grants = ["--allow-dir", ws, "--allow-dir", f"{folder}::/wheel:ro"]
    worked(shell(script, *grants, "--timeout", "80s"), "hello from a wheel\n")
    check(os.path.exists(os.path.join(ws, "env", "bin", "python")), "the environment is not there")


# ---- node ------------------------------------------------------------------------------------

js("node computes", "console.log([1, 2, 3].map((n) => n * n).join())", "1,4,9\n")
js(
    "node starts other programs",
    "const c = require('child_process');\n"
    "process.stdout.write(c.execSync('echo $((6 * 7))'));\n"
    "c.spawn('cat').on('close', (code) => console.log('cat', code)).stdin.end();",
    "42\ncat 0\n",
)
js(
    "node runs worker threads",
    "const { Worker } = require('worker_threads');\n"
    "const code = \"require('worker_threads').parentPort.postMessage(6 * 7)\";\n"
    "const all = [1, 2, 3].map(() => new Promise((ok) => new Worker(code, { eval: true }).on('message', ok)));\n"
    "Promise.all(all).then((got) => console.log(got.join()));",
    "42,42,42\n",
)
js(
    "node writes, reads and lists files, at once and by promise",
    "const fs = require('fs');\n"
    "fs.mkdirSync('d'); fs.writeFileSync('d/f', 'text');\n"
    "fs.promises.readFile('d/f', 'utf8').then((t) => console.log(t, fs.readdirSync('d'), require('os').homedir()));",
    "text [ 'f' ] /home/wasp\n",
)
js(
    "node has crypto, zlib and timers",
    "const z = require('zlib'), c = require('crypto');\n"
    "const back = z.gunzipSync(z.gzipSync('abc')).toString();\n"
    "setTimeout(() => console.log(back, c.createHash('sha256').update('abc').digest('hex').slice(0, 8)), 5);",
    "abc ba7816bf\n",
)

# ---- shells and small tools ------------------------------------------------------------------

sh("bash pipelines work", "seq sort head", "seq 1 1000 | sort -rn | head -n 2 | tr '\\n' ' '", "1000 999 ")
sh("bash here-documents and here-strings work", "cat", "cat <<X\na $((1+1))\nX\ncat <<<b", "a 2\nb\n")
sh("bash process substitution works", "diff", "diff <(seq 3) <(seq 3) && paste <(echo a) <(echo b)", "a\tb\n")
sh("bash waits for what it starts in the background", "", "for n in 1 2 3; do (exit $n) & done; wait -n || true; wait; echo done", "done\n")
sh("bash traps, arithmetic and arrays work", "", "trap 'echo bye' EXIT; a=(1 2 3); echo $((a[0] + a[2])) ${#a[@]}", "4 3\nbye\n")
sh("a script with a #! line is run by its interpreter", "", "printf '#!/bin/sh\\necho I am $0\\n' > s; chmod +x s; ./s", "I am ./s\n")
sh("a script with #!/usr/bin/env python3 is run", "python3", "printf '#!/usr/bin/env python3\\nprint(1)\\n' > s; chmod +x s; ./s", "1\n")
sh("awk works, though it is a link through /etc/alternatives", "awk", "seq 10 | awk '{ s += $1 } END { print s }'", "55\n")
sh("sed and grep work", "sed grep", "printf 'abc\\nxyz\\n' | grep -c y; echo abc | sed s/b/B/", "1\naBc\n")
sh("find and xargs work", "find xargs", "mkdir -p a/b; touch a/b/c a/d; find a -type f | sort | xargs echo", "a/b/c a/d\n")
sh("tar and gzip round trips keep what they were given", "tar gzip", "mkdir d; seq 1000 > d/f; ln -s f d/l; tar czf a.tgz d; mkdir o; tar xzf a.tgz -C o; cmp d/f o/d/f; readlink o/d/l", "f\n")
sh("tar and xz round trips keep what they were given", "tar xz", "mkdir d; seq 1000 > d/f; tar cJf a.txz d; mkdir o; tar xJf a.txz -C o; cmp d/f o/d/f; xz -T2 -k d/f; xz -dc d/f.xz | cmp - d/f; echo same", "same\n")
sh("perl works", "perl", "perl -e 'use POSIX; use File::Temp; my $f = File::Temp->new; print join(\",\", map { $_ * 2 } 1..3), \"\\n\"; print `echo sub`;'", "2,4,6\nsub\n")
sh("date, time zones and locales work", "date", "date -d @0 +%FT%T%Z; TZ=Europe/Berlin date -d @0 +%H%Z; locale 2>/dev/null | grep -c C.UTF-8 >/dev/null; printf 'ä' | wc -m", "1970-01-01T00:00:00UTC\n01CET\n1\n")
sh("id, whoami and hostname answer for the cell", "id whoami hostname", "id -un; id -gn; whoami; hostname", "wasp\nwasp\nwasp\nwasp\n")
sh("dd, truncate and stat work", "dd stat", "dd if=/dev/zero of=f bs=1k count=10 status=none; truncate -s 5 f; stat -c %s f", "5\n")
sh("named pipes and lock files work", "mkfifo flock", "mkfifo p; echo through > p & cat p; flock l echo locked", "through\nlocked\n")
sh("timeout, nice and xargs -P work", "timeout nice", "timeout 0.1 sleep 60 || echo $?; nice -n 5 echo nice; seq 4 | xargs -P4 -I{} sh -c 'exit 0'; echo end", "124\nnice\nend\n")
sh("busybox works", "busybox", "busybox echo box; busybox sh -c 'echo $((2*3))'", "box\n6\n")


@test("a large sort spills to /tmp and comes out in order")
def _():
    need("sort", "shuf")
    script = "seq 300000 | shuf | sort -n -S 1M > out; seq 300000 | cmp - out && wc -l < out"
    worked(shell(script), "300000\n")


# ---- building --------------------------------------------------------------------------------


@test("gcc compiles in /tmp and in a granted directory, and what it made runs")
def _():
    need("gcc")
    ws = new_dir("ws")
    write_file(ws, "hello.c", data=HELLO_C)
    worked(shell(f"cd /tmp && cat > a.c <<'X'\n{HELLO_C}X\ngcc -O2 a.c -o a && ./a"), "hello from C\n")
    done = shell("gcc -O2 -g hello.c -o hello && ./hello", "--allow-dir", ws)
    worked(done, "hello from C\n")
    built = os.path.join(ws, "hello")
    check_equal(subprocess.run([built], capture_output=True).stdout, b"hello from C\n")
    check_equal(os.stat(built).st_uid, os.getuid(), "owner")


@test("make -j4 builds a project of many files")
def _():
    need("gcc", "make")
    ws = new_dir("ws")
    makefile = "all: prog\nprog: $(patsubst %,f%.o,$(shell seq 8)) main.o\n\tgcc -o $@ $^\n"
    write_file(ws, "Makefile", data=makefile)
    for n in range(1, 9):
        write_file(ws, f"f{n}.c", data=f"int f{n}(void) {{ return {n}; }}\n")
    calls = " + ".join(f"f{n}()" for n in range(1, 9))
    declared = "".join(f"int f{n}(void);" for n in range(1, 9))
    body = f'#include <stdio.h>\n{declared}\nint main(void) {{ printf("%d\\n", {calls}); return 0; }}\n'
    write_file(ws, "main.c", data=body)
    worked(shell("make -s -j4 && ./prog", "--allow-dir", ws), "36\n")


GIT = f"""set -e
git init -q -b main . && git status --short
echo one > file && git add file && git {IDENTITY} commit -q -m first
echo two >> file && git status --short
git {IDENTITY} commit -qam second && git log --format=%s && git diff HEAD~1 --stat | tail -1
"""
SAID = " M file\nsecond\nfirst\n 1 file changed, 1 insertion(+)\n"


@test("git makes a repository in a granted directory, commits and looks back")
def _():
    need("git")
    ws = new_dir("ws")
    worked(shell(GIT, "--allow-dir", ws, "--unprotect", ".git"), SAID)
    log = subprocess.run(["git", "-C", ws, "log", "--format=%s"], capture_output=True, env=wasp_env())
    check_equal(log.stdout, b"second\nfirst\n", "git log outside")


@test("git makes a repository in an overlay, and the host's directory stays as it was")
def _():
    need("git")
    ws = new_dir("ws")
    write_file(ws, "before", data="x")
    before = tree_of(ws)
    done = shell(GIT.replace("git status --short\n", "git status --short | grep -v before || true\n"),
                 "--allow-dir", f"{ws}::{ws}:overlay", "--cwd", ws)  # fmt: skip
    check_equal((done.status, done.stdout.replace("?? before\n", "")), (0, SAID), done.stderr)
    check_equal(tree_of(ws), before, "the host's directory")


@test("git status and commit work in a repository that is there already")
def _():
    need("git")
    ws = new_dir("ws")
    setup = f"git init -q . && echo 1 > f && git add f && git {IDENTITY} commit -q -m first"
    subprocess.run(["bash", "-c", setup], cwd=ws, env=wasp_env(), check=True)
    script = f"set -e; echo 2 > f; git status --short; git {IDENTITY} commit -qam second; git log --format=%s"
    worked(shell(script, "--allow-dir", ws), " M f\nsecond\nfirst\n")
    log = subprocess.run(["git", "-C", ws, "log", "--format=%s"], capture_output=True, env=wasp_env())
    check_equal(log.stdout, b"second\nfirst\n", "git log outside")


main(wasm=False)
