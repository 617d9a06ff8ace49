#!/usr/bin/python3
"""Who may: policies and principals over whole runs, and the record of them."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from home import *
from wasptest import *

# ---- the owner -------------------------------------------------------------------------------


@test("with no policy the owner's options stand as given, and the run is on record")
def _():
    home = Home()
    outcome = home.exec("cat", "f", options=("--allow-dir", home.work), contract=True)
    check_equal(outcome.reason, "exited")
    check_equal(home.events(), ["start", "end"])
    check_equal(outcome["audit"]["seq"], 2)
    check_equal(outcome["audit"]["hash"], home.audit()[-1]["hash"])
    check_equal(outcome["policy"], None)


@test("the owner's --plan-sha256 holds without a policy, and grants are not his to name")
def _():
    home = Home()
    other = home.exec("echo", "a", options=("--plan-sha256", "0" * 64))
    check_equal((other.status, other.code), (77, "simulate_first"))
    digest = ("--plan-sha256", other["request_sha256"])
    check_equal(home.exec("echo", "a", options=digest).stdout, "a\n")
    check_equal(home.exec("echo", "b", options=digest).status, 77)
    named = home.exec("true", options=("--grant", "01234567"))
    check_equal((named.status, named.reason), (2, "invalid"))
    words = ("call", "--plan-sha256", "0" * 64, "exec_run", '{"argv":["true"]}')
    check_equal(home.wasp(*words).code, "simulate_first")
    named = home.wasp("call", "--grant", "01234567", "exec_run", '{"argv":["true"]}')
    check_equal((named.status, named.reason), (2, "invalid"))


@test("--audit off leaves no record, and best effort goes on where the log cannot be written")
def _():
    home = Home()
    check_equal(home.exec("true", options=("--audit", "off")).status, 0)
    check(not os.path.exists(os.path.join(home.path, ".local", "state", "wasp", "audit")), "a log")
    write_file(home.path, ".local", "state", "wasp", "audit", data="in the way")
    os.chmod(os.path.join(home.path, ".local", "state", "wasp"), 0o700)
    outcome = home.exec("true")
    check_equal((outcome.status, outcome["audit"]), (0, None))
    check(outcome["audit_error"], "no word on why")
    outcome = home.exec("true", options=("--audit", "required"))
    check_equal((outcome.status, outcome.reason), (125, "backend_error"))
    check_in("audit", outcome.error)


@test("--audit off does not switch off what a policy wants to be recorded")
def _():
    home = Home(rules())
    check_equal(home.exec("true", options=("--audit", "off"))["audit"]["seq"], 2)
    home.policy(rules(audit={"mode": "off"}))
    check("audit" not in home.exec("true").envelope, "it was recorded against the policy's word")
    check_equal(home.exec("true", options=("--audit", "required"))["audit"]["seq"], 4)


@test("a policy binds the owner's options as well")
def _():
    home = Home(rules(filesystem={"allow": [{"path": "~/work", "access": "read-only"}]}))
    denied = home.exec("true", options=("--allow-dir", home.work))
    check_equal((denied.status, denied.reason), (77, "denied"))
    check_in("fs_write", denied.error)
    allowed = home.exec("true", options=("--allow-dir", f"{home.work}::/ws:ro"))
    check_equal(allowed.status, 0)
    check_equal(allowed["policy"]["layers"][0]["layer"], "user")
    check_equal(home.events(), ["refused", "start", "end"])


@test("the owner's limits above a policy's maximum are refused, below it they stand")
def _():
    home = Home(rules(limits={"max": {"timeout_ms": 5000}}))
    denied = home.exec("true", options=("--timeout", "10s"))
    check_equal((denied.status, denied.reason), (77, "denied"))
    check_in("timeout", denied.error)
    check_equal(home.exec("true", options=("--timeout", "4s")).status, 0)


@test("a policy that makes no sense stops the run with its file, line and key")
def _():
    home = Home('version: 1\nexec:\n  alow: ["*"]\n')
    outcome = home.exec("true")
    check_equal((outcome.status, outcome.reason), (2, "invalid"))
    check_in("policy.yaml:3", outcome.error)
    check_in("alow", outcome.error)


@test("an empty policy allows nothing")
def _():
    home = Home("version: 1\n")
    for argv in (("exec", "--", "true"), ("code", "--lang", "bash", "-c", "true")):
        outcome = home.wasp(*argv)
        check_equal((outcome.status, outcome.reason), (77, "denied"))


@test("--policy takes the place of the user's own, and a preset is one")
def _():
    home = Home("version: 1\n")
    other = write_file(home.path, "other.json", data=json.dumps(rules()))
    check_equal(home.exec("true").status, 77)
    check_equal(home.exec("true", options=("--policy", other)).status, 0)
    skill = os.path.join(home.path, "agent-workspace")
    os.mkdir(skill)
    outcome = home.wasp("code", "--policy", "preset:agent-skill", "--lang", "bash", "-c", "pwd",
                        "--allow-dir", skill)
    check_equal((outcome.stdout, outcome.status), ("/data\n", 0))


@test("a policy that others could have written is refused")
def _():
    home = Home()
    path = home.policy(rules())
    os.chmod(path, 0o666)
    outcome = home.exec("true")
    check_equal((outcome.status, outcome.reason), (2, "invalid"))
    check_in("policy.json", outcome.error)
    os.chmod(path, 0o600)
    check_equal(home.exec("true").status, 0)


@test("a project's policy narrows and never widens")
def _():
    home = Home(rules(env={"allow": ["A"]}))
    project = new_dir("project")
    write_file(project, ".wasp", "policy.json", data=json.dumps(rules(env={"allow": ["*"]})))
    check_equal(home.exec("true", options=("--env", "B=1"), cwd=project).status, 77)
    check_equal(home.exec("true", options=("--env", "A=1"), cwd=project).status, 0)
    inner = os.path.join(project, "sub")
    write_file(inner, ".wasp", "policy.json", data=json.dumps(rules(env={"allow": []})))
    check_equal(home.exec("true", options=("--env", "A=1"), cwd=inner).status, 77)
    check_equal(home.exec("true", cwd=inner).status, 0)


@test("a guest cannot write the policy of the project it works in")
def _():
    home = Home()
    project = new_dir("project")
    write_file(project, ".wasp", "policy.json",
               data=json.dumps(rules(filesystem={"allow": [{"path": ".", "access": "read-write"}]})))
    script = "echo '{}' > .wasp/policy.json; rm -rf .wasp; mv .wasp x; echo done; touch other"
    outcome = home.exec("bash", "-c", script, options=("--allow-dir", project), cwd=project)
    check_equal(outcome.stdout, "done\n")
    check(os.path.exists(os.path.join(project, "other")), "the control was not written either")
    check_in("read-write", read_file(project, ".wasp", "policy.json").decode())


@test("a policy picks the backend of a language, and a weaker one is refused")
def _():
    home = Home(rules(code={"allow": ["*"], "backends": {"python": "wasm"}}))
    outcome = home.wasp("code", "--lang", "python", "-c", "1")
    check_in("runtime", outcome.error)  # there is none: it did go to wasm
    denied = home.wasp("code", "--backend", "native", "--lang", "python", "-c", "1")
    check_equal((denied.status, denied.reason), (77, "denied"))


@test("generated code can be refused as such")
def _():
    home = Home(rules(code={"allow": ["*"], "generated": False}))
    check_equal(home.wasp("code", "--lang", "bash", "-c", "true").status, 77)
    check_equal(home.exec("true").status, 0)


# ---- agents ----------------------------------------------------------------------------------


@test("an agent with no policy has tier low: scratch and tools, nothing of the host")
def _():
    home = Home()
    write_file(home.work, "f", data="secret")
    outcome = home.wasp("code", *BOT, "--lang", "bash", "-c", "echo 1 > /tmp/x && cat /tmp/x")
    check_equal((outcome.status, outcome.stdout), (0, "1\n"))
    check_equal(outcome["principal"], "agent:bot")
    for options in (("--allow-dir", home.work), ("--allow-dir", f"{home.work}::/x:ro"),
                    ("--loopback",), ("--stdin", os.path.join(home.work, "f"))):
        denied = home.exec("cat", options=(*BOT, *options))
        check_equal((denied.status, denied.reason), (77, "denied"), f"{options}")
        check_in("grant create --holder agent:bot", denied.error)


@test("the refusal names the grant, the grant is made, the run works once, and it is all on record")
def _():
    home = Home()
    options = (*BOT, "--allow-dir", f"{home.work}::/ws")
    script = ("bash", "-c", "echo hi > /ws/out")
    home.policy({"version": 1, "exec": {"allow": ["bash"]}})
    denied = home.exec(*script, options=options)
    check_equal(denied.reason, "denied")
    command = denied["error_info"]["hint"].split("wasp ", 1)[1].split(";")[0].split()
    made = home.wasp(*command, contract=False)
    check_equal(made.status, 0, made.said)
    check_equal(home.exec(*script, options=options).status, 0)
    check_equal(read_file(home.work, "out"), b"hi\n")
    check_equal(home.exec(*script, options=options).reason, "denied")
    check_equal(home.events(), ["refused", "grant_created", "grant_used", "grant_spent", "start",
                                "end", "refused"])


@test("what must be asked for waits for a person, works once when approved, and is then gone")
def _():
    home = Home(rules(filesystem={"ask": [{"path": "~/work", "access": "read-write",
                                           "reason": "the team's files"}]}))
    options = (*BOT, "--allow-dir", f"{home.work}::/ws")
    waiting = home.exec("true", options=options)
    check_equal((waiting.status, waiting.reason), (77, "approval_required"))
    check_in("the team's files", waiting.error)
    again = home.exec("true", options=options)
    check_equal(again["approval"]["id"], waiting["approval"]["id"])
    other = home.exec("false", options=options)
    check(other["approval"]["id"] != waiting["approval"]["id"], "another request, the same approval")
    pending = home.json("approvals", "--json")["approvals"]
    check_equal(len(pending), 2)
    check_equal(home.wasp("approve", waiting["approval"]["id"], "--ttl", "10m", contract=False).status, 0)
    check_equal(home.exec("false", options=options).reason, "approval_required")
    ran = home.exec("true", options=options)
    check_equal(ran.status, 0)
    check_equal([grant["capability"] for grant in ran["grants"]], ["fs_write"])
    check_equal(home.exec("true", options=options).reason, "approval_required")
    events = home.events()
    for event in ("approval_requested", "approved", "grant_created", "grant_used", "grant_spent"):
        check_in(event, events)


@test("a denied request stays denied, and a changed one needs an approval of its own")
def _():
    home = Home(rules(env={"ask": ["A"]}))
    waiting = home.exec("true", options=(*BOT, "--env", "A=1"))
    check_equal(home.wasp("deny", waiting["approval"]["id"], contract=False).status, 0)
    denied = home.exec("true", options=(*BOT, "--env", "A=1"))
    check_equal(denied.reason, "denied")
    check_in("a person denied", denied.error)
    check_equal(home.exec("true", options=(*BOT, "--env", "A=2")).reason, "approval_required")


@test("an approval is good for its very request: environment, arguments, limits and directories")
def _():
    home = Home(rules(filesystem={"ask": [{"path": "~/work", "access": "read-write"}],
                                  "allow": [{"path": "~/work"}]},
                      env={"allow": ["*"]}))
    dirs = ("--allow-dir", f"{home.work}::/ws")
    waiting = home.exec("true", "x", options=(*BOT, *dirs))
    check_equal(home.wasp("approve", waiting["approval"]["id"], "--uses", "1", contract=False).status, 0)
    for options, argv in (((*dirs, "--env", "A=1"), ("true", "x")), (dirs, ("true", "y")),
                          ((*dirs, "--timeout", "3s"), ("true", "x")),
                          (("--allow-dir", f"{home.work}::/other"), ("true", "x"))):
        outcome = home.exec(*argv, options=(*BOT, *options))
        check_equal(outcome.reason, "approval_required", f"{options} {argv}")
    check_equal(home.exec("true", "x", options=(*BOT, *dirs)).status, 0)


@test("an agent's limits are lowered to the policy's, and the result says so")
def _():
    home = Home(rules(limits={"default": {"timeout_ms": 2000}, "max": {"timeout_ms": 5000}}))
    outcome = home.exec("true", options=(*BOT, "--timeout", "1h", "--memory", "8GiB"))
    check_equal(outcome.status, 0)
    clamped = {entry["limit"]: entry for entry in outcome["clamped"]}
    check_equal((clamped["timeout"]["asked"], clamped["timeout"]["given"]), ("1h", "5s"))
    check_equal(clamped["memory"]["given"], "512MiB")
    timed = home.exec("sleep", "30", options=BOT)
    check_equal(timed.reason, "timeout")
    check(timed["execution_time_ms"] < 20000, "the default of the policy did not hold")


@test("an agent cannot lift a protection, follow a link at the root, or force a hook")
def _():
    home = Home(rules(filesystem={"allow": [{"path": "*", "access": "read-write"}]},
                      env={"allow": ["*"]}))
    os.symlink(home.work, os.path.join(home.path, "link"))
    for options in (("--allow-dir", home.work, "--unprotect", ".git"),
                    ("--allow-dir", os.path.join(home.path, "link")),
                    ("--env-force", "LD_PRELOAD=/x.so")):
        outcome = home.exec("true", options=(*BOT, *options))
        check_equal((outcome.status, outcome.reason), (77, "denied"), f"{options}")
    check_equal(home.exec("true", options=("--allow-dir", os.path.join(home.path, "link"))).status, 0)
    check_equal(home.exec("true", options=(*BOT, "--allow-dir", home.work)).status, 0)


@test("a path is judged by where it leads, not by how it is written")
def _():
    home = Home(rules(filesystem={"allow": [{"path": "~/work", "access": "read-write"}]}))
    secret = os.path.join(home.path, "secret")
    os.mkdir(secret)
    os.symlink(secret, os.path.join(home.work, "out"))
    os.mkdir(os.path.join(home.work, "in"))
    for path in (f"{home.work}/../secret", f"{home.work}/out/.", f"{home.path}/work2"):
        outcome = home.exec("true", options=(*BOT, "--allow-dir", f"{path}::/x"))
        check_equal(outcome.reason, "denied", path)
    for path in (f"{home.work}/in", f"{home.work}/in/..", f"{home.work}/./in//"):
        outcome = home.exec("true", options=(*BOT, "--allow-dir", f"{path}::/x"))
        check_equal(outcome.status, 0, path)


@test("whether a file is there is not told to an agent that may not look")
def _():
    home = Home(rules())
    there = home.exec("true", options=(*BOT, "--allow-dir", f"{home.work}::/x"))
    gone = home.exec("true", options=(*BOT, "--allow-dir", f"{home.path}/nowhere::/x"))
    check_equal(there.error.replace(home.work, "P"), gone.error.replace(f"{home.path}/nowhere", "P"))


@test("a program is allowed by what it is, not by what it is called")
def _():
    home = Home({"version": 1, "exec": {"allow": [{"program": "ls", "args": ["-l", "*"]}]},
                 "filesystem": {"allow": [{"path": "~/work", "access": "read-write"}]}})
    write_file(home.work, "ls", data="#!/bin/sh\necho mine\n")
    os.chmod(os.path.join(home.work, "ls"), 0o755)
    dirs = ("--allow-dir", f"{home.work}::/ws")
    check_equal(home.exec("ls", "-l", options=(*BOT, *dirs)).status, 0)
    check_equal(home.exec("/usr/bin/ls", "-l", "/", options=(*BOT, *dirs)).status, 0)
    for argv in (("/ws/ls", "-l"), ("ls",), ("ls", "-la"), ("cat", "-l"), ("bash", "-c", "ls -l")):
        outcome = home.exec(*argv, options=(*BOT, *dirs))
        check_equal(outcome.reason, "denied", f"{argv}")


@test("a program that is several by its names is allowed by the name that the rule has")
def _():
    if os.path.realpath("/usr/bin/awk") != os.path.realpath("/usr/bin/nawk"):
        skip("awk and nawk are not one file here")
    home = Home({"version": 1, "exec": {"allow": ["nawk"]}})
    script = 'BEGIN { print "x" }'
    check_equal(home.exec("nawk", script, options=BOT).stdout, "x\n")
    check_equal(home.exec("awk", script, options=BOT).reason, "denied")
    home.policy({"version": 1, "exec": {"allow": [os.path.realpath("/usr/bin/awk")]}})
    check_equal(home.exec("awk", script, options=BOT).stdout, "x\n")
    home.policy({"version": 1, "exec": {"allow": ["*"], "deny": ["nawk"]}})
    check_equal(home.exec("awk", script, options=BOT).reason, "denied")


main(wasm=False)
