"""The groups of tests/bench/run that are about native programs. bubblewrap is the yardstick.

Each takes the module that runs it, for its words, and the place.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

TREE_FOLDERS, TREE_FILES = 1000, 100  # 100,000 files to find
LOOPS = 4  # at once, on two cores

# A view that comes close to the cell's: what wasp has besides are limits, seccomp, Landlock, pins.
BWRAP_VIEW = (
    "--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin "
    "--symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc/alternatives /etc/alternatives "
    "--ro-bind /etc/ssl/certs /etc/ssl/certs --ro-bind /etc/ld.so.cache /etc/ld.so.cache "
    "--proc /proc --dev /dev --tmpfs /tmp --tmpfs /dev/shm --dir /home/wasp"
).split()


def measure_exec(bench, place):
    """A whole run of the command with all walls, around a program that does nothing."""
    wasp, bwrap = [place.wasp, "exec"], shutil.which("bwrap")
    true, full, rung, *rivals = place.race(
        place.rounds(1000, 150), ["/bin/true"], [*wasp, "--", "/bin/true"],
        [*wasp, "--isolation", "landlock", "--", "/bin/true"],
        [bwrap, *BWRAP_VIEW, "/bin/true"] if bwrap else [])
    yield bench.ratio("exec of true, all walls / fork+exec of true", full, true, 3.8)
    for rival in rivals:
        yield bench.ratio("exec of true, all walls / bwrap --unshare-all", full, rival, 0.65)
    yield bench.ratio("  with --isolation landlock / fork+exec of true", rung, true)
    yield bench.Figure("exec of true, parent's peak memory", full.rss_kib, "KiB", 4096)


def measure_exec_as_user(bench, place):
    """As above, started by an ordinary user."""
    if os.getuid() != 0:
        raise bench.Skipped("started by an ordinary user: exec is this already")
    wrapper = ["setpriv", "--reuid", bench.ORDINARY_UID, "--regid", bench.ORDINARY_UID, "--clear-groups"]
    home = place.make("native-user")
    os.chown(home, int(bench.ORDINARY_UID), int(bench.ORDINARY_UID))
    true, full = place.race(place.rounds(1000, 150), ["/bin/true"], [place.wasp, "exec", "--", "/bin/true"],
                            wrapper=wrapper, env={"HOME": home})
    yield bench.ratio("exec of true by an ordinary user / fork+exec of true", full, true, 3.8)


def measure_tree(bench, place):
    """Jobs that do little else than system calls on files, in a directory granted read-only. It is
    an ordinary user's: root's would have another owner inside, and git would read every file."""
    with tempfile.TemporaryDirectory(prefix="wasp-bench-") as folder:
        grow(os.path.join(folder, "tree"), TREE_FOLDERS, TREE_FILES)
        grow(os.path.join(folder, "repository"), 300, 100)
        if os.getuid() == 0:
            bench.call("chown", "-R", f"{bench.ORDINARY_UID}:{bench.ORDINARY_UID}", folder)
        for words in (["init", "-q"], ["add", "."],
                      ["-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "b"]):
            bench.call(*git(folder), *words)
        os.chmod(folder, 0o755)
        wasp = [place.wasp, "exec", "--allow-dir", f"{folder}::/data:ro", "--"]
        for what, argv in (
            ("find over 100,000 files", lambda at: ["find", f"{at}/tree", "-newer", "/usr/bin/find"]),
            ("git status of 30,000 files", lambda at: [*git(at), "--no-optional-locks", "status", "--short"]),
        ):
            ours, theirs = place.race(place.rounds(15, 5), [*wasp, *argv("/data")], argv(folder))
            yield bench.ratio(f"{what} / bare", ours, theirs, 1.1)


def git(folder):
    return ["git", "-c", "safe.directory=*", "-C", f"{folder}/repository"]


def measure_parallel(bench, place):
    """Four loops at once: what comes out an hour, bare against walled."""
    rounds = place.rounds(200, 50)
    bare = loops(place, rounds, ["/bin/true"])
    walled = loops(place, rounds, [place.wasp, "exec", "--", "/bin/true"])
    yield bench.Figure(f"{LOOPS} loops of exec of true, time / bare", walled / bare, target=2.5)


def loops(place, rounds, argv):
    start = time.monotonic()
    racers = [subprocess.Popen([place.race_program, str(rounds), *argv], env=place.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(LOOPS)]
    if any(racer.wait() for racer in racers):
        raise SystemExit("bench: a loop failed")
    return time.monotonic() - start


def grow(folder, folders, files):
    for number in range(folders):
        where = pathlib.Path(folder, f"d{number}")
        where.mkdir(parents=True)
        for name in range(files):
            (where / f"f{name}").write_text(f"{number} {name}\n")


GROUPS = {"exec": measure_exec, "exec-as-user": measure_exec_as_user, "tree": measure_tree,
          "parallel": measure_parallel}
