#!/usr/bin/python3
"""The audit log from outside. The log is written here, by what src/report/audit.h says of it, which
proves that this is enough for others to check one."""

import hashlib
import json
import os
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

ZEROS = "0" * 64
ORDER = """schema seq time event at run_id principal backend tier policy_sha256 request_sha256 module_sha256
argv_sha256 source_sha256 decision rule capability scope grants approval by reason exit_code usage first_seq
first_prev prev hash""".split()


class Log:
    """An audit log in a state folder of its own."""

    def __init__(self, records=()):
        self.state = os.path.join(new_dir("state"), "wasp")
        self.folder = os.path.join(self.state, "audit")
        self.path = os.path.join(self.folder, "log.jsonl")
        self.env = {"WASP_STATE_DIR": self.state}
        self.seq, self.prev, self.size = 0, ZEROS, 0
        for record in records:
            self.add(**record)

    def line(self, event="start", minute=0, **fields):
        fields |= {"schema": "wasp.audit/1", "seq": self.seq + 1, "event": event, "prev": self.prev,
                   "time": f"2026-01-31T12:{minute:02}:00.000Z"}
        ordered = {key: fields[key] for key in ORDER if key in fields}
        text = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False)[:-1]
        digest = hashlib.sha256(text.encode()).hexdigest()
        return f'{text},"hash":"{digest}"}}\n'.encode(), digest

    def add(self, **fields):
        line, digest = self.line(**fields)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        os.chmod(self.state, 0o700)
        with open(self.path, "ab") as file:
            file.write(line)
        self.seq, self.prev, self.size = self.seq + 1, digest, self.size + len(line)
        self.write_head()
        return line

    def write_head(self):
        head = json.dumps({"schema": "wasp.audit.head/1", "seq": self.seq, "hash": self.prev, "segment": 1,
                           "size": self.size, "next": None}, separators=(",", ":"))
        write_file(self.state, "audit.head", data=head.ljust(511) + "\n")

    def audit(self, *words, status=0, **how):
        done = wasp("audit", *words, contract=False, env=self.env, **how)
        check_equal(done.status, status, f"status of {words} ({done.said})")
        return done

    def records(self, *words):
        out = self.audit("show", "--json", *words).raw
        found = [json.loads(line) for line in out.splitlines()]
        for record in found:
            check_fits("audit", record)
        return found

    def verdict(self, *words, status=0):
        found = json.loads(self.audit("verify", "--json", *words, status=status).raw)
        check_fits("audit-verify", found)
        check_equal(found["verdict"], "damaged" if status else "ok", "verdict")
        return found


STORY = [
    {"event": "refused", "principal": "agent:a", "decision": "deny", "rule": "tier low", "capability": "fs_write",
     "scope": "/data/é", "run_id": "r1", "minute": 1},
    {"event": "approval_requested", "principal": "agent:a", "decision": "ask", "approval": "p1", "minute": 2},
    {"event": "approved", "approval": "p1", "by": "uid:1000", "grants": ["g1", "g2"], "minute": 3},
    {"event": "start", "principal": "agent:a", "decision": "allow", "run_id": "r2", "backend": "native",
     "tier": "medium", "argv_sha256": "ab" * 32, "policy_sha256": "cd" * 32, "minute": 4},
    {"event": "call", "principal": "agent:a", "decision": "allow", "run_id": "r2", "capability": "fs_read",
     "scope": "/data/x", "minute": 5},
    {"event": "end", "principal": "agent:a", "run_id": "r2", "reason": "exited", "exit_code": 3, "minute": 6,
     "usage": {"wall_ms": 5, "cpu_ms": 1, "max_rss_bytes": 4096}},
    {"event": "start", "principal": "owner", "decision": "allow", "run_id": "r3", "minute": 7},
]


@test("a log that was written by the documented rule verifies")
def _():
    log = Log(STORY)
    found = log.verdict()
    check_equal((found["records"], found["first_seq"], found["findings"], found["notes"]), (7, 1, [], []), "verdict")
    check_equal(found["head"], {"seq": 7, "hash": log.prev}, "head")
    check_equal(found["last"], found["head"], "last")
    text = log.audit("verify").raw.decode()
    check_equal(text, f"ok: 7 records, head 7:{log.prev}\n", "in words")


@test("a changed word is found, with file, line and number")
def _():
    log = Log(STORY)
    write_file(log.path, data=read_file(log.path).replace(b'"by":"uid:1000"', b'"by":"uid:1001"'))
    found = log.verdict(status=1)["findings"]
    check_equal([(one["file"], one["line"], one["seq"]) for one in found], [("log.jsonl", 3, 3)], "where")
    check("was changed" in found[0]["what"], found[0]["what"])
    said = log.audit("verify", status=1).raw.decode()
    check(said.startswith("log.jsonl:3: seq 3: ") and said.endswith("damaged: 1 findings in 7 records\n"), said)


@test("what is deleted, reordered, cut, added or renamed is found")
def _():
    lines = read_file(Log(STORY).path).splitlines(True)
    broken = {"deleted": lines[:2] + lines[3:], "reordered": [lines[1], lines[0], *lines[2:]], "cut": lines[:-1],
              "cut in a line": lines[:-1] + [lines[-1][:-9]], "twice": lines + lines[-1:], "none": []}
    for what, changed in broken.items():
        log = Log(STORY)
        write_file(log.path, data=b"".join(changed))
        check(log.verdict(status=1)["findings"], what)
    log = Log(STORY)
    with open(log.path, "ab") as file:
        file.write(log.line("approved", by="uid:0")[0])
    check("something else added to it" in log.verdict(status=1)["findings"][0]["what"], "a line by the rule")
    log = Log(STORY)
    os.unlink(os.path.join(log.state, "audit.head"))
    check("head is missing" in log.verdict(status=1)["findings"][0]["what"], "no head")


@test("an outside anchor finds what was rewritten together with the head")
def _():
    log, forged = Log(STORY), Log(STORY[:-1])
    anchor = log.audit("export", "--head").raw.decode().strip()
    check_equal(anchor, f"7:{log.prev}", "the head")
    log.verdict("--head", anchor)
    forged.add(event="end", reason="nothing happened", minute=7)
    forged.verdict()
    check("anchor" in forged.verdict("--head", anchor, status=1)["findings"][0]["what"], "another record")
    short = Log(STORY[:-1])
    check("before the anchor" in short.verdict("--head", anchor, status=1)["findings"][0]["what"], "a cut tail")
    for bad in ("7", "7:ab", "0:" + ZEROS, "x:" + ZEROS, ""):
        log.audit("verify", "--head", bad, status=2)


@test("a log that is not there is empty, and reading makes nothing")
def _():
    log = Log()
    check_equal(log.records(), [], "records")
    check_equal(log.verdict()["head"], None, "head")
    log.audit("export")
    log.audit("export", "--head", status=125)
    check(not os.path.exists(log.state), "the state folder was made")
    full = Log(STORY)
    before = tree_of(full.state)
    full.records(), full.verdict(), full.audit("export", "--format", "ocsf")
    check_equal(tree_of(full.state), before, "the state folder")


@test("show prints what the filters ask for")
def _():
    log = Log(STORY)
    wanted = {(): [1, 2, 3, 4, 5, 6, 7], ("--event", "start"): [4, 7], ("--run-id", "r2"): [4, 5, 6],
              ("--principal", "owner"): [7], ("--decision", "ask"): [2], ("--since", "2026-01-31T12:06:00Z"): [6, 7],
              ("--until", "2026-01-31T12:02:00Z"): [1], ("--since", "1h"): [], ("--until", "1m"): [1, 2, 3, 4, 5, 6, 7],
              ("--principal", "agent:a", "--decision", "allow"): [4, 5], ("--event", "nothing"): []}
    for words, seqs in wanted.items():
        check_equal([record["seq"] for record in log.records(*words)], seqs, f"show {words}")
    for words in (("--decision", "perhaps"), ("--since", "yesterday"), ("extra",)):
        log.audit("show", *words, status=2)


@test("for people a record is one line that cannot steer a terminal")
def _():
    log = Log([{"event": "refused", "reason": "a\u001b[2Jb\nc\u202ed", "principal": "agent:x y"}])
    shown = log.audit("show").raw.decode()
    check_equal(shown, '2026-01-31T12:00:00.000Z #1      refused principal="agent:x y" '
                       'reason="a\\u001b[2Jb\\nc\\u202ed"\n', "the line")


@test("a line that is no record is left out, which shows")
def _():
    log = Log(STORY)
    write_file(log.path, data=b"nonsense\n" + read_file(log.path))
    done = log.audit("show", "--json", status=1)
    check_equal(len(done.raw.splitlines()), 7, "records")
    check("1 lines are no records" in done.said, done.said)
    log.audit("export", status=1)


@test("an export holds the records as they are, and tells the head")
def _():
    log = Log(STORY)
    done = log.audit("export", "--format", "jsonl")
    check_equal(done.raw, read_file(log.path), "the lines")
    check(f"7:{log.prev}" in done.said, done.said)
    check_equal(log.audit("export", "--quiet").said, "", "--quiet")
    check_equal(len(log.audit("export", "--event", "start").raw.splitlines()), 2, "with a filter")
    log.audit("export", "--format", "xml", status=2)


@test("an OCSF export has what the class API Activity needs, and the records to verify")
def _():
    log = Log(STORY)
    events = [json.loads(line) for line in log.audit("export", "--format", "ocsf").raw.splitlines()]
    raw = "".join(event["raw_data"] + "\n" for event in events).encode()
    check_equal(raw, read_file(log.path), "raw_data")
    for event in events:
        check_equal((event["class_uid"], event["category_uid"]), (6003, 6), "class")
        check_equal(event["type_uid"], 600300 + event["activity_id"], "type_uid")
        for key in ("actor", "api", "metadata", "severity_id", "src_endpoint", "time", "status_id"):
            check(key in event, f"no {key} in {event}")
        check_equal(event["metadata"]["version"], "1.3.0", "version")
    check_equal([event["activity_id"] for event in events], [99, 1, 3, 1, 2, 4, 1], "activity")
    check_equal([event["status_id"] for event in events], [2, 2, 1, 1, 1, 2, 1], "status")
    check_equal(events[2]["actor"], {"user": {"name": "uid:1000"}}, "actor")
    check_equal(events[4]["api"]["operation"], "fs_read", "operation")
    check_equal(events[0]["resources"], [{"type": "fs_write", "name": "/data/é"}], "resources")
    check_equal(events[0]["time"], 1769860860000, "time")


def follow(log):
    return start("audit", "show", "--follow", "--json", env=log.env, bufsize=0)


def read_line(stream):
    check(select.select([stream], [], [], 60)[0], "waited 60 s in vain for a record")
    line = stream.readline()
    check(line, "the stream has ended")
    return json.loads(line)["seq"]


@test("show --follow goes on with what is added, across rotation, until a signal")
def _():
    log = Log(STORY[:2])
    process = follow(log)
    try:
        check_equal([read_line(process.stdout), read_line(process.stdout)], [1, 2], "what was there")
        log.add(**STORY[2])
        check_equal(read_line(process.stdout), 3, "what was added")
        os.rename(log.path, os.path.join(log.folder, "log.00000001.jsonl"))
        log.add(**STORY[3])
        check_equal(read_line(process.stdout), 4, "what was added behind a rotation")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    check_equal(process.returncode, -signal.SIGINT, "how it ended")


@test("show --follow waits for a log that is not there yet")
def _():
    log = Log()
    process = follow(log)
    try:
        log.add(**STORY[0])
        check_equal(read_line(process.stdout), 1, "the first record")
    finally:
        process.kill()
        process.communicate(timeout=60)


@test("show --follow ends when nobody reads it any more")
def _():
    process = follow(Log(STORY))
    check_equal(read_line(process.stdout), 1, "the first")
    process.stdout.close()
    check_equal(process.wait(timeout=60), 0, "status")
    process.stderr.close()


@test("a state folder that cannot be read is an error, not an empty log")
def _():
    log = Log(STORY)
    os.rename(log.folder, log.folder + ".away")
    write_file(log.folder, data="a file")
    for words in (["show"], ["verify"], ["export"]):
        log.audit(*words, status=125)


main(wasm=False)
