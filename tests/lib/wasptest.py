"""A small TAP harness for tests that use wasp from outside, as its callers do.

    from wasptest import *

    @test("a guest's exit code is wasp's own")
    def _():
        check_equal(run("exit_code", args=["3"]).status, 3)

    main()

A test file runs its tests as whoever started it; with --user, and started by root, as an ordinary user. Every run of wasp is held to
what CONTRACT says of all of them (`check_contract`), whatever the test itself looks at.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORDINARY_UID = 12345
REASONS = set(
    "exited signal trap timeout cpu_limit memory_limit fuel_limit output_limit disk_limit process_limit denied "
    "approval_required cancelled not_started invalid backend_error".split()
)


class Failed(Exception):
    """A check that did not hold; its text says what differed."""


class Skipped(Exception):
    """A test that cannot run here; its text says why."""


# ---- tests and checks ------------------------------------------------------------------------

_tests = []


def test(sentence, only=None):
    """Registers a test. only="root" or only="user" skips it for the other."""

    def register(function):
        _tests.append((sentence, function, only))
        return function

    return register


def skip(why):
    raise Skipped(why)


def check(claim, text):
    if not claim:
        raise Failed(text)


def check_equal(got, expected, what="value"):
    check(got == expected, f"{what}: expected {short(expected)}, got {short(got)}")


def check_in(part, whole, what="text"):
    check(part in whole, f"{what}: expected {short(part)} in {short(whole)}")


def check_match(pattern, text, what="text"):
    check(re.search(pattern, text or ""), f"{what}: expected a match of {pattern!r}, got {short(text)}")


def short(value):
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text)} characters)"


# ---- the place tests run in ------------------------------------------------------------------


class Place:
    """Where this test file runs: the program, the guests, and a folder of its own that goes away at the end."""

    def __init__(self):
        self.wasp = os.path.abspath(os.environ.get("WASP", os.path.join(ROOT, "build", "wasp")))
        self.base = tempfile.mkdtemp(prefix="wasptest-")
        self.guests = os.path.join(self.base, "guests")
        self.home = os.path.join(self.base, "home")
        self.tmp = os.path.join(self.base, "tmp")
        self.count = 0
        os.chmod(self.base, 0o755)
        os.mkdir(self.home)
        os.mkdir(self.tmp)

    def build_guests(self):
        built = os.environ.get("WASPTEST_GUESTS", os.path.join(ROOT, "build", "guests"))
        subprocess.run([os.path.join(ROOT, "tests", "guests", "build.sh"), built], check=True, stdout=sys.stderr)
        shutil.copytree(built, self.guests)

    def drop_to_user(self):
        """From root to an ordinary user, for good. The program is copied if that user could not reach it."""
        if not user_can_reach(self.wasp):
            programs = os.path.join(self.base, "bin")
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
    """The environment wasp is started with: nothing of ours but what it needs to find its folders."""
    return place.env(extra)


def cache_dir():
    return os.path.join(place.home, ".cache", "wasp")


def check_nothing_left():
    """No process, mount or temp file of the runs so far."""
    check_equal(descendants(os.getpid()), [], "processes left")
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
    """Everything beneath a folder that a guest could have changed: names, kinds, modes, times, contents."""
    found = {}
    for where, dirs, files in os.walk(folder):
        for path in [where] + [os.path.join(where, name) for name in dirs + files]:
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else None
            if stat.S_ISREG(st.st_mode):
                content = read_file(path)
            found[os.path.relpath(path, folder)] = (st.st_mode, st.st_nlink, st.st_mtime_ns, content)
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


def wasp(*command, stdin=subprocess.DEVNULL, env=None, cwd=None, timeout=90, contract=True, **how):
    """Runs wasp and takes apart what it gave back. stdin: bytes, a file or a descriptor."""
    argv = [place.wasp, *command]
    if isinstance(stdin, bytes):
        how["input"] = stdin
    else:
        how["stdin"] = stdin
    done = subprocess.run(argv, capture_output=True, env=place.env(env), cwd=cwd or place.base, timeout=timeout, **how)
    outcome = Outcome(command, done.returncode, done.stdout, done.stderr)
    if contract:
        check_contract(outcome)
    return outcome


def run(name, *options, args=(), **how):
    """`wasp run` of a guest, by its name or by a path to a module."""
    module = name if os.sep in name else guest(name)
    return wasp("run", module, *options, "--", *args, **how)


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


def descendants(pid):
    """Process ids beneath pid, its own left out."""
    children = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{int(entry)}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry))
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


# ---- what holds for every run ----------------------------------------------------------------


def no_duplicate_keys(pairs):
    check(len({key for key, _ in pairs}) == len(pairs), f"a key stands twice: {short([key for key, _ in pairs])}")
    return dict(pairs)


def parse_envelope(raw):
    """Exactly one JSON object and a newline, in UTF-8."""
    check(raw.endswith(b"\n"), f"stdout does not end in a newline: {short(raw)}")
    try:
        text = raw[:-1].decode("utf-8")
        value = json.loads(text, object_pairs_hook=no_duplicate_keys)
    except ValueError as why:
        raise Failed(f"stdout is not one JSON object ({why}): {short(raw)}") from None
    check(isinstance(value, dict) and text[0] == "{" and text[-1] == "}", f"stdout is not one JSON object: {short(raw)}")
    return value


def expected_status(envelope):
    """CONTRACT §2 as a function of the envelope; None where the envelope alone does not say."""
    reason = envelope["reason"]
    if reason == "exited":
        return envelope["exit_code"] if envelope["exit_code"] <= 255 else 125
    if reason in ("signal", "cancelled"):
        return 128 + envelope["signal"]
    if reason == "not_started":
        return 127 if envelope.get("error_info", {}).get("code") == "not_found" else 126
    by_reason = {
        "timeout": 124, "cpu_limit": 124, "fuel_limit": 124, "backend_error": 125, "trap": 134, "memory_limit": 137,
        "disk_limit": 137, "output_limit": 137, "process_limit": 137, "invalid": 2, "denied": 77, "approval_required": 77,
    }  # fmt: skip
    return by_reason[reason]


def check_types(envelope):
    base = {
        "status": str, "execution_time_ms": int, "stdout": str, "stderr": str, "schema": str, "run_id": str, "backend": str,
        "reason": str, "truncated": dict, "usage": dict, "enforced": list, "denials": list,
    }  # fmt: skip
    for key, kind in base.items():
        check(type(envelope.get(key)) is kind, f"{key} should be {kind.__name__}: {short(envelope.get(key))}")
    for key in ("exit_code", "error"):
        check(key in envelope, f"{key} is missing")
    check(envelope["exit_code"] is None or type(envelope["exit_code"]) is int, f"exit_code: {short(envelope['exit_code'])}")
    check_equal(envelope["schema"], "wasp.result/1", "schema")
    check_match(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", envelope["run_id"], "run_id")
    check_in(envelope["reason"], REASONS, "reason")
    check_equal({key: type(value) for key, value in envelope["truncated"].items()}, {"stdout": bool, "stderr": bool}, "truncated")
    for key in ("wall_ms", "cpu_ms", "max_rss_bytes"):
        check(type(envelope["usage"].get(key)) is int, f"usage.{key} should be int: {short(envelope['usage'])}")


def check_schema(envelope):
    path = os.path.join(ROOT, "schemas", "result.json")
    if jsonschema is None or not os.path.exists(path):
        return
    with open(path) as file:
        schema = json.load(file)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(envelope))
    check(not errors, "; ".join(f"schema: {'/'.join(map(str, e.path))}: {e.message[:300]}" for e in errors))


def check_contract(outcome):
    """Parses the envelope and holds it to what is true of all of them."""
    outcome.envelope = envelope = parse_envelope(outcome.raw)
    check_types(envelope)
    check_schema(envelope)
    check_equal(outcome.status, expected_status(envelope), f"exit status for {envelope['reason']}")
    check_equal(envelope["status"], "success" if outcome.status == 0 else "error", "status")
    if envelope["status"] == "success":
        check_equal((envelope["exit_code"], envelope["error"]), (0, None), "exit_code and error of a success")
    else:
        check(envelope["error"] and "\n" not in envelope["error"], f"error should be one line: {short(envelope['error'])}")
    check_human_line(outcome)


def check_human_line(outcome):
    """One line on stderr when status is error and nobody asked for quiet."""
    wants = outcome.envelope["status"] == "error" and "--quiet" not in outcome.command
    check_equal(len(outcome.said.splitlines()), 1 if wants else 0, f"lines on stderr ({short(outcome.said)})")


# ---- main ------------------------------------------------------------------------------------


def run_one(function, only):
    """(verdict, text): True, False, or None for skipped."""
    try:
        if only and only != ("root" if os.getuid() == 0 else "user"):
            raise Skipped(f"only for {'root' if only == 'root' else 'an ordinary user'}")
        function()
    except Skipped as why:
        return None, str(why)
    except Failed as why:
        frames = traceback.extract_tb(why.__traceback__)
        lines = [frame.lineno for frame in frames if not os.path.samefile(frame.filename, __file__)]
        return False, f"{why} (line {lines[-1]})"
    except Exception:
        return False, traceback.format_exc()
    return True, ""


def run_all(wanted):
    counts = {True: 0, False: 0, None: 0}
    chosen = [entry for entry in _tests if not wanted or any(word in entry[0] for word in wanted)]
    print(f"1..{len(chosen)}", flush=True)
    for number, (sentence, function, only) in enumerate(chosen, 1):
        verdict, text = run_one(function, only)
        counts[verdict] += 1
        print(f"{'not ok' if verdict is False else 'ok'} {number} - {sentence}{' # SKIP ' + text if verdict is None else ''}")
        if verdict is False:
            print("".join(f"# {line}\n" for line in text.splitlines()), end="")
        sys.stdout.flush()
    print(f"# {counts[True]} passed, {counts[False]} failed, {counts[None]} skipped")
    return 1 if counts[False] else 0


def main():
    """FILE [--user] [WORD…]: all tests, or those whose sentence holds a WORD."""
    global place
    words = [word for word in sys.argv[1:] if word != "--user"]
    as_user = "--user" in sys.argv[1:]
    if as_user and os.getuid() != 0:
        print("1..0 # SKIP not started by root, so the plain run is that of an ordinary user already")
        sys.exit(0)
    os.umask(0o022)
    place = Place()
    try:
        place.build_guests()
        if as_user:
            place.drop_to_user()
        status = run_all(words)
    finally:
        shutil.rmtree(place.base, ignore_errors=True)
    sys.exit(status)
