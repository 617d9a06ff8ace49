#!/usr/bin/python3
"""Holds the schemas against what wasp really prints and takes. Prints TAP.

usage: check_schemas.py SCHEMA_DIR TEST_ENVELOPE WASP
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator

count = 0
failed = 0


def ok(holds, sentence):
    global count, failed
    count += 1
    failed += not holds
    print(f"{'' if holds else 'not '}ok {count} - {sentence}")


def problems(schema, value):
    return "; ".join(error.message for error in Draft202012Validator(schema).iter_errors(value))


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def lines(*command):
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return [json.loads(line, parse_constant=refuse_constant) for line in out.decode("utf-8").splitlines()]


GOOD_REQUESTS = [
    {"kind": "sample", "sample": "workspace-probe", "workspace": "workspace", "env": {"TASK_ID": "abc123"}},
    {"kind": "wasm-run", "module": "m.wasm", "allow_dirs": [{"path": "ws", "access": "read-only"}], "env": {}},
    {"kind": "wasm-run", "module": "m.wasm", "args": ["a", ""], "stdin": {"text": "x"}, "isolation": "landlock",
     "limits": {"timeout_ms": 1, "fuel": "unlimited"}, "module_sha256": "aB" * 32, "labels": {"job": "1"},
     "network": {"mode": "none"}, "capabilities": [], "backend": "wasm"},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["fs_read=in", "exec_run"],
     "commands": ["git status *", {"program": "/bin/ls"}, {"program": "sort", "args": ["-n", "*"]}]},
    {"kind": "native-run", "argv": ["ls"], "capabilities": [], "commands": []},
    {"kind": "native-run", "argv": ["python3", "job.py"], "cwd": "/ws",
     "allow_dirs": [{"path": ".", "access": "overlay", "guest": "/ws"}]},
    {"kind": "native-run", "command": "make 'a b'", "args": ["x"], "backend": "native", "rootfs": "tree", "proc": "none",
     "tty": True, "apply": "auto", "diff": True, "unprotected": [".envrc"], "env_force": {"LD_PRELOAD": "x"},
     "allow_dirs": [{"path": ".", "access": "overlay", "guest": "/ws"}],
     "network": {"mode": "loopback"}, "limits": {"processes": 7, "memory_bytes": "unlimited"}},
    {"kind": "code", "language": "python", "source": "print(1)", "secret_env": ["TOKEN"]},
    {"kind": "code", "language": "bash", "source": "ls", "backend": "native", "cwd": "/"},
    {"kind": "code", "language": "python", "source": "print(1)", "backend": "wasm", "runtime": "py", "limits": {"fuel": 5}},
]

BAD_REQUESTS = [
    {},
    {"kind": "wasm-run"},
    {"kind": "wasm-run", "module": ""},
    {"kind": "wasm-run", "module": None},
    {"kind": "wasm-run", "module": "m\0.wasm"},
    {"kind": "wasm-run", "module": "m.wasm", "sample": "x"},
    {"kind": "wasm-run", "module": "m.wasm", "unknown": 1},
    {"kind": "wasm-run", "module": "m.wasm", "limits": {"timeout_ms": 0}},
    {"kind": "wasm-run", "module": "m.wasm", "limits": {"memory_bytes": "unlimited"}},
    {"kind": "wasm-run", "module": "m.wasm", "limits": {"memory_bytes": 1.5}},
    {"kind": "wasm-run", "module": "m.wasm", "limits": {"nonsense": 1}},
    {"kind": "wasm-run", "module": "m.wasm", "env": {"A=B": "c"}},
    {"kind": "wasm-run", "module": "m.wasm", "env": {"": "c"}},
    {"kind": "wasm-run", "module": "m.wasm", "secret_env": {"A": "b"}},
    {"kind": "wasm-run", "module": "m.wasm", "secret_env": ["A=b"]},
    {"kind": "wasm-run", "module": "m.wasm", "secret_env": [""]},
    {"kind": "wasm-run", "module": "m.wasm", "stdin": {}},
    {"kind": "wasm-run", "module": "m.wasm", "stdin": {"text": "a", "file": "b"}},
    {"kind": "wasm-run", "module": "m.wasm", "allow_dirs": [{"path": "a", "access": "rw"}]},
    {"kind": "wasm-run", "module": "m.wasm", "module_sha256": "abc"},
    {"kind": "wasm-run", "module": "m.wasm", "isolation": "none"},
    {"kind": "wasm-run", "module": "m.wasm", "workspace": "ws"},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["net_http"]},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["fs_read="]},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["exec_run=ls"], "commands": ["ls"]},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["exec_run"], "commands": [""]},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["exec_run"], "commands": [{"args": []}]},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["exec_run"], "commands": [{"program": "a/b"}]},
    {"kind": "native-run", "argv": ["ls"], "capabilities": ["fs_read=/x"]},
    {"kind": "wasm-run", "module": "m.wasm", "policy": ""},
    {"kind": "wasm-run", "module": "m.wasm", "tier": "none"},
    {"kind": "wasm-run", "module": "m.wasm", "grants": [""]},
    {"kind": "wasm-run", "module": "m.wasm", "network": {"mode": "allowlist"}},
    {"kind": "sample", "sample": "x"},
    {"kind": "other"},
    {"kind": "wasm-run", "module": "m.wasm", "cwd": "/"},
    {"kind": "wasm-run", "module": "m.wasm", "backend": "native"},
    {"kind": "wasm-run", "module": "m.wasm", "env_force": {}},
    {"kind": "wasm-run", "module": "m.wasm", "limits": {"processes": 2}},
    {"kind": "wasm-run", "module": "m.wasm", "allow_dirs": [{"path": "a", "access": "overlay"}]},
    {"kind": "wasm-run", "module": "m.wasm", "network": {"mode": "loopback"}},
    {"kind": "native-run"},
    {"kind": "native-run", "argv": []},
    {"kind": "native-run", "argv": [""]},
    {"kind": "native-run", "argv": ["ls"], "command": "ls"},
    {"kind": "native-run", "argv": ["ls"], "backend": "wasm"},
    {"kind": "native-run", "argv": ["ls"], "module": "m"},
    {"kind": "native-run", "argv": ["ls"], "runtime": "x"},
    {"kind": "native-run", "argv": ["ls"], "module_sha256": "aB" * 32},
    {"kind": "native-run", "argv": ["ls"], "cwd": "ws"},
    {"kind": "native-run", "argv": ["ls"], "tty": 1},
    {"kind": "native-run", "argv": ["ls"], "proc": "all"},
    {"kind": "native-run", "argv": ["ls"], "apply": "yes"},
    {"kind": "native-run", "argv": ["ls"], "limits": {"fuel": 1}},
    {"kind": "native-run", "argv": ["ls"], "limits": {"disk_bytes": "unlimited"}},
    {"kind": "native-run", "argv": ["ls"], "network": {"mode": "host"}},
    {"kind": "native-run", "argv": ["ls"], "allow_dirs": [{"path": "a", "guest": "ws"}]},
    {"kind": "code", "language": "python"},
    {"kind": "code", "language": "ruby", "source": "x"},
    {"kind": "code", "language": "python", "source": ""},
    {"kind": "code", "language": "python", "source": "x", "argv": ["ls"]},
    {"kind": "code", "language": "python", "source": "x", "runtime": "py"},
    {"kind": "code", "language": "bash", "source": "x", "backend": "wasm"},
    {"kind": "code", "language": "python", "source": "x", "backend": "wasm", "tty": True},
]


GOOD_POLICIES = [
    {"version": 1},
    {"version": 1, "id": "x", "tier": "low"},
    {"version": 1, "filesystem": {"allow": ["/a", "~", "~/b", "*", {"path": "/c", "access": "read-write", "reason": "r",
                                            "match": ["/c/d"], "no_match": ["/d"]}],
                                  "ask": [], "deny": [{"path": "/e"}], "workspace": "/data"}},
    {"version": 1, "env": {"allow": ["A", "B_*", "*"], "deny": [{"name": "C"}]}},
    {"version": 1, "network": {"allow": ["loopback", "a.com", "*.a.com", "*", "127.0.0.1", "::1", "[::1]",
                                         {"host": "a.com", "ports": [443], "methods": ["GET", "*"],
                                          "path_prefix": "/v1/x"}]}},
    {"version": 1, "exec": {"allow": ["git", "/usr/bin/git", "~/x", "*", {"program": "git", "args": ["", "*"]}]}},
    {"version": 1, "code": {"allow": ["python", "*", {"language": "bash"}, {"module": "/m", "sha256": "aB" * 32},
                                      {"module": "*"}], "backends": {"python": "wasm", "bash": "native"},
                            "isolation": "landlock", "generated": False, "validate": "off"}},
    {"version": 1, "limits": {"default": {"timeout_ms": 1}, "max": {"timeout_ms": "unlimited", "memory_bytes": 5,
                                                                    "fuel": 7, "processes": 4194304}}},
    {"version": 1, "approval": {"risk": {"exec_run": "privileged"}, "per_hour": {"fs_read": 0}, "simulate": ["safe"],
                                "pending_ms": 1000, "ttl_ms": 31622400000, "uses": 1}},
    {"version": 1, "audit": {"mode": "off", "durability": "power", "rotate_bytes": 1048576, "keep_segments": 1}},
]

BAD_POLICIES = [
    {},
    {"version": 2},
    {"version": "1"},
    {"version": None},
    {"version": 1, "more": 1},
    {"version": 1, "id": ""},
    {"version": 1, "id": "a\nb"},
    {"version": 1, "id": "a\u202eb"},
    {"version": 1, "id": "a" * 65},
    {"version": 1, "tier": "none"},
    {"version": 1, "filesystem": None},
    {"version": 1, "filesystem": []},
    {"version": 1, "filesystem": {"allow": None}},
    {"version": 1, "filesystem": {"allow": "/a"}},
    {"version": 1, "filesystem": {"allow": [None]}},
    {"version": 1, "filesystem": {"allow": [""]}},
    {"version": 1, "filesystem": {"allow": ["/"]}},
    {"version": 1, "filesystem": {"allow": ["/./"]}},
    {"version": 1, "filesystem": {"allow": ["/a/../b"]}},
    {"version": 1, "filesystem": {"allow": ["/a/*"]}},
    {"version": 1, "filesystem": {"allow": ["~u/a"]}},
    {"version": 1, "filesystem": {"allow": [{"access": "read-only"}]}},
    {"version": 1, "filesystem": {"allow": [{"path": "/a", "access": "overlay"}]}},
    {"version": 1, "filesystem": {"allow": [{"path": "/a", "mode": 1}]}},
    {"version": 1, "filesystem": {"deny": [{"path": "/a", "access": "read-only"}]}},
    {"version": 1, "filesystem": {"workspace": "data"}},
    {"version": 1, "filesystem": {"permit": []}},
    {"version": 1, "env": {"allow": ["A=b"]}},
    {"version": 1, "env": {"allow": ["*A"]}},
    {"version": 1, "env": {"workspace": "/x"}},
    {"version": 1, "network": {"allow": ["a.com."]}},
    {"version": 1, "network": {"allow": ["https://a.com"]}},
    {"version": 1, "network": {"allow": ["a.*"]}},
    {"version": 1, "network": {"allow": ["a_b.com"]}},
    {"version": 1, "network": {"allow": ["\u00e9.com"]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "ports": []}]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "ports": [0]}]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "ports": ["443"]}]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "methods": ["G T"]}]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "path_prefix": "v1"}]}},
    {"version": 1, "network": {"allow": [{"host": "a.com", "path_prefix": "/a/.."}]}},
    {"version": 1, "exec": {"allow": ["bin/x"]}},
    {"version": 1, "exec": {"allow": ["py*"]}},
    {"version": 1, "exec": {"allow": ["git status"]}},
    {"version": 1, "exec": {"allow": [{"program": "git", "args": "x"}]}},
    {"version": 1, "exec": {"allow": [{"program": "*", "args": []}]}},
    {"version": 1, "code": {"allow": ["ruby"]}},
    {"version": 1, "code": {"allow": [{}]}},
    {"version": 1, "code": {"allow": [{"language": "bash", "module": "/m"}]}},
    {"version": 1, "code": {"allow": [{"language": "bash", "sha256": "aB" * 32}]}},
    {"version": 1, "code": {"backends": {"bash": "wasm"}}},
    {"version": 1, "code": {"backends": {"ruby": "native"}}},
    {"version": 1, "code": {"isolation": "none"}},
    {"version": 1, "code": {"generated": "true"}},
    {"version": 1, "code": {"validate": "advise"}},
    {"version": 1, "limits": {"max": {"timeout_ms": 0}}},
    {"version": 1, "limits": {"max": {"timeout_ms": 1.5}}},
    {"version": 1, "limits": {"max": {"output_bytes": "unlimited"}}},
    {"version": 1, "limits": {"max": {"open_files": 65537}}},
    {"version": 1, "limits": {"max": {"time": 1}}},
    {"version": 1, "approval": {"risk": {"teleport": "safe"}}},
    {"version": 1, "approval": {"risk": {"exec_run": "high"}}},
    {"version": 1, "approval": {"per_hour": {"exec_run": -1}}},
    {"version": 1, "approval": {"simulate": ["all"]}},
    {"version": 1, "approval": {"pending_ms": 999}},
    {"version": 1, "approval": {"uses": 0}},
    {"version": 1, "audit": {"mode": "unsaid"}},
    {"version": 1, "audit": {"durability": "none"}},
    {"version": 1, "audit": {"rotate_bytes": 1}},
]


def check_policies(schemas, wasp):
    with tempfile.TemporaryDirectory() as home:
        def call(*words):
            return lines("env", "-i", f"HOME={home}", wasp, "policy", *words, "--json")[0]

        def judge(policy):
            file = pathlib.Path(home, "policy.json")
            file.write_text(json.dumps(policy))
            file.chmod(0o600)
            answer = call("check", str(file))
            why = problems(schemas["policy-check"], answer)
            ok(not why, f"'policy check --json' prints what policy-check.json says {why}")
            return answer["ok"]

        for policy in GOOD_POLICIES:
            why = problems(schemas["policy"], policy)
            ok(not why and judge(policy), f"policy.json and wasp take {json.dumps(policy)[:90]} {why}")
        for policy in BAD_POLICIES:
            ok(problems(schemas["policy"], policy) and not judge(policy),
               f"policy.json and wasp refuse {json.dumps(policy)[-90:]}")
        for words in [("--tier", name) for name in ("low", "medium", "high")] + \
                     [("--preset", name) for name in ("agent-skill", "ci-job", "coding-agent")]:
            why = problems(schemas["policy"], call("show", *words))
            ok(not why, f"{' '.join(words)} fits policy.json {why}")
        for words in [(), ("--principal", "agent:x"), ("--policy", "preset:coding-agent")]:
            why = problems(schemas["policy-show"], call("show", *words))
            ok(not why, f"'policy show {' '.join(words)}' prints what policy-show.json says {why}")
        known = schemas["policy"]["$defs"]["limits"]["properties"].keys()
        ok(known == schemas["request"]["$defs"]["limits"]["properties"].keys(), "policy.json knows every limit")


def task_check(wasp, request):
    """How wasp itself judges the manifest: its exit status."""
    words = [wasp, "task", "check", "--manifest", "-"]
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    return subprocess.run(words, input=json.dumps(request).encode(), **how).returncode


def main():
    folder, test_envelope, wasp = sys.argv[1:]
    schemas = {file.stem: json.loads(file.read_text()) for file in sorted(pathlib.Path(folder).glob("*.json"))}

    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        ok(True, f"{name}.json is a JSON Schema")
        printed = subprocess.run([wasp, "schema", name], stdout=subprocess.PIPE, check=False).stdout
        ok(json.loads(printed) == schema, f"'wasp schema {name}' is {name}.json")

    for value in lines(test_envelope, "--print"):
        name = "plan" if value["schema"] == "wasp.plan/1" else "result"
        why = problems(schemas[name], value)
        ok(not why, f"{value.get('error') or value.get('reason') or 'a plan'} fits {name}.json {why}")

    for request in GOOD_REQUESTS:
        ok(not problems(schemas["request"], request) and task_check(wasp, request) == 0,
           f"request.json and wasp take {json.dumps(request)[:90]}")
    for request in BAD_REQUESTS:
        ok(problems(schemas["request"], request) and task_check(wasp, request) == 2,
           f"request.json and wasp refuse {json.dumps(request)[-90:]}")

    check_policies(schemas, wasp)

    for words in ([], ["--bogus"], ["/nonexistent.wasm"], ["m.wasm", "--env", "A"], ["m.wasm", "\udcff"]):
        values = lines(wasp, "run", *words)
        ok(len(values) == 1 and not problems(schemas["result"], values[0]) and values[0]["status"] == "error",
           f"'wasp run {' '.join(words).encode(errors='backslashreplace').decode()}' answers with one envelope")
    plan = lines(wasp, "run", "m.wasm", "--dry-run", "--env", "A=b", "--allow-dir", "ws", "--stdin", "-")
    ok(len(plan) == 1 and not problems(schemas["plan"], plan[0]), "--dry-run answers with one plan")
    for verb in ("doctor", "gc", "version"):
        with tempfile.TemporaryDirectory() as home:  # gc is for that one's folders, not for ours
            values = lines("env", "-i", f"HOME={home}", wasp, verb, "--json")
        ok(len(values) == 1 and not problems(schemas[verb], values[0]), f"'{verb} --json' prints what {verb}.json says")
    with tempfile.TemporaryDirectory() as home:
        values = lines("env", "-i", f"HOME={home}", wasp, "changes", "list")
    ok(len(values) == 1 and not problems(schemas["changes"], values[0]),
       "'changes list' prints what changes.json says")
    with tempfile.TemporaryDirectory() as home:
        values = lines("env", "-i", f"HOME={home}", wasp, "audit", "verify", "--json")
    ok(len(values) == 1 and not problems(schemas["audit-verify"], values[0]),
       "'audit verify --json' prints what audit-verify.json says")
    asked = schemas["request"]["$defs"]["limits"]["properties"].keys()
    ok(plan[0]["limits"].keys() | {"processes"} == asked, "request.json knows every limit")
    help_text = subprocess.run([wasp, "help", "run"], stdout=subprocess.PIPE, check=False).stdout.decode()
    ok(re.search(r"^  --timeout TIME$", help_text, re.M), "the limits are in the help text")

    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
