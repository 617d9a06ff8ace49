#!/usr/bin/python3
"""What a native guest finds around it: files, devices, processes, names, and how it starts."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENV = {"PATH": PATH, "HOME": "/home/wasp", "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC", "TMPDIR": "/tmp"}
# of the host's root what programs are made of; not every host has all of them
SYSTEM = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
OWN = {"etc", "dev", "proc", "tmp", "home", ".wasp"}
DEVICES = ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"]


# What the guest is called inside: root's guest has a number of its own, an ordinary user's the user's.
OWN_ID = str(os.getuid() or 1000) if "--user" not in sys.argv else str(ORDINARY_UID)


# ---- files -----------------------------------------------------------------------------------


@test("the root holds the system's programs and the cell's own places, and nothing else")
def _():
    host = {name for name in SYSTEM if os.path.lexists(f"/{name}")}
    check_equal(listed("/"), host | OWN)
    for name in host:
        outside = os.readlink(f"/{name}") if os.path.islink(f"/{name}") else None
        said = shell(f"readlink /{name} || true").stdout.strip() or None
        check_equal(said, outside, f"/{name}")


@test("/sys, /run, /var, /root, /boot, /opt, /srv, /mnt and other homes are not there")
def _():
    names = ["sys", "run", "var", "root", "boot", "opt", "srv", "mnt", "media"]
    check_equal(tried(*[f"os.stat('/{name}')" for name in names]), ["ENOENT"] * len(names))
    check_equal(listed("/home"), {"wasp"})


@test("the same paths are found where a directory is granted there")
def _():
    ws = new_dir("ws")
    for place in ("/srv", "/opt/deep/er", "/var/lib/x", "/root", "/run"):
        done = shell(f"ls -d {place} && touch {place}/f", "--allow-dir", f"{ws}::{place}")
        check_equal((done.status, done.stdout), (0, f"{place}\n"), done.stderr or done.error)


@test("/etc holds what programs need to start, and nothing of the host's secrets")
def _():
    found = listed("/etc")
    needed = {"passwd", "group", "nsswitch.conf", "hosts", "ssl"}
    allowed = needed | {"alternatives", "pki", "ld.so.cache", "localtime"}
    check(needed <= found <= allowed, f"/etc: {found}")
    check(listed("/etc/ssl") <= {"certs"}, "/etc/ssl")
    check_equal(tried("open('/etc/shadow')", "open('/etc/hostname')"), ["ENOENT"] * 2)


@test("/etc/passwd and /etc/group have two entries, the guest and nobody")
def _():
    done = shell("cut -d: -f1,3 /etc/passwd; cut -d: -f1,3 /etc/group")
    check_equal(done.lines(), [f"wasp:{OWN_ID}", "nobody:65534", f"wasp:{OWN_ID}", "nogroup:65534"])


@test("writes to the system fail, writes to the guest's own places work")
def _():
    closed = ["/", "/usr", "/usr/bin", "/etc", "/dev", "/home", "/proc"]
    got = tried(*[f"open('{folder}/new', 'w')" for folder in closed])
    check(set(got) <= {"EROFS", "EACCES", "ENOENT", "EPERM"}, f"writes: {dict(zip(closed, got))}")
    changes = ["os.remove('/etc/passwd')", "os.chmod('/etc/passwd', 0o666)", "open('/etc/hosts', 'a')",
               "os.rename('/usr', '/usr2')", "os.symlink('x', '/link')", "os.mkdir('/d')",
               "os.rmdir('/tmp')", "os.chmod('/', 0o777)", "os.listdir('/.wasp')", "os.chmod('/.wasp', 0o700)"]  # fmt: skip
    check("ok" not in tried(*changes), f"{dict(zip(changes, tried(*changes)))}")
    own = ["/tmp", "/home/wasp", "/dev/shm"]
    check_equal(tried(*[f"open('{folder}/new', 'w')" for folder in own]), ["ok"] * 3)


@test("scratch is empty at the start of every run")
def _():
    shell("touch /tmp/a ~/b /dev/shm/c")
    check_equal(shell("ls -A /tmp ~ /dev/shm | grep -v :").stdout.strip(), "")


@test("what is made in /tmp can be run, and belongs to the guest")
def _():
    script = "cp /bin/echo /tmp/e && /tmp/e ran && stat -c '%U %a' /tmp ~ /dev/shm /tmp/e"
    check_equal(shell(script).lines(), ["ran", "wasp 1777", "wasp 755", "wasp 1777", "wasp 755"])


@test("set-uid programs give nothing, and their bit does not count")
def _():
    done = shell("grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status; grep -E ' /(usr|tmp) ' /proc/mounts | grep -vc nosuid || true")
    zero = "\t" + "0" * 16
    expected = [f"CapPrm:{zero}", f"CapEff:{zero}", f"CapBnd:{zero}", f"CapAmb:{zero}", "NoNewPrivs:\t1", "0"]
    check_equal(done.lines(), expected)


# ---- devices ---------------------------------------------------------------------------------


@test("/dev holds exactly the devices that give or swallow bytes")
def _():
    check_equal(sorted(listed("/dev")), DEVICES)


@test("the devices work")
def _():
    script = (
        "echo gone > /dev/null; head -c 3 /dev/zero | od -An -tx1 | tr -d ' \\n'; echo\n"
        "head -c 9 /dev/urandom | wc -c; head -c 1 /dev/random | wc -c\n"
        "echo x > /dev/full || echo full; echo through > /dev/stdout; cat < /dev/stdin | wc -c\n"
        "echo fd <<<a; cat /dev/fd/3 3<<<three"
    )
    done = shell(script)
    check_equal(done.lines(), ["000000", "9", "1", "full", "through", "0", "fd", "three"], done.stderr)


@test("no device can be made, and none of a granted directory can be used")
def _():
    check_equal(tried("os.mknod('/tmp/null', 0o666 | 0o20000, os.makedev(1, 3))"), ["EPERM"])
    if os.getuid() == 0:
        ws = new_dir("ws")
        os.mknod(os.path.join(ws, "null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(os.path.join(ws, "null"), 0o666)
        with open(os.path.join(ws, "null")):
            pass  # outside it can be opened
        check_equal(tried("open('/ws/null')", options=["--allow-dir", f"{ws}::/ws"]), ["EACCES"])


# ---- processes -------------------------------------------------------------------------------


@test("/proc shows the guest's own processes alone, and the cell is its first")
def _():
    done = shell("echo $$ $PPID; ls /proc | grep '^[0-9]*$' | wc -l; cat /proc/1/comm")
    pid, parent = done.lines()[0].split()
    check(int(pid) < 5, f"pid {pid}")
    check_equal(parent, "1")
    check(int(done.lines()[1]) <= 6, f"{done.lines()[1]} processes")
    check_match("wasp", done.lines()[2])


@test("the guest cannot look into the cell's first process, nor end or stop it")
def _():
    got = tried("open('/proc/1/mem', 'rb').read(1)", "os.listdir('/proc/1/fd')", "open('/proc/1/environ').read(1)", "os.listdir('/proc/1/root/')")
    check("ok" not in got, f"{got}")
    done = shell("kill -9 1; kill -STOP 1; kill -TERM 1; kill -ALRM 1; sleep 0.1; echo alive")
    check_equal((done.status, done.stdout), (0, "alive\n"), done.stderr or done.error)


@test("what /proc shows of the host as a whole is masked, and nothing in it can be written")
def _():
    names = ["kcore", "keys", "key-users", "timer_list", "interrupts", "sched_debug", "latency_stats"]
    script = "for n in {}; do test ! -e /proc/$n || wc -c < /proc/$n; done | sort -u"
    check_equal(shell(script.format(" ".join(names))).stdout, "0\n")
    there = [name for name in ("acpi", "asound", "scsi") if os.path.isdir(f"/proc/{name}")]
    check_equal([listed(f"/proc/{name}") for name in there], [set()] * len(there))
    writes = ["/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/user/max_user_namespaces", "/proc/self/oom_score_adj", "/proc/self/uid_map"]
    got = tried(*[f"open('{path}', 'w').write('0')" for path in writes])
    bad = [path for path, verdict in zip(writes, got) if verdict == "ok" and path != "/proc/sysrq-trigger"]
    check_equal(bad, [], "written")


@test("--proc none leaves /proc empty, and the guest still runs")
def _():
    done = shell("ls -A /proc | wc -l; echo $((1 + 1))", "--proc", "none")
    check_equal((done.status, done.stdout), (0, "0\n2\n"), done.error)
    check_equal(sorted(listed("/dev", "--proc", "none")), DEVICES)
    check_in("namespace:no-nesting", done["enforced"], "enforced")


# ---- names -----------------------------------------------------------------------------------


@test("host name is the cell's, uid and gid are those of the guest's files, and never 0")
def _():
    done = shell("hostname; id -u; id -g; id -G; umask; ulimit -c")
    check_equal(done.lines(), ["wasp", OWN_ID, OWN_ID, done.lines()[3], "0022", "0"])
    check(set(done.lines()[3].split()) <= {OWN_ID, "65534"}, f"groups {done.lines()[3]}")


@test("the environment is exactly the constants, whatever the host's is")
def _():
    host = {"SECRET": "x", "PATH": "/evil", "LANG": "de_DE", "TZ": "Asia/Tokyo", "TERM": "xterm", "LD_PRELOAD": ""}
    script = "import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))"
    done = python(script, env=host)
    check_equal(dict(line.split("=", 1) for line in done.lines()), ENV)


@test("--env adds and replaces, and what would run code is refused unless forced")
def _():
    script = "import os; print(os.environ.get('A'), os.environ.get('TZ'), os.environ.get('LD_PRELOAD'))"
    done = python(script, "--env", "A=1", "--env", "TZ=Europe/Rome")
    check_equal(done.stdout, "1 Europe/Rome None\n")
    for name in ("LD_PRELOAD", "PYTHONSTARTUP", "BASH_ENV", "NODE_OPTIONS", "GIT_SSH"):
        refused = python(script, "--env", f"{name}=x")
        check_equal(refused.reason in ("denied", "invalid"), True, f"{name}: {refused.reason}")
    check_equal(python(script, "--env-force", "LD_PRELOAD=").stdout, "None UTC \n")


# ---- how it starts and ends ------------------------------------------------------------------


@test("every exit code comes through")
def _():
    for code in (0, 1, 2, 3, 77, 124, 125, 126, 127, 128, 137, 200, 255):
        done = shell(f"exit {code}")
        check_equal((done.reason, done["exit_code"], done.status), ("exited", code, code))


@test("death by a signal is told as such")
def _():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE):
        done = shell(f"kill -{number.value} $$; sleep 5")
        check_equal((done.reason, done["signal"], done["exit_code"]), ("signal", number, None))
    done = python("import ctypes; ctypes.string_at(0)")
    check_equal((done.reason, done["signal"]), ("signal", signal.SIGSEGV))


@test("a program that is not there is 127, one that cannot be run 126")
def _():
    ws = new_dir("ws")
    write_file(ws, "plain", data="no program\n")
    write_file(ws, "noshebang", data="echo hi\n")
    write_file(ws, "badshebang", data="#!/no/such/interpreter\n")
    write_file(ws, "badelf", data=b"\x7fELF" + b"\0" * 60)
    for name in ("noshebang", "badshebang", "badelf"):
        os.chmod(os.path.join(ws, name), 0o755)
    expected = {"nosuchprogram": 127, "/no/such/program": 127, "/ws/nothing": 127, "/ws/badshebang": 127,
                "/ws/plain": 126, "/ws": 126, "/etc": 126, "/ws/badelf": 126, "/ws/noshebang": 126}  # fmt: skip
    for program, status in expected.items():
        done = native(program, options=["--allow-dir", f"{ws}::/ws"])
        check_equal((done.reason, done.status), ("not_started", status), f"{program}: {done.error}")
        check_in(program, done.error, "error")


@test("a relative program is looked for from the working directory")
def _():
    ws = new_dir("ws")
    write_file(ws, "prog", data="#!/bin/sh\necho $0 $1\n")
    os.chmod(os.path.join(ws, "prog"), 0o755)
    check_equal(native("./prog", "x", options=["--allow-dir", ws]).stdout, "./prog x\n")
    check_equal(native("prog", options=["--allow-dir", ws]).status, 127)


@test("arguments arrive as they are")
def _():
    words = ["", " ", "a b", "--", "-x", "--timeout", "\n", "ä", "$HOME", "'\"\\", "*"]
    script = "import sys; print(sys.argv[1:])"
    check_equal(python(script, args=words).stdout, f"{words}\n")
    check_equal(native("echo", "--", "--env", "A=1").stdout, "-- --env A=1\n")


@test("argument bytes that are no text arrive as they are")
def _():
    done = wasp("exec", "--", "printf", "%s", b"\xff\xfe")
    check_equal(done["stdout_base64"], "//4=")


@test("sixty-five thousand arguments and a large environment arrive")
def _():
    script = "import os, sys; print(len(sys.argv), len(os.environ['BIG']))"
    done = python(script, "--env", "BIG=" + "x" * 100000, args=["a"] * 65000)
    check_equal(done.stdout, "65001 100000\n", done.error)
    check_equal(native("true", *["a"] * 66000).reason, "invalid")


@test("an argument that the kernel does not take is refused with a word")
def _():
    for length, status in ((100000, 0), (200000, 126)):
        manifest = {"kind": "native-run", "argv": ["/usr/bin/true", "x" * length]}
        done = wasp("task", "run", "--manifest", "-", stdin=json.dumps(manifest).encode())
        check_equal(done.status, status, f"{length}: {done.error}")


@test("without a program there is nothing to run")
def _():
    for command in (("exec",), ("exec", "--"), ("exec", "--timeout", "1s"), ("exec", "--", "")):
        done = wasp(*command)
        check_equal((done.reason, done.status), ("invalid", 2), f"{command}: {done.error}")


@test("stdin is empty unless asked for")
def _():
    check_equal(native("cat", stdin=b"not for you").stdout, "")
    check_equal(native("cat", options=["--stdin", "-"], stdin=b"for you").stdout, "for you")
    path = write_file(new_dir(), "in", data="from a file")
    check_equal(native("cat", options=["--stdin", path]).stdout, "from a file")
    data = b"x" * 3000000
    check_equal(native("wc", "-c", options=["--stdin", "-"], stdin=data).stdout, "3000000\n")


@test("a guest that reads nothing of its stdin, or closes it, ends all the same")
def _():
    data = b"x" * 3000000
    check_equal(native("true", options=["--stdin", "-"], stdin=data).status, 0)
    check_equal(shell("exec <&-; echo closed", "--stdin", "-", stdin=data).stdout, "closed\n")


@test("no descriptor but the three streams is open in the guest")
def _():
    # the fourth is that of the listing itself
    check_equal(python("import os; print(sorted(os.listdir('/proc/self/fd')))").stdout, "['0', '1', '2', '3']\n")
    reader, writer = os.pipe()
    done = python("import os; print(len(os.listdir('/proc/self/fd')))", pass_fds=[reader, writer])
    check_equal(done.stdout, "4\n")


# ---- another root ----------------------------------------------------------------------------


def build_rootfs():
    busybox = shutil.which("busybox", path="/usr/bin:/bin")
    if not busybox or subprocess.run(["ldd", busybox], capture_output=True).returncode == 0:
        skip("there is no static busybox to make a root file system from")
    top = new_dir("rootfs")
    os.makedirs(os.path.join(top, "bin"))
    shutil.copy(busybox, os.path.join(top, "bin", "busybox"))
    for name in ("sh", "ls", "cat", "touch", "id", "echo", "mkdir", "stat"):
        os.symlink("busybox", os.path.join(top, "bin", name))
    write_file(top, "etc", "motd", data="another world\n")
    write_file(top, "top", data="a file at the top\n")
    write_file(top, "var", "lib", "x", data="x\n")
    for name in ("proc", "dev", "tmp", "home", "sys", "run"):
        write_file(top, name, "of-the-image", data="")
    os.symlink("bin", os.path.join(top, "sbin"))
    return top


@test("--rootfs takes the place of the host's system; the cell's own places stay its own")
def _():
    top = build_rootfs()
    before = tree_of(top)
    script = "ls -A / | grep -v .wasp; cat /etc/motd; ls /usr 2>/dev/null || echo no usr; ls -A /tmp /home; id -u; echo x > /tmp/x && cat /tmp/x; cat /var/lib/x"
    done = native("sh", "-c", script, options=["--rootfs", top])
    check_equal(done.status, 0, done.error or done.stderr)
    names = done.lines()[: done.lines().index("another world")]
    check_equal(set(names), {"bin", "sbin", "etc", "var", "proc", "dev", "tmp", "home"})
    for line in ("no usr", OWN_ID, "x"):
        check_in(line, done.lines(), "lines")
    check("of-the-image" not in done.stdout, "the image's own /tmp is there")
    check_equal(tree_of(top), before, "the tree")


@test("nothing in a --rootfs can be changed, and a grant beside it can")
def _():
    top, ws = build_rootfs(), new_dir("ws")
    before = tree_of(top)
    script = "touch /etc/motd /bin/new /new /var/lib/x 2>/dev/null; echo changed > /etc/motd; touch /ws/made; echo end"
    done = native("sh", "-c", script, options=["--rootfs", top, "--allow-dir", f"{ws}::/ws"])
    check_equal((done.status, done.stdout), (0, "end\n"), done.error)
    check_equal(tree_of(top), before, "the tree")
    check_equal(os.listdir(ws), ["made"])


@test("a --rootfs that is not there, or is wasp's own, is refused")
def _():
    check_equal(native("sh", options=["--rootfs", "/no/such/tree"]).status, 2)
    check_equal(native("sh", options=["--rootfs", wasp_env()["HOME"]]).reason, "denied")
    check_equal(native("sh", "-c", "exit 0", options=["--rootfs", build_rootfs()]).status, 0)


main(wasm=False)
