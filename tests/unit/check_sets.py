"""The syscall sets as text: what the filters of src/walls/ allow, judged without a kernel."""

import os
import re

WALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "walls")
MUTATING = {
    "pwrite64", "pwritev", "ftruncate", "fallocate", "utimensat", "mkdirat", "unlinkat", "renameat2", "linkat", "symlinkat",
}  # fmt: skip
NEVER = {
    "socket", "connect", "bind", "sendto", "sendmsg", "execve", "execveat", "fork", "vfork", "clone3", "ptrace", "process_vm_readv",
    "mount", "open_tree", "move_mount", "fsopen", "pivot_root", "chroot", "unshare", "setns", "setuid", "setresuid", "capset", "bpf",
    "io_uring_setup", "perf_event_open", "userfaultfd", "keyctl", "add_key", "kill", "tgkill", "ioctl", "open", "openat", "prlimit64",
    "memfd_create", "chmod", "fchmod", "fchmodat", "mknodat", "name_to_handle_at", "open_by_handle_at",
}  # fmt: skip


def read_set(name):
    """[(call, condition, user)], includes and all."""
    rules = []
    with open(os.path.join(WALLS, name)) as file:
        for line in file:
            line = line.split("#")[0].strip()
            if line.startswith("include "):
                rules += read_set(line.split()[1])
            elif line:
                call, user = (part.strip() for part in line.split(":", 1))
                name_and_condition = re.split(r"\s+", call, maxsplit=1)
                rules.append((name_and_condition[0], (name_and_condition + [""])[1], user))
    return rules


def calls(rules):
    return {call for call, _, _ in rules}


def is_executable_out(rules):
    """Every rule for mapping memory asks that PROT_EXEC is not set."""
    return all("& 0x4 == 0x0" in condition for call, condition, _ in rules if call in ("mmap", "mprotect"))


def is_memory_counted(rules):
    """Every rule for mapping memory asks that it is neither shared nor grows down: RLIMIT_DATA counts neither."""
    return all("and arg3 & 0x101 == 0x0" in condition for call, condition, _ in rules if call == "mmap")


run, write, load, compile_ = (read_set(name + ".set") for name in ("wasm_run", "wasm_write", "wasm_load", "compile"))
sentences = [
    ("at most 40 calls are reachable while guest code runs", len(calls(write)) <= 40),
    ("a run without a writable grant has none of the calls that change a file", not calls(run) & MUTATING),
    ("a run with a writable grant has them", MUTATING <= calls(write)),
    ("no executable page can be made while guest code runs", is_executable_out(run) and is_executable_out(write)),
    ("no executable page can be made by the compiler", is_executable_out(compile_)),
    ("no memory can be had past its limit", is_memory_counted(run) and is_memory_counted(write) and is_memory_counted(compile_)),
    ("the compiler starts threads and never a process", [c for n, c, _ in compile_ if n == "clone"] == ["arg0 & 0x10000 == 0x10000"]),
    ("no set has a call that reaches out of the cell", not NEVER & calls(load + compile_)),
    ("the compiler has no call that takes a path", not {"openat2", "readlinkat"} & calls(compile_)),
    ("each call names its user", all(user for _, _, user in load + compile_)),
]
print(f"1..{len(sentences)}")
for number, (sentence, holds) in enumerate(sentences, 1):
    print(f"{'ok' if holds else 'not ok'} {number} - {sentence}")
