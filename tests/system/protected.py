#!/usr/bin/python3
"""Protected names: what the host would run later is read by a guest, but not changed.

Each refusal has a control: another name, or the name with --unprotect.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def build_tree():
    """A folder as people have them, with a repository and settings in it."""
    ws = new_dir("ws")
    for path in (".git/hooks/pre-commit", ".git/config", ".git/index", ".git/refs/heads/main",
                 ".vscode/tasks.json", ".envrc", "sub/.git", "sub/file", "plain/file", "file"):
        write_file(ws, *path.split("/"), data="owner's")
    for link, target in (("to_hooks", ".git/hooks"), ("sub/up", "../.git"), ("to_plain", "plain")):
        os.symlink(target, os.path.join(ws, link))
    return ws


def acts_of(acts, name, ws, options=()):
    """Does acts, each written as words; one line comes back for each."""
    words = [word for act in acts for word in [",", *act.split(" ")]][1:]
    done = run(name, "--allow-dir", f"{ws}::.", *options, args=words)
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"the guest ({done.error})")
    return done


def fs(*acts, ws, options=()):
    return acts_of(acts, "fs", ws, options)


def at(*acts, ws, options=()):
    """As fs, from a directory that the guest opens first."""
    return acts_of(acts, "at", ws, options)


def answers(done):
    return [line.split()[-1] for line in done.lines()]


# ---- wasm guests -----------------------------------------------------------------------------

CHANGES = """\
write .envrc x
append .envrc x
truncate .envrc 0
overwrite .git/config 0 x
write .git/hooks/post-merge x
create .mcp.json x
write .Git/Hooks/x y
mkdir .claude
mkdir plain/.git
rmdir .git/hooks
unlink .vscode/tasks.json
unlink sub/.git
rename .git git
rename file .envrc
rename file plain/.bashrc
rename plain .git/modules
rename plain sub/.idea
link .envrc hard
link file .profile
symlink file .zshrc
touch .envrc 1000000000
write to_hooks/pre-commit x
write sub/up/config x
write sub/../.git/config x
unlink to_hooks/pre-commit
""".splitlines()


@test("a wasm guest changes no protected name, by no call, and the host's tree stays as it was")
def _():
    ws = build_tree()
    before = tree_of(ws)
    done = fs(*CHANGES, ws=ws)
    check_equal(list(zip(CHANGES, answers(done))), [(act, "EACCES") for act in CHANGES])
    check_equal(tree_of(ws), before)
    check_equal({denial["rule"] for denial in done["denials"]}, {"protected-name"})
    check_equal(len(done["denials"]), len(CHANGES))


CONTROLS = """\
write .envrc2 x
append .envrc2 x
truncate .envrc2 0
overwrite .git/index 0 x
write .git/post-merge x
create mcp.json x
write .github x
mkdir claude
mkdir plain/git
rmdir claude
unlink .git/post-merge
rename .git/index .git/index2
rename plain .git/others
link file hard
symlink file zshrc
touch .envrc2 1000000000
write sub/up/HEAD x
write sub/../.git/ORIG_HEAD x
unlink to_hooks
rename sub moved
""".splitlines()


@test("the same acts on other names all succeed, also in .git")
def _():
    done = fs(*CONTROLS, ws=build_tree())
    check_equal(list(zip(CONTROLS, answers(done))), [(act, "ok") for act in CONTROLS])
    check_equal(done["denials"], [])


@test("protected names are read, listed and looked at like any others")
def _():
    acts = ["read .envrc", "read .git/config", "read to_hooks/pre-commit", "list .git/hooks",
            "stat .vscode", "readlink to_hooks"]
    done = fs(*acts, ws=build_tree())
    check_equal((answers(done), done["denials"]), (["ok"] * len(acts), []))


@test("names given with --unprotect are changed, and no others")
def _():
    ws = build_tree()
    acts = ["write .git/hooks/pre-commit x", "write to_hooks/new y", "unlink .envrc",
            "write .git/config x", "write .vscode/tasks.json x"]
    done = fs(*acts, ws=ws, options=["--unprotect", ".git/hooks", "--unprotect", ".envrc"])
    check_equal(answers(done), ["ok", "ok", "ok", "EACCES", "EACCES"])
    check_equal(read_file(ws, ".git", "hooks", "new"), b"y")


@test("--unprotect .git ends all rules in it")
def _():
    acts = ["write .git/config x", "rename sub/.git sub/git", "rename .git repository"]
    done = fs(*acts, ws=build_tree(), options=["--unprotect", ".git"])
    check_equal(answers(done), ["ok", "ok", "ok"])


@test("a directory that the guest opens knows what it holds, however it got there")
def _():
    ws = build_tree()
    acts = ["write .git config x", "write .git hooks/new x", "write .git/hooks new x",
            "write to_hooks new x", "write sub/up config x", "mkdir .git modules",
            "unlink .git/hooks pre-commit", "rename . file .git/hooks pre-commit",
            "rename .git config . mine", "touch-open .envrc", "write . .envrc x"]
    before = tree_of(ws)
    check_equal(answers(at(*acts, ws=ws)), ["EACCES"] * len(acts))
    check_equal(tree_of(ws), before)
    acts = ["write .git HEAD x", "write plain new x", "write to_plain new2 x", "write sub/up x y",
            "mkdir .git lfs", "unlink .git HEAD", "rename . file plain moved",
            "touch-open plain/file", "read .git config", "read to_hooks pre-commit"]
    check_equal(answers(at(*acts, ws=ws)), ["ok"] * len(acts))


@test("moving a directory neither frees what is protected in it nor makes an open one a way in")
def _():
    ws = build_tree()
    acts = ["write-moved sub moved .git", "write-moved moved again new", "write-moved plain .idea x",
            "write-moved plain .config x", "write-moved plain other x"]
    check_equal(answers(at(*acts, ws=ws)), ["EACCES", "ok", "EACCES", "EACCES", "ok"])
    check_equal(read_file(ws, "again", ".git"), b"owner's")


@test("a link of the guest's own leads to nothing that it may change")
def _():
    ws = build_tree()
    acts = ["symlink .git/hooks mine", "write mine/pre-commit x", "symlink .mcp.json later",
            "write later x", "symlink plain fine", "write fine/new x", "unlink mine"]
    expected = ["ok", "EACCES", "ok", "EACCES", "ok", "ok", "ok"]
    check_equal(answers(fs(*acts, ws=ws)), expected)
    check_equal(read_file(ws, ".git", "hooks", "pre-commit"), b"owner's")
    check(not os.path.exists(os.path.join(ws, ".mcp.json")), "a file was made")


@test("a link that is swapped in during use never lets a write through")
def _():
    ws = build_tree()
    a, b, t = (os.path.join(ws, name) for name in "abt")
    write_file(a, "config", data="")
    os.symlink(".git", b)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for source, target in ((a, t), (b, a), (t, b)):
                os.rename(source, target)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(3):
            fs(*["overwrite a/config 0 x"] * 3000, ws=ws)
    finally:
        stop.set()
        swapper.join()
    check_equal(read_file(ws, ".git", "config"), b"owner's")
    folder = "a" if os.path.isdir(a) and not os.path.islink(a) else "b"
    check_equal(answers(fs(f"overwrite {folder}/config 0 x", ws=ws)), ["ok"], "control")


@test("a grant that is a .git itself is no way around, by whatever name it is given")
def _():
    ws = build_tree()
    os.symlink(os.path.join(ws, ".git"), os.path.join(ws, "alias"))
    for grant in (".git", "alias"):
        done = fs("write config x", "write hooks/new x", "write HEAD x", ws=os.path.join(ws, grant))
        check_equal(answers(done), ["EACCES", "EACCES", "ok"], grant)
    done = fs("write tasks.json x", ws=os.path.join(ws, ".vscode"))
    check_equal(answers(done), ["ok"], "what the owner granted by name")


@test("a refusal says which rule it was and how to end it")
def _():
    done = fs("write .git/hooks/pre-commit x", ws=build_tree())
    (denial,) = done["denials"]
    seen = tuple(denial[key] for key in ("layer", "action", "rule"))
    check_equal(seen, ("wasi", "path_open", "protected-name"))
    check_in(".git/hooks/pre-commit", denial["target"], "target")
    check_in("--unprotect .git/hooks", denial["hint"], "hint")


@test("a name that is no rule is refused on the command line")
def _():
    done = run("fs", "--unprotect", ".github")
    check_in(".github", done.error, "error")


# ---- native guests ---------------------------------------------------------------------------

NATIVE = """
import errno, os, sys

def put(path, flags):
    os.close(os.open(path, flags, 0o644))

ACTS = {
    "read": lambda a: put(a, os.O_RDONLY),
    "write": lambda a: put(a, os.O_WRONLY),
    "create": lambda a: put(a, os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "truncate": lambda a: os.truncate(a, 0),
    "unlink": os.unlink,
    "rmdir": os.rmdir,
    "chmod": lambda a: os.chmod(a, 0o755),
    "rename": os.rename,
    "link": os.link,
}
for line in sys.argv[1:]:
    act, *paths = line.split(" ")
    try:
        ACTS[act](*paths)
        print("ok")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


def native_acts(*acts, ws, access="rw", options=()):
    """What the kernel answers to each act of a native guest in ws."""
    done = python(NATIVE, "--allow-dir", f"{ws}::{ws}:{access}", "--cwd", ws, *options, args=acts)
    check_equal((done.reason, done["exit_code"]), ("exited", 0), f"the guest ({done.error})")
    return done


PINNED = {
    "read .envrc": "ok",
    "write .envrc": "EROFS",
    "truncate .envrc": "EROFS",
    "chmod .envrc": "EROFS",
    "unlink .envrc": "EBUSY",
    "rename .envrc x": "EBUSY",
    "rename file .envrc": "EBUSY",
    "link .envrc x": "EXDEV",
    "write .git/config": "EROFS",
    "create .git/hooks/post-merge": "EROFS",
    "unlink .git/hooks/pre-commit": "EROFS",
    "rename .git/hooks .git/x": "EBUSY",
    "rename .git x": "EBUSY",
    "rename sub x": "EBUSY",
    "write sub/.git": "EROFS",
    "write to_hooks/pre-commit": "EROFS",
    "write .vscode/tasks.json": "EROFS",
    "create .vscode/new": "EROFS",
}


@test("a native guest changes no protected name that is there, nor moves it away")
def _():
    ws = build_tree()
    before = tree_of(ws)
    done = native_acts(*PINNED, ws=ws)
    check_equal(dict(zip(PINNED, done.lines())), PINNED)
    check_equal(tree_of(ws), before, "the host's tree, where nothing may be left either")
    check_in("protected-names:pinned", done["enforced"])
    check("host_executed" not in done.envelope, f"reported: {done['host_executed']}")


@test("the same acts on names that the owner gave, or on others, succeed")
def _():
    ws = build_tree()
    acts = ["write .envrc", "chmod .envrc", "rename file .envrc", "link .envrc x", "unlink .envrc",
            "create .git/hooks/post-merge", "create .git/new", "rename .git/index .git/index2",
            "rename plain x2", "create sub/new"]
    done = native_acts(*acts, ws=ws, options=["--unprotect", ".envrc", "--unprotect", ".git/hooks"])
    check_equal(dict(zip(acts, done.lines())), {act: "ok" for act in acts})


@test("git commits in a directory whose hooks and config are pinned")
def _():
    ws = new_dir("ws")
    script = """set -e
git -c user.name=n -c user.email=e@x commit -q --allow-empty -m one
echo x > f; git add f; git -c user.name=n -c user.email=e@x commit -q -m two
git checkout -q -b other; git log --oneline | wc -l
git config user.name n || echo refused"""
    subprocess.run(["git", "init", "-q", ws], check=True, env=wasp_env())
    done = shell(script, "--allow-dir", f"{ws}::/ws:rw", "--cwd", "/ws")
    check_equal(done.stdout.split(), ["2", "refused"], done.stderr)


@test("what appears under a protected name is reported, other new names are not")
def _():
    ws = build_tree()
    acts = ["create .mcp.json", "create plain/.bashrc", "create .git/commondir", "create new",
            "create .git/HEAD.lock"]
    done = native_acts(*acts, ws=ws)
    seen = {(found["path"], found["rule"]) for found in done["host_executed"]}
    expected = {(".mcp.json", ".mcp.json"), ("plain/.bashrc", ".bashrc"),
                (".git/commondir", ".git/commondir")}
    check_equal(seen, expected)


HIDING = """
import os
open(".mcp.json", "w").close()
os.mkdir("closed")
open("closed/.envrc", "w").close()
os.chmod("closed", 0o111)
for _ in range(90):
    os.mkdir("d" * 60)
    os.chdir("d" * 60)
"""


def remove_deep(folder, name):
    """What is deeper than a path can say; shutil.rmtree needs a path."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    depth = 0
    while os.path.isdir(name):
        os.chdir(name)
        depth += 1
    for _ in range(depth):
        os.chdir("..")
        os.rmdir(name)
    os.fchdir(here)
    os.close(here)


@test("a guest that hides names where nobody can look does not hide that, nor the others")
def _():
    ws = new_dir("ws")
    done = python(HIDING, "--allow-dir", f"{ws}::/ws:rw", "--cwd", "/ws")
    os.chmod(os.path.join(ws, "closed"), 0o755)
    remove_deep(ws, "d" * 60)
    check_equal((done["status"], done["exit_code"]), ("success", 0))
    check_in(".mcp.json", [found["path"] for found in done["host_executed"]])
    check_match("too deep|closed", done["host_executed_incomplete"])


@test("a protected name that is a link is refused, and the error says what to do instead")
def _():
    ws = new_dir("ws")
    write_file(ws, "settings", "tasks.json")
    os.symlink("settings", os.path.join(ws, ".vscode"))
    done = native("/bin/true", options=["--allow-dir", f"{ws}::/ws:rw"])
    check_equal(done.reason, "denied")
    check_in("symbolic link", done.error)
    check_in("--unprotect .vscode", done["error_info"]["hint"], "hint")
    for options in (["--unprotect", ".vscode"], []):
        access = "rw" if options else "ro"
        options += ["--allow-dir", f"{ws}::/ws:{access}"]
        check_equal(native("/bin/true", options=options).reason, "exited", access)


@test("on the landlock rung nothing is pinned, and what changed is reported")
def _():
    ws = build_tree()
    done = native_acts("truncate .git/index", "truncate .git/hooks/pre-commit", ws=ws,
                       options=["--isolation", "landlock"])
    check_equal(done.lines(), ["ok", "ok"])
    check_equal([found["path"] for found in done["host_executed"]], [".git/hooks/pre-commit"])
    check("protected-names:pinned" not in done["enforced"], "it says that they were pinned")


main()
