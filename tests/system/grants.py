#!/usr/bin/python3
"""Grants and approvals as the owner sees them: grant, approvals, approve, deny."""

import contextlib
import json
import os
import signal
import sqlite3
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

HOLDER = ("--holder", "agent:test")


class Ledger:
    """The store of a state folder of its own."""

    def __init__(self):
        self.state = os.path.join(new_dir("state"), "wasp")
        self.file = os.path.join(self.state, "store.db")
        self.env = {"WASP_STATE_DIR": self.state}

    def call(self, *words, status=0, **how):
        """A verb; what it says on stderr is one line if it fails, and none if not."""
        done = wasp(*words, contract=False, env=self.env, **how)
        check_equal(done.status, status, f"status of {words} ({done.said.strip()})")
        check_equal(len(done.said.splitlines()), 1 if status else 0, f"lines on stderr: {done.said}")
        if status:
            check_equal(done.raw, b"", "stdout of what failed")
        return done

    def json(self, schema, *words, **how):
        done = self.call(*words, "--json", **how)
        value = json.loads(done.raw)
        check_equal(done.raw.count(b"\n"), 1, "lines")
        check_fits(schema, value)
        return value

    def grant(self, capability, scope, *options):
        words = (*HOLDER, "--capability", capability, "--scope", scope, *options)
        return self.json("grants", "grant", "create", *words)

    def refused(self, capability, scope, *options, status=2):
        words = (*HOLDER, "--capability", capability, "--scope", scope, *options)
        return self.call("grant", "create", *words, status=status).said

    def grants(self, *options):
        return self.json("grants", "grant", "list", *options)["grants"]

    def approvals(self, *options):
        return self.json("approvals", "approvals", *options)["approvals"]

    def ask(self, summary="git status", items=None, holder="agent:test", waits_s=900, max_ttl_ms=0):
        """Files a request, as a run does that a policy leaves to the owner."""
        if not os.path.exists(self.file):
            self.grant("env_set", "X")
        now = int(time.time() * 1000)
        made = f"{now >> 16 & 0xffffffff:08x}-{now & 0xffff:04x}-7000-8000-{uuid.uuid4().hex[:12]}"
        items = items or [("fs_read", "/papers", "user policy p.yaml:12", "papers are private")]
        with sqlite3.connect(self.file) as db:
            db.execute(
                "INSERT INTO approvals (id, holder, request, summary, plan, created_ms, expires_ms,"
                " max_ttl_ms, max_uses, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 'pending')",
                (made, holder, os.urandom(32), summary, '{"schema":"wasp.plan/1"}', now,
                 now + int(waits_s * 1000), max_ttl_ms),
            )
            for position, item in enumerate(items):
                db.execute("INSERT INTO approval_items VALUES (?, ?, ?, ?, ?, ?)", (made, position, *item))
        db.close()
        return made



def parse_time(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone


# ---- grants ----------------------------------------------------------------------------------


@test("whoever looks where there is no store sees nothing and makes none")
def _():
    ledger = Ledger()
    check_equal(ledger.call("grant", "list").raw, b"no grants\n")
    check_equal(ledger.call("approvals").raw, b"nothing waits\n")
    check_equal((ledger.grants("--all"), ledger.approvals("--all")), ([], []))
    ledger.call("approvals", "01234567", status=127)
    check(not os.path.exists(ledger.state), "the state folder was made")


@test("a grant lasts ten minutes and one use unless told otherwise, and is listed as it was made")
def _():
    ledger = Ledger()
    made = ledger.grant("env_set", "TASK_ID")
    check_equal(made["schema"], "wasp.grant/1")
    check_equal((made["state"], made["holder"], made["scope"]), ("usable", "agent:test", "TASK_ID"))
    check_equal((made["uses_left"], made["uses"], made["reason"]), (1, 0, None))
    check_equal((made["approval"], made["request_sha256"], made["revoked_at"]), (None, None, None))
    check_equal(made["approved_by"], f"uid:{os.getuid()}")
    check_equal(parse_time(made["expires_at"]) - parse_time(made["created_at"]), 600, "seconds")
    del made["schema"]
    check_equal(ledger.grants(), [made])
    other = ledger.grant("code_run", "python", "--ttl", "1h", "--uses", "7", "--reason", "because")
    check_equal(parse_time(other["expires_at"]) - parse_time(other["created_at"]), 3600, "seconds")
    check_equal((other["uses_left"], other["reason"]), (7, "because"))
    check_equal([grant["id"] for grant in ledger.grants()], [made["id"], other["id"]], "order")
    check_equal(ledger.grants("--holder", "agent:test"), ledger.grants())
    check_equal(ledger.grants("--holder", "agent:other"), [])


@test("the store is its owner's alone")
def _():
    ledger = Ledger()
    ledger.grant("env_set", "X")
    check_equal(stat.S_IMODE(os.stat(ledger.state).st_mode), 0o700, "folder")
    for name in filter(lambda name: name.startswith("store"), os.listdir(ledger.state)):
        check_equal(stat.S_IMODE(os.stat(os.path.join(ledger.state, name)).st_mode), 0o600, name)
    os.rename(ledger.file, ledger.file + ".aside")
    os.symlink("store.db.aside", ledger.file)
    check_in("no regular file", ledger.call("grant", "list", status=125).said)
    os.rename(ledger.file + ".aside", ledger.file)
    check_equal(len(ledger.grants()), 1, "grants in the file itself")


@test("paths and programs are those that are meant, by the kernel's own word")
def _():
    ledger = Ledger()
    folder = os.path.realpath(new_dir("data"))
    os.symlink(folder, folder + "-link")
    check_equal(ledger.grant("fs_read", folder + "-link/")["scope"], folder)
    program = os.path.realpath("/usr/bin/python3")
    check_equal(ledger.grant("exec_run", "python3 -c '*'")["scope"], f"{program} -c '*'")
    check_equal(ledger.grant("fs_write", folder + "-link/new")["scope"], folder + "/new")
    check_in("write a path", ledger.refused("fs_read", "~/x"))
    check_in("no program", ledger.refused("exec_run", "no-such-program"))


@test("what makes no sense is refused with status 2 and grants nothing")
def _():
    ledger = Ledger()
    ledger.refused("fs_everything", "/")
    ledger.refused("env_set", "A=b")
    ledger.refused("net_http", "https://example.com")
    ledger.refused("code_run", "cobol")
    for option in (("--ttl", "0"), ("--ttl", "9000h"), ("--ttl", "unlimited"), ("--uses", "0"),
                   ("--uses", "1000001"), ("--uses", "unlimited"), ("--reason", "x" * 5000)):
        ledger.refused("env_set", "X", *option)
    words = ("--capability", "env_set", "--scope", "X")
    check_in("--holder", ledger.call("grant", "create", *words, status=2).said)
    for holder in ("owner", "somebody", "agent:", "agent:a b"):
        ledger.call("grant", "create", "--holder", holder, *words, status=2)
    check_equal(ledger.grants("--all"), [])
    ledger.grant("env_set", "X", "--ttl", "8760h", "--uses", "1000000", "--reason", "x" * 4096)


@test("a revoked grant is gone from the list, and revoking it twice is an error")
def _():
    ledger = Ledger()
    made = ledger.grant("env_set", "X")
    kept = ledger.grant("env_set", "Y")
    check_in("too short", ledger.call("grant", "revoke", made["id"][:7], status=2).said)
    check_in("more than one", ledger.call("grant", "revoke", made["id"][:8], status=2).said)
    gone = ledger.json("grants", "grant", "revoke", made["id"][:-1])
    check_equal((gone["id"], gone["state"]), (made["id"], "revoked"))
    check(gone["revoked_at"] is not None, "it tells when")
    check_equal([grant["id"] for grant in ledger.grants()], [kept["id"]])
    check_equal([grant["state"] for grant in ledger.grants("--all")], ["revoked", "usable"])
    check_in("revoked already", ledger.call("grant", "revoke", made["id"], status=2).said)
    check_in("there is no grant", ledger.call("grant", "revoke", "0" * 36, status=127).said)


@test("a grant that expires is not listed any more")
def _():
    ledger = Ledger()
    made = ledger.grant("env_set", "X", "--ttl", "1ms")
    wait_until(lambda: ledger.grants() == [], "the grant to expire")
    (old,) = ledger.grants("--all")
    check_equal((old["id"], old["state"]), (made["id"], "expired"))


# ---- approvals -------------------------------------------------------------------------------


@test("a request that waits is shown with who, until when, what would run and why it is asked")
def _():
    ledger = Ledger()
    made = ledger.ask(items=[("fs_read", "/papers", "user policy p.yaml:12", "papers are private"),
                             ("exec_run", "/usr/bin/git status", None, None)])
    (waiting,) = ledger.approvals()
    check_equal((waiting["id"], waiting["state"], waiting["holder"]), (made, "pending", "agent:test"))
    check_equal(waiting["items"][1], {"capability": "exec_run", "scope": "/usr/bin/git status",
                                      "rule": None, "reason": None})
    text = ledger.call("approvals").raw.decode()
    for part in (made, "agent:test", "git status", "fs_read /papers", "user policy p.yaml:12",
                 "papers are private", "left)"):
        check_in(part, text)
    one = ledger.json("approvals", "approvals", made[:-2])
    check_equal((one["id"], one["plan"]), (made, '{"schema":"wasp.plan/1"}'))


@test("an agent cannot paint over what is shown")
def _():
    ledger = Ledger()
    trick = "ls \x1b[2K\r\u202esecret\u2066 \u200bx\n    asks for: nothing" + " " * 300 + "y"
    ledger.ask(summary=trick, items=[("exec_run", "/bin/ls\x1b[A\n", "r\u202e", "\x9b2K")])
    (waiting,) = ledger.approvals()
    check_equal(waiting["summary"], trick, "JSON has it as it is")
    raw = ledger.call("approvals").raw
    text = raw.decode()
    check_equal([c for c in text if c != "\n" and not c.isprintable()], [], "characters")
    check_in("ls \\x1b[2K\\x0d\\u{202e}secret\\u{2066} \\u{200b}x\\n    asks for: nothing", text)
    check_equal(len([line for line in text.splitlines() if line.startswith("    asks for:")]), 1)
    check(" " * 9 not in text, "many spaces stay")


@test("approving grants each thing to that very request, once and for ten minutes")
def _():
    ledger = Ledger()
    made = ledger.ask(items=[("fs_read", "/papers", None, "private"), ("env_set", "A", None, None)])
    answer = ledger.json("approvals", "approve", made)
    check_equal((answer["state"], answer["answered_by"]), ("approved", f"uid:{os.getuid()}"))
    check_equal([grant["scope"] for grant in answer["grants"]], ["/papers", "A"])
    for grant in answer["grants"]:
        check_equal((grant["approval"], grant["request_sha256"]), (made, answer["request_sha256"]))
        check_equal((grant["uses_left"], grant["holder"]), (1, "agent:test"))
        check_equal(parse_time(grant["expires_at"]) - parse_time(grant["created_at"]), 600)
    listed = [grant for grant in ledger.grants() if grant["approval"] == made]
    check_equal(listed, answer["grants"])
    check_equal(ledger.approvals(), [])
    check_equal([one["state"] for one in ledger.approvals("--all")], ["approved"])
    said = ledger.call("approve", made, status=2).said
    check_in("approved already, by uid:", said)
    check_in("already", ledger.call("deny", made, status=2).said)


@test("time and uses of an approval can be said, within what the policy allows")
def _():
    ledger = Ledger()
    made = ledger.ask(max_ttl_ms=60000)
    check_in("60 s at most", ledger.call("approve", made, "--ttl", "61s", status=2).said)
    ledger.call("approve", made, "--uses", "0", status=2)
    check_equal(len(ledger.approvals()), 1, "it still waits")
    (grant,) = ledger.json("approvals", "approve", made, "--ttl", "30s", "--uses", "3")["grants"]
    check_equal(grant["uses_left"], 3)
    check_equal(parse_time(grant["expires_at"]) - parse_time(grant["created_at"]), 30)
    (grant,) = ledger.json("approvals", "approve", ledger.ask(max_ttl_ms=60000))["grants"]
    check_equal(parse_time(grant["expires_at"]) - parse_time(grant["created_at"]), 60)


@test("denying grants nothing, and cannot be taken back by approving")
def _():
    ledger = Ledger()
    made = ledger.ask()
    answer = ledger.json("approvals", "deny", made)
    check_equal((answer["state"], answer["grants"]), ("denied", []))
    check_in("denied already", ledger.call("approve", made, status=2).said)
    check_equal([grant for grant in ledger.grants("--all") if grant["approval"]], [])
    other = ledger.ask()
    text = ledger.call("deny", other).raw.decode()
    check_in("denied by uid:", text)
    text = ledger.call("approve", ledger.ask()).raw.decode()
    check_in("granted ", text)


@test("one that nobody answered in time is denied")
def _():
    ledger = Ledger()
    made = ledger.ask(waits_s=-1)
    check_equal(ledger.approvals(), [])
    check_in("expired at", ledger.call("approve", made, status=2).said)
    check_equal([one["state"] for one in ledger.approvals("--all")], ["expired"])
    check_in("nobody answered", ledger.call("approvals", "--all").raw.decode())


@test("--watch prints what waits and then each new one, and ends by a signal or with its reader")
def _():
    ledger = Ledger()
    first = ledger.ask()
    watcher = start("approvals", "--watch", "--json", env=ledger.env)
    try:
        value = json.loads(watcher.stdout.readline())
        check_fits("approvals", value)
        check_equal(value["id"], first)
        second = ledger.ask()
        check_equal(json.loads(watcher.stdout.readline())["id"], second)
        ledger.call("deny", first)
        third = ledger.ask()
        check_equal(json.loads(watcher.stdout.readline())["id"], third, "the answer is no new one")
        watcher.send_signal(signal.SIGTERM)
        check_equal(watcher.wait(timeout=30), -signal.SIGTERM)
    finally:
        watcher.kill()
        watcher.wait()
        watcher.stdout.close()
        watcher.stderr.close()
    ledger = Ledger()
    only = ledger.ask()
    watcher = start("approvals", "--watch", env=ledger.env)
    check_in(only, watcher.stdout.readline().decode())
    watcher.stdout.close()
    check_equal(watcher.wait(timeout=30), 0)
    watcher.stderr.close()


@test("words that the verbs do not take are refused with status 2")
def _():
    ledger = Ledger()
    for words in (("grant",), ("grant", "give"), ("grant", "revoke"), ("grant", "list", "x"), ("approve",),
                  ("deny",), ("deny", "01234567", "--ttl", "1m"), ("approvals", "--watch", "--all"),
                  ("approve", "01234567", "--ttl", "never"), ("approve", "xyz")):
        ledger.call(*words, status=2)


# ---- the record ------------------------------------------------------------------------------


def records(ledger):
    return [json.loads(line) for line in read_file(ledger.state, "audit", "log.jsonl").splitlines()]


@test("each change is recorded with who made it and what it is about")
def _():
    ledger = Ledger()
    made = ledger.grant("env_set", "X", "--reason", "because")
    ledger.call("grant", "revoke", made["id"])
    (created, revoked) = records(ledger)
    check_equal((created["event"], revoked["event"]), ("grant_created", "grant_revoked"))
    for record in (created, revoked):
        check_equal((record["principal"], record["by"]), ("agent:test", f"uid:{os.getuid()}"))
        check_equal((record["capability"], record["scope"]), ("env_set", "X"))
        check_equal((record["grants"], record["reason"]), ([made["id"]], "because"))
    asked, refused = ledger.ask(), ledger.ask()
    grants = ledger.json("approvals", "approve", asked)["grants"]
    ledger.call("deny", refused)
    approved = next(record for record in records(ledger) if record["event"] == "approved")
    denied = next(record for record in records(ledger) if record["event"] == "denied")
    check_equal((approved["approval"], approved["grants"]), (asked, [grants[0]["id"]]))
    check_equal((denied["approval"], denied["by"]), (refused, f"uid:{os.getuid()}"))
    seen = len(records(ledger))
    ledger.call("approve", asked, status=2)
    ledger.refused("env_set", "A=b")
    check_equal(len(records(ledger)), seen, "what changes nothing is no change")


@test("what cannot be recorded is not granted")
def _():
    ledger = Ledger()
    asked = ledger.ask()
    kept = ledger.grants()
    shutil.rmtree(os.path.join(ledger.state, "audit"))
    write_file(ledger.state, "audit", data="in its place")
    check_in("taken back", ledger.refused("env_set", "Y", status=125))
    check_in("taken back", ledger.call("approve", asked, status=125).said)
    check_equal(ledger.grants(), kept)
    check_in("could not be recorded", ledger.call("grant", "revoke", kept[0]["id"], status=125).said)
    check_equal(ledger.grants(), [], "what takes something away stands")


# ---- what can go wrong -----------------------------------------------------------------------


@test("a damaged store is an error that says what to do, for every verb")
def _():
    ledger = Ledger()
    made = ledger.ask()
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(ledger.file + suffix)
    write_file(ledger.file, data=b"no database" * 1000)
    for words in (("grant", "list"), ("approvals",), ("approve", made), ("deny", made),
                  ("grant", "revoke", made)):
        said = ledger.call(*words, status=125).said
        check_in("damaged", said)
        check_in("move it", said)
    check_in("damaged", ledger.refused("env_set", "X", status=125))


@test("a state folder that cannot be is named, with what to set")
def _():
    done = wasp("grant", "list", contract=False, env={"HOME": "", "WASP_STATE_DIR": ""})
    check_equal(done.status, 125)
    check_in("WASP_STATE_DIR", done.said)


@test("of many that approve at once one wins")
def _():
    ledger = Ledger()
    made = ledger.ask()
    racers = [start("approve", made, "--json", env=ledger.env) for _ in range(12)]
    outcomes = []
    for racer in racers:
        racer.communicate(timeout=60)
        outcomes.append(racer.returncode)
    check_equal(sorted(outcomes), [0] + [2] * 11)
    check_equal(len([grant for grant in ledger.grants() if grant["approval"] == made]), 1)


main(wasm=False)
