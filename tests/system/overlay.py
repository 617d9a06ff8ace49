#!/usr/bin/python3
"""Overlay directories from end to end: a run, what it changed, and what becomes of it."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def workspace():
    folder = new_dir("ws")
    write_file(folder, "kept", data="one\n")
    write_file(folder, "gone", data="two\n")
    return folder


CHANGE = "echo more >> kept; rm gone; echo new > made; mkdir -p sub; echo deep > sub/file"


def change(folder, *options, script=CHANGE, **how):
    return shell(script, "--allow-dir", f"{folder}::/ws:overlay", "--cwd", "/ws", *options, **how)


def verb(*words):
    """One of `wasp changes`: (status, its JSON)."""
    done = subprocess.run([wasp_path(), "changes", *words], env=wasp_env(), capture_output=True)
    return done.returncode, json.loads(done.stdout)


def changed(outcome):
    return {(entry["path"], entry["change"]) for entry in outcome["changes"]["entries"]}


AS_IT_WAS = {"kept": "one\n", "gone": "two\n"}
AS_CHANGED = {"kept": "one\nmore\n", "made": "new\n", "sub/file": "deep\n"}


def contents(folder):
    return {path: content.decode() for path, (_, _, _, content) in tree_of(folder).items() if content is not None}


@test("what a guest changes is told, kept, and not on the host until it is applied")
def _():
    folder = workspace()
    outcome = change(folder)
    check_equal(outcome.status, 0, outcome.stderr)
    wanted = {("kept", "changed"), ("gone", "deleted"), ("made", "added"), ("sub", "added"), ("sub/file", "added")}
    check_equal(changed(outcome), wanted)
    check_equal((outcome["changes"]["kept"], outcome["changes"]["applied"]), (True, False))
    check_equal(contents(folder), AS_IT_WAS, "the host before")
    status, answer = verb("apply", outcome["run_id"])
    check_equal((status, answer["done"]), (0, True))
    check_equal(contents(folder), AS_CHANGED, "the host after")
    check_equal(os.stat(os.path.join(folder, "made")).st_uid, os.getuid(), "owner")


@test("discarding forgets it, and the host stays as it was")
def _():
    folder = workspace()
    run_id = change(folder)["run_id"]
    check_equal(verb("discard", run_id)[0], 0)
    check(verb("apply", run_id)[0] != 0, "what is discarded can still be applied")
    check_equal(contents(folder), AS_IT_WAS)


@test("--apply auto applies it when the guest exits with 0, and only then")
def _():
    folder = workspace()
    outcome = change(folder, "--apply", "auto", script=CHANGE + "; exit 3")
    check_equal((outcome.status, outcome["changes"]["applied"], contents(folder)), (3, False, AS_IT_WAS))
    outcome = change(folder, "--apply", "auto")
    check_equal((outcome.status, outcome["changes"]["applied"], contents(folder)), (0, True, AS_CHANGED))


@test("--apply ask without a terminal applies nothing and keeps it")
def _():
    folder = workspace()
    outcome = change(folder, "--apply", "ask")
    check_equal((outcome["changes"]["kept"], outcome["changes"]["applied"], contents(folder)), (True, False, AS_IT_WAS))


@test("--diff is a diff that patch takes")
def _():
    folder = workspace()
    diff = change(folder, "--diff")["changes"]["diff"]
    done = subprocess.run(["patch", "-p1", "-d", folder], input=diff.encode(), capture_output=True)
    check_equal(done.returncode, 0, done.stdout.decode())
    check_equal(contents(folder), AS_CHANGED)


@test("a protected name is not applied, by itself or by hand, unless it is named")
def _():
    folder = workspace()
    script = "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo x > made"
    outcome = change(folder, "--apply", "auto", script=script)
    check_equal((outcome.status, outcome["changes"]["applied"], contents(folder)), (0, False, AS_IT_WAS))
    status, answer = verb("apply", outcome["run_id"])
    check_equal((status != 0, answer["done"], contents(folder)), (True, False, AS_IT_WAS))
    status, answer = verb("apply", outcome["run_id"], "--unprotect", ".git")
    check_equal((status, answer["done"]), (0, True))
    check_in(".git/hooks/pre-commit", contents(folder), "names")


@test("a file that changed on the host since is not overwritten")
def _():
    folder = workspace()
    run_id = change(folder)["run_id"]
    write_file(folder, "kept", data="mine\n")
    status, answer = verb("apply", run_id)
    check_equal((status != 0, answer["done"]), (True, False))
    check_equal(contents(folder)["kept"], "mine\n")


@test("a guest that changes nothing leaves nothing to keep")
def _():
    outcome = change(workspace(), script="cat kept")
    check_equal((outcome.stdout, outcome["changes"]["kept"], outcome["changes"]["entries"]), ("one\n", False, []))


@test("a directory given by a relative path is found again")
def _():
    folder = workspace()
    outcome = change(".", "--apply", "auto", cwd=folder)
    check_equal((outcome["changes"]["applied"], contents(folder)), (True, AS_CHANGED))


@test("changes past --disk meet ENOSPC, and what was changed before is kept")
def _():
    folder = workspace()
    outcome = change(folder, "--disk", "1MiB", script="echo new > made; head -c 4000000 /dev/zero > large; rm large")
    check_match("No space left", outcome.stderr)
    check_equal(changed(outcome), {("made", "added")})


@test("two overlays in one run are kept together and applied each to its own directory")
def _():
    one, two = workspace(), workspace()
    outcome = shell("echo 1 > /a/x; echo 2 > /b/y", "--allow-dir", f"{one}::/a:overlay", "--allow-dir", f"{two}::/b:overlay",
                    "--apply", "auto")  # fmt: skip
    check_equal(outcome["changes"]["applied"], True)
    check_equal((contents(one).get("x"), contents(two).get("y")), ("1\n", "2\n"))


main(wasm=False)
