/*
 * Real programs behind the filters: they say what they say without one. Where a filter takes
 * something away, the script expects it to be gone, and to be there without the filter.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "filters_rig.h"

#define MAX_OUTPUT (64 * 1024)
#define ALL_FILTERS (1U << NATIVE | 1U << QUIET | 1U << RUNG)
#define NAMESPACED (1U << NATIVE | 1U << QUIET)

static const struct {
    const char *name;
    const char *needs; /* the programs without which it makes no sense */
    unsigned int filters;
    const char *script;
} jobs[] = {
    {"a pipeline of bash", "bash", ALL_FILTERS,
     "bash -c 'set -euo pipefail; seq 1000 | sort -rn | head -n 400 | tail -n 1; "
     "x=$(cat <(echo a) <(echo b)); echo \"$x\"; mkfifo f; echo through >f & cat f; wait; "
     "for i in 1 2 3; do (exit $i) & wait $! || echo $?; done; coproc cat; "
     "echo co >&\"${COPROC[1]}\"; read -ru \"${COPROC[0]}\" line; echo $line; ulimit -n 64; "
     "ulimit -n'"},
    {"signals of bash", "bash timeout", NAMESPACED | 1U << RUNG,
     "bash -c 'trap \"echo caught\" TERM; kill -TERM $$; sleep 60 & kill $!; wait $!; echo $?; "
     "timeout -k 1 0.1 sleep 60; echo $?; set -m; sleep 60 & kill -STOP %1; kill -CONT %1; "
     "kill %1; wait %1; echo $?' 2>/dev/null"},
    {"python: processes and threads", "/usr/bin/python3", ALL_FILTERS,
     "/usr/bin/python3 -I -c '\n"
     "import subprocess, threading, concurrent.futures as f, tempfile, os, mmap, selectors\n"
     "print(subprocess.run([\"cat\"], input=b\"in\", capture_output=True).stdout)\n"
     "with f.ThreadPoolExecutor(8) as pool: print(sum(pool.map(lambda n: n * n, range(100))))\n"
     "with tempfile.TemporaryFile(dir=\".\") as t: t.write(b\"x\"); t.flush(); "
     "os.fsync(t.fileno())\n"
     "m = mmap.mmap(-1, 8192); m[0:3] = b\"abc\"; print(m[0:3], os.getpid() == os.getpgid(0))\n"
     "a, b = os.pipe(); s = selectors.EpollSelector(); s.register(a, 1); os.write(b, b\"!\")\n"
     "print(len(s.select(1)), os.read(a, 1), os.memfd_create(\"x\") > 0, os.sched_getaffinity(0) "
     "!= 0)\n"
     "e = threading.Event(); t = threading.Timer(0.01, e.set); t.start(); print(e.wait(9))\n'"},
    {"python: multiprocessing", "/usr/bin/python3", ALL_FILTERS,
     "/usr/bin/python3 -I -c '\n"
     "import multiprocessing as m\n"
     "c = m.get_context(\"fork\")\n"
     "with c.Pool(3) as pool: print(pool.map(abs, range(-5, 5))); pool.close(); pool.join()\n"
     "a, b = c.Pipe(); p = c.Process(target=b.send, args=([1, 2],)); p.start(); print(a.recv())\n"
     "p.join(); v = c.Value(\"i\", 0); l = c.Lock()\n"
     "print(p.exitcode, v.value, l.acquire())\n'"},
    {"python: sqlite, ssl, asyncio", "/usr/bin/python3", ALL_FILTERS,
     "/usr/bin/python3 -I -c '\n"
     "import asyncio, hashlib, sqlite3, ssl\n"
     "d = sqlite3.connect(\"x.db\"); d.execute(\"pragma journal_mode=wal\")\n"
     "d.execute(\"create table t(a)\"); d.executemany(\"insert into t values(?)\", [(n,) for n in "
     "range(99)])\n"
     "d.commit(); print(d.execute(\"select sum(a) from t\").fetchone())\n"
     "ssl.create_default_context(); print(len(ssl.RAND_bytes(8)), "
     "hashlib.sha256(b\"\").hexdigest())\n"
     "async def job():\n"
     "    p = await asyncio.create_subprocess_exec(\"echo\", \"hi\", stdout=-1)\n"
     "    print(await p.communicate(), await asyncio.to_thread(len, \"abc\"))\n"
     "asyncio.run(job())\n'"},
    {"python: servers on a loopback", "/usr/bin/python3", 1U << NATIVE,
     "/usr/bin/python3 -I -c '\n"
     "import asyncio, socket\n"
     "async def serve(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()\n"
     "async def job():\n"
     "    s = await asyncio.start_server(serve, \"127.0.0.1\", 0)\n"
     "    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
     "    w.write(b\"tcp\\n\"); print(await r.read())\n"
     "    s = await asyncio.start_unix_server(serve, \"s\")\n"
     "    r, w = await asyncio.open_unix_connection(\"s\"); w.write(b\"unix\\n\"); print(await "
     "r.read())\n"
     "asyncio.run(job())\n"
     "a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind((\"127.0.0.1\", 0))\n"
     "a.sendto(b\"udp\", a.getsockname()); print(a.recv(9), socket.if_nameindex()[0])\n'"},
    {"node", "node", ALL_FILTERS,
     "node -e '\n"
     "const {execFileSync, fork} = require(\"child_process\"), fs = require(\"fs\");\n"
     "const {Worker} = require(\"worker_threads\"), crypto = require(\"crypto\");\n"
     "console.log(execFileSync(\"echo\", [\"hi\"]).toString());\n"
     "fs.promises.writeFile(\"a\", \"text\").then(() => console.log(fs.readFileSync(\"a\", "
     "\"utf8\")))\n"
     ".then(() => new Promise(end => new Worker(\"require(\\\"worker_threads\\\").parentPort\" +\n"
     "  \".postMessage(6 * 7)\", {eval: true}).on(\"message\", n => console.log(n)).on(\"exit\", "
     "end)))\n"
     ".then(() => { fs.writeFileSync(\"child.js\", \"process.on(\\\"message\\\", m => {\" +\n"
     "  \"process.send(m + 1); process.disconnect(); })\"); return new Promise(end => {\n"
     "  const c = fork(\"./child.js\"); c.on(\"message\", m => console.log(m)).on(\"exit\", end);\n"
     "  c.send(1); }); })\n"
     ".then(() => console.log(crypto.pbkdf2Sync(\"a\", \"b\", 1000, 8, "
     "\"sha256\").toString(\"hex\"),\n"
     "  WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))));'"},
    {"git", "git", NAMESPACED,
     "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_DATE=@1000000000 "
     "GIT_COMMITTER_DATE=@1000000000; exec 2>&1; g='git -c user.name=a -c user.email=a -c "
     "gc.auto=0'; "
     "git init -q -b main r && cd r && echo 1 >a && git add a && $g commit -qm one && echo 2 >a && "
     "git status --short && git diff --stat && $g stash -q && git log --format=%H && "
     "cd .. && git clone -q r s && git -C s gc -q && git -C s fsck && git -C s rev-parse HEAD"},
    {"gcc and make", "gcc make", NAMESPACED,
     "printf 'int puts(const char *);\\nint NAME(void) { return puts(\"built\") < 0; }\\n' >x.c; "
     "printf 'all: a b c\\n%%: x.c\\n\\tgcc -O2 -pipe -DNAME=main -o $@ x.c\\n' >Makefile; "
     "make -s -j4 all && ./a && ./b && ./c"},
    {"tar", "tar gzip", NAMESPACED,
     "mkdir -p d/e && echo text >d/e/f && ln -s e d/l && mkfifo d/p && chmod 750 d && "
     "touch -d @1000 d/e/f && tar czpf a.tgz --numeric-owner d && mkdir out && "
     "tar xzpf a.tgz -C out && cd out && find . -printf '%p %y %m %l\\n' | sort && "
     "stat -c %Y d/e/f"},
    {"perl", "perl", ALL_FILTERS,
     "perl -e 'use IPC::Open3; use POSIX; my $p = open3(my $in, my $out, undef, \"cat\"); "
     "print $in \"x\\n\"; close $in; print <$out>; waitpid $p, 0; print $? >> 8, \"\\n\"; "
     "print join(\",\", map { $_ * 2 } sort { $b <=> $a } 1..5), \"\\n\"; "
     "opendir D, \".\"; print scalar(readdir D) ne \"\", \"\\n\"; print POSIX::floor(1.5), "
     "\"\\n\"'"},
    {"coreutils and findutils", "find xargs", ALL_FILTERS,
     "mkdir -p a/b; for i in 1 2 3; do echo $i >a/b/$i; done; cp -r a c; mv c/b/1 c/b/one; "
     "ln a/b/2 a/hard; find . -type f | sort | xargs -P4 -n1 cat | sort; touch new; du -a "
     "--apparent-size "
     "| wc -l; df . >/dev/null && nice -n 5 true && nproc >/dev/null && id -u && mktemp -u XX | wc "
     "-c; "
     "dd if=/dev/zero bs=1k count=4 2>/dev/null | sha256sum"},
    {"file, with a filter of its own", "file", ALL_FILTERS,
     "echo text >t; file t; file /bin/ls | cut -c-16"},
    {"sqlite3", "sqlite3", ALL_FILTERS,
     "echo 'create table t(a); insert into t values(1),(2); select sum(a) from t;' | sqlite3 x.db"},
    {"java", "java javac", NAMESPACED,
     "printf 'public class A { public static void main(String[] a) throws Exception { "
     "var t = new Thread[4]; for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> System.gc()); "
     "t[i].start(); } for (var x : t) x.join(); System.out.println(new String(new ProcessBuilder("
     "\"echo\", \"hi\").start().getInputStream().readAllBytes())); } }' >A.java; "
     "java -Xshare:auto A.java"},
};

/* What is taken away: the script fails with these words behind the filter, and not without. */
static const struct {
    const char *name;
    int filter;
    const char *script;
    const char *words;
} lacks[] = {
    {"a stream of the host's in a directory", QUIET,
     "/usr/bin/python3 -I -c 'import socket as s\n"
     "a = s.socket(s.AF_UNIX); a.bind(\"s\"); a.listen(); b = s.socket(s.AF_UNIX); "
     "b.connect(\"s\")'",
     "PermissionError"},
    {"a datagram to an address, by a pair", QUIET,
     "/usr/bin/python3 -I -c 'import socket as s\n"
     "a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); a.sendmsg([b\"x\"], [], 0, b\"/dev/null\")'",
     "PermissionError"},
    {"a mode by path", RUNG, "touch x; chmod 644 x", "Operation not permitted"},
};

static bool is_there(const char *program)
{
    char command[256];
    (void) snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program); /* fits */
    return system(command) == 0; /* NOLINT(cert-env33-c): our own words */
}

static bool has_all(const char *programs)
{
    char words[128], *rest = NULL;
    (void) snprintf(words, sizeof(words), "%s", programs); /* our own, and short */
    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        if (!is_there(word))
            return false;
    return true;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void) status;
    (void) kind;
    (void) walk;
    return remove(path);
}

static void start_script(int filter, const char *script, const char *folder, int out)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (chdir(folder) < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(125);
    (void) setenv("HOME", folder, 1); /* no memory: the script will tell */
    (void) setenv("LC_ALL", "C", 1);  /* likewise */
    (void) unsetenv("ASAN_OPTIONS");  /* of the test, not of the programs; a valid name */
    rig_load(filter);
    (void) execl("/bin/sh", "sh", "-c", script, (char *) NULL); /* it says so below if it fails */
    _exit(126);
}

/* Runs it in a folder of its own. Returns its wait status, and all it said, to be freed. */
static int run_script(int filter, const char *script, char **ret_said)
{
    char folder[] = "/tmp/wasp-filters-XXXXXX";
    int ends[2], status = 0;
    struct buf said = BUF_INIT(MAX_OUTPUT);
    char chunk[4096];
    ssize_t n;
    if (mkdtemp(folder) == NULL || pipe2(ends, O_CLOEXEC) < 0)
        rig_die("no folder to work in");
    pid_t pid = fork();
    if (pid < 0)
        rig_die("cannot fork");
    if (pid == 0)
        start_script(filter, script, folder, ends[1]);
    (void) close(ends[1]); /* the child's */
    while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
        (void) buf_add(&said, chunk, (size_t) n); /* past the maximum is past comparing */
    (void) close(ends[0]);                        /* read to its end */
    if (waitpid(pid, &status, 0) != pid || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        rig_die("cannot clean up");
    (void) buf_add_char(&said, '\0'); /* as above */
    *ret_said = said.data;
    return status;
}

static void show(const char *said)
{
    char line[160];
    while (*said != '\0') {
        size_t len = strcspn(said, "\n");
        (void) snprintf(line, sizeof(line), "%.*s", (int) len, said); /* a longer one is cut */
        printf("#   %s\n", line);
        said += len + (said[len] == '\n');
    }
}

static void try_job(size_t i)
{
    _cleanup_free_ char *unwalled = NULL;
    if (!has_all(jobs[i].needs)) {
        skip("no %s here", jobs[i].needs);
        return;
    }
    int status = run_script(FREE, jobs[i].script, &unwalled);
    if (!ok(status == 0, "%s works without a filter", jobs[i].name)) {
        show(unwalled);
        return;
    }
    for (int filter = NATIVE; filter < N_FILTERS; filter++) {
        _cleanup_free_ char *said = NULL;
        if ((jobs[i].filters & 1U << filter) == 0)
            continue;
        int walled = run_script(filter, jobs[i].script, &said);
        if (!ok(walled == 0 && strcmp(said, unwalled) == 0, "%s works behind %s", jobs[i].name,
                filters[filter].name))
            show(said);
    }
}

static void try_lack(size_t i)
{
    _cleanup_free_ char *free_said = NULL, *said = NULL;
    int narrower = run_script(lacks[i].filter, lacks[i].script, &said);
    (void) run_script(lacks[i].filter - 1, lacks[i].script,
                      &free_said); /* a datagram to nobody fails in its own way */
    if (!ok(narrower != 0 && strstr(said, lacks[i].words) != NULL, "%s: %s refuses it",
            lacks[i].name, filters[lacks[i].filter].name))
        show(said);
    if (!ok(strstr(free_said, lacks[i].words) == NULL, "%s: %s does not", lacks[i].name,
            filters[lacks[i].filter - 1].name))
        show(free_said);
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        try_job(i);
    for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
        try_lack(i);
    return done();
}
