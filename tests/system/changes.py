#!/usr/bin/python3
"""Changes that runs made in overlay directories: seen, applied, discarded.

They are kept by the program of unit/test_changes_keep, from trees that are made here as an overlay
leaves them. That `wasp exec` keeps the same is for the tests of that verb.
"""

import contextlib
import json
import os
import pty
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import wasptest
from contract import check_fits
from wasptest import *


def fetch_keeper(folder):
    """Next to the guests: there an ordinary user reaches it, too."""
    program = os.environ.get("WASP", os.path.join(ROOT, "build", "wasp"))
    shutil.copy(os.path.join(os.path.dirname(program), "tests", "test_changes_keep"), folder)


class Workspace:
    """A directory of the host's, what a guest left in its layer, and a state folder."""

    def __init__(self, files=()):
        self.base = new_dir("changes")
        self.lower, self.upper, self.state = (os.path.join(self.base, name)
                                              for name in ("lower", "upper", "state"))
        os.mkdir(self.lower)
        os.mkdir(self.upper)
        self.env = {"WASP_STATE_DIR": self.state}
        for path, data in dict(files).items():
            write_file(self.lower, path, data=data)

    def write(self, path, data="", mode=0o644):
        os.chmod(write_file(self.upper, path, data=data), mode)

    def delete(self, path):
        os.makedirs(os.path.dirname(os.path.join(self.upper, path)), exist_ok=True)
        os.mknod(os.path.join(self.upper, path), stat.S_IFCHR, os.makedev(0, 0))

    def keep(self):
        """Returns the run id."""
        run_id = str(uuid.UUID(int=uuid.uuid4().int & ~(0xF << 76) | 7 << 76))
        keeper = os.path.join(wasptest.place.guests, "test_changes_keep")
        done = subprocess.run([keeper, "--keep", self.state, run_id, self.upper, self.lower],
                              capture_output=True, text=True)
        check_equal((done.returncode, done.stderr), (0, ""), "keeping")
        return run_id

    def call(self, *words, status=0, schema=None):
        """A verb that prints JSON: the object, held to its schema."""
        done = wasp("changes", *words, contract=False, env=self.env)
        check_equal(done.status, status, f"status of {words} ({done.raw[-300:]}, {done.said})")
        value = parse_envelope(done.raw)
        check_fits(schema or "changes", value)
        check_equal(len(done.said.splitlines()), int(status != 0), f"lines on stderr: {done.said}")
        return value

    def diff(self, run_id):
        done = wasp("changes", "diff", run_id, contract=False, env=self.env)
        check_equal((done.status, done.said), (0, ""), "status of diff")
        return done.raw


# ---- looking ---------------------------------------------------------------------------------


@test("what is kept is listed and shown, each entry with what became of it")
def _():
    space = Workspace({"a": "old", "gone": "x"})
    space.write("a", "new")
    space.write("new", "text", 0o755)
    space.write(".envrc", "x")
    space.delete("gone")
    check_equal(space.call("list"), {"schema": "wasp.changes.list/1", "changes": [], "problems": []})
    run_id = space.keep()
    found = space.call("list")["changes"]
    check_equal([(one["run_id"], one["state"]) for one in found], [(run_id, "kept")])
    shown = space.call("show", run_id)
    check_equal((shown["added"], shown["changed"], shown["deleted"]), (2, 1, 1), "counts")
    entries = [(entry["path"], entry["change"], entry.get("mode"), entry.get("protected"))
               for entry in shown["entries"]]
    record = json.loads(read_file(space.state, "changes", run_id, "record.json"))
    lines = read_file(space.state, "changes", run_id, "entries").splitlines()
    check_fits("changes", {**record, "entries": [json.loads(line) for line in lines]})
    check_equal(entries, [(".envrc", "added", "0644", ".envrc"), ("a", "changed", "0644", None),
                          ("gone", "deleted", None, None), ("new", "added", "0755", None)])


@test("a name that is no UTF-8 is shown in base64, and applied")
def _():
    space = Workspace()
    name = os.fsdecode(b"\xff\n\x1b[0m")
    space.write(name, "x")
    run_id = space.keep()
    check_equal([entry.get("path_b64") for entry in space.call("show", run_id)["entries"]],
                ["/wobWzBt"])
    space.call("apply", run_id)
    check_equal(os.listdir(space.lower), [name])


@test("a run that has no changes, or no run at all, is one clear error")
def _():
    space = Workspace()
    unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    for verb in ("show", "apply", "discard"):
        check_in("no changes of run", space.call(verb, unknown, status=127, schema="answer")["error"])
        check_in("is no run id", space.call(verb, "../x", status=2, schema="answer")["error"])
        space.call(verb, status=2, schema="answer")
    done = wasp("changes", "diff", unknown, contract=False, env=space.env)
    check_equal((done.status, done.raw, len(done.said.splitlines())), (127, b"", 1))
    check_in("WASP_STATE_DIR", parse_envelope(
        wasp("changes", "list", contract=False, env={"HOME": ""}).raw)["error"])


# ---- applying --------------------------------------------------------------------------------


@test("applied changes are on the host, and then only a record is left of them")
def _():
    space = Workspace({"a": "old", "gone": "x", "d/e": "x"})
    space.write("a", "new")
    space.write("new/file", "text", 0o755)
    space.delete("gone")
    space.delete("d")
    run_id = space.keep()
    done = space.call("apply", run_id)
    check_equal((done["status"], done["done"], done["applied"]), ("success", True, 6), "outcome")
    check_equal(sorted(os.listdir(space.lower)), ["a", "new"])
    check_equal(read_file(space.lower, "a"), b"new")
    check_equal(stat.S_IMODE(os.stat(f"{space.lower}/new/file").st_mode), 0o755)
    shown = space.call("show", run_id)
    check_equal((shown["state"], shown["applied"], shown["entries"]), ("applied", 6, []))
    check_equal(sorted(os.listdir(f"{space.state}/changes/{run_id}")), ["applied.json", "record.json"])
    check_equal(space.call("apply", run_id)["already"], 6)
    done = wasp("changes", "diff", run_id, contract=False, env=space.env)
    check_in("were applied", done.said)


@test("what is refused leaves all as it is, with the reason and what helps")
def _():
    space = Workspace({"a": "old"})
    space.write("a", "new")
    space.write(".vscode/tasks.json", "{}")
    space.write("setuid", "x", 0o4755)
    os.symlink("/etc/passwd", f"{space.upper}/link")
    os.mkfifo(f"{space.upper}/fifo")
    run_id = space.keep()
    before = tree_of(space.lower)
    done = space.call("apply", run_id, status=77)
    check_equal(tree_of(space.lower), before)
    refused = {one["path"]: (one["reason"], one.get("rule")) for one in done["refusals"]}
    check_equal(refused, {".vscode": ("protected", ".vscode"), "fifo": ("special", None),
                          ".vscode/tasks.json": ("protected", ".vscode"),
                          "link": ("symlink", None), "setuid": ("setuid", None)})
    check_in("--unprotect .vscode", done["error"])
    check_equal(space.call("show", run_id)["state"], "kept")
    done = space.call("apply", run_id, "--unprotect", ".vscode", "--skip-refused")
    check_equal((done["applied"], done["refused"]), (3, 3), "counts")
    check_equal(sorted(os.listdir(space.lower)), [".vscode", "a"])


@test("a name that no rule has cannot be unprotected")
def _():
    space = Workspace()
    space.write(".envrc", "x")
    run_id = space.keep()
    for name in ("Makefile", "", ".git/hooks/x"):
        space.call("apply", run_id, "--unprotect", name, status=2, schema="answer")
    space.call("apply", run_id, "--unprotect", ".envrc")
    check_equal(os.listdir(space.lower), [".envrc"])


@test("a file that the host changed since is refused")
def _():
    space = Workspace({"a": "old", "b": "old"})
    space.write("a", "new")
    space.write("b", "new")
    run_id = space.keep()
    write_file(space.lower, "a", data="mine")
    done = space.call("apply", run_id, status=77)
    check_equal([(one["path"], one["reason"]) for one in done["refusals"]], [("a", "changed_since")])
    space.call("apply", run_id, "--skip-refused")
    check_equal((read_file(space.lower, "a"), read_file(space.lower, "b")), (b"mine", b"new"))


@test("several that apply at once do it once")
def _():
    for turn in range(5):
        space = Workspace({"a": "old"})
        for number in range(30):
            space.write(f"new/{number}", str(number))
        run_id = space.keep()
        started = [start("changes", "apply", run_id, env=space.env) for _ in range(4)]
        answers = [(parse_envelope(one.communicate(timeout=60)[0]), one.returncode) for one in started]
        good = [answer for answer, status in answers if status == 0]
        check(good, f"none succeeded: {answers}")
        check_equal([status for _, status in answers if status not in (0, 125)], [], "statuses")
        check_equal(sum(answer["applied"] for answer in good), 31, "applied")
        check_equal(len(os.listdir(f"{space.lower}/new")), 30)


def holds_signals(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        blocked = re.search(r"^SigBlk:\s+([0-9a-f]+)", read_file(f"/proc/{pid}/status").decode(), re.M)
        return bool(int(blocked[1], 16) & 1 << signal.SIGTERM - 1)


@test("a signal before anything is changed cancels an apply, and it can be done again")
def _():
    space = Workspace()
    for number in range(3000):
        space.write(f"new/{number}", "x")
    run_id = space.keep()
    before = tree_of(space.lower)
    process = start("changes", "apply", run_id, env=space.env)
    wait_until(lambda: holds_signals(process.pid) or process.poll() is not None, "wasp's start")
    process.send_signal(signal.SIGTERM)
    answer = parse_envelope(process.communicate(timeout=60)[0])
    if process.returncode != 0:
        check_in("cancelled", answer["error"])
        check_equal(tree_of(space.lower), before)
        space.call("apply", run_id)
    check_equal(len(os.listdir(f"{space.lower}/new")), 3000)


@test("killed at any moment, an apply is finished by the next one, and nothing else is left")
def _():
    chance = random.Random(5)
    for turn in range(12):
        space = Workspace({f"old/{number}": "old" for number in range(100)})
        for number in range(100):
            space.write(f"old/{number}", "new") if number % 2 else space.delete(f"old/{number}")
            space.write(f"new/{number}", "x")
        run_id = space.keep()
        process = start("changes", "apply", run_id, env=space.env)
        time.sleep(chance.random() * 0.02)  # not to wait for anything: to hit another moment
        process.kill()
        process.communicate()
        contents = {read_file(space.lower, "old", name) for name in os.listdir(f"{space.lower}/old")
                    if not name.startswith(".wasp-")}
        check(contents <= {b"old", b"new"}, f"torn files: {contents}")
        space.call("apply", run_id)
        check_equal(sorted(os.listdir(f"{space.lower}/old")),
                    sorted(str(number) for number in range(1, 100, 2)))
        check_equal(len(os.listdir(f"{space.lower}/new")), 100)


@test("discarded changes are gone, and the host is as it was")
def _():
    space = Workspace({"a": "old"})
    space.write("a", "new")
    run_id = space.keep()
    before = tree_of(space.lower)
    space.call("discard", run_id, schema="answer")
    check_equal((space.call("list")["changes"], os.listdir(f"{space.state}/changes/tmp")), ([], []))
    check_equal(tree_of(space.lower), before)
    space.call("discard", run_id, status=127, schema="answer")


@test("a damaged record is a problem that the list names, and that can be discarded")
def _():
    space = Workspace()
    space.write("a")
    run_id = space.keep()
    write_file(space.state, "changes", run_id, "record.json", data="{}")
    listed = space.call("list")
    check_equal(([one["run_id"] for one in listed["problems"]], listed["changes"]), ([run_id], []))
    for verb in ("show", "apply"):
        check_in("discard", space.call(verb, run_id, status=125, schema="answer")["error_info"]["hint"])
    space.call("discard", run_id, schema="answer")
    check_equal(space.call("list")["problems"], [])


@test("gc removes what a killed wasp was keeping, and nothing else")
def _():
    space = Workspace()
    space.write("a")
    run_id = space.keep()
    write_file(space.state, "changes", "tmp", "0123456789abcdef", "files", "0", data="x")
    done = wasp("gc", "--json", contract=False, env=space.env)
    check_equal(json.loads(done.raw)["removed"], 1)
    check_equal([one["run_id"] for one in space.call("list")["changes"]], [run_id])


# ---- whose they are --------------------------------------------------------------------------


@test("what root applies belongs to the owner of the directory", only="root")
def _():
    space = Workspace({"d/old": "x"})
    space.write("d/old", "y")
    space.write("d/new/file", "x")
    for path in ("d", "d/old"):
        os.chown(os.path.join(space.lower, path), ORDINARY_UID, ORDINARY_UID)
    space.call("apply", space.keep())
    for path in ("d/old", "d/new", "d/new/file"):
        st = os.stat(os.path.join(space.lower, path))
        check_equal((st.st_uid, st.st_gid), (ORDINARY_UID, ORDINARY_UID), path)


@test("another user's changes cannot be seen or applied", only="root")
def _():
    space = Workspace()
    space.write("a")
    run_id = space.keep()
    os.chmod(space.base, 0o755)
    if not wasptest.user_can_reach(wasp_path()):
        skip("wasp is out of that user's reach")
    done = subprocess.run([wasp_path(), "changes", "apply", run_id], env=wasp_env(space.env),
                          capture_output=True, user=ORDINARY_UID, group=ORDINARY_UID,
                          extra_groups=[])
    check_equal(done.returncode, 125)
    check_equal(os.listdir(space.lower), [])


# ---- diff ------------------------------------------------------------------------------------


LINES = ["a\n", "b\n", "c\n", "\n", "- x\n", "+ x\n", "@@ -1,1 +1,1 @@\n", "\\ No newline\n", "# x\n",
         "diff --git a/x b/x\n", "\ttab\r\n", "\u00e9\n"]


def any_text(chance, similar=None):
    if similar is None:
        lines = [chance.choice(LINES) for _ in range(chance.randrange(60))]
    else:
        lines = [line for line in similar.splitlines(keepends=True) if chance.random() < 0.9]
        for _ in range(chance.randrange(4)):
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(LINES))
    text = "".join(lines)
    return text[:-1] if chance.random() < 0.2 else text


def any_tree(chance, names):
    """{path: (executable, text)}, without a path that is another one's directory."""
    return {name: (chance.random() < 0.2, any_text(chance)) for name in names if chance.random() < 0.7}


def change_tree(chance, tree, names):
    after = {}
    for name, (executable, text) in tree.items():
        fate = chance.random()
        if fate < 0.15:
            continue
        after[name] = (executable ^ (fate < 0.25), any_text(chance, text) if fate < 0.7 else text)
    for name in names:
        if name not in tree and chance.random() < 0.5:
            after[name] = (chance.random() < 0.2, any_text(chance))
    return after


def put_tree(folder, tree):
    for name, (executable, text) in tree.items():
        os.chmod(write_file(folder, name, data=text), 0o755 if executable else 0o644)


def get_tree(folder):
    found = {}
    for where, dirs, files in os.walk(folder):
        dirs[:] = [name for name in dirs if name != ".git"]
        for name in files:
            path = os.path.join(where, name)
            executable = bool(os.stat(path).st_mode & 0o100)
            found[os.path.relpath(path, folder)] = (executable, read_file(path).decode())
    return found


def check_patched(space, diff, command, expected):
    folder = new_dir("patched")
    put_tree(folder, get_tree(space.lower))
    done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, env=wasp_env())
    check_equal(done.returncode, 0, f"{command}: {done.stdout} {done.stderr} for {diff}")
    check_equal(get_tree(folder), expected, f"tree after {command[0]}")


@test("the diff of any change, given to git apply or patch, does what apply does")
def _():
    for program in ("git", "patch"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    chance = random.Random(7)
    names = ["plain", "dir/file", "dir/deep/file", "with space", "tab\tname", 'quo"te', "back\\slash",
             "\u00e9t\u00e9", "new\nline", "-dash", "a b/c d"]
    for turn in range(40):
        before = any_tree(chance, names)
        after = change_tree(chance, before, names)
        space = Workspace()
        put_tree(space.lower, before)
        put_tree(space.upper, {name: after[name] for name in after if before.get(name) != after[name]})
        for name in before.keys() - after.keys():
            space.delete(name)
        if before == after:
            continue
        run_id = space.keep()
        diff = space.diff(run_id)
        check_patched(space, diff, ["git", "apply", "--whitespace=nowarn", "-"], after)
        # patch takes no name with a newline in it, nor a mode alone
        if not any("\n" in name for name in before.keys() | after.keys()):
            check_patched(space, diff, ["patch", "-p1", "--quiet", "--no-backup-if-mismatch"], after)
        space.call("apply", run_id)
        check_equal(get_tree(space.lower), after, "tree after apply")


@test("a binary change cannot be applied from the diff by mistake")
def _():
    space = Workspace({"a": b"\0old", "b": "old\n"})
    space.write("a", b"\0new")
    space.write("b", "new\n")
    diff = space.diff(space.keep())
    check_in(b"Binary files a/a and b/a differ", diff)
    folder = new_dir("patched")
    shutil.copytree(space.lower, folder, dirs_exist_ok=True)
    done = subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, capture_output=True,
                          env=wasp_env())
    check(done.returncode != 0, "git applied it")
    check_equal(read_file(folder, "b"), b"old\n")


@test("on a terminal the diff has no byte that the terminal would obey")
def _():
    space = Workspace()
    space.write("a\x1b[2Jb", "\x1b[31mred\x07\r\n")
    run_id = space.keep()
    parent, child = pty.openpty()
    subprocess.run([wasp_path(), "changes", "diff", run_id], env=wasp_env(space.env), stdout=child,
                   stdin=subprocess.DEVNULL, check=True)
    os.close(child)
    seen = os.read(parent, 65536)
    os.close(parent)
    check(not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", seen), f"control bytes in {seen}")
    check_in(b"\\x1b[31mred\\x07\\x0d", seen)
    check_in(b"\x1b[31mred\x07\r\n", space.diff(run_id), "elsewhere it is exact")


main(prepare=fetch_keeper)
