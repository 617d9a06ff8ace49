#!/usr/bin/python3
"""A thousand short native runs, a tenth of them killed at random moments, leave nothing behind."""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

RUNS, AT_ONCE = 1000, 4
GUESTS = (
    ["true"],
    ["bash", "-c", "(setsid sleep 60 &); echo x > /tmp/f"],
    ["bash", "-c", "sleep 0.01; seq 100"],
    ["bash", "-c", "exit 3"],
)


class Runs:
    """Takes turns among threads; what went wrong is told at the end."""

    def __init__(self, ws):
        self.left = RUNS
        self.lock = threading.Lock()
        self.dice = random.Random(os.environ.get("WASP_TEST_SEED", "5"))
        self.wrong = []
        self.killed = 0
        self.grants = ([], ["--allow-dir", f"{ws}::/ws"], ["--allow-dir", f"{ws}::/ws:overlay"])

    def take(self):
        """(guest, options, seconds until it is killed or None), or None when all are done."""
        with self.lock:
            if self.left == 0:
                return None
            self.left -= 1
            kill = self.dice.random() < 0.1
            self.killed += kill
            wait = self.dice.random() * 0.02 if kill else None
            return self.dice.choice(GUESTS), self.dice.choice(self.grants), wait

    def one(self, argv, options, kill_after):
        process = start("exec", *options, "--", *argv)
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
            process.communicate()
            return
        done = finish(process)
        if done.reason != "exited":
            self.wrong.append(f"{argv}: {done.reason} {done.error}")

    def work(self):
        while (turn := self.take()) is not None:
            try:
                self.one(*turn)
            except Exception as why:
                self.wrong.append(f"{turn}: {why}")


@test("a thousand runs in four at a time, a tenth of them killed, leave no process, mount, cgroup or file")
def _():
    ws = new_dir("ws")
    write_file(ws, "file", data="kept")
    before, temp = tree_of(ws), set(os.listdir("/tmp"))
    runs = Runs(ws)
    workers = [threading.Thread(target=runs.work) for _ in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    check_equal(runs.wrong[:5], [], "runs that went wrong")
    check(runs.killed > RUNS // 20, f"only {runs.killed} were killed")
    wait_until(lambda: not descendants(os.getpid()), "the killed runs' processes to end", 10)
    check_equal(native("true").status, 0)
    check_equal(wasp("gc", contract=False).status, 0, "wasp gc")
    check_nothing_left()
    check_equal(tree_of(ws), before, "the granted directory")
    mine = [name for name in set(os.listdir("/tmp")) - temp if "wasp" in name and not name.startswith("wasptest-")]
    check_equal(mine, [], "files in /tmp")


@test("what killed runs left in wasp's own folders does not grow")
def _():
    def entries():
        return sorted(path for top in (state_dir(), cache_dir()) for path, _, _ in os.walk(top))

    native("true")
    before = entries()
    for step in range(30):
        process = start("exec", "--", "sleep", "60")
        time.sleep(step * 0.0005)
        process.kill()
        process.communicate()
    native("true")
    wasp("gc", contract=False)
    check_equal(entries(), before)


main(wasm=False)
