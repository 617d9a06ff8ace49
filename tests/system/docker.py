#!/usr/bin/python3
"""wasp inside a real Docker container: the default run is refused there, the weaker rung works.

A dockerd of our own, with folders below the test's own and in mount and pid namespaces of its own:
whatever happens, it and its containers, shims and mounts go with it.
"""

import glob
import io
import json
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

PROGRAMS = ("wasp", "wasp-cell", "wasp-cell-wasm", "wasp-compile")
FOLDERS = {"usr": 0o755, "usr/bin": 0o755, "opt": 0o755, "opt/wasp": 0o755, "guests": 0o755, "etc": 0o755, "home": 0o777}
USERS = ("0", "1000")  # who wasp is in the container


class Docker:
    """A daemon without a network, and one image: wasp, its guests and a secret."""

    def __init__(self):
        self.daemon = None
        self.cgroup = f"wasptest-{os.getpid()}"

    def start(self, guests):
        self.base = os.path.join(os.path.dirname(guests), "docker")
        write_file(self.base, "daemon.json", data="{}")  # the host's own is not ours
        self.host = f"unix://{self.base}/socket"
        with open(os.path.join(self.base, "log"), "w") as log:
            self.daemon = subprocess.Popen(self.command(), stdout=log, stderr=log)
        wait_until(self.has_started, "dockerd to answer")
        self.docker("import", "-", "wasp", input=image(guests))

    def command(self):
        folder = self.base
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        # no iptables, no bridge and cgroups under a name of ours: nothing of the host's is touched
        return apart + ["dockerd", "--host", self.host, "--data-root", f"{folder}/data",
                        "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
                        "--config-file", f"{folder}/daemon.json", "--storage-driver", "vfs",
                        "--bridge", "none", "--iptables=false", "--ip6tables=false",
                        "--exec-opt", "native.cgroupdriver=cgroupfs",
                        "--cgroup-parent", f"/{self.cgroup}"]  # fmt: skip

    def has_started(self):
        if self.daemon.poll() is not None:
            raise Failed("dockerd ended: " + read_file(self.base, "log").decode()[-600:])
        return os.path.exists(f"{self.base}/socket") and self.docker("version").returncode == 0

    def docker(self, *words, **how):
        env = wasp_env({"DOCKER_CONFIG": self.base, "PATH": os.environ["PATH"]})
        return subprocess.run(["docker", "--host", self.host, *words], env=env, capture_output=True,
                              timeout=60, **how)  # fmt: skip

    def wasp(self, *command, user="0", options=(), verb="run"):
        """`wasp run` in a fresh container, or another verb that runs a guest."""
        container = ["run", "--rm", "--network", "none", "--user", user, "--env", "HOME=/home"]
        argv = [*container, *options, "wasp", "/opt/wasp/wasp", verb, *command]
        done = self.docker(*argv)
        outcome = Outcome(command, done.returncode, done.stdout, done.stderr)
        check(outcome.raw, f"docker said: {short(outcome.said)}")
        check_contract(outcome)
        return outcome

    def stop(self):
        """By the daemon's own pid; should it not go, it does with the one that waits for it."""
        if self.daemon is None or self.daemon.poll() is not None:
            return
        with open(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children") as file:
            os.kill(int(file.read()), signal.SIGTERM)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        for folder in self.cgroups():
            os.rmdir(folder)

    def cgroups(self):
        return glob.glob(f"/sys/fs/cgroup/{self.cgroup}") + glob.glob(f"/sys/fs/cgroup/*/{self.cgroup}")


def image(guests):
    """What the container holds, as a tar archive. The programs are static: it needs no more."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, mode in FOLDERS.items():
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            archive.addfile(folder)
        for name in PROGRAMS:
            archive.add(os.path.join(os.path.dirname(wasp_path()), name), f"opt/wasp/{name}")
        archive.add(shutil.which("busybox"), "usr/bin/busybox")  # static, from busybox-static
        for name in ("hello", "fs"):
            archive.add(os.path.join(guests, f"{name}.wasm"), f"guests/{name}.wasm")
        secret = tarfile.TarInfo("etc/secret")
        secret.size, secret.mode = 6, 0o644
        archive.addfile(secret, io.BytesIO(b"SECRET"))
    return data.getvalue()


docker = Docker()


@test("the container has Docker's default seccomp profile")
def _():
    options = docker.docker("info", "--format", "{{.SecurityOptions}}").stdout.decode()
    check_match(r"name=seccomp,profile=(default|builtin)", options)


@test("in a container a run is refused, with one envelope that names the weaker rung")
def _():
    for user in USERS:
        done = docker.wasp("/guests/hello.wasm", user=user)
        check_equal((done.reason, done.status), ("backend_error", 125), f"as {user}")
        check_equal((done.stdout, done["enforced"]), ("", []), f"output and walls as {user}")
        check_equal(done["error_info"]["step"], "namespaces")
        check_in("--isolation landlock", done["error_info"]["hint"], "hint")


@test("in a container without that profile the same run has all walls, so it is what forbids them")
def _():
    options = ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
    done = docker.wasp("/guests/hello.wasm", user="1000", options=options)
    check_equal((done.status, done.stdout), (0, "hello, wasp\n"))
    check_in("isolation:full", done["enforced"], "enforced")


@test("in a container --isolation landlock compiles and runs the module")
def _():
    for user in USERS:
        done = docker.wasp("/guests/hello.wasm", "--isolation", "landlock", user=user)
        check_equal((done.status, done.stdout), (0, "hello, wasp\n"), f"as {user}")
        check_in("isolation:landlock", done["enforced"], "enforced")
        check_equal([wall for wall in done["enforced"] if wall.startswith("namespace")], [])


@test("there the guest reads and writes its grant, and reads nothing outside of it")
def _():
    acts = "read in , write out made , read /etc/secret , read ../etc/secret , list /etc".split()
    for user in USERS:
        ws = new_dir("ws")
        write_file(ws, "in", data="given")
        os.chown(ws, int(user), int(user))
        done = docker.wasp("/guests/fs.wasm", "--isolation", "landlock", "--allow-dir", "/work",
                           "--", *acts, user=user, options=["--volume", f"{ws}:/work"])  # fmt: skip
        check_equal(done.lines()[:2], ["read: [given] ok", "write: ok"], f"as {user}")
        check_equal([line for line in done.lines()[2:] if line.endswith(" ok")], [])
        check_equal(read_file(ws, "out"), b"made", "what the host has")


@test("what it could not read there is there, and readable where it is granted")
def _():
    done = docker.wasp("/guests/fs.wasm", "--isolation", "landlock", "--allow-dir", "/etc::/etc:ro",
                       "--", "read", "/etc/secret", ",", "write", "/etc/secret", "x")  # fmt: skip
    check_equal(done.lines()[0], "read: [SECRET] ok")
    check(not done.lines()[1].endswith(" ok"), "a read-only grant was written")


@test("in a container a program is refused as well, and --isolation landlock runs it, with nothing but its grants")
def _():
    script = "busybox cat /etc/secret; busybox cat /work/in; echo made > /work/out; (busybox sleep 600 &) ; echo end"
    for user in USERS:
        ws = new_dir("ws")
        write_file(ws, "in", data="given\n")
        os.chown(ws, int(user), int(user))
        words = ["--allow-dir", "/work", "--", "busybox", "sh", "-c", script]
        how = {"user": user, "options": ["--volume", f"{ws}:/work"], "verb": "exec"}
        refused = docker.wasp(*words, **how)
        check_equal((refused.reason, refused["enforced"]), ("backend_error", []), f"as {user}")
        done = docker.wasp("--isolation", "landlock", *words, **how)
        check_equal((done.status, done.lines()), (0, ["given", "end"]), f"as {user}: {done.said}")
        check_match("Permission denied", done.stderr)
        check_equal(read_file(ws, "out"), b"made\n", "what the host has")


@test("there wasp doctor says what is missing and that the landlock rung is left")
def _():
    done = docker.docker("run", "--rm", "--network", "none", "--user", "1000", "--env", "HOME=/home", "wasp", "/opt/wasp/wasp", "doctor", "--json")
    found = json.loads(done.stdout)
    check_equal(done.returncode, 1, "exit status")
    check_equal({row["status"] for row in found["probes"] if row["id"] == "user-namespace"}, {"missing"})
    usable = {use["use"] for use in found["uses"] if use["usable"]}
    check_equal(usable & {"native/full", "native/landlock"}, {"native/landlock"}, "what can be used")


@test("with dockerd stopped no process, mount or cgroup is left")
def _():
    docker.stop()
    check_nothing_left()
    check_equal(docker.cgroups(), [], "cgroups")


def why_not():
    if os.getuid() != 0:
        return "dockerd needs root"
    if "--user" in sys.argv:
        return "dockerd needs root; the run as root has an ordinary user in the container"
    if os.environ.get("WASP_SANITIZED"):
        return "the sanitized programs are not static"
    return next((f"no {name} here" for name in ("dockerd", "docker") if not shutil.which(name)), None)


os.environ["PATH"] += ":/usr/sbin"  # where Debian has dockerd, and not every root looks
if why_not():
    print(f"1..0 # SKIP {why_not()}")
    sys.exit(0)
try:
    main(prepare=docker.start)
finally:
    docker.stop()
