#!/usr/bin/python3
"""Releases and installations: what is in them, that they run, and that nothing is left of them."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *

PROGRAMS = ("bin/wasp", "libexec/wasp/wasp-cell", "libexec/wasp/wasp-cell-wasm", "libexec/wasp/wasp-compile")
PAGES = (
    "share/man/man1/wasp.1",
    "share/bash-completion/completions/wasp.bash",
    "share/zsh/site-functions/_wasp",
    "share/fish/vendor_completions.d/wasp.fish",
)
LIST = "share/wasp/installed"

with open(os.path.join(ROOT, "scripts", "install.sh")) as file:
    INSTALL = file.read()
with open(os.path.join(ROOT, "src", "engine", "runtime", "Cargo.lock"), "rb") as file:
    LOCKED = tomllib.load(file)["package"]


# ---- a release, made once, before anyone becomes somebody else -------------------------------


def make_release(folder):
    command = [os.path.join(ROOT, "scripts", "release.sh"), folder]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"release.sh failed: {done.stderr}")
    return done.stdout.strip()


def prepare(_):
    make_release(release_folder())


def release_folder():
    return os.path.join(os.path.dirname(wasp_env()["HOME"]), "release")


def release_file(ending):
    (name,) = (name for name in os.listdir(release_folder()) if name.endswith(ending))
    return os.path.join(release_folder(), name)


def archive():
    return release_file(".tar.gz")


def altered_archive(change):
    """A release of its own in a new folder, with change(member, data) as the data of each file."""
    path = os.path.join(new_dir("altered"), "wasp.tar.gz")
    with tarfile.open(archive()) as old, tarfile.open(path, "w:gz") as new:
        for member in old:
            data = change(member, old.extractfile(member).read()) if member.isfile() else b""
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return path


def with_command(script):
    """A release whose bin/wasp is that script."""
    return altered_archive(
        lambda member, data: script if member.name.endswith("bin/wasp") else data
    )


# ---- running the scripts ---------------------------------------------------------------------


def install(*options, script=None, **how):
    """install.sh by way of a pipe; or a script of that path."""
    command = ["bash", script] if script else ["bash", "-s", "--"]
    how = {"env": wasp_env(), "cwd": release_folder(), **how}
    how["input"] = "" if script else how.get("input", INSTALL)
    return subprocess.run([*command, *options], capture_output=True, text=True, **how)


def installed(*options, **how):
    """Installs, which must work, into a new prefix; returns that."""
    prefix = os.path.join(new_dir("root"), "prefix")
    done = install("--prefix", prefix, *options, **how)
    check_equal(done.returncode, 0, f"status ({done.stderr})")
    check_match(rf"^installed wasp .* as {prefix}/bin/wasp\n$", done.stdout)
    return prefix


def check_refused(sentence, *options, status=1, **how):
    """Says why in one line, and the prefix, which had something in it, is what it was."""
    prefix = new_dir("prefix")
    write_file(prefix, "bin", "other", data="of somebody else")
    before = tree_of(prefix)
    done = install("--prefix", prefix, *options, **how)
    check_equal((done.returncode, done.stdout), (status, ""))
    check_match(rf"^install: {sentence}", done.stderr.splitlines()[-1])
    check_equal(tree_of(prefix), before)


def files_below(folder):
    found = []
    for where, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names]
    return sorted(found)


def check_runs(prefix):
    """The installed command runs a guest, with the programs installed beside it."""
    for program in PROGRAMS:
        check(os.access(os.path.join(prefix, program), os.X_OK), f"{program} is missing")
    folder = new_dir("workspace")
    command = [f"{prefix}/bin/wasp", "run", guest("hello"), "--allow-dir", folder]
    done = subprocess.run(command, capture_output=True, env=wasp_env())
    check_equal(json.loads(done.stdout)["stdout"], "hello, wasp\n", "stdout")


def need_checkout():
    if not os.access(os.path.join(ROOT, "build"), os.W_OK):
        skip("an ordinary user cannot build in this checkout")


# ---- the release -----------------------------------------------------------------------------


@test("a release holds programs, man page, completions, licences and its own list")
def _():
    with tarfile.open(archive()) as file:
        members = file.getmembers()
    top = members[0].name
    check_equal(top, os.path.basename(archive()).removesuffix(".tar.gz"), "top folder")
    names = {member.name.removeprefix(top + "/") for member in members if member.isfile()}
    papers = ("LICENSE", "NOTICES", "README.md", "NEWS.md", "install.sh", "wasp.spdx.json")
    check_equal(names, {*PROGRAMS, *PAGES, *papers}, "files")


@test("a release made again is the same, byte for byte")
def _():
    need_checkout()
    again = make_release(new_dir("again"))
    check_equal(digest_of(again), digest_of(archive()))


@test("nothing in a release says who made it or when, but for one date")
def _():
    with tarfile.open(archive()) as file:
        members = file.getmembers()
    check_equal({(m.uid, m.gid, m.uname, m.gname) for m in members}, {(0, 0, "", "")})
    check_equal(len({m.mtime for m in members}), 1)
    check_equal({oct(m.mode) for m in members}, {"0o644", "0o755"})
    check_equal([m.name for m in members], sorted(m.name for m in members))


def digest_of(path):
    return hashlib.sha256(read_file(path)).hexdigest()


@test("SHA256SUMS names both files of a release, with their digests")
def _():
    lines = read_file(release_folder(), "SHA256SUMS").decode().splitlines()
    made = sorted([release_file(".spdx.json"), archive()])
    check_equal(lines, [f"{digest_of(path)}  {os.path.basename(path)}" for path in made])


@test("the SPDX list has the engine's crates with the lock file's versions and digests")
def _():
    document = json.loads(read_file(release_file(".spdx.json")))
    check_equal(document["spdxVersion"], "SPDX-2.3")
    listed = {(p["name"], p["versionInfo"]): p for p in document["packages"]}
    wanted = [p for p in LOCKED if p["name"].startswith("wasmtime") and "checksum" in p]
    check(len(wanted) >= 5, f"too few crates in the lock file: {wanted}")
    for crate in wanted:
        package = listed.get((crate["name"], crate["version"]))
        check(package, f"{crate['name']} {crate['version']} is not listed")
        check_equal(package["checksums"][0]["checksumValue"], crate["checksum"], crate["name"])
        check_match("Apache-2.0|MIT", package["licenseDeclared"], crate["name"])


@test("the SPDX list has what is linked in from Debian, and holds together")
def _():
    document = json.loads(read_file(release_file(".spdx.json")))
    names = [package["name"] for package in document["packages"]]
    for name in ("wasp", "libjansson-dev", "libsodium-dev", "libc6-dev", "musl-dev", "rust-std"):
        check_in(name, names, "packages")
    check(all(package["versionInfo"] for package in document["packages"]), "no version")
    ids = [package["SPDXID"] for package in document["packages"]] + ["SPDXRef-DOCUMENT"]
    check_equal(len(ids), len(set(ids)), "number of ids")
    for relation in document["relationships"]:
        check_in(relation["spdxElementId"], ids)
        check_in(relation["relatedSpdxElement"], ids)


# ---- installing and removing -----------------------------------------------------------------


@test("a release installs into a prefix, runs a guest from there, and goes without a trace")
def _():
    prefix = installed("--archive", archive())
    check_equal(files_below(prefix), sorted([*PROGRAMS, *PAGES, LIST]))
    check_runs(prefix)
    done = install("--prefix", prefix, "--uninstall")
    check_equal((done.returncode, done.stdout), (0, f"removed wasp from {prefix}\n"))
    check(not os.path.exists(prefix), f"left: {files_below(prefix)}")


@test("an unpacked release installs by its own script")
def _():
    folder = new_dir("unpacked")
    subprocess.run(["tar", "-xzf", archive(), "-C", folder, "--strip-components=1"], check=True)
    prefix = installed(script=f"{folder}/install.sh", cwd=folder)
    check_runs(prefix)


@test("removing leaves what others have put into the prefix")
def _():
    prefix = installed("--archive", archive())
    write_file(prefix, "bin", "other", data="of somebody else")
    install("--prefix", prefix, "--uninstall")
    check_equal(files_below(prefix), ["bin/other"])
    check_equal(sorted(os.listdir(prefix)), ["bin"])


@test("installing again replaces what is there and takes away what is no longer part of it")
def _():
    prefix = installed("--archive", archive())
    before = files_below(prefix)
    write_file(prefix, "share", "wasp", "old", data="of the version before")
    with open(os.path.join(prefix, LIST), "a") as file:
        file.write("share/wasp/old\n")
    write_file(prefix, "bin", "wasp", data="#!/bin/sh\n")
    check_equal(install("--prefix", prefix, "--archive", archive()).returncode, 0)
    check_equal(files_below(prefix), before)
    check_runs(prefix)
    install("--prefix", prefix, "--uninstall")
    check(not os.path.exists(prefix), f"left: {files_below(prefix)}")


@test("a list that points outside the prefix removes nothing there")
def _():
    prefix = installed("--archive", archive())
    kept = write_file(os.path.dirname(prefix), "kept", data="")
    with open(os.path.join(prefix, LIST), "a") as file:
        file.write(f"../kept\n{kept}\n")
    check_equal(install("--prefix", prefix, "--uninstall").returncode, 0)
    check(os.path.exists(kept), "it was removed")


@test("a failed installation says why and leaves the prefix as it was")
def _():
    check_refused("there is no archive", "--archive", "absent.tar.gz")
    check_refused(".*not the archive that was meant", "--archive", archive(), "--sha256", "0" * 64)
    text = write_file(new_dir("text"), "wasp.tar.gz", data="no archive")
    check_refused(".*cannot be unpacked", "--archive", text)
    check_refused(".*does not start", "--archive", with_command(b"#!/bin/sh\nexit 1\n"))
    check_refused(".*runs no guest", "--archive", with_command(b"#!/bin/sh\necho wasp 1\n"))


@test("where only weaker isolation can be had, installing works and says so")
def _():
    script = (
        b"#!/bin/sh\n"
        b"case $* in\n"
        b"version) echo wasp 1 ;;\n"
        b"*landlock) printf '%s' '{\"stdout\":\"ok\\n\"}' ;;\n"
        b"*) echo 'wasp: no namespaces here' >&2; exit 125 ;;\n"
        b"esac\n"
    )
    prefix = os.path.join(new_dir("root"), "prefix")
    done = install("--prefix", prefix, "--archive", with_command(script))
    check_equal(done.returncode, 0, f"status ({done.stderr})")
    check_in("only runs with --isolation landlock: no namespaces here", done.stderr)


@test("an archive that differs from the SHA256SUMS beside it is not unpacked")
def _():
    folder = new_dir("damaged")
    name = os.path.basename(archive())
    shutil.copy(os.path.join(release_folder(), "SHA256SUMS"), folder)
    write_file(folder, name, data=read_file(archive())[:-1])
    check_refused(".*not the archive that was meant", "--archive", f"{folder}/{name}")
    check_refused(".*not the archive that was meant", "--archive", name, cwd=folder)


@test("an installation that finds its way blocked half-way leaves the prefix as it was")
def _():
    prefix = new_dir("prefix")
    os.makedirs(f"{prefix}/bin/wasp")  # the last of the files: all others were at hand by then
    before = tree_of(prefix)
    done = install("--prefix", prefix, "--archive", archive())
    check_equal((done.returncode, done.stdout), (1, ""))
    check_in("in the way", done.stderr)
    check_equal({name: what[3] for name, what in tree_of(prefix).items()},
                {name: what[3] for name, what in before.items()})  # fmt: skip


@test("bad usage is one line and status 2, and nothing happens")
def _():
    for options in (
        ["--archive"],
        ["--unknown"],
        ["--git", "x", "--archive", "y"],
        ["--sha256", "0"],
        ["--ref", "main"],
        [],
    ):
        check_refused(".*; usage: ", *options, status=2)


@test("half of a script that came through a pipe does nothing")
def _():
    for part in (4, 2, 1.2):
        prefix = new_dir("prefix")
        cut = INSTALL[: int(len(INSTALL) / part)]
        done = install("--prefix", prefix, "--archive", archive(), input=cut)
        check_equal((done.stdout, os.listdir(prefix)), ("", []))


# ---- from source -----------------------------------------------------------------------------


def make(*arguments):
    done = subprocess.run(["make", "-s", "-C", ROOT, *arguments], capture_output=True, text=True)
    check_equal(done.returncode, 0, f"status of make {arguments} ({done.stdout}{done.stderr})")


@test("make install goes below DESTDIR, runs from there, and make uninstall leaves no file")
def _():
    need_checkout()
    where = ["PREFIX=/usr/local", f"DESTDIR={new_dir('staged')}"]
    make("install", *where)
    root = where[1].removeprefix("DESTDIR=")
    check_equal(files_below(f"{root}/usr/local"), sorted([*PROGRAMS, *PAGES]))
    check_runs(f"{root}/usr/local")
    make("uninstall", *where)
    check_equal(files_below(root), [])


def snapshot():
    """A repository that holds this checkout as it is now, changes included."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "gc.auto=0"]
    listed = subprocess.run(
        [*git, "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True
    )
    if listed.returncode != 0:
        skip("this is no git checkout")
    folder = new_dir("repository")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(folder, name))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "snapshot"]):
        subprocess.run([*git, "-C", folder, *command], check=True, capture_output=True)
    return folder


@test("install.sh through a pipe builds and installs what --git names")
def _():
    need_checkout()
    prefix = installed("--git", snapshot(), env=dict(os.environ))
    check_equal(files_below(prefix), sorted([*PROGRAMS, *PAGES, LIST]))
    check_runs(prefix)


@test("install.sh refuses a repository that is not there, or holds something else")
def _():
    check_refused("cannot clone", "--git", "/nonexistent")
    folder = new_dir("repository")
    write_file(folder, "file", data="")
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "other"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    check_refused(".*is not wasp", "--git", folder)


main(prepare)
