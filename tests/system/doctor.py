"""wasp doctor: right about this machine, and about each thing that it is made to lack.

A lack is faked around the command: by a seccomp filter (tests/hostile/lack.c), by mounts in a namespace, by sysctls of one. Then exactly
the rows must turn that are about it, their remedy must name what was done, and what doctor says can be used must be what runs find.
"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

IS_SANITIZED = "WASP_SANITIZED" in os.environ
FULL = {"wasm/full", "native/full", "native/no-proc"}
RUNG = {"wasm/landlock", "native/landlock"}
ON_TOP = {"overlay", "tty", "rootfs", "loopback"}
CODE = {"code/python", "code/javascript", "code/bash"}
EVERYTHING = FULL | RUNG | ON_TOP | CODE


# ---- surroundings: words to put before a command -----------------------------------------------


def lack(*rules):
    return [os.path.join(os.path.dirname(guest("x")), "lack"), *rules, "--"]


def apart(script):
    """In a mount namespace where the script has run; an ordinary user needs a user namespace for that."""
    own = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own, "--mount", "sh", "-ec", script + '; exec "$@"', "sh"]


def nested(script):
    """In a user namespace where the script has run: its sysctls are its own."""
    return ["unshare", "--user", "--map-root-user", "sh", "-ec", script + '; exec "$@"', "sh"]


CHROOT = """
for entry in /*; do
    if [ -h "$entry" ]; then cp -P "$entry" "$0$entry"
    elif [ -d "$entry" ]; then mkdir -p "$0$entry"; mount --rbind "$entry" "$0$entry"
    fi
done
exec /usr/sbin/chroot "$0" "$@"
"""


def chrooted():
    """In a root that is a plain directory with all of the host's below it."""
    return ["unshare", "--mount", "sh", "-ec", CHROOT, new_dir("root")]


# ---- asking ------------------------------------------------------------------------------------


class Checkup:
    """What one run of doctor said."""

    def __init__(self, around=(), options=("--json",), env=None, program=None, cwd=None):
        argv = [*around, program or wasp_path(), "doctor", *options]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=90, cwd=cwd or place_dir(),
                              env=wasp_env(env) if env is None or "HOME" not in env else env)  # fmt: skip
        self.status, self.text, self.said = done.returncode, done.stdout.decode(), done.stderr.decode()
        check_equal(self.said, "", "what doctor says on stderr")
        self.json = json.loads(self.text) if "--json" in options else None

    @property
    def rows(self):
        return {row["id"]: row for row in self.json["probes"]}

    @property
    def usable(self):
        return {use["use"] for use in self.json["uses"] if use["usable"]}

    def turned(self, control):
        """{id: status} of the rows that differ, without those that only wait for another."""
        return {name: row["status"] for name, row in self.rows.items()
                if row["status"] != control.rows[name]["status"] and row["waits_for"] is None}  # fmt: skip


def place_dir():
    return os.path.dirname(os.path.dirname(guest("x")))


def check_verdict(checkup):
    """Exit status and verdict follow from what can be used, reasons are rows that are not well."""
    usable = checkup.usable
    ways = usable & (FULL | RUNG)
    expected = ("full", 0) if {"wasm/full", "native/full"} <= usable else ("partial", 1) if ways else ("none", 125)
    check_equal((checkup.json["verdict"], checkup.status), expected, "verdict and exit status")
    for use in checkup.json["uses"]:
        check_equal(use["usable"], use["because"] == [], f"{use['use']} is usable")
        for name in use["because"]:
            row = checkup.rows[name]
            check(row["status"] in ("missing", "unknown", "degraded") and row["waits_for"] is None, f"{name} is a reason")


# ---- what runs find ----------------------------------------------------------------------------


def runs(around, uses):
    """Those of the uses that a real run finds to work."""
    folder = new_dir("granted")
    write_file(folder, "file", data="x")
    os.chmod(folder, 0o777)
    module = ["run", guest("fs"), "--allow-dir", f"{folder}::/d"]
    rung = ["--isolation", "landlock"]
    program = ["exec", "--allow-dir", folder]
    ways = {
        "wasm/full": [*module, "--", "read", "/d/file"],
        "wasm/landlock": [*module, *rung, "--", "read", "/d/file"],
        "native/full": [*program, "--", "cat", f"{folder}/file"],
        "native/no-proc": [*program, "--proc", "none", "--", "cat", f"{folder}/file"],
        "native/landlock": [*program, *rung, "--", "cat", f"{folder}/file"],
        "overlay": ["exec", "--proc", "none", "--allow-dir", f"{folder}::/d:overlay", "--", "rm", "/d/file"],
        "tty": ["exec", "--proc", "none", "--tty", "--", "tty"],
        "loopback": ["exec", "--proc", "none", "--loopback", "--", "true"],
    }  # fmt: skip
    found = set()
    for use in uses & ways.keys():
        argv = [*around, wasp_path(), *ways[use]]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=90, env=wasp_env(), cwd=place_dir())
        if done.returncode == 0:
            found.add(use)
    return found, uses & ways.keys()


def check_runs(around, checkup, uses):
    found, tried = runs(around, uses)
    check_equal(found, checkup.usable & tried, "what runs find, and what doctor said")


# ---- the machine as it is ----------------------------------------------------------------------


@test("on this machine nothing is missing, and the exit status says so")
def _():
    checkup = Checkup()
    bad = {name: row["status"] for name, row in checkup.rows.items() if row["status"] not in ("ok", "not-needed")}
    check_equal({name for name in bad if bad[name] != "degraded"}, set(), "rows that are missing or unknown")
    check_equal(set(bad) - {"cgroup", "swap-limit"}, set(), "rows that are degraded")
    check_equal((checkup.status, checkup.json["verdict"]), (0, "full"))
    check_equal(checkup.usable - {"limits"}, EVERYTHING, "what can be used")
    check_verdict(checkup)
    check_equal(checkup.json["limits"] == "rlimits", "cgroup" in bad, "limits are held without a cgroup")


@test("what doctor says can be used is what runs find")
def _():
    check_runs([], Checkup(), EVERYTHING)


@test("it knows by whom it was started, and that owners are mapped for root alone")
def _():
    checkup = Checkup()
    is_root = os.getuid() == 0
    check_equal((checkup.json["host"]["uid"], checkup.json["host"]["host_root"]), (os.getuid(), is_root))
    check_equal(checkup.rows["idmapped-mounts"]["status"], "ok" if is_root else "not-needed")
    check_equal(Checkup(nested("true")).json["host"]["host_root"], False, "root of a user namespace is the host's")


@test("an ordinary user without a delegated cgroup is told how to get one", only="user")
def _():
    row = Checkup().rows["cgroup"]
    if row["status"] == "ok":
        skip("one is delegated to this user")
    check_equal(row["status"], "degraded")
    has_systemd = os.path.isdir("/run/systemd/system")
    check_in("systemd-run --user --scope -p Delegate=yes" if has_systemd else "/sys/fs/cgroup", row["remedy"], "remedy")


@test("doctor leaves nothing behind and changes nothing")
def _():
    home = new_dir("home")
    before = tree_of(home)
    Checkup(env={"HOME": home, "PATH": "/usr/bin:/bin"})
    check_equal(tree_of(home), before, "the home folder")
    check_nothing_left()
    left = [name for where, folders, _ in os.walk("/sys/fs/cgroup") for name in folders if name.startswith("wasp-d0c70000-")]
    check_equal(left, [], "cgroups left")


@test("the text has a line a row, problems first with their remedy, and the verdict at the end")
def _():
    around = lack("pivot_root=EPERM", "ioctl-up=EPERM")
    rows, text = Checkup(around).rows, Checkup(around, options=()).text
    head, table, uses, end = text.split("\n\n")
    check_match(r"\Awasp [0-9.]+ on Linux .*, started by .*, behind an outer seccomp filter\Z", head)
    shown = [line.split()[:2] for line in table.splitlines() if not line.startswith(" ")]
    check_equal({name: status for status, name in shown}, {name: row["status"] for name, row in rows.items()}, "rows")
    order = ["missing", "degraded", "unknown", "ok", "not-needed"]  # the unknown ones wait for the missing ones
    check_equal(shown, sorted(shown, key=lambda row: order.index(row[0])), "their order")
    for name in ("pivot-root", "loopback"):
        check_in("remedy: " + rows[name]["remedy"], text)
    check_match(r"(?m)^no +native/full .*: for want of pivot-root$", uses)
    check_match(r"(?m)^yes +native/landlock ", uses)
    check_match(r"\Alimits: \S+\nverdict: not all can run with full walls.*\n\Z", end)


# ---- lacks ---------------------------------------------------------------------------------------

SECCOMP = "seccomp=unconfined"


def lacking(sentence, around, turned, remedy, lost, control=None, real=True, only=None):
    """One test: with `around`, and not with `control` around it, these rows turn, and that much is lost.

    around and control are called when the test runs; remedy is in that of every turned row."""

    @test(sentence, only)
    def _():
        words = around()
        before, after = Checkup(control() if control else ()), Checkup(words)
        expected = {name: status for name, status in turned.items() if before.rows[name]["status"] != "not-needed"}
        check_equal(after.turned(before), expected, "rows that turned")
        for row in after.rows.values():
            check(row["waits_for"] is None or row["waits_for"] in expected, f"{row['id']} waits for {row['waits_for']}")
        for name in expected:
            check_match(remedy, after.rows[name]["remedy"], f"the remedy for {name}")
        check_equal(before.usable - after.usable, lost & before.usable, "what is lost")
        check_verdict(after)
        if real and not IS_SANITIZED:
            check_runs(words, after, EVERYTHING)


lacking("user namespaces that a filter forbids are missed, and the landlock rung is left",
        lambda: lack("clone-user=EPERM", "unshare-user=EPERM", "clone3=ENOSYS"), {"user-namespace": "missing"},
        f"{SECCOMP}.*--isolation landlock", FULL | ON_TOP)  # fmt: skip
lacking("user namespaces that a sysctl forbids are missed, and the sysctl is named",
        lambda: nested("echo 0 >/proc/sys/user/max_user_namespaces"), {"user-namespace": "missing"},
        r"sysctl -w user\.max_user_namespaces=.*--isolation landlock", FULL | ON_TOP, control=lambda: nested("true"))  # fmt: skip
lacking("net namespaces that a sysctl forbids are missed, and the sysctl is named",
        lambda: nested("echo 0 >/proc/sys/user/max_net_namespaces"), {"namespaces": "missing"},
        r"sysctl -w user\.max_net_namespaces=", FULL | ON_TOP, control=lambda: nested("true"))  # fmt: skip
lacking("a chroot, where no user namespace can be made, is named", lambda: chrooted(), {"user-namespace": "missing"},
        "chroot", FULL | ON_TOP, only="root")  # fmt: skip

APPARMOR = """mount -t tmpfs none /proc/sys/kernel
echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns"""
lacking("user namespaces without capabilities are missed, and AppArmor's sysctl is named where it is set",
        lambda: apart(APPARMOR) + lack("secure-bits=EPERM"), {"user-namespace": "missing"},
        r"sysctl -w kernel\.apparmor_restrict_unprivileged_userns=0", FULL | ON_TOP, control=lambda: apart(APPARMOR))  # fmt: skip
lacking("where it is not set, the filter is",
        lambda: lack("secure-bits=EPERM"), {"user-namespace": "missing"}, SECCOMP, FULL | ON_TOP)  # fmt: skip

lacking("Landlock that a filter hides leaves nothing to use",
        lambda: lack("landlock=ENOSYS"), {"landlock": "missing"}, SECCOMP, EVERYTHING)  # fmt: skip
lacking("Landlock that is not among the security modules is missed, and the boot parameter named",
        lambda: lack("landlock=EOPNOTSUPP"), {"landlock": "missing"}, "lsm=landlock", EVERYTHING)  # fmt: skip
lacking("Landlock that a filter kills for is missed",
        lambda: lack("landlock=kill"), {"landlock": "missing"}, SECCOMP, EVERYTHING)  # fmt: skip
lacking("a Landlock too old for its rung takes that rung away, and no more",
        lambda: lack("landlock-version=return:2"), {"landlock": "degraded", "landlock-rung": "missing"},
        r"Linux 6\.\d+ or newer", RUNG)  # fmt: skip

lacking("no openat2: nothing to use", lambda: lack("openat2=ENOSYS"), {"openat2": "missing"}, SECCOMP, EVERYTHING)
lacking("no close_range: nothing to use", lambda: lack("close_range=ENOSYS"), {"close-range": "missing"}, SECCOMP, EVERYTHING)
lacking("no memfds: nothing to use", lambda: lack("memfd_create=ENOSYS"), {"memfd": "missing"}, SECCOMP, EVERYTHING)
lacking("no clone with a pidfd: nothing to use", lambda: lack("clone-pidfd=EINVAL"), {"pidfd": "missing"}, r"Linux 5\.2",
        EVERYTHING)  # fmt: skip
lacking("pidfds that cannot kill: nothing to use", lambda: lack("pidfd_send_signal=ENOSYS"), {"pidfd": "missing"}, SECCOMP,
        EVERYTHING, real=False)  # what must not be killed does not find out  # fmt: skip
lacking("no filters: nothing to use", lambda: lack("seccomp=EINVAL"), {"seccomp": "missing"}, "CONFIG_SECCOMP_FILTER",
        EVERYTHING)  # fmt: skip
lacking("no no_new_privs: nothing to use", lambda: lack("no-new-privs=EINVAL"), {"no-new-privs": "missing"}, "kernel",
        EVERYTHING)  # fmt: skip

lacking("without mount_setattr only the landlock rung is left",
        lambda: lack("mount_setattr=ENOSYS"), {"mount-clones": "missing"}, SECCOMP, FULL | ON_TOP)  # fmt: skip
lacking("without open_tree only the landlock rung is left",
        lambda: lack("open_tree=EPERM"), {"mount-clones": "missing"}, SECCOMP, FULL | ON_TOP)  # fmt: skip
lacking("where a security module forbids mounts, it is named",
        lambda: lack("move_mount=EACCES"), {"mount-clones": "missing"}, "apparmor=unconfined", FULL | ON_TOP)  # fmt: skip
lacking("without fsopen only the landlock rung is left",
        lambda: lack("fsopen=ENOSYS"), {"tmpfs": "missing"}, SECCOMP, FULL | ON_TOP)  # fmt: skip
lacking("without pivot_root only the landlock rung is left",
        lambda: lack("pivot_root=EPERM"), {"pivot-root": "missing"}, SECCOMP, FULL | ON_TOP)  # fmt: skip
lacking("without a limit on processes no program runs with full walls",
        lambda: lack("nproc=EPERM"), {"process-limit": "missing"}, SECCOMP, (FULL - {"wasm/full"}) | ON_TOP, real=False)  # fmt: skip

lacking("a masked /proc is told, and '--proc none' named",
        lambda: apart("mount --bind /dev/null /proc/kallsyms"), {"proc": "missing"},
        "--proc none.*systempaths=unconfined", {"native/full"}, control=lambda: apart("true"))  # fmt: skip
READ_ONLY_SYSCTLS = "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys"
lacking("sysctls that cannot be written leave '--proc none', with one wall less",
        lambda: apart(READ_ONLY_SYSCTLS), {"proc": "missing", "nesting-no-proc": "degraded"},
        "systempaths=unconfined", {"native/full"}, control=lambda: apart("true"))  # fmt: skip
lacking("a /dev without one of the five devices is told",
        lambda: apart("mount --bind /etc/passwd /dev/full"), {"devices": "missing"}, "/dev",
        {"native/full", "native/no-proc"} | ON_TOP, control=lambda: apart("true"))  # fmt: skip
lacking("no overlayfs takes overlays away, and no more",
        lambda: lack("fsopen:overlay=ENODEV"), {"overlayfs": "missing"}, "modprobe overlay", {"overlay"})  # fmt: skip
lacking("an overlayfs that user namespaces may not mount takes overlays away, and no more",
        lambda: lack("fsopen:overlay=EPERM"), {"overlayfs": "missing"}, "Linux 6.6.*':rw'", {"overlay"})  # fmt: skip
lacking("no devpts takes terminals away, and no more",
        lambda: lack("fsopen:devpts=ENODEV"), {"terminal": "missing"}, "without --tty", {"tty"})  # fmt: skip
lacking("a loopback that cannot be taken up takes itself away, and no more",
        lambda: lack("ioctl-up=EPERM"), {"loopback": "missing"}, SECCOMP, {"loopback"})  # fmt: skip
lacking("hidden cgroups are done without: that is degraded, and no run is lost",
        lambda: apart("mount -t tmpfs none /sys/fs/cgroup"), {"cgroup": "degraded"}, "/sys/fs/cgroup", {"limits"},
        only="root")  # fmt: skip
lacking("an interpreter that is not there takes its language away, and no more",
        lambda: apart("mount --bind /dev/null /usr/bin/bash"), {"bash": "missing"}, "apt install bash", {"code/bash"},
        control=lambda: apart("true"))  # fmt: skip
lacking("an interpreter that leads out of /usr, where no cell sees it, is told",
        lambda: apart(f"mount -t tmpfs none /usr/local/sbin; ln -s {wasp_path()} /usr/local/sbin/bash"), {"bash": "missing"},
        "--rootfs", {"code/bash"}, control=lambda: apart("mount -t tmpfs none /usr/local/sbin"))  # fmt: skip
lacking("a probe that hangs is killed, and what it is about unknown",
        lambda: lack("pivot_root=hang"), {"pivot-root": "unknown"}, "again", FULL | ON_TOP, real=False)  # fmt: skip


@test("an outer filter shows")
def _():
    check_equal(Checkup().json["host"]["outer_seccomp"], False)
    check_equal(Checkup(lack("fsopen:nothing=EPERM")).json["host"]["outer_seccomp"], True)


@test("a doctor that is killed takes its probe with it")
def _():
    process = subprocess.Popen([*lack("pivot_root=hang"), wasp_path(), "doctor"], stdout=subprocess.DEVNULL, env=wasp_env())
    wait_until(lambda: len(descendants(os.getpid())) > 3, "a probe in its cell")
    process.terminate()
    process.wait()
    wait_until(lambda: not descendants(os.getpid()), "all of them to be gone")


# ---- wasp's own ----------------------------------------------------------------------------------


@test("wasp without its helper programs is told so, by their names")
def _():
    program = shutil.copy(wasp_path(), new_dir("alone"))
    checkup = Checkup(program=program)
    for name, file in {"cell-wasm": "wasp-cell-wasm", "compiler": "wasp-compile", "cell-native": "wasp-cell"}.items():
        check_equal(checkup.rows[name]["status"], "missing", name)
        check_in(f"{os.path.dirname(program)}/{file}'", checkup.rows[name]["detail"], "detail")
        check_in("make install", checkup.rows[name]["remedy"], "remedy")
    check_equal((checkup.usable - {"limits"}, checkup.status), (set(), 125))
    check_verdict(checkup)


@test("a helper program that cannot be started is missed")
def _():
    folder = new_dir("broken")
    program = shutil.copy(wasp_path(), folder)
    os.chmod(write_file(folder, "wasp-cell-wasm", data="no program"), 0o755)
    row = Checkup(program=program).rows["cell-wasm"]
    check_equal(row["status"], "missing")
    check_in("Exec format error", row["detail"], "detail")


def folder_rows(around=(), **env):
    rows = Checkup(around, env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", **env}).rows
    return {name: rows[f"{name}-folder"] for name in ("cache", "state", "config")}


@test("folders that others can enter, or nobody can make, are told with their remedy")
def _():
    mine = new_dir("mine")
    os.chmod(mine, 0o700)
    rows = folder_rows(WASP_CACHE_DIR=mine, WASP_STATE_DIR=mine + "/new/one")
    check_equal((rows["cache"]["status"], rows["state"]["status"]), ("ok", "ok"))
    os.chmod(mine, 0o750)
    rows = folder_rows(WASP_CACHE_DIR=mine, WASP_STATE_DIR=mine)
    check_equal((rows["cache"]["status"], rows["state"]["status"]), ("degraded", "missing"))
    check_in(f"chmod 0700 '{mine}'", rows["state"]["remedy"], "remedy")
    around = apart(f"mount -t tmpfs -o ro none {mine}")
    rows = folder_rows(around, WASP_CACHE_DIR=mine + "/new/one", WASP_STATE_DIR=new_dir("other") + "/new")
    check_equal((rows["cache"]["status"], rows["state"]["status"]), ("degraded", "ok"))
    check_in("Read-only file system", rows["cache"]["detail"], "detail")
    check_in(f"make '{mine}' writable", rows["cache"]["remedy"], "remedy")


@test("without a HOME there is no place for folders, and that is told")
def _():
    rows = folder_rows(HOME="")
    check_equal([rows[name]["status"] for name in rows], ["degraded", "missing", "not-needed"])
    check_in("set HOME", rows["state"]["remedy"], "remedy")


@test("a file system that cannot map owners is told to root, and is no wall that is missing", only="root")
def _():
    checkup = Checkup(cwd="/proc")
    row = checkup.rows["idmapped-mounts"]
    check_equal((row["status"], checkup.status), ("degraded", 0))
    check_in("as an ordinary user", row["remedy"], "remedy")


@test("on a machine with swap the limit on it is tried, and how to have one is told", only="root")
def _():
    if Checkup().json["limits"] == "rlimits":
        skip("there is no cgroup to try it in")
    swaps = write_file(new_dir("swaps"), "swaps", data="Filename Type Size Used Priority\n/swap file 1024 0 -2\n")
    row = Checkup(apart(f"mount --bind {swaps} /proc/swaps")).rows["swap-limit"]
    check(row["status"] in ("ok", "degraded"), f"with swap the row is {row['status']}")
    check_equal(row["remedy"] is not None and "swapaccount=1" in row["remedy"], row["status"] == "degraded", "a remedy")


@test("bad words are refused")
def _():
    for words in (["--jsn"], ["now"]):
        done = subprocess.run([wasp_path(), "doctor", *words], capture_output=True, env=wasp_env())
        check_equal((done.returncode, done.stdout), (2, b""), str(words))


def take_lack(folder):
    test_build = os.environ.get("WASP_TEST", os.path.join(ROOT, "build-test", "wasp"))
    shutil.copy(os.path.join(os.path.dirname(test_build), "lack"), folder)


main(take_lack)
