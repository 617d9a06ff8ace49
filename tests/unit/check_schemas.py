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
    {"kind": "native-run", "argv": ["python3", "job.py"], "cwd": "/ws",
     "allow_dirs": [{"path": ".", "access": "overlay", "guest": "/ws"}]},
    {"kind": "native-run", "command": "make 'a b'", "args": ["x"], "backend": "native", "rootfs": "tree", "proc": "none",
     "tty": True, "apply": "auto", "diff": True, "unprotected": [".envrc"], "env_force": {"LD_PRELOAD": "x"},
     "allow_dirs": [{"path": ".", "access": "overlay", "guest": "/ws"}],
     "network": {"mode": "loopback"}, "limits": {"processes": 7, "memory_bytes": "unlimited"}},
    {"kind": "code", "language": "python", "source": "print(1)"},
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
    {"kind": "wasm-run", "module": "m.wasm", "stdin": {}},
    {"kind": "wasm-run", "module": "m.wasm", "stdin": {"text": "a", "file": "b"}},
    {"kind": "wasm-run", "module": "m.wasm", "allow_dirs": [{"path": "a", "access": "rw"}]},
    {"kind": "wasm-run", "module": "m.wasm", "module_sha256": "abc"},
    {"kind": "wasm-run", "module": "m.wasm", "isolation": "none"},
    {"kind": "wasm-run", "module": "m.wasm", "workspace": "ws"},
    {"kind": "wasm-run", "module": "m.wasm", "capabilities": ["fs_read"]},
    {"kind": "wasm-run", "module": "m.wasm", "policy": "p"},
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
    asked = schemas["request"]["$defs"]["limits"]["properties"].keys()
    ok(plan[0]["limits"].keys() | {"processes"} == asked, "request.json knows every limit")
    help_text = subprocess.run([wasp, "help", "run"], stdout=subprocess.PIPE, check=False).stdout.decode()
    ok(re.search(r"^  --timeout TIME$", help_text, re.M), "the limits are in the help text")

    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
