"""Tests that print TAP, and checks that say what differed."""

import os
import re
import sys
import traceback


class Failed(Exception):
    """A check that did not hold; its text says what differed."""


class Skipped(Exception):
    """A test that cannot run here; its text says why."""


_tests = []


def test(sentence, only=None):
    """Registers a test. only="root" or only="user" skips it for the other."""

    def register(function):
        _tests.append((sentence, function, only))
        return function

    return register


def skip(why):
    raise Skipped(why)


def check(claim, text):
    if not claim:
        raise Failed(text)


def check_equal(got, expected, what="value"):
    check(got == expected, f"{what}: expected {short(expected)}, got {short(got)}")


def check_in(part, whole, what="text"):
    check(part in whole, f"{what}: expected {short(part)} in {short(whole)}")


def check_match(pattern, text, what="text"):
    found = re.search(pattern, text or "")
    check(found, f"{what}: expected a match of {pattern!r}, got {short(text)}")


def short(value):
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text)} characters)"


def in_library(path):
    return os.path.dirname(os.path.realpath(path)) == os.path.dirname(os.path.realpath(__file__))


def run_one(function, only):
    """(verdict, text): True, False, or None for skipped."""
    try:
        if only and only != ("root" if os.getuid() == 0 else "user"):
            raise Skipped(f"only for {'root' if only == 'root' else 'an ordinary user'}")
        function()
    except Skipped as why:
        return None, str(why)
    except Failed as why:
        frames = traceback.extract_tb(why.__traceback__)
        lines = [frame.lineno for frame in frames if not in_library(frame.filename)]
        return False, f"{why} (line {lines[-1]})"
    except Exception:
        return False, traceback.format_exc()
    return True, ""


def run_all(wanted):
    """All tests, or those whose sentence holds one of the words. Returns the exit status."""
    counts = {True: 0, False: 0, None: 0}
    chosen = [entry for entry in _tests if not wanted or any(word in entry[0] for word in wanted)]
    print(f"1..{len(chosen)}", flush=True)
    for number, (sentence, function, only) in enumerate(chosen, 1):
        verdict, text = run_one(function, only)
        counts[verdict] += 1
        skipped = f" # SKIP {text}" if verdict is None else ""
        print(f"{'not ok' if verdict is False else 'ok'} {number} - {sentence}{skipped}")
        if verdict is False:
            print("".join(f"# {line}\n" for line in text.splitlines()), end="")
        sys.stdout.flush()
    print(f"# {counts[True]} passed, {counts[False]} failed, {counts[None]} skipped")
    return 1 if counts[False] else 0
