"""A home of its own for a test: policies, grants and a log, and who asks there."""

import json
import os
import pty

from wasptest import *

BOT = ("--principal", "agent:bot")


class Home:
    """A home of its own: policies, grants and the log of one test."""

    def __init__(self, policy=None):
        self.path = new_dir("home")
        self.work = os.path.join(self.path, "work")
        os.mkdir(self.work)
        self.env = {"HOME": self.path}
        if policy is not None:
            self.policy(policy)

    def policy(self, text):
        text = text if isinstance(text, str) else json.dumps(text)
        kind = "json" if text.lstrip().startswith("{") else "yaml"
        return write_file(self.path, ".config", "wasp", f"policy.{kind}", data=text)

    def wasp(self, *words, **how):
        how.setdefault("cwd", self.path)
        return wasp(*words, env={**self.env, **how.pop("env", {})}, **how)

    def exec(self, *argv, options=(), **how):
        return self.wasp("exec", *options, "--", *argv, **how)

    def json(self, *words, status=0, **how):
        outcome = self.wasp(*words, contract=False, **how)
        check_equal(outcome.status, status, f"status of {words}: {outcome.said}")
        return json.loads(outcome.raw)

    def audit(self):
        """All records, oldest first, and the chain is sound."""
        check_equal(self.wasp("audit", "verify", contract=False).status, 0, "audit verify")
        outcome = self.wasp("audit", "export", "--format", "jsonl", contract=False)
        check_equal(outcome.status, 0, outcome.said)
        return [json.loads(line) for line in outcome.raw.splitlines() if line.strip()]

    def events(self):
        return [record["event"] for record in self.audit()]


def rules(**sections):
    """A policy that allows code and programs, and what is named."""
    policy = {"version": 1, "exec": {"allow": ["*"]}, "code": {"allow": ["*"]}}
    policy.update(sections)
    return policy


def on_terminal(home, words, answer, meanwhile=None):
    """Runs wasp on a terminal of its own and types the answer; its result, and what was shown.

    What `meanwhile` does is done once the question stands there."""
    out = os.path.join(home.path, "out")
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(home.path)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.execve(wasp_path(), [wasp_path(), *words], wasp_env(home.env))
    shown = b""
    while b"[yes/no]" not in shown:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    else:
        if meanwhile:
            meanwhile()
        os.write(master, answer + b"\n")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), json.loads(read_file(out)), shown.decode()
