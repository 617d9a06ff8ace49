"""The evil engine: hostile native code in the runner's place, behind the same walls, gets nothing.

Each attempt is made three times: by an ordinary program without walls, where it must work (or the attempt proves nothing), behind all
walls, and behind all walls but one. It needs the test build: a release cannot leave a wall out.
"""

import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

# bits of enum tell_wall in src/plan/tell.h
WALLS = {"the empty root": 1 << 7, "Landlock": 1 << 10, "seccomp": 1 << 11, "the pid namespace": 1 << 2, "the net namespace": 1 << 5}
# an ordinary user cannot do these anyway
ROOT_ONLY = {"make-device"}
# Landlock has no right for stat or utimensat, and seccomp cannot tell one path from another
RUNG_LETS_THROUGH = ["stat-host-file", "touch-host-file", "touch-read-only"]


class Stage:
    """A listening server, a victim process and two granted directories."""

    def __enter__(self):
        self.writable, self.readable = new_dir("writable"), new_dir("readable")
        write_file(self.readable, "file", data="kept\n")
        self.target = write_file(os.path.dirname(self.writable), "evil-target", data="target\n")
        self.code = write_file(new_dir("code"), "code", data="code")
        self.server = socket.create_server(("127.0.0.1", 0))
        self.victim = subprocess.Popen(["sleep", "600"])
        return self

    def __exit__(self, *_):
        self.victim.kill()
        self.victim.wait()
        self.server.close()
        os.unlink(self.target)

    @property
    def port(self):
        return str(self.server.getsockname()[1])

    def free(self):
        program = os.path.join(os.path.dirname(wasp_path()), "hostile-free")
        argv = [program, self.port, str(self.victim.pid), self.writable, self.readable, self.code]
        return parse(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

    def walled(self, what="attempts", without=0, isolation="full", writable=True):
        env = {"WASP_TEST_CELL": "wasp-cell-evil", "WASP_TEST_WITHOUT": str(without)}
        grants = ["--allow-dir", f"{self.readable}::/ro:ro"]
        if writable:
            grants += ["--allow-dir", self.writable]
        return run("hello", "--isolation", isolation, *grants,
                   args=[self.port, str(self.victim.pid), what], env=env)  # fmt: skip


def parse(text):
    """{name: (kind, verdict, errno)}"""
    return {name: (kind, verdict, int(number)) for name, kind, verdict, number in (line.split() for line in text.splitlines())}


def done(found, kind=None):
    return sorted(name for name, (its_kind, verdict, _) in found.items() if verdict == "done" and kind in (None, its_kind))


@test("every attempt of the evil engine works for a program without walls")
def _():
    with Stage() as stage:
        refused = {name for name, (_, verdict, _) in stage.free().items() if verdict != "done"}
    check_equal(refused - (ROOT_ONLY if os.getuid() != 0 else set()), set(), "attempts that fail by themselves")


@test("behind the walls every attempt of the evil engine is refused")
def _():
    with Stage() as stage:
        found = parse(stage.walled().stdout)
        check_equal(done(found), [], "what worked")
        check_equal(set(found), set(stage.free()), "attempts made")


@test("the read-only grant of the evil engine is byte for byte what it was")
def _():
    with Stage() as stage:
        before = tree_of(stage.readable)
        stage.walled()
        check_equal(tree_of(stage.readable), before, "the tree")


def without(wall, bit):
    @test(f"without {wall} alone, the evil engine still reaches nothing of the host")
    def _():
        with Stage() as stage:
            outcome = stage.walled(without=bit)
            found = parse(outcome.stdout)
            check(len(found) > 20, f"the attempts were not made: {short(outcome.envelope)}")
            check_equal(done(found, "escape"), [], "what worked")


for _wall, _bit in WALLS.items():
    without(_wall, _bit)


@test("with seccomp left out some attempts do work, so it is seccomp that refuses them otherwise")
def _():
    with Stage() as stage:
        worked = set(done(parse(stage.walled(without=WALLS["seccomp"]).stdout)))
        for name in ("map-executable", "make-memory-file", "make-socket-pair", "make-shared-memory"):
            check_in(name, worked)


@test("with the empty root and Landlock left out the host's files are there, so it is these two that hide them")
def _():
    with Stage() as stage:
        worked = done(parse(stage.walled(without=WALLS["the empty root"] | WALLS["Landlock"]).stdout))
        check_in("read-secret", worked)


@test("on the landlock rung the evil engine sees and touches metadata of the host, and that is all")
def _():
    with Stage() as stage:
        outcome = stage.walled(isolation="landlock")
        check_in("isolation:landlock", outcome["enforced"], "enforced")
        check_equal(done(parse(outcome.stdout)), RUNG_LETS_THROUGH, "what worked")


@test("on the landlock rung without a writable grant, it sees metadata of the host, and that is all")
def _():
    with Stage() as stage:
        before = tree_of(stage.readable)
        found = parse(stage.walled(isolation="landlock", writable=False).stdout)
        check_equal(done(found), ["stat-host-file"], "what worked")
        check_equal(tree_of(stage.readable), before, "the tree")


@test("on the landlock rung with Landlock left out the host's files are there, so it is what hides them")
def _():
    with Stage() as stage:
        worked = done(parse(stage.walled(isolation="landlock", without=WALLS["Landlock"]).stdout))
        check_in("read-secret", worked)
        check_in("write-read-only", worked)


BEFORE_NAMESPACES = WALLS["seccomp"] | WALLS["Landlock"]


@test("without seccomp and Landlock the net namespace alone keeps the host's loopback away, and without it nothing does")
def _():
    with Stage() as stage:
        check("connect-to-host" not in done(parse(stage.walled(without=BEFORE_NAMESPACES).stdout)), "the host was reached")
        bare = stage.walled(without=BEFORE_NAMESPACES | WALLS["the net namespace"])
        check_in("connect-to-host", done(parse(bare.stdout)), "what worked")


@test("without seccomp and Landlock the pid namespace alone hides host processes, and without it nothing does", only="user")
def _():  # root's cell has a uid of its own, which may not signal the victim anyway
    with Stage() as stage:
        check("signal-host-process" not in done(parse(stage.walled(without=BEFORE_NAMESPACES).stdout)), "a host process was seen")
        bare = stage.walled(without=BEFORE_NAMESPACES | WALLS["the pid namespace"])
        check_in("signal-host-process", done(parse(bare.stdout)), "what worked")


@test("a wall that was left out is not listed as enforced")
def _():
    with Stage() as stage:
        enforced = stage.walled(without=WALLS["seccomp"])["enforced"]
        check("seccomp" not in enforced, f"enforced: {enforced}")
        check_in("seccomp", stage.walled()["enforced"])


@test("a call of a foreign architecture kills the evil engine")
def _():
    with Stage() as stage:
        outcome = stage.walled("foreign")
        check_equal((outcome.reason, outcome["signal"]), ("signal", 31), "reason and signal")


@test("an evil engine that lies about its run gets a valid envelope that believes none of it")
def _():
    with Stage() as stage:
        outcome = stage.walled("lie")
        check_equal(outcome.reason, "backend_error")
        check(len(outcome["denials"]) <= 64, "too many denials were taken")
        check_in("landlock:", " ".join(outcome["enforced"]))


@test("an evil engine that calls its code stale is not run again")
def _():
    with Stage() as stage:
        run("hello")  # now the code is cached, as stale code would be
        check_equal(stage.walled("stale").stdout, "started\n")
        check_equal(run("hello")["module"]["cached"], True, "still cached")


@test("an evil engine cannot claim that wasp refused something")
def _():
    with Stage() as stage:
        outcome = stage.walled("denied")
        check_equal((outcome.reason, outcome.status), ("backend_error", 125))
        check("believe me" not in outcome.error, f"error: {outcome.error}")


@test("an evil engine that closes its line to the parent does not make the parent spin, and dies at its limit")
def _():
    with Stage() as stage:
        env = {"WASP_TEST_CELL": "wasp-cell-evil"}
        before = os.times()
        outcome = run("hello", "--timeout", "1s", args=[stage.port, "1", "close"], env=env)
        check_equal(outcome.reason, "timeout")
        used = os.times().children_user + os.times().children_system - before.children_user - before.children_system
        check(used < 1.6, f"{used:.2f} s of CPU time for a run of one second")


# ---- at the door: what the parent makes of bytes that no runner of ours would send ------------


def at_the_door(what, *options, timeout="10s", **how):
    folder = new_dir("door")
    return run("hello", "--timeout", timeout, "--allow-dir", folder, "--capability", "fs_read", *options,
               args=["1", "1", what], env={"WASP_TEST_CELL": "wasp-cell-evil"}, **how)  # fmt: skip


@test("an evil engine finds a door if the run has a capability, and none if it has not")
def _():
    check_equal(at_the_door("door-knock").stdout, "open")
    bare = run("hello", args=["1", "1", "door-knock"], env={"WASP_TEST_CELL": "wasp-cell-evil"})
    check_equal(bare.stdout, "none")


for _what in ("door-garbage", "door-huge", "door-unknown"):

    @test(f"an evil engine that sends what is no call is ended at once, and the envelope says so: {_what}")
    def _(what=_what):
        outcome = at_the_door(what, timeout="60s")
        check_equal((outcome.reason, outcome.status, outcome.code), ("backend_error", 125, "backend"))
        check_in("through its door", outcome.error)


@test("an evil engine that closes the door in the middle of a call has just ended, as any guest")
def _():
    outcome = at_the_door("door-half")
    check_equal((outcome.reason, outcome.status), ("exited", 0))


@test("of two calls at once each is answered in its turn")
def _():
    first, second = at_the_door("door-two").stdout.splitlines()
    check_in("path: is missing", first)
    check_in("no capability 'fs_write'", second)


@test("an evil engine that never reads an answer fills no memory of the parent, which waits without spinning")
def _():
    before = os.times()
    process = start("run", guest("hello"), "--timeout", "2s", "--allow-dir", new_dir("door"), "--capability", "fs_read",
                    "--", "1", "1", "door-unread", env={"WASP_TEST_CELL": "wasp-cell-evil"})  # fmt: skip
    wait_until(lambda: descendants(process.pid), "the cell")
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_memory_bytes(process.pid) or 0)
        time.sleep(0.05)
    outcome = finish(process)
    check_equal(outcome.reason, "timeout")
    check(peak < 32 << 20, f"{peak >> 20} MiB resident")
    used = os.times().children_user + os.times().children_system - before.children_user - before.children_system
    check(used < 1.5, f"{used:.2f} s of CPU time for a run that waits")


@test("an evil engine that calls without end is answered without being looked at, from some call on")
def _():
    outcome = at_the_door("door-many", timeout="80s")
    check_in('"code":"limit"', outcome.stdout)
    check(len(outcome["denials"]) <= 64, "too many denials are kept")


def main_with_test_build():
    test_build = os.environ.get("WASP_TEST", os.path.join(ROOT, "build-test", "wasp"))
    os.environ["WASP"] = test_build
    main()


main_with_test_build()
