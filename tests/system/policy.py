#!/usr/bin/python3
"""Policies as people see them: checked, shown, found where they lie."""

import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from contract import check_fits
from wasptest import *

TIERS = ["low", "medium", "high"]
PRESETS = ["agent-skill", "ci-job", "coding-agent"]


def policy(*words, **how):
    return wasp("policy", *words, contract=False, **how)


def put_policy(folder, text, name="policy.yaml"):
    path = write_file(folder, name, data=text)
    os.chmod(path, 0o600)
    return path


def shown(*words, **how):
    outcome = policy("show", "--json", *words, **how)
    check_equal(outcome.status, 0, outcome.said)
    found = json.loads(outcome.raw)
    check_fits("policy-show", found)
    return found


# ---- check -----------------------------------------------------------------------------------


@test("a good policy is said to be good, with its rules counted")
def _():
    file = put_policy(new_dir(), "version: 1\nenv: {allow: [A, B]}\n")
    outcome = policy("check", file)
    check_equal(outcome.status, 0)
    check_in("no problems, 2 rules, sha256:", outcome.raw.decode())


@test("every problem is told with line and key, and the exit status is 2")
def _():
    file = put_policy(new_dir(), "version: 1\ntier: top\nfilesystem:\n  allow:\n    - work\n    - {path: /a, acess: x}\n")
    outcome = policy("check", file)
    check_equal(outcome.status, 2)
    lines = outcome.raw.decode().splitlines()
    check_equal([line.removeprefix(file).split(": ")[:2] for line in lines],
                [[":2", "tier"], [":5", "filesystem.allow[0]"], [":6", "filesystem.allow[1].acess"]])


@test("the same as JSON")
def _():
    file = put_policy(new_dir(), '{"version": 1,\n "env": {"allow": null}}', "policy.json")
    outcome = policy("check", file, "--json")
    check_equal(outcome.status, 2)
    found = json.loads(outcome.raw)
    check_fits("policy-check", found)
    check_equal((found["ok"], found["sha256"], found["file"]), (False, None, file))
    check_equal([(one["line"], one["key"]) for one in found["problems"]], [(2, "env.allow")])


@test("the digest is the SHA-256 of the canonical form, whatever the spelling")
def _():
    folder = new_dir()
    document = {"version": 1, "id": "é", "env": {"deny": [{"name": "B", "reason": 'a "b" \\'}], "allow": ["A"]}}
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    put_policy(folder, json.dumps(document, indent=3), "a.json")
    put_policy(folder, 'env:\n  allow: [A]\n  deny:\n    - {reason: \'a "b" \\\', name: "B"}\nid: é\nversion: 1\n', "b.yaml")
    for name in ("a.json", "b.yaml"):
        found = json.loads(policy("check", name, "--json", cwd=folder).raw)
        check_equal(found["sha256"], hashlib.sha256(canonical).hexdigest(), name)


@test("a file that others can write is refused, with what to do about it")
def _():
    file = put_policy(new_dir(), "version: 1\n")
    os.chmod(file, 0o664)
    outcome = policy("check", file)
    check_equal(outcome.status, 2)
    check_in("chmod go-w", outcome.said)
    found = json.loads(policy("check", file, "--json").raw)
    check_fits("policy-check", found)
    check_equal((found["ok"], found["problems"][0]["line"]), (False, None))
    os.chmod(file, 0o644)
    check_equal(policy("check", file).status, 0)


@test("what is not there, or is no policy, is refused")
def _():
    check_equal(policy("check", "/nonexistent/policy.yaml").status, 2)
    check_equal(policy("check", "/etc/passwd").status, 2)
    check_equal(policy("check").status, 2)
    check_equal(policy("chek").status, 2)


@test("a fifo does not keep the check waiting")
def _():
    path = os.path.join(new_dir(), "policy.yaml")
    os.mkfifo(path, 0o600)
    outcome = policy("check", path, timeout=20)
    check_equal(outcome.status, 2)
    check_in("is no regular file", outcome.said)


@test("control characters of a file's name or text do not reach the terminal")
def _():
    folder = new_dir()
    file = put_policy(folder, '{"version": 1, "\\u001b[31m": 1}', "a\x1b[2Jb.json")
    for outcome in (policy("check", file), policy("show", "--policy", file)):
        check_equal(outcome.status, 2)
        check(b"\x1b" not in outcome.raw and "\x1b" not in outcome.said, "an escape character is printed")


# ---- built in --------------------------------------------------------------------------------


@test("tiers and presets are printed as files that pass the check")
def _():
    folder = new_dir()
    for option, names in (("--tier", TIERS), ("--preset", PRESETS)):
        for name in names:
            text = policy("show", option, name).raw.decode()
            check_in("\n# ", "\n" + text)
            outcome = policy("check", put_policy(folder, text))
            check_equal(outcome.status, 0, f"{name}: {outcome.raw.decode()}")


@test("a built-in document is the same for everybody: no other option goes with it")
def _():
    for words in (["--policy", "x.yaml"], ["--principal", "owner"], ["--preset", "ci-job"]):
        check_equal(policy("show", "--tier", "low", *words).status, 2)
    check_equal(policy("show", "--tier", "none").status, 2)
    check_equal(policy("show", "--preset", "nope").status, 2)


# ---- show ------------------------------------------------------------------------------------


@test("with no policy the owner's words stand, and an agent has tier low")
def _():
    check_equal(shown()["layers"], [])
    check_equal(shown()["sha256"], None)
    check_in("no policy is in force", policy("show").raw.decode())
    agent = shown("--principal", "agent:x")
    check_equal([layer["where"] for layer in agent["layers"]], ["tier low"])
    check_equal(agent["principal"], "agent:x")
    check_equal(policy("show", "--principal", "robot").status, 2)


@test("user, projects and tiers are in force, each rule with its line")
def _():
    home, config = new_dir("home"), new_dir("config")
    user = put_policy(os.path.join(config, "wasp"), "version: 1\ntier: medium\nfilesystem:\n  allow:\n    - ~/p\n")
    project = os.path.join(home, "p", "q")
    outer = put_policy(os.path.join(home, "p", ".wasp"), "version: 1\nfilesystem: {allow: [src]}\n")
    inner = put_policy(os.path.join(project, ".wasp"), '{"version": 1}', "policy.json")
    found = shown(env={"HOME": home, "XDG_CONFIG_HOME": config}, cwd=project)
    check_equal([(layer["layer"], layer["where"]) for layer in found["layers"]],
                [("user", user), ("project", outer), ("project", inner), ("tier", "tier medium")])
    check_equal(found["layers"][0]["rules"],
                [{"section": "filesystem", "list": "allow", "text": "~/p", "line": 5, "access": "read-only"}])
    text = policy("show", env={"HOME": home, "XDG_CONFIG_HOME": config}, cwd=project).raw.decode()
    check_in(f"allow filesystem  ~/p  ({user}:5)", text)
    check_in(f"allow filesystem  src  ({outer}:2)", text)


@test("--policy takes the user's place")
def _():
    config = new_dir("config")
    put_policy(os.path.join(config, "wasp"), "version: 1\nid: mine\n")
    other = put_policy(new_dir(), "version: 1\nid: other\n")
    env = {"XDG_CONFIG_HOME": config}
    check_equal(shown(env=env)["layers"][0]["id"], "mine")
    check_equal(shown("--policy", other, env=env)["layers"][0]["id"], "other")
    check_equal(shown("--policy", "preset:ci-job", env=env)["layers"][0]["id"], "ci-job")


@test("a policy in force that cannot be taken is an error, never left out")
def _():
    config = new_dir("config")
    file = put_policy(os.path.join(config, "wasp"), "version: 1\nfilesystem: {allow: [work]}\n")
    env = {"XDG_CONFIG_HOME": config}
    outcome = policy("show", env=env)
    check_equal((outcome.status, outcome.raw), (2, b""))
    check_in(f"{file}:2: filesystem.allow[0]: must be an absolute path", outcome.said)
    put_policy(os.path.join(config, "wasp"), "version: 1\n")
    check_equal(policy("show", env=env).status, 0)


@test("a project's policy of somebody else's is an error that names it")
def _():
    if os.getuid() != 0:
        skip("only root can give a file away")
    project = new_dir("project")
    file = put_policy(os.path.join(project, ".wasp"), "version: 1\n")
    check_equal(policy("show", cwd=project).status, 0)
    os.chown(file, 12345, 12345)
    outcome = policy("show", cwd=project)
    check_equal(outcome.status, 2)
    check_in(file, outcome.said)
    check_in("belongs to uid 12345", outcome.said)


@test("a guest cannot write the project's policy, but beside it")
def _():
    project = new_dir("project")
    put_policy(os.path.join(project, ".wasp"), "version: 1\n")
    before = read_file(project, ".wasp", "policy.yaml")
    script = "echo x >> .wasp/policy.yaml; echo y > .wasp/policy.json; mv .wasp moved; echo z > other; ls -A . .wasp"
    outcome = shell(script, "--allow-dir", f"{project}::/p:rw", "--cwd", "/p")
    check_equal(read_file(project, ".wasp", "policy.yaml"), before)
    check_equal(sorted(os.listdir(project)), [".wasp", "other"])
    check_equal(os.listdir(os.path.join(project, ".wasp")), ["policy.yaml"])
    shell(script, "--allow-dir", f"{project}::/p:rw", "--cwd", "/p", "--unprotect", ".wasp")
    check_in("moved", os.listdir(project))


main()
