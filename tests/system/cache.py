#!/usr/bin/python3
"""The store of compiled code: it saves time, and it is never believed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def fresh_cache():
    """The environment of a run with a cache and a key of its own, and the cache's folder."""
    folder = os.path.join(new_dir("cache"), "wasp")
    return {"WASP_CACHE_DIR": folder, "WASP_STATE_DIR": folder + "-state"}, folder


def files_in(folder):
    return sorted(
        os.path.join(where, name) for where, _, names in os.walk(folder) for name in names
    )


def entries_in(folder):
    """The compiled code: by far the largest files."""
    return [path for path in files_in(folder) if os.path.getsize(path) > 4096]


def own_module(text=b"hello, old wasi"):
    """A module that prints these 15 bytes; all of them have the same size."""
    data = read_file(guest("hello_unstable"))
    check_equal(len(text), 15)
    return write_file(new_dir("module"), "m.wasm", data=data.replace(b"hello, old wasi", text))


def hello(env, module, *options):
    done = run(module, *options, env=env)
    check_equal(done["status"], "success", f"status ({done.error})")
    return done


@test("the second run of a module takes its code from the cache")
def _():
    env, folder = fresh_cache()
    module = own_module()
    first, second = hello(env, module), hello(env, module)
    check_equal((first["module"]["cached"], second["module"]["cached"]), (False, True))
    check_equal((first.stdout, second.stdout), ("hello, old wasi",) * 2)
    check_equal(second["module"]["compile_ms"], 0)
    check_equal(first["module"]["sha256"], second["module"]["sha256"])


@test("the cache is found by contents: a copy under another name hits it")
def _():
    env, _ = fresh_cache()
    hello(env, own_module())
    check_equal(hello(env, own_module())["module"]["cached"], True)


@test("the cache and all in it are for its owner alone")
def _():
    env, folder = fresh_cache()
    hello(env, own_module())
    for path in [folder] + files_in(folder):
        check_equal(os.stat(path).st_mode & 0o077, 0, path)


@test("--no-cache compiles each time and keeps nothing")
def _():
    env, folder = fresh_cache()
    module = own_module()
    check_equal(
        [hello(env, module, "--no-cache")["module"]["cached"] for _ in range(2)], [False, False]
    )
    check_equal(entries_in(folder), [])


@test("a damaged entry is compiled anew, never loaded, and then hits again")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    for where in (0, 100, -1, "middle", "cut", "empty", "longer"):
        (entry,) = entries_in(folder)
        os.chmod(entry, 0o600)
        data = bytearray(read_file(entry))
        if where == "cut":
            data = data[: len(data) // 2]
        elif where == "empty":
            data = b""
        elif where == "longer":
            data += b"more"
        else:
            data[len(data) // 2 if where == "middle" else where] ^= 0x40
        write_file(entry, data=bytes(data))
        done = hello(env, module)
        check_equal(
            (done["module"]["cached"], done.stdout),
            (False, "hello, old wasi"),
            f"damage at {where}",
        )
        check_equal(hello(env, module)["module"]["cached"], True, f"after damage at {where}")


@test("an entry of one module in the place of another's is not loaded, with or without its seal")
def _():
    for suffixes in (["cwasm"], ["cwasm", "seal"]):
        env, folder = fresh_cache()
        one, two = own_module(b"this is one...."), own_module(b"this is another")
        hello(env, one)
        (entry_of_one,) = entries_in(folder)
        hello(env, two)
        (entry_of_two,) = set(entries_in(folder)) - {entry_of_one}
        for suffix in suffixes:
            paths = [path.removesuffix("cwasm") + suffix for path in (entry_of_two, entry_of_one)]
            os.rename(*paths)
        done = hello(env, one)
        check_equal(
            (done.stdout, done["module"]["cached"]), ("this is one....", False), f"{suffixes}"
        )


@test("a whole cache that was made with another key is not believed")
def _():
    (env_a, folder_a), (env_b, folder_b) = fresh_cache(), fresh_cache()
    module = own_module()
    hello(env_a, module)
    shutil.copytree(folder_a, folder_b)
    check_equal(hello(env_b, module)["module"]["cached"], False)
    check_equal(hello(env_b, module)["module"]["cached"], True)


@test("a key that others can read is not used, and the run goes on")
def _():
    env, _ = fresh_cache()
    module = own_module()
    hello(env, module)
    os.chmod(os.path.join(env["WASP_STATE_DIR"], "cache.key"), 0o644)
    done = hello(env, module)["module"]
    check(not done["cached"] and done.get("cache_error"), f"{done}")


@test("code changed in place, with its size and times set back, is not loaded")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    (entry,) = entries_in(folder)
    before = os.stat(entry)
    os.chmod(entry, 0o600)
    with open(entry, "r+b") as file:
        file.seek(before.st_size // 2)
        byte = file.read(1)[0]
        file.seek(before.st_size // 2)
        file.write(bytes([byte ^ 1]))
    os.utime(entry, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = hello(env, module)
    check_equal((done.stdout, done["module"]["cached"]), ("hello, old wasi", False))


@test("files of the cache that are all garbage do no more than cost time")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    for path in files_in(folder):
        os.chmod(path, 0o600)
        write_file(path, data=os.urandom(200))
    done = hello(env, module)
    check_equal((done.stdout, done["module"]["cached"]), ("hello, old wasi", False))


@test("a cache folder that others can write is not used")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    os.chmod(folder, 0o777)
    done = run(module, env=env)
    if done["status"] == "success":
        check_equal((done["module"]["cached"], done.stdout), (False, "hello, old wasi"))
    else:
        check_in(folder, done.error)


@test("an entry that is a symlink is not followed")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    (entry,) = entries_in(folder)
    away = os.path.join(new_dir(), "away")
    os.rename(entry, away)
    os.symlink(away, entry)
    done = hello(env, module)
    check_equal((done.stdout, done["module"]["cached"]), ("hello, old wasi", False))


@test("a cache folder of another owner is not used", only="root")
def _():
    env, folder = fresh_cache()
    module = own_module()
    hello(env, module)
    os.chown(folder, 4321, 4321)
    done = run(module, env=env)
    if done["status"] == "success":
        check_equal(done["module"]["cached"], False)
    else:
        check_in(folder, done.error)


@test("ten first runs at once all succeed, and the code is there after them")
def _():
    env, folder = fresh_cache()
    module = own_module()
    started = [start("run", module, env=env) for _ in range(10)]
    check_equal([finish(process).stdout for process in started], ["hello, old wasi"] * 10)
    check_equal(hello(env, module)["module"]["cached"], True)
    check_equal(len(entries_in(folder)), 1)


@test("a cache that cannot be written is said in the result, and the run goes on")
def _():
    for folder in ("/proc/wasp-cache", "/dev/null/wasp"):
        done = hello({"WASP_CACHE_DIR": folder}, own_module())
        check(done["module"].get("cache_error"), f"{folder}: {done['module']}")


@test(
    "a cache folder without write permission is said in the result, and the run goes on",
    only="user",
)
def _():
    parent = new_dir("closed")
    os.chmod(parent, 0o555)
    done = hello({"WASP_CACHE_DIR": os.path.join(parent, "wasp")}, own_module())
    check(done["module"].get("cache_error"), f"{done['module']}")


@test("a full disk under the cache is said in the result, and the run goes on", only="root")
def _():
    folder = new_dir("small")
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8k,mode=700", "tmpfs", folder]
        ).returncode
        != 0
    ):
        skip("no tmpfs can be mounted here")
    try:
        done = hello({"WASP_CACHE_DIR": os.path.join(folder, "wasp")}, own_module())
        check(done["module"].get("cache_error"), f"{done['module']}")
        check_equal([path for path in files_in(folder) if "tmp" in os.path.basename(path)], [])
    finally:
        subprocess.run(["umount", folder], check=True)


@test("without HOME and any other place a module still runs")
def _():
    done = subprocess.run(
        [wasp_path(), "run", guest("hello")],
        capture_output=True,
        env={"PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    check_equal((done.returncode, parse_envelope(done.stdout)["stdout"]), (0, "hello, wasp\n"))


@test("the cache stays within its bound, and the newest entry is in it")
def _():
    env, folder = fresh_cache()
    hello(env, own_module())
    size = os.path.getsize(entries_in(folder)[0])
    env["WASP_CACHE_MAX"] = str(4 * size)
    for number in range(12):
        module = own_module(b"number %08d" % number)
        hello(env, module)
    total = sum(os.path.getsize(path) for path in entries_in(folder))
    check(total <= 4 * size, f"{total} bytes in a cache of {4 * size}")
    check_equal(hello(env, module)["module"]["cached"], True)


@test("fuel and the hardened mode have code of their own")
def _():
    env, folder = fresh_cache()
    module = own_module()
    for options in ([], ["--fuel", "1000000"], ["--hardened"]):
        check_equal(
            [hello(env, module, *options)["module"]["cached"] for _ in range(2)],
            [False, True],
            f"{options}",
        )


@test("a module that was touched, moved or copied over itself still hits")
def _():
    env, _ = fresh_cache()
    module = own_module()
    hello(env, module)
    os.utime(module, (1, 1))
    check_equal(hello(env, module)["module"]["cached"], True, "touched")
    os.rename(module, module + ".moved")
    check_equal(hello(env, module + ".moved")["module"]["cached"], True, "moved")


@test("a module rewritten with the same size and the same times is seen as new each time")
def _():
    env, _ = fresh_cache()
    module = own_module()
    before = os.stat(module)
    original = read_file(module)
    for number in range(30):
        text = b"rewrite %07d" % number
        with open(module, "r+b") as file:
            file.write(original.replace(b"hello, old wasi", text))
        os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
        check_equal(hello(env, module).stdout, text.decode())


@test("a module replaced by rename is seen as new")
def _():
    env, _ = fresh_cache()
    module = own_module(b"the first one..")
    check_equal(hello(env, module).stdout, "the first one..")
    os.rename(own_module(b"the second one."), module)
    check_equal(hello(env, module).stdout, "the second one.")


@test("digests of modules that are gone do not pile up for ever")
def _():
    env, folder = fresh_cache()
    hello(env, own_module())
    for number in range(5000):
        write_file(folder, "memo", f"{number:064x}", data="of a file that is gone")
    old = own_module(b"an old module..")
    wait_until(lambda: time.time() - os.stat(old).st_ctime > 2.1, "the module to be at rest")
    hello(env, old)
    check(len(os.listdir(os.path.join(folder, "memo"))) < 10, "they are still there")
    check_equal(hello(env, old)["module"]["cached"], True)


@test("what a killed run left in the cache is swept by wasp gc")
def _():
    env, folder = fresh_cache()
    module = own_module()
    for step in range(20):
        process = start("run", own_module(b"killed %08d" % step), env=env)
        time.sleep(step * 0.002)
        process.kill()
        process.communicate()
    hello(env, module)
    wasp("gc", env=env, contract=False)
    strange = [
        path for path in files_in(folder) if re.search(r"tmp|part|\.new", os.path.basename(path))
    ]
    check_equal(strange, [])


main()
