#!/usr/bin/python3
"""Directories of a native guest: where they are, what may be done in them, and whose the files are."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wasptest import *


def grants(*words):
    return [part for word in words for part in ("--allow-dir", word)]


def refused(done, reason="invalid"):
    status = {"invalid": 2, "denied": 77}[reason]
    check_equal((done.reason, done.status), (reason, status), f"reason ({done.error})")


CHANGES = """\
echo new > new
echo changed > file
mkdir dir2
rm dir/inner
ln -s file link
ln file hard
mv file moved
chmod 600 dir
truncate -s 1 other
touch -d @0 other
rmdir empty
"""


def build_tree():
    top = new_dir("ws")
    for name in ("file", "dir/inner", "other"):
        write_file(top, name, data=f"{name} of the host\n")
    os.mkdir(os.path.join(top, "empty"))
    return top


def worked(done):
    """Which lines of CHANGES did."""
    return [line.partition(" ")[2] for line in done.lines() if line.startswith("ok ")]


def change(*options):
    script = "".join(f"{{ {line}; }} 2>/dev/null && echo 'ok {line}'\n" for line in CHANGES.splitlines())
    done = shell(f"cd /ws && {{ {script} }}\ntrue", *options)
    check_equal(done.status, 0, done.error)
    return done


# ---- where ---------------------------------------------------------------------------------------


@test("a plain directory is found at its host path, and is where the guest begins")
def _():
    top = build_tree()
    done = shell("pwd; cat file", *grants(top))
    check_equal(done.stdout, f"{os.path.realpath(top)}\nfile of the host\n")


@test("a relative directory is found at its absolute host path")
def _():
    top = build_tree()
    done = shell("pwd; cat file", *grants("."), cwd=top)
    check_equal(done.stdout, f"{os.path.realpath(top)}\nfile of the host\n")


@test("a named directory is found under its name, and the guest begins in HOME")
def _():
    top = build_tree()
    done = shell(f"pwd; cat /ws/file; ls {top} 2>/dev/null || echo not there", *grants(f"{top}::/ws"))
    check_equal(done.stdout, "/home/wasp\nfile of the host\nnot there\n")


@test("beside a granted directory nothing of its parents is seen")
def _():
    top, beside = build_tree(), build_tree()
    done = shell(f"ls {os.path.dirname(top)}; cat {beside}/file 2>/dev/null || echo not there; cat {top}/../{os.path.basename(beside)}/file 2>/dev/null || echo nor so", *grants(top))
    check_equal(done.stdout, f"{os.path.basename(top)}\nnot there\nnor so\n")
    both = shell(f"cat {beside}/file", *grants(top, beside))
    check_equal(both.stdout, "file of the host\n")


@test("--cwd chooses where the guest begins, anywhere in its view")
def _():
    top = build_tree()
    for cwd in ("/tmp", "/", "/usr/bin", "/ws", "/ws/dir", "/home/wasp"):
        check_equal(shell("pwd -P", "--cwd", cwd, *grants(f"{top}::/ws")).stdout, f"{cwd}\n")


@test("a --cwd that is not in the view, no directory, relative or a link out of it is refused")
def _():
    top = build_tree()
    os.symlink("/var", os.path.join(top, "out"))
    for cwd in ("/root", "/no/such", "/ws/file", "/ws/out", "/proc/1/cwd", "/proc/self/root/ws/../root"):
        refused(shell("pwd", "--cwd", cwd, *grants(f"{top}::/ws")))
    refused(shell("pwd", "--cwd", "ws", *grants(f"{top}::/ws")))
    check_equal(shell("pwd", "--cwd", "/ws/dir", *grants(f"{top}::/ws")).status, 0)


@test("grants in grants: the inner one lies over the outer one's directory")
def _():
    outer, inner = build_tree(), new_dir("inner")
    write_file(inner, "deep", data="inner\n")
    done = shell("cat /ws/dir/deep /ws/file; ls /ws/dir; echo made > /ws/dir/new", *grants(f"{outer}::/ws:ro", f"{inner}::/ws/dir"))
    check_equal(done.lines(), ["inner", "file of the host", "deep"], done.error or done.stderr)
    check_equal(sorted(os.listdir(inner)), ["deep", "new"])
    check_equal(os.listdir(os.path.join(outer, "dir")), ["inner"])


@test("a place inside a grant that is not there is refused, and none is made on the host")
def _():
    outer, inner = build_tree(), new_dir("inner")
    before = tree_of(outer)
    refused(shell("true", *grants(f"{outer}::/ws", f"{inner}::/ws/nothing")))
    check_equal(tree_of(outer), before)


@test("grants below the guest's own places work")
def _():
    top = build_tree()
    for place in ("/tmp/ws", "/home/wasp/ws", "/tmp/a/b/c"):
        done = shell(f"cat {place}/file && touch {place}/made /tmp/x ~/x", *grants(f"{top}::{place}"))
        check_equal((done.status, done.stdout), (0, "file of the host\n"), f"{place} {done.error} {done.stderr}")


@test("a grant in the place of HOME or /tmp is used as such")
def _():
    top = build_tree()
    done = shell("cat ~/file; touch ~/made", *grants(f"{top}::/home/wasp"))
    check_equal((done.status, done.stdout), (0, "file of the host\n"), f"{done.error} {done.stderr}")
    check(os.path.exists(os.path.join(top, "made")), "nothing was made on the host")


@test("the same guest path twice, the root, and the system's places are refused")
def _():
    a, b = new_dir("a"), new_dir("b")
    refused(shell("true", *grants(f"{a}::/ws", f"{b}::/ws")))
    refused(shell("true", *grants(a, f"{b}::{os.path.realpath(a)}")))
    for place in ("/", "/usr", "/etc", "/bin", "/lib", "/proc", "/proc/x", "/dev", "/dev/x", "/sys", "ws", "/ws/../usr"):
        refused(shell("true", *grants(f"{a}::{place}")))
    check_equal(shell("true", *grants(f"{a}::/ws", f"{b}::/ws2")).status, 0)


@test("a directory that is not there, or a file, is refused")
def _():
    top = build_tree()
    refused(shell("true", *grants(os.path.join(top, "nothing"))))
    refused(shell("true", *grants(os.path.join(top, "file"))))
    refused(shell("true", *grants("")))
    check_equal(shell("true", *grants(os.path.join(top, "dir"))).status, 0)


@test("the owner's own link at the root of a grant is followed once, and is found where it leads")
def _():
    top = build_tree()
    link = os.path.join(new_dir("links"), "link")
    os.symlink(top, link)
    done = shell("pwd; cat file", *grants(link))
    check_equal(done.stdout, f"{os.path.realpath(top)}\nfile of the host\n")
    check_equal(shell("cat /ws/file", *grants(f"{link}::/ws")).stdout, "file of the host\n")


@test("links inside a grant lead nowhere outside of the view")
def _():
    top, secret = build_tree(), new_dir("secret")
    write_file(secret, "s", data="SECRET")
    for name, target in {"a": f"{secret}/s", "r": f"../{os.path.basename(secret)}/s", "shadow": "/etc/shadow", "root": "/"}.items():
        os.symlink(target, os.path.join(top, name))
    done = shell("cat a r shadow root/etc/shadow root/root/x; ls root/", *grants(top))
    check("SECRET" not in done.stdout and "root:" not in done.stdout, done.stdout)
    check_in("usr", done.lines(), "the guest's own root")
    check_in("SECRET", shell("cat a", *grants(top, secret)).stdout, "with both granted")


@test("wasp's own folders are refused, and what contains them; a directory beside them is not")
def _():
    native("true")  # so that the folders are there
    home = wasp_env()["HOME"]
    for folder in (home, state_dir(), cache_dir(), os.path.dirname(wasp_path()), "/"):
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        refused(shell("true", *grants(f"{folder}::/ws:ro")), "denied")
    beside = os.path.join(home, "project")
    os.makedirs(beside, exist_ok=True)
    check_equal(shell("true", *grants(f"{beside}::/ws")).status, 0)


# ---- what may be done ----------------------------------------------------------------------------


@test("in a read-write grant every change works, and is the host's")
def _():
    top = build_tree()
    done = change(*grants(f"{top}::/ws"))
    check_equal(worked(done), CHANGES.splitlines())
    check_equal(sorted(os.listdir(top)), ["dir", "dir2", "hard", "link", "moved", "new", "other"])
    check_equal(read_file(top, "moved"), b"changed\n")


@test("in a read-only grant no change works, and the host's directory is as it was")
def _():
    top = build_tree()
    before = tree_of(top)
    check_equal(worked(change(*grants(f"{top}::/ws:ro"))), [])
    check_equal(tree_of(top), before)
    check_equal(shell("cat /ws/file", *grants(f"{top}::/ws:ro")).stdout, "file of the host\n")


@test("in an overlay every change works, and the host's directory is as it was")
def _():
    top = build_tree()
    before = tree_of(top)
    done = change(*grants(f"{top}::/ws:overlay"))
    check_equal(worked(done), CHANGES.splitlines())
    check_equal(tree_of(top), before)


@test("what was changed in an overlay is there for the rest of the run")
def _():
    top = build_tree()
    script = "cd /ws; echo more >> file; rm other; mv dir d; cat file d/inner; ls"
    done = shell(script, *grants(f"{top}::/ws:overlay"))
    check_equal(done.lines(), ["file of the host", "more", "dir/inner of the host", "d", "empty", "file"])


@test("programs can be run from every kind of grant")
def _():
    top = build_tree()
    shutil.copy("/bin/echo", os.path.join(top, "echo"))
    for access in ("ro", "rw", "overlay"):
        check_equal(native("/ws/echo", "ran", options=grants(f"{top}::/ws:{access}")).stdout, "ran\n", access)


@test("a read-only and a read-write grant of one directory keep to their own")
def _():
    top = build_tree()
    done = shell("touch /a/new 2>/dev/null || echo refused; touch /b/new && ls /a/new", *grants(f"{top}::/a:ro", f"{top}::/b"))
    check_equal(done.stdout, "refused\n/a/new\n")


@test("rename and link across two grants answer that they are two file systems")
def _():
    a, b = build_tree(), new_dir("b")
    script = (
        "import os, errno\n"
        "for act in (os.rename, os.link):\n"
        "    try: act('/a/file', '/b/file'); print('ok')\n"
        "    except OSError as e: print(errno.errorcode[e.errno])"
    )
    check_equal(python(script, *grants(f"{a}::/a", f"{b}::/b")).stdout, "EXDEV\nEXDEV\n")


@test("set-uid bits that a guest makes are refused or do not count inside")
def _():
    top = new_dir("ws")
    done = shell("cp /bin/id x; chmod 4755 x; ./x -u", *grants(top))
    check_equal(done.lines()[-1:], [str(os.getuid() or 1000)], done.stderr)


@test("a guest that failed with a file of the host among its arguments is told of the forgotten grant")
def _():
    top = new_dir("ws")
    path = write_file(top, "job", data="content")
    done = native("cat", path)
    check_equal(done.status, 1)
    check_in("--allow-dir", done.error, "error")
    check_equal(native("cat", path, options=grants(top)).stdout, "content", "the same, granted")
    missing = native("cat", os.path.join(top, "nothing"))
    check_equal(missing.error, "guest exited with code 1", "a file that nobody has")
    check_equal(native("cat", path, "nothing", options=grants(top)).error, "guest exited with code 1", "a granted one")


# ---- whose it is ---------------------------------------------------------------------------------


@test("what a guest makes belongs to the directory's owner", only="root")
def _():
    for uid in (0, 4321, ORDINARY_UID):
        top = new_dir("ws")
        os.chown(top, uid, uid)
        done = shell("touch f; mkdir d; ln -s f l; touch d/g; stat -c '%U %G' f d d/g .", *grants(top))
        check_equal(done.lines(), ["wasp wasp"] * 4, f"{uid} as seen from inside")
        for name in ("f", "d", "l", "d/g"):
            st = os.lstat(os.path.join(top, name))
            check_equal((st.st_uid, st.st_gid), (uid, uid), f"owner of {name}")


@test("what a guest makes belongs to its user", only="user")
def _():
    top = new_dir("ws")
    check_equal(shell("touch f; stat -c '%U %G' f", *grants(top)).stdout, "wasp wasp\n")
    st = os.lstat(os.path.join(top, "f"))
    check_equal((st.st_uid, st.st_gid), (os.getuid(), os.getgid()))


@test("a directory that is closed to all but its owner is open to the guest")
def _():
    top = build_tree()
    os.chmod(top, 0o700)
    os.chmod(os.path.join(top, "file"), 0o600)
    for access in ("rw", "ro", "overlay"):
        done = shell("cat /ws/file", *grants(f"{top}::/ws:{access}"))
        check_equal(done.stdout, "file of the host\n", f"{access}: {done.error} {done.stderr}")
    check_equal(shell("echo x > /ws/file", *grants(f"{top}::/ws")).status, 0)


@test("a directory below one that only root may enter is open to the guest", only="root")
def _():
    above = new_dir("above")
    os.chmod(above, 0o700)
    os.mkdir(os.path.join(above, "ws"))
    write_file(above, "ws", "file", data="deep\n")
    check_equal(shell("cat file", *grants(os.path.join(above, "ws"))).stdout, "deep\n")


@test("files of other owners can be read as far as others may, and not be changed", only="root")
def _():
    top = build_tree()
    for name, mode in (("readable", 0o604), ("closed", 0o660)):
        path = write_file(top, name, data=name)
        os.chown(path, 777, 777)
        os.chmod(path, mode)
    script = (
        "for n in readable closed; do\n"
        "  cat $n > /dev/null 2>&1 && echo read $n; echo x 2>/dev/null >> $n && echo wrote $n\n"
        "  chmod 777 $n 2>/dev/null && echo chmod $n; stat -c %U $n\n"
        "done 2>/dev/null"
    )
    expected = ["read readable", "nobody", "nobody"]
    check_equal(shell(script, *grants(top)).lines(), expected)


@test("a sub-mount of the granted directory comes along, and read-only means it too", only="root")
def _():
    top = build_tree()
    mounted = os.path.join(top, "dir")
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mounted], capture_output=True).returncode != 0:
        skip("nothing can be mounted here")
    try:
        write_file(mounted, "in", data="below a mount\n")
        done = shell("cat /ws/dir/in; touch /ws/dir/new 2>/dev/null || echo refused", *grants(f"{top}::/ws:ro"))
        check_equal(done.stdout, "below a mount\nrefused\n", done.error)
    finally:
        subprocess.run(["umount", mounted], check=True)


@test("runs leave no mount and no file behind in what was granted")
def _():
    top = build_tree()
    before = tree_of(top)
    for access in ("ro", "rw", "overlay"):
        native("true", options=grants(f"{top}::/ws:{access}"))
    check_equal(tree_of(top), before)
    check_nothing_left()


main(wasm=False)
