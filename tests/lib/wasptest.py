"""A small TAP harness for tests that use wasp from outside, as its callers do.

    from wasptest import *

    @test("a guest's exit code is wasp's own")
    def _():
        check_equal(run("exit_code", args=["3"]).status, 3)

    main()

A test file runs its tests as whoever started it; with --user, and started by root, as an ordinary
user. Every run of wasp is held to what CONTRACT says of all of them (`check_contract`), whatever
the test itself looks at.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from contract import check_contract, parse_envelope
from tap import *
from tap import run_all

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORDINARY_UID = 12345

# ---- the place tests run in ------------------------------------------------------------------


class Place:
    """The program, the guests, and a folder for this test file that goes away at the end."""

    def __init__(self):
        self.wasp = os.path.abspath(os.environ.get("WASP", os.path.join(ROOT, "build", "wasp")))
        self.base = tempfile.mkdtemp(prefix="wasptest-")
        self.guests = os.path.join(self.base, "guests")
        self.home = os.path.join(self.base, "home")
        self.tmp = os.path.join(self.base, "tmp")
        self.count = 0
        self.others = set(cgroups_left())  # of runs before ours
        os.chmod(self.base, 0o755)
        os.mkdir(self.home)
        os.mkdir(self.tmp)

    def build_guests(self):
        built = os.environ.get("WASPTEST_GUESTS", os.path.join(ROOT, "build", "guests"))
        build = os.path.join(ROOT, "tests", "guests", "build.sh")
        subprocess.run([build, built], check=True, stdout=sys.stderr)
        shutil.copytree(built, self.guests, ignore=shutil.ignore_patterns("*.wasm.*"))

    def drop_to_user(self):
        """From root to an ordinary user, for good; copies wasp if that user cannot reach it."""
        if not user_can_reach(self.wasp):
            programs = os.path.join(self.base, "programs")
            shutil.copytree(os.path.dirname(self.wasp), programs, ignore=not_programs)
            self.wasp = os.path.join(programs, os.path.basename(self.wasp))
        for where, _, files in os.walk(self.base):
            for path in [where] + [os.path.join(where, name) for name in files]:
                os.chown(path, ORDINARY_UID, ORDINARY_UID)
        become(ORDINARY_UID)

    def new_dir(self, name="dir"):
        self.count += 1
        path = os.path.join(self.base, f"{name}-{self.count}")
        os.mkdir(path)
        return path

    def env(self, extra=None):
        return {"PATH": "/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.tmp, **(extra or {})}


def not_programs(folder, names):
    """For copytree: of a build folder only the programs themselves matter."""
    paths = ((name, os.path.join(folder, name)) for name in names)
    return [name for name, path in paths if not (os.path.isfile(path) and os.access(path, os.X_OK))]


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def user_can_reach(path):
    child = os.fork()
    if child == 0:
        become(ORDINARY_UID)
        os._exit(0 if os.access(path, os.X_OK) else 1)
    return os.waitpid(child, 0)[1] == 0


place = None  # set by main(): what a test needs of it is below


def guest(name):
    """The path of a guest in tests/guests, built."""
    return os.path.join(place.guests, name + ".wasm")


def new_dir(name="dir"):
    return place.new_dir(name)


def wasp_path():
    return place.wasp


def wasp_env(extra=None):
    """What wasp is started with: nothing of ours but what it needs to find its folders."""
    return place.env(extra)


def cache_dir():
    return os.path.join(place.home, ".cache", "wasp")


def state_dir():
    return os.path.join(place.home, ".local", "state", "wasp")


def cgroups_left():
    """Folders of runs that nobody holds any more: a run that lives has a lock on its own."""
    found = []
    for where, names, _ in os.walk("/sys/fs/cgroup"):
        for path in (os.path.join(where, name) for name in names if name.startswith("wasp-")):
            with contextlib.suppress(OSError):  # it went away meanwhile, or is locked
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    found.append(path)
                finally:
                    os.close(fd)
    return found


def check_nothing_left():
    """No process, mount, cgroup or temp file of the runs so far."""
    check_equal(descendants(os.getpid()), [], "processes left")
    seen = set(cgroups_left()) - place.others
    if seen:
        time.sleep(0.3)  # somebody else's run may have been about to lock its own
        check_equal(sorted(seen & set(cgroups_left())), [], "cgroups left")
    with open("/proc/self/mountinfo") as file:
        check(place.base not in file.read(), "a mount is left")
    check_equal(os.listdir(place.tmp), [], "temp files left")


def write_file(*parts, data=""):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def read_file(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def tree_of(folder):
    """All that a guest could have changed beneath a folder: names, modes, times, contents."""
    found = {}
    for where, dirs, files in os.walk(folder):
        for path in [where] + [os.path.join(where, name) for name in dirs + files]:
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else None
            if stat.S_ISREG(st.st_mode):
                content = read_file(path)
            seen = (st.st_mode, st.st_nlink, st.st_mtime_ns, content)
            found[os.path.relpath(path, folder)] = seen
    return found


# ---- modules no guest in tests/guests could be ------------------------------------------------


def leb(number):
    """An unsigned number as the wasm format writes it."""
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def section(number, data):
    return bytes([number]) + leb(len(data)) + data


# ---- running wasp ----------------------------------------------------------------------------


class Outcome:
    """One finished run of wasp: what the process gave back, and its envelope."""

    def __init__(self, command, status, stdout, stderr):
        self.command = command
        self.status = status
        self.raw = stdout
        self.said = stderr.decode("utf-8", "replace")
        self.envelope = None

    def __getitem__(self, key):
        return self.envelope.get(key)

    @property
    def stdout(self):
        return self.envelope["stdout"]

    @property
    def stderr(self):
        return self.envelope["stderr"]

    @property
    def reason(self):
        return self.envelope["reason"]

    @property
    def error(self):
        return self.envelope["error"]

    @property
    def code(self):
        return (self.envelope.get("error_info") or {}).get("code")

    @property
    def hit(self):
        return self.envelope.get("limits_hit") or []

    def lines(self):
        return self.stdout.splitlines()


def wasp(
    *command,
    stdin=subprocess.DEVNULL,
    env=None,
    cwd=None,
    timeout=90,
    contract=True,
    program=None,
    **how,
):
    """Runs wasp and takes apart what it gave back. stdin: bytes, a file or a descriptor."""
    argv = [program or place.wasp, *command]
    if isinstance(stdin, bytes):
        how["input"] = stdin
    else:
        how["stdin"] = stdin
    done = subprocess.run(
        argv, capture_output=True, env=place.env(env), cwd=cwd or place.base, timeout=timeout, **how
    )
    outcome = Outcome(command, done.returncode, done.stdout, done.stderr)
    if contract:
        check_contract(outcome)
    return outcome


def run(name, *options, args=(), **how):
    """`wasp run` of a guest, by its name or by a path to a module."""
    module = name if os.sep in name else guest(name)
    return wasp("run", module, *options, "--", *args, **how)


def native(*argv, options=(), **how):
    """`wasp exec` of a program with its arguments; options are wasp's own."""
    return wasp("exec", *options, "--", *argv, **how)


def shell(script, *options, args=(), **how):
    """`wasp exec` of a bash script; args are its $1 and on."""
    return native("bash", "-c", script, "bash", *args, options=options, **how)


def python(script, *options, args=(), **how):
    """`wasp exec` of a Python script; args are its sys.argv[1:]."""
    return native("/usr/bin/python3", "-c", script, *args, options=options, **how)


def listed(path, *options):
    """The names that a native guest finds in a directory."""
    script = f"import os\nfor name in os.listdir({path!r}): print(name)"
    return {line.strip() for line in python(script, *options).lines()}


def tried(*lines, options=(), **how):
    """Runs each line of Python by itself and says ok, or the name of the error: a list."""
    script = (
        "import errno, os, sys\n"
        "for line in sys.argv[1:]:\n"
        "    try: exec(line); print('ok')\n"
        "    except OSError as e: print(errno.errorcode[e.errno])"
    )
    done = python(script, *options, args=lines, **how)
    check_equal(done.status, 0, done.stderr)
    return done.lines()


def start(*command, **how):
    """Starts wasp and returns at once; its output goes to pipes. `finish` takes the rest."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    how["env"] = place.env(how.get("env"))
    return subprocess.Popen([place.wasp, *command], cwd=place.base, **how)


def finish(process, timeout=60):
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed(f"wasp was still running {timeout} s later")
    outcome = Outcome(process.args[1:], process.returncode, stdout, stderr)
    check_contract(outcome)
    return outcome


def wait_until(condition, what, seconds=30):
    """Looks again and again until it is so; a test fails when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"waited {seconds} s in vain for {what}")
        time.sleep(0.01)


def adopt_orphans():
    """What outlives wasp becomes our child, so that `descendants` sees it."""
    PR_SET_CHILD_SUBREAPER = 36
    check_equal(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0, "prctl")


def descendants(pid):
    """Process ids beneath pid, its own left out, and zombies too: those hold nothing any more."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def peak_memory_bytes(pid):
    """The most the process ever had resident, or None once it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            found = re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[1]) * 1024 if found else None


# ---- main ------------------------------------------------------------------------------------


def main(prepare=None, wasm=True):
    """FILE [--user] [WORD…]: all tests, or those whose sentence holds a WORD.

    prepare(folder) adds to the guests, or to anything below the place, before the user drops.
    Without wasm the folder of guests is empty until then."""
    global place
    words = [word for word in sys.argv[1:] if word != "--user"]
    as_user = "--user" in sys.argv[1:]
    if as_user and os.getuid() != 0:
        print("1..0 # SKIP not started by root: the plain run is that of an ordinary user already")
        sys.exit(0)
    os.umask(0o022)
    adopt_orphans()
    place = Place()
    try:
        if wasm:
            place.build_guests()
        else:
            os.mkdir(place.guests)
        if prepare:
            prepare(place.guests)
        if as_user:
            place.drop_to_user()
        status = run_all(words)
    finally:
        shutil.rmtree(place.base, ignore_errors=True)
    sys.exit(status)
