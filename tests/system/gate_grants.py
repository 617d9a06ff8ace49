#!/usr/bin/python3
"""Grants, approvals and the hour's count behind runs, and what is said of them beforehand."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from home import *
from wasptest import *

# ---- while it runs ---------------------------------------------------------------------------


def start_resting(home, seconds="60"):
    """A run of the agent's that rests on a grant, once it has begun."""
    made = home.json("grant", "create", "--holder", "agent:bot", "--capability", "fs_write",
                     "--scope", home.work, "--ttl", "10m", "--json")
    process = start("exec", *BOT, "--allow-dir", f"{home.work}::/ws", "--timeout", "60s", "--",
                    "bash", "-c", f"touch /ws/begun; sleep {seconds}", env=home.env)
    wait_until(lambda: os.path.exists(os.path.join(home.work, "begun")), "the run to begin")
    return made["id"], process


@test("revoking the grant behind a mount ends the run within a second")
def _():
    home = Home(rules())
    grant, process = start_resting(home)
    check_equal(home.wasp("grant", "revoke", grant, contract=False).status, 0)
    revoked = time.monotonic()
    outcome = finish(process)
    check(time.monotonic() - revoked < 10, "it went on")
    check_equal((outcome.status, outcome.reason), (77, "denied"))
    check_in("revoked", outcome.error)
    check_in("grant_revoked", home.events())
    check_nothing_left()


@test("a grant that expires ends the run that rests on it, and that is on record")
def _():
    home = Home(rules())
    home.json("grant", "create", "--holder", "agent:bot", "--capability", "fs_write", "--scope",
              home.work, "--ttl", "4s", "--uses", "2", "--json")
    outcome = home.exec("sleep", "60", options=(*BOT, "--allow-dir", f"{home.work}::/ws",
                                                "--timeout", "60s"))
    check_equal((outcome.status, outcome.reason), (77, "denied"))
    check_in("expired", outcome.error)
    home.exec("true", options=BOT)
    check_in("grant_expired", home.events())


@test("a grant of three uses is good for exactly three of twenty runs at once")
def _():
    home = Home(rules())
    home.json("grant", "create", "--holder", "agent:bot", "--capability", "fs_write", "--scope",
              home.work, "--uses", "3", "--json")
    runs = [start("exec", *BOT, "--allow-dir", f"{home.work}::/ws", "--", "true", env=home.env)
            for _ in range(20)]
    outcomes = [finish(process) for process in runs]
    check_equal(sorted(outcome.status for outcome in outcomes), [0] * 3 + [77] * 17)
    check_equal(home.events().count("start"), 3)
    check_in("grant_spent", home.events())


@test("the hour's number holds across restarts, and says when there is room again")
def _():
    home = Home(rules(approval={"per_hour": {"exec_run": 3}}))
    for _ in range(3):
        check_equal(home.exec("true", options=BOT).status, 0)
    outcome = home.exec("true", options=BOT)
    check_equal((outcome.status, outcome.reason), (77, "denied"))
    check_in("3", outcome.error)
    check_equal(home.exec("true", options=("--principal", "agent:other")).status, 0)


@test("a request that must be simulated first needs the digest of exactly that request")
def _():
    home = Home(rules(approval={"risk": {"exec_run": "restricted"}, "simulate": ["restricted"]}))
    shown = home.exec("echo", "a", options=BOT)
    check_equal((shown.status, shown.code), (77, "simulate_first"))
    check_equal(shown["plan"]["args"], ["a"])
    digest = ("--plan-sha256", shown["request_sha256"])
    check_equal(home.exec("echo", "b", options=(*BOT, *digest)).status, 77)
    ran = home.exec("echo", "a", options=(*BOT, *digest))
    check_equal((ran.status, ran.stdout), (0, "a\n"))


@test("what is privileged needs a person, whatever the rules allow")
def _():
    home = Home(rules(approval={"risk": {"exec_run": "privileged"}}))
    waiting = home.exec("true", options=BOT)
    check_equal(waiting.reason, "approval_required")
    check_equal(home.wasp("approve", waiting["approval"]["id"], contract=False).status, 0)
    check_equal(home.exec("true", options=BOT).status, 0)


@test("neither the log nor the list of approvals shows a key or a registered secret")
def _():
    home = Home(rules(env={"ask": ["TOKEN", "A"]}))
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    path = os.path.join(home.path, key)
    os.mkdir(path)
    denied = home.exec("true", options=(*BOT, "--allow-dir", f"{path}::/x"))
    check_equal(denied.reason, "denied")
    secret = "correct horse battery"
    argv = ("bash", "-c", "echo $TOKEN")
    waiting = home.exec(*argv, options=(*BOT, "--secret-env", "TOKEN", "--env", f"A={key}"),
                        env={"TOKEN": secret})
    check_equal(waiting.reason, "approval_required", waiting.error)
    shown = home.wasp("approvals", contract=False).raw + home.wasp(
        "approvals", waiting["approval"]["id"], "--json", contract=False).raw
    log = home.wasp("audit", "export", contract=False).raw
    check_in(b"refused", log)
    check_in(waiting["approval"]["id"][:8].encode(), shown)
    for text in (log, shown):
        check(key.encode() not in text, "a key is shown")
        check(secret.encode() not in text, "a secret is shown")
    check_equal(home.wasp("approve", waiting["approval"]["id"], contract=False).status, 0)
    ran = home.exec(*argv, options=(*BOT, "--secret-env", "TOKEN", "--env", f"A={key}"),
                    env={"TOKEN": secret})
    check_equal((ran.status, ran.stdout), (0, "[redacted]\n"))


# ---- a person at the terminal ----------------------------------------------------------------


@test("with --ask the person at the terminal decides, and sees exactly what would run")
def _():
    home = Home(rules(env={"ask": ["A"]}))
    words = ("exec", *BOT, "--ask", "--env", "A=1", "--", "echo", "a\x1b[2Jb")
    status, envelope, shown = on_terminal(home, words, b"yes")
    check_equal((status, envelope["reason"]), (0, "exited"))
    check_in("env_set", shown)
    check("\x1b[2J" not in shown, "an escape reached the terminal")
    status, envelope, _ = on_terminal(home, words, b"no")
    check_equal((status, envelope["reason"]), (77, "denied"))


@test("an agent on a terminal is not asked unless --ask is there, and the owner is")
def _():
    home = Home(rules(env={"ask": ["A"]}))
    status, envelope, _ = on_terminal(home, ("exec", *BOT, "--env", "A=1", "--", "true"), b"yes")
    check_equal((status, envelope["reason"]), (77, "approval_required"))
    status, envelope, _ = on_terminal(home, ("exec", "--env", "A=1", "--", "true"), b"yes")
    check_equal((status, envelope["reason"]), (0, "exited"))
    headless = home.exec("true", options=("--env", "A=1"))
    check_equal(headless.reason, "denied")


# ---- what it would say -----------------------------------------------------------------------


@test("policy explain tells verdict, rule and missing grant, and changes nothing")
def _():
    home = Home(rules(env={"ask": [{"name": "A", "reason": "why"}]}))
    words = ("policy", "explain", "exec", *BOT, "--env", "A=1", "--allow-dir", home.work, "--", "ls")
    told = home.json(*words)
    check_equal(told["verdict"], "deny")
    needs = {need["capability"]: need for need in told["needs"]}
    check_equal(needs["env_set"]["verdict"], "ask")
    check_equal(needs["env_set"]["rule"]["reason"], "why")
    check_equal(needs["exec_run"]["verdict"], "allow")
    check_equal((needs["fs_write"]["verdict"], needs["fs_write"]["rule"]), ("deny", None))
    check(needs["fs_write"]["grant_would_do"], "a grant would do")
    check_in("--capability fs_write", needs["fs_write"]["hint"])
    check(not os.path.exists(os.path.join(home.path, ".local", "state")), "it left something")


@test("tiers are ceilings: low in a project stands under a user's high")
def _():
    home = Home({"version": 1, "tier": "high", "exec": {"allow": ["*"]}, "env": {"allow": ["*"]},
                 "filesystem": {"allow": [{"path": "*", "access": "read-write"}]},
                 "code": {"allow": ["*"]}})
    options = (*BOT, "--allow-dir", f"{home.work}::/ws")
    check_equal(home.exec("true", options=options).status, 0)
    check_equal(home.exec("true", options=(*options, "--tier", "low")).status, 77)
    check_equal(home.exec("true", options=(*options, "--tier", "medium")).status, 0)
    ssh = os.path.join(home.path, ".ssh")
    os.mkdir(ssh)
    check_equal(home.exec("true", options=(*BOT, "--allow-dir", f"{ssh}::/ws")).status, 0)
    check_equal(home.exec("true", options=(*BOT, "--tier", "medium", "--allow-dir",
                                           f"{ssh}::/ws")).status, 77)


main(wasm=False)
