#!/usr/bin/python3
"""Ways around the gate that were found once, a test each, and what is still allowed beside them."""

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from home import *
from wasptest import *

READ = {"allow": [{"path": "~/work"}]}
WRITE = {"allow": [{"path": "~/work", "access": "read-write"}]}


def check_denied(outcome, what):
    check_equal((outcome.status, outcome.reason), (77, "denied"), f"{what}: {outcome.error}")
    return outcome


def check_ran(outcome, stdout=None):
    check_equal((outcome.status, outcome.reason), (0, "exited"), f"the control: {outcome.error}")
    if stdout is not None:
        check_equal(outcome.stdout, stdout, "output of the control")
    return outcome


def approve(home, waiting, *options):
    check_equal(waiting.reason, "approval_required", waiting.error)
    done = home.wasp("approve", waiting["approval"]["id"], *options, contract=False)
    check_equal(done.status, 0, done.said)


def echo_as(*parts):
    """A program of another name that prints its words."""
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(os.path.realpath("/bin/echo"), path)
    return path


def knock(home, options, *calls):
    """A run of the guest that makes these calls of exec_run: the outcome and the answers."""
    args = []
    for argv in calls:
        args += [","] * bool(args) + ["call", "exec_run", json.dumps({"argv": argv})]
    outcome = home.wasp("run", guest("knock"), *options, "--capability", "exec_run", "--", *args)
    lines = outcome.lines() if outcome.reason == "exited" else []
    return outcome, [json.loads(line[len("call: ") : -len(" ok")]) for line in lines]


def call(home, name, members, *options):
    return home.wasp("call", *options, name, json.dumps(members))


def made_grant(home, capability, scope, *options):
    return home.json("grant", "create", "--holder", "agent:bot", "--capability", capability,
                     "--scope", scope, *options, "--json")["id"]


def bytes_kept(home):
    """All that wasp keeps of a home: the log, the store and what lies beside it."""
    kept = b""
    for where, _, files in os.walk(os.path.join(home.path, ".local")):
        kept += b"".join(read_file(where, name) for name in files)
    return kept


# ---- files that the request itself names -----------------------------------------------------


@test("an agent's events go to a descriptor that its caller opened, and never to a file by its name")
def _():
    home = Home(rules())
    new, old = os.path.join(home.work, "new"), write_file(home.work, "old", data="as it was")
    manifest = write_file(home.path, "task.json", data='{"kind":"native-run","argv":["true"]}')
    verbs = (("exec", "--", "true"), ("code", "--lang", "bash", "-c", "true"), ("run", guest("hello")),
             ("task", "run", "--manifest", manifest))
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as told:
        check_ran(home.exec("true", options=(*BOT, "--events", f"fd:{writer}"), pass_fds=(writer,)))
        os.close(writer)
        check_in(b'"event"', told.read(), "events")
    check_ran(home.exec("true", options=("--events", new)))
    check_in(b'"event"', read_file(new), "the owner's events")
    os.unlink(new)
    for path in (new, old):
        for verb in verbs:
            at = 2 if verb[0] == "task" else 1
            outcome = home.wasp(*verb[:at], *BOT, "--events", path, *verb[at:])
            check_denied(outcome, f"{verb[0]} --events {path}")
            check_in("fd:", outcome["error_info"]["hint"] or "", "hint")
        home.exec("true", options=("--events", path, "--timeout", "nonsense", *BOT))
        home.exec("true", options=("--events", path, *BOT, "--allow-dir", "/nowhere"))
    check(not os.path.exists(new), "a file was made")
    check_equal(read_file(old), b"as it was")


@test("an agent's source comes in its own words, and no file of the host's is read for it")
def _():
    home = Home(rules())
    path = write_file(home.work, "secret", data="hunter2 = (\n")
    words = ("code", *BOT, "--lang", "python")
    for file in (path, os.path.join(home.work, "missing"), home.work):
        outcome = check_denied(home.wasp(*words, file), file)
        check(b"hunter2" not in outcome.raw and "hunter2" not in outcome.said, "the file is shown")
    check_ran(home.wasp(*words, "-c", "print(1)"), "1\n")
    check_ran(home.wasp(*words, "-", stdin=b"print(2)"), "2\n")
    check_in("hunter2", home.wasp("code", "--lang", "python", path).stderr, "the owner's own file")


@test("a policy that an agent names cannot lie where the request may write")
def _():
    home = Home()
    text = json.dumps(rules(filesystem=WRITE))
    inside = write_file(home.work, "sub", "policy.json", data=text)
    outside = write_file(home.path, "policy.json", data=text)
    os.symlink(inside, os.path.join(home.path, "link.json"))
    for path in (inside, f"{home.work}/../work/sub/policy.json", "work/sub/policy.json"):
        for place in (home.work, os.path.join(home.work, "sub")):
            outcome = home.exec("true", options=(*BOT, "--policy", path, "--allow-dir", f"{place}::/ws"))
            check_denied(outcome, f"{path} in {place}")
    link = home.exec("true", options=(*BOT, "--policy", "link.json", "--allow-dir", f"{home.work}::/ws"))
    check_equal((link.status, link.reason), (2, "invalid"))  # a link is no policy at all
    door = ("--capability", f"fs_write={home.work}")
    check_denied(home.wasp("run", *BOT, "--policy", inside, *door, guest("hello")), "through the door")
    check_ran(home.exec("true", options=(*BOT, "--policy", outside, "--allow-dir", f"{home.work}::/ws")))
    check_ran(home.exec("true", options=(*BOT, "--policy", inside, "--allow-dir", f"{home.work}::/ws:ro")))
    check_ran(home.wasp("run", *BOT, "--policy", outside, *door, guest("hello")))


# ---- what runs is what was judged ------------------------------------------------------------


@test("no directory of a request's takes the place of the system's own where a policy is in force")
def _():
    home = Home({"version": 1, "exec": {"allow": ["ls"]}, "filesystem": READ})
    bin = os.path.dirname(echo_as(home.work, "bin", "ls"))
    for place in ("/usr/local/bin", "/usr/local/sbin", "/usr/local/bin/", "/usr/local", "//usr/./local/bin",
                  "/usr/local/lib", "/etc/alternatives", "/etc/wasp"):
        for who in (BOT, ()):
            outcome = home.exec("ls", "mine", options=(*who, "--allow-dir", f"{bin}::{place}:ro"))
            check_denied(outcome, f"{who} {place}")
    for place in ("/usr", "/usr/bin", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/", "/tmp/../usr/local/bin"):
        outcome = home.exec("ls", "mine", options=(*BOT, "--allow-dir", f"{bin}::{place}:ro"))
        check(outcome.status in (2, 77), f"{place}: {outcome.status} {short(outcome.stdout)}")
    check_ran(home.exec("ls", "/ws", options=(*BOT, "--allow-dir", f"{bin}::/ws:ro")), "ls\n")
    check_ran(Home().exec("ls", "mine", options=("--allow-dir", f"{bin}::/usr/local/bin:ro")), "mine\n")


@test("a program below /usr by its spelling alone is not the host's program of that spelling")
def _():
    home = Home({"version": 1, "exec": {"allow": ["ls"]}, "filesystem": READ})
    os.symlink(os.path.realpath("/usr/bin/ls"), os.path.join(home.work, "tool"))
    evil = os.path.dirname(echo_as(home.work, "evil", "tool"))
    place = os.path.realpath(home.work)
    options = (*BOT, "--allow-dir", f"{evil}::{place}:ro")
    for program in (f"/usr/..{place}/tool", f"/bin/../..{place}/tool", f"/usr/./../{place}/tool", f"{place}/tool"):
        check_denied(home.exec(program, "mine", options=options), program)
    check_ran(home.exec("/usr/bin/ls", place, options=options), "tool\n")


@test("the door runs the program that was judged, or none, whatever a cell has in its place")
def _():
    home = Home(rules(exec={"allow": ["ls"]}, filesystem=READ))
    os.symlink(os.path.realpath("/usr/bin/ls"), os.path.join(home.work, "tool"))
    evil = os.path.dirname(echo_as(home.work, "evil", "tool"))
    echo_as(evil, "ls")
    place = os.path.realpath(home.work)
    for guest_path in (place, "/usr/local/bin"):
        dirs = ("--allow-dir", f"{evil}::{guest_path}:ro")
        for who in (BOT, ()):
            for argv in ([f"{place}/tool", "mine"], ["ls", "mine"]):
                _, answers = knock(home, (*who, *dirs, "--command", f"{argv[0]} *"), argv)
                for answer in answers:  # none where the run itself was refused
                    what = f"{who} {guest_path} {argv}: {answer}"
                    check("mine\n" != answer.get("stdout"), f"another program ran: {what}")
                    if argv[0] != "ls":
                        check("error" in answer or answer["exit_code"] is None, what)
    _, answers = knock(home, (*BOT, "--allow-dir", f"{evil}::{place}:ro", "--command", "ls *"), ["ls", place])
    check_equal(answers[0].get("stdout"), "ls\ntool\n", "control")
    _, answers = knock(Home(), ("--allow-dir", f"{evil}::/opt/x:ro", "--command", "ls *"), ["ls", "/opt/x"])
    check_equal(answers[0].get("stdout"), "ls\ntool\n", "the owner's own")


def module_home(verdict):
    """A home for a module that is allowed or asked for, and the digests of two."""
    home = Home({"version": 1, "code": {verdict: [{"module": "~/work"}]}})
    digest = {name: hashlib.sha256(read_file(guest(name))).hexdigest() for name in ("hello", "dump")}
    return home, os.path.join(home.work, "m.wasm"), digest


def swap(path, place):
    """Puts a copy of the file there in the place of what is there."""
    if os.path.isdir(place):
        os.rmdir(place)
    elif os.path.exists(place):
        os.unlink(place)
    if path:
        shutil.copy(path, place)


@test("a module that is exchanged between the judgement and the run does not run, whatever pin is given")
def _():
    for who, ask in ((BOT, ("--ask",)), ((), ())):
        home, module, digest = module_home("ask")
        was_there = {
            "a file": lambda: shutil.copy(guest("hello"), module),
            "nothing": lambda: None,
            "a directory": lambda: os.mkdir(module),
            "no module": lambda: write_file(module, data="text"),
        }
        for was, prepare in was_there.items():
            for pin in ((), ("--module-sha256", digest["dump"])):
                prepare()
                words = ("run", *who, *ask, *pin, module)
                status, envelope, _ = on_terminal(home, words, b"yes", lambda: swap(guest("dump"), module))
                what = f"{who} {was} {pin}: {status} {envelope['reason']}"
                check(status in (77, 126, 127) and envelope["stdout"] == "", what)
                swap(None, module)
        was_there["a file"]()
        for pin in ((), ("--module-sha256", digest["hello"])):
            status, envelope, _ = on_terminal(home, ("run", *who, *ask, *pin, module), b"yes")
            check_equal((status, envelope["stdout"]), (0, "hello, wasp\n"), f"the control {pin}")


@test("a module runs under its own digest and no other, and only a file is a module")
def _():
    home, module, digest = module_home("allow")
    shutil.copy(guest("hello"), module)
    os.mkdir(os.path.join(home.work, "directory.wasm"))
    for pin in (digest["dump"], "0" * 64):
        outcome = home.wasp("run", *BOT, "--module-sha256", pin, module)
        check(outcome.status in (77, 126) and outcome.stdout == "", f"{pin}: {outcome.status}")
    for name in ("directory.wasm", "missing.wasm"):
        outcome = home.wasp("run", *BOT, os.path.join(home.work, name))
        check(outcome.status in (77, 126, 127), f"{name}: {outcome.status}")
    check_denied(home.wasp("run", *BOT, "--module-sha256", digest["hello"], guest("hello")), "another place")
    check_ran(home.wasp("run", *BOT, "--module-sha256", digest["hello"], module), "hello, wasp\n")
    check_ran(home.wasp("run", *BOT, module), "hello, wasp\n")


@test("rules on programs hold for the commands of every kind of manifest")
def _():
    home = Home(rules())
    for name in ("python", "javascript"):
        check_equal(home.wasp("runtime", "add", name, guest("hello"), contract=False).status, 0)
    door = {"capabilities": ["exec_run"], "commands": ["id -u"]}
    kinds = [{"kind": "code", "language": "python", "source": "1", "backend": "wasm", **door},
             {"kind": "code", "language": "javascript", "source": "1", "backend": "wasm", "runtime": "python", **door},
             {"kind": "wasm-run", "module": guest("hello"), **door}]
    denials = ({"allow": ["*"], "deny": ["id"]}, {"allow": ["*"], "deny": [{"program": "/usr/bin/id", "args": ["-u"]}]},
               {"allow": ["ls"]}, {})
    for number, manifest in enumerate(kinds):
        words = ("task", "run", *BOT, "--manifest", write_file(home.path, f"{number}.json", data=json.dumps(manifest)))
        for exec in denials:
            home.policy(rules(exec=exec))
            check_denied(home.wasp(*words), f"{manifest} {exec}")
            told = home.json("policy", "explain", *words)
            check_equal(told["verdict"], "deny", f"explained: {manifest} {exec}")
        for exec in ({"allow": ["*"], "deny": ["ls"]}, {"allow": ["id"]}):
            home.policy(rules(exec=exec))
            check_ran(home.wasp(*words), "hello, wasp\n")


# ---- what a person said yes to ---------------------------------------------------------------


@test("an approval is good for the input that was there, and a person can read it and the source")
def _():
    home = Home(rules(filesystem={"ask": [{"path": "~/work"}]}, code={"ask": ["bash"]},
                      approval={"uses": 2}))
    path = write_file(home.work, "in", data="rm one")
    options = (*BOT, "--stdin", path)
    waiting = home.exec("cat", options=options)
    check_in("rm one", home.json("approvals", waiting["approval"]["id"], "--json")["plan"], "plan")
    approve(home, waiting, "--uses", "2")
    check_ran(home.exec("cat", options=options), "rm one")
    write_file(home.work, "in", data="rm all")
    changed = home.exec("cat", options=options)
    check_equal(changed.reason, "approval_required", changed.stdout)
    check(changed["approval"]["id"] != waiting["approval"]["id"], "the same approval")
    check_in("rm all", home.json("approvals", changed["approval"]["id"], "--json")["plan"], "plan")
    status, envelope, _ = on_terminal(home, ("exec", *options, "--ask", "--", "cat"), b"yes",
                                      lambda: write_file(home.work, "in", data="rm other"))
    check("other" not in envelope["stdout"], "it was changed while the question stood there")
    waiting = home.wasp("code", *BOT, "--lang", "bash", "-c", "echo the source")
    check_in("echo the source", home.json("approvals", waiting["approval"]["id"], "--json")["plan"], "plan")
    approve(home, waiting)
    check_ran(home.wasp("code", *BOT, "--lang", "bash", "-c", "echo the source"), "the source\n")


@test("standard input that nobody can see beforehand is not approved")
def _():
    home = Home(rules(env={"ask": ["A"]}))
    options = (*BOT, "--stdin", "-")
    outcome = check_denied(home.exec("cat", options=(*options, "--env", "A=1"), stdin=b"x"), "--stdin -")
    check(outcome["error_info"]["hint"], "no hint")
    check_equal(home.json("approvals", "--json")["approvals"], [])
    check_ran(home.exec("cat", options=options, stdin=b"x"), "x")
    check_equal(home.exec("cat", options=(*BOT, "--env", "A=1")).reason, "approval_required")


@test("an agent's changes are not applied by whoever types at its terminal, and the owner is asked")
def _():
    home = Home(rules(filesystem=READ))
    words = ("--allow-dir", f"{home.work}::/ws:overlay", "--apply", "ask", "--", "bash", "-c", "echo x >/ws/new")
    status, envelope, shown = on_terminal(home, ("exec", *BOT, *words), b"yes")
    check_equal((status, "apply?" in shown, os.listdir(home.work)), (0, False, []))
    check_equal(home.wasp("changes", "apply", envelope["run_id"], contract=False).status, 0)
    check_equal(os.listdir(home.work), ["new"], "what was kept")
    os.unlink(os.path.join(home.work, "new"))
    home.policy(rules(filesystem=WRITE))
    status, _, shown = on_terminal(home, ("exec", *words), b"yes")
    check_equal((status, "apply?" in shown, os.listdir(home.work)), (0, True, ["new"]))


@test("a registered secret in the words of a request is kept nowhere, and cannot be asked for")
def _():
    home = Home(rules(env={"ask": ["A"], "allow": ["TOKEN"]}, filesystem={"ask": [{"path": "~/work"}]},
                      exec={"allow": ["*"], "ask": ["printf"], "deny": ["id"]}))
    secret = "zebra it's \"so\" staple"  # whole or quoted, the first and the last word are its alone
    env, options, asked = {"TOKEN": secret}, (*BOT, "--secret-env", "TOKEN"), ("--env", "A=1")
    file = write_file(home.work, "in", data=f"x {secret} y")
    answers = [check_denied(home.exec(*argv, options=(*options, *more), env=env), f"{argv} {more}")
               for argv, more in ((("printf", secret), ()), (("printf", f"a{secret}b"), ()), (("id", secret), ()),
                                  (("echo", secret), asked))]
    for words in (("code", *options, *asked, "--lang", "bash", "-c", f"echo {secret}"),
                  ("exec", *options, "--env", f"A={secret}", "--", "true"),
                  ("exec", *options, "--allow-dir", f"/tmp/{secret}::/x", "--", "true"),
                  ("exec", *options, "--stdin", file, "--", "cat")):
        answers.append(home.wasp(*words, env=env))
        check_equal(answers[-1].status, 77, f"{words}")
    for argv, more in ((("printf", "plain"), ()), (("echo", "plain"), asked)):
        approve(home, home.exec(*argv, options=(*options, *more), env=env))
        check_ran(home.exec(*argv, options=(*options, *more), env=env))
    check_ran(home.exec("echo", secret, options=options, env=env), "[redacted]\n")
    shown = home.wasp("approvals", "--all", contract=False).raw
    for entry in home.json("approvals", "--all", "--json")["approvals"]:
        shown += home.wasp("approvals", entry["id"], "--json", contract=False).raw
    kept = bytes_kept(home)
    check_in(b"SQLite format 3", kept, "the store")
    check_in(b"plain", shown)
    said = b"".join(answer.raw + answer.said.encode() for answer in answers)
    log = home.wasp("audit", "export", contract=False).raw
    for where, text in (("store", kept), ("approvals", shown), ("log", log), ("answers", said)):
        check(b"zebra" not in text and b"staple" not in text, f"the secret is in the {where}")


# ---- calls and grants ------------------------------------------------------------------------


@test("a call that stands alone keeps to the policy's limits")
def _():
    home = Home(rules(limits={"max": {"timeout_ms": 500}}))
    for members in ({"argv": ["sleep", "5"]}, {"argv": ["sleep", "5"], "timeout_ms": 60000}):
        for who in (BOT, ()):
            outcome = call(home, "exec_run", members, *who)
            ended = outcome.status == 77 or (outcome["answer"] or {}).get("reason") == "timeout"
            check(ended, f"{who} {members}: {outcome.status} {outcome['answer']}")
    check_equal(call(home, "exec_run", {"argv": ["sleep", "0"]}, *BOT)["answer"]["exit_code"], 0)


@test("a call that must be simulated first needs the digest of exactly that call")
def _():
    home = Home(rules(approval={"risk": {"exec_run": "restricted"}, "simulate": ["restricted"]}))
    shown = call(home, "exec_run", {"argv": ["echo", "a"]}, *BOT)
    check_equal((shown.status, shown.code), (77, "simulate_first"))
    digest = ("--plan-sha256", shown["request_sha256"])
    check_equal(call(home, "exec_run", {"argv": ["echo", "b"]}, *BOT, *digest).status, 77)
    check_equal(call(home, "exec_run", {"argv": ["echo", "a"]}, *BOT, "--plan-sha256", "0" * 64).status, 77)
    ran = call(home, "exec_run", {"argv": ["echo", "a"]}, *BOT, *digest)
    check_equal((ran.status, (ran["answer"] or {}).get("stdout")), (0, "a\n"), ran.error)


def is_sleeping(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip() == "sleep"
    return False


@test("revoking the grant behind a call ends what it runs")
def _():
    home = Home({"version": 1})
    for revoked, seconds in ((False, "1"), (True, "60")):
        grant = made_grant(home, "exec_run", f"sleep {seconds}", "--ttl", "10m")
        process = start("call", *BOT, "exec_run", json.dumps({"argv": ["sleep", seconds]}), env=home.env)
        wait_until(lambda: any(map(is_sleeping, descendants(process.pid))), "the program to begin")
        if not revoked:
            check_equal(finish(process)["answer"]["exit_code"], 0, "the control")
            continue
        check_equal(home.wasp("grant", "revoke", grant, contract=False).status, 0)
        outcome = check_denied(finish(process), "after the grant was revoked")
        check_in("revoked", outcome.error)
    check_nothing_left()


@test("a grant of one use is good for one call of a guest's, and what was approved for all of its run")
def _():
    home = Home({"version": 1, "code": {"allow": ["*"]}, "exec": {"ask": ["echo"]}})
    options, calls = (*BOT, "--command", "echo *"), [["echo", str(number)] for number in range(3)]
    approve(home, knock(home, options, *calls)[0])
    outcome, answers = knock(home, options, *calls)
    check_equal([answer.get("exit_code") for answer in answers], [0] * 3, f"approved: {outcome.error}")
    check_equal(knock(home, options, *calls)[0].reason, "approval_required")
    home.policy({"version": 1, "code": {"allow": ["*"]}})
    for uses in (3, 1):
        grant = made_grant(home, "exec_run", "echo *", "--uses", str(uses))
        outcome, answers = knock(home, options, *calls)
        done = [answer.get("exit_code") == 0 for answer in answers]
        check_equal(done, [True] * uses + [False] * (3 - uses), f"{uses} uses, {outcome.error}")
        check_denied(knock(home, options, *calls)[0], f"once the {uses} uses of {grant} are spent")


@test("what is only explained leaves the record of an expiry to the next run")
def _():
    home = Home(rules())
    made_grant(home, "fs_write", home.work, "--ttl", "1ms")
    end = time.time() + 0.05
    wait_until(lambda: time.time() > end, "the grant to expire")
    words = ("exec", *BOT, "--", "true")
    check_equal(home.json("policy", "explain", *words)["verdict"], "allow")
    check("grant_expired" not in home.events(), "it was recorded by what changes nothing")
    for _ in range(2):
        check_ran(home.wasp(*words))
    check_equal(home.events().count("grant_expired"), 1)


# ---- what a refusal tells --------------------------------------------------------------------


def told_of(outcome, path):
    """What a refusal says, but for the path that was asked for."""
    check_denied(outcome, path)
    info = outcome["error_info"]
    kept = [outcome.error, info.get("hint"), info.get("code"), outcome["denials"], outcome["answer"]]
    return json.dumps(kept).replace(path, "P")


@test("a call that is refused tells nothing of what is there, and is on record")
def _():
    home = Home({"version": 1})
    write_file(home.work, "file", data="text")
    os.mkdir(os.path.join(home.work, "dir"))
    os.mkfifo(os.path.join(home.work, "fifo"))
    names = ("missing", "file", "dir", "fifo", "file/below", "dir/below", "missing/below")
    for name, more in (("fs_read", {}), ("fs_write", {"data": "x"})):
        before = len(home.audit()) if os.path.exists(os.path.join(home.path, ".local")) else 0
        for entry in names:
            path = os.path.join(os.path.realpath(home.work), entry)
            told = told_of(call(home, name, {"path": path, **more}, *BOT), path)
            missing = told if entry == "missing" else missing
            check_equal(told, missing, f"{name} of {entry}")
        refused = [record for record in home.audit()[before:] if record.get("decision") == "deny"]
        check_equal(len(refused), len(names), f"refusals of {name} on record")
    home.policy(rules(filesystem=READ))
    path = os.path.join(home.work, "file")
    check_equal(call(home, "fs_read", {"path": path}, *BOT)["answer"]["data"], "text")
    missing = call(home, "fs_read", {"path": f"{path}s"}, *BOT)
    check(missing.status != 0 and missing.reason != "denied", f"to who may look: {missing.reason}")


@test("where a link leads is not told to an agent whose call may not look there")
def _():
    home = Home({"version": 1})
    write_file(home.work, "target", data="text")
    for name, target in (("link", "target"), ("out", "/etc/hostname"), ("dangling", "nowhere")):
        os.symlink(target, os.path.join(home.work, name))
    for name in ("link", "out", "dangling"):
        path = os.path.join(os.path.realpath(home.work), name)
        missing = told_of(call(home, "fs_read", {"path": f"{path}s"}, *BOT), f"{path}s")
        check_equal(told_of(call(home, "fs_read", {"path": path}, *BOT), path), missing, name)
    home.policy(rules(filesystem=READ))
    path = os.path.join(home.work, "link")
    check_equal(call(home, "fs_read", {"path": path}, *BOT)["answer"]["data"], "text")


@test("that a directory is a link is told to those only who may look there")
def _():
    home = Home(rules())
    os.mkdir(os.path.join(home.work, "dir"))
    os.symlink("dir", os.path.join(home.work, "link"))
    os.symlink("/etc", os.path.join(home.work, "out"))
    told = {}
    for name in ("dir", "link", "out", "missing"):
        path = os.path.join(os.path.realpath(home.work), name)
        told[name] = told_of(home.exec("true", options=(*BOT, "--allow-dir", f"{path}::/x:ro")), path)
    for name, text in told.items():
        check_equal(text, told["missing"], name)
    home.policy(rules(filesystem=READ))
    link = home.exec("true", options=(*BOT, "--allow-dir", f"{home.work}/link::/x:ro"))
    check_in("symlink", check_denied(link, "a link").error)
    check_ran(home.exec("true", options=(*BOT, "--allow-dir", f"{home.work}/dir::/x:ro")))


main()
