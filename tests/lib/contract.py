"""What CONTRACT says of every run of wasp, and schemas/ of all it prints, as checks."""

import json
import os

from tap import Failed, check, check_equal, check_in, check_match, short

try:
    import jsonschema
except ImportError:  # then check_types is all that is checked of the shape
    jsonschema = None

SCHEMAS = os.path.join(os.path.dirname(__file__), "..", "..", "schemas")
RUN_ID = r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
TYPES = {
    "status": str,
    "execution_time_ms": int,
    "stdout": str,
    "stderr": str,
    "schema": str,
    "run_id": str,
    "backend": str,
    "reason": str,
    "truncated": dict,
    "usage": dict,
    "enforced": list,
    "denials": list,
}
# The command's exit status by reason; None where it depends on more of the envelope.
STATUS = {
    "exited": None,
    "signal": None,
    "trap": 134,
    "timeout": 124,
    "cpu_limit": 124,
    "memory_limit": 137,
    "fuel_limit": 124,
    "output_limit": 137,
    "disk_limit": 137,
    "process_limit": 137,
    "denied": 77,
    "approval_required": 77,
    "cancelled": None,
    "not_started": None,
    "invalid": 2,
    "backend_error": 125,
}


def load_validators():
    """By name. Read at once: an ordinary user may not reach the files later."""
    found = {}
    for name in os.listdir(SCHEMAS) if jsonschema else []:
        with open(os.path.join(SCHEMAS, name)) as file:
            schema = json.load(file)
        found[name.removesuffix(".json")] = jsonschema.Draft202012Validator(schema)
    return found


VALIDATORS = load_validators()


def no_duplicate_keys(pairs):
    keys = [key for key, _ in pairs]
    check_equal(sorted(set(keys)), sorted(keys), "keys of an object")
    return dict(pairs)


def parse_envelope(raw):
    """Exactly one JSON object and a newline, in UTF-8."""
    check(raw.endswith(b"}\n"), f"stdout does not end in an object and a newline: {short(raw)}")
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=no_duplicate_keys)
    except ValueError as why:
        raise Failed(f"stdout is not one JSON object ({why}): {short(raw)}") from None
    check(isinstance(value, dict), f"stdout is not one JSON object: {short(raw)}")
    return value


def expected_status(envelope):
    """CONTRACT §2 as a function of the envelope."""
    reason = envelope["reason"]
    if reason == "exited":
        return envelope["exit_code"] if envelope["exit_code"] <= 255 else 125
    if reason in ("signal", "cancelled"):
        return 128 + envelope["signal"]
    if reason == "not_started":
        return 127 if envelope["error_info"]["code"] == "not_found" else 126
    return STATUS[reason]


def check_types(envelope):
    for key, kind in TYPES.items():
        check_equal(type(envelope.get(key)), kind, f"type of {key}")
    check_in(type(envelope["exit_code"]), (int, type(None)), "type of exit_code")
    check_equal(envelope["schema"], "wasp.result/1", "schema")
    check_match(RUN_ID, envelope["run_id"], "run_id")
    check_in(envelope["reason"], STATUS, "reason")
    truncated = {key: type(value) for key, value in envelope["truncated"].items()}
    check_equal(truncated, {"stdout": bool, "stderr": bool}, "types in truncated")
    for key in ("wall_ms", "cpu_ms", "max_rss_bytes"):
        check_equal(type(envelope["usage"].get(key)), int, f"type of usage.{key}")


def check_fits(name, value):
    """The value is what schemas/NAME.json says. Without jsonschema there is nothing to check."""
    if VALIDATORS:
        found = VALIDATORS[name].iter_errors(value)
        errors = [f"{error.json_path}: {error.message[:300]}" for error in found]
        check_equal(errors, [], f"schemas/{name}.json")


def check_error(outcome):
    """`error` is one line, and so is what goes to stderr, unless nobody wants it."""
    envelope = outcome.envelope
    if envelope["status"] == "success":
        check_equal((envelope["exit_code"], envelope["error"]), (0, None), "exit_code and error")
    else:
        check_match(r"\A[^\n]+\Z", envelope["error"], "error")
    words = list(outcome.command)
    options = words[: words.index("--")] if "--" in words else words
    lines = 1 if envelope["status"] == "error" and "--quiet" not in options else 0
    check_equal(len(outcome.said.splitlines()), lines, f"lines on stderr ({short(outcome.said)})")


def check_contract(outcome):
    """Parses the envelope and holds it to what is true of all of them."""
    outcome.envelope = envelope = parse_envelope(outcome.raw)
    check_types(envelope)
    check_fits("result", envelope)
    check_equal(outcome.status, expected_status(envelope), f"exit status of {envelope['reason']}")
    check_equal(envelope["status"], "success" if outcome.status == 0 else "error", "status")
    check_error(outcome)
