#!/usr/bin/python3
"""stress-ng's stressors as hostile guests: a run always ends with one result and leaves nothing."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

# What it is called, and what more it needs. Each is run for a second of its own.
STRESSORS = """\
vm 2 --vm-bytes 200m
bigheap 2
stack 2
brk 2
mmap 2 --mmap-bytes 100m
mmapfork 2
shm 2 --shm-bytes 8m
shm-sysv 2
fork 4
forkheavy 2
vfork 4
clone 4
daemon 2
zombie 2
pthread 4
thrash 1
exec 4
cpu 4
switch 2
futex 2
sem 2
sem-sysv 2
mq 2
msg 2
pipe 2
fifo 2
eventfd 2
epoll 2
poll 2
signal 2
sigq 2
sigsegv 2
sigfpe 2
kill 2
timer 2
timerfd 2
itimer 2
alarm 2
dup 2
open 2
fd-fork 2
fallocate 2 --fallocate-bytes 16m
hdd 2 --hdd-bytes 16m
dentry 2
inotify 2
flock 2
sock 2
udp 2
sockpair 2
sockfd 2
seccomp 2
ptrace 2
userfaultfd 2
io-uring 2
key 2
bad-altstack 2
dev 2
procfs 2
sysfs 2
chroot 2
mount 1
unshare 1
netlink-proc 1
enosys 1
sysinval 1
personality 2
prctl 2
set 2
"""


def known_stressors():
    done = subprocess.run(["stress-ng", "--stressors"], capture_output=True, text=True, env=wasp_env())
    return set((done.stdout + done.stderr).split())


def under_stress(line):
    name, count, *more = line.split()
    argv = ["stress-ng", "--quiet", "--temp-path", "/tmp", f"--{name}", count, *more, "--timeout", "1s"]
    done = native(*argv, options=["--timeout", "5s", "--memory", "256MiB", "--disk", "64MiB", "--processes", "100"])
    reasons = ("exited", "signal", "timeout", "cpu_limit", "memory_limit", "process_limit")
    check_in(done.reason, reasons, f"{name} ({done.error})")
    check_nothing_left()


@test("whatever stress-ng does, a run ends with one result, and nothing is left")
def _():
    if not shutil.which("stress-ng", path="/usr/bin"):
        skip("stress-ng is not installed")
    known = known_stressors()
    for line in STRESSORS.splitlines():
        if line.split()[0] in known:
            under_stress(line)


@test("a stressor that is left alone does its work in the cell")
def _():
    if not shutil.which("stress-ng", path="/usr/bin"):
        skip("stress-ng is not installed")
    for name in ("cpu", "vm", "fork", "pipe"):
        done = native("stress-ng", "--temp-path", "/tmp", f"--{name}", "1", "--vm-bytes", "32m", f"--{name}-ops", "20", "--timeout", "20s",
                      options=["--timeout", "25s"])  # fmt: skip
        check_equal(done["exit_code"], 0, f"{name}: {done.stdout} {done.stderr}")


main(wasm=False)
