/* A native request as it is shown (report/explain.h); check_schemas.py holds it to its schema. */
#include "report/explain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/redact.h"
#include "front/run_options.h"
#include "plan/language.h"
#include "tap.h"

/* As the words of a verb ask for it. */
static void show(const struct syntax *syntax, const char *const *words, struct buf *into)
{
    _cleanup_fd_ int fd = memfd_create("plan", MFD_CLOEXEC);
    struct arena *arena = arena_new();
    struct run_options options;
    struct request *request = &options.request;
    struct err err;
    char *room;

    run_options_init(&options, BACKEND_NATIVE);
    if (options_parse(syntax, words, &options, arena, &err) < 0)
        abort();
    if (options.source &&
        (request_set_source(request, arena, options.source, strlen(options.source), &err) < 0 ||
         language_put(request, arena, &err) < 0))
        abort();
    if (explain_write(fd, request) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
        buf_reserve(into, 65536, &room) < 0)
        abort();
    ssize_t n = fd_read_full(fd, room, 65536);
    buf_commit(into, n > 0 ? (size_t) n : 0);
    arena_free(arena);
}

static void test_exec(void)
{
    static const char *const words[] = {"--allow-dir", ".::/ws:overlay",
                                        "--env",       "API_KEY=hunter2",
                                        "--env",       "URL=x://u:hunter2@h",
                                        "--env",       "A=b",
                                        "--unprotect", ".envrc",
                                        "--apply",     "ask",
                                        "--diff",      "--loopback",
                                        "--proc",      "none",
                                        "--tty",       "--rootfs",
                                        "tree",        "--cwd",
                                        "/ws",         "--memory",
                                        "unlimited",   "--",
                                        "make",        "all",
                                        NULL};
    static const char *const plain[] = {"--allow-dir", "x::/x", "--allow-dir", "ws",
                                        "--",          "ls",    NULL};
    static const char *const shown[] = {
        "\"schema\":\"wasp.plan/1\",\"backend\":\"native\",\"program\":\"make\"",
        "\"args\":[\"all\"],\"language\":null,\"source\":null",
        "\"HOME=/home/wasp\"",
        "\"A=b\"",
        "\"API_KEY=***\",\"URL=***\"",
        "\"credentials\":[\"API_KEY\",\"URL\"]",
        "{\"path\":\".\",\"access\":\"overlay\",\"guest\":[\"/ws\"]}",
        "\"cwd\":\"/ws\",\"rootfs\":\"tree\",\"network\":\"loopback\"",
        "\"proc\":\"none\",\"tty\":true,\"apply\":\"ask\",\"diff\":true",
        "\"unprotected\":[\".envrc\"]",
        "\"memory_bytes\":\"unlimited\"",
        "\"processes\":128",
        "\"isolation\":\"full\",\"output_kill\":false}",
    };
    _cleanup_(buf_release) struct buf text = BUF_INIT(1 << 20), other = BUF_INIT(1 << 20);

    show(&exec_syntax, words, &text);
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        ok(strstr(text.data, shown[i]), "the plan shows %s", shown[i]);
    ok(!strstr(text.data, "hunter2"), "no credential is in it");
    ok(!strstr(text.data, "\"module\"") && !strstr(text.data, "fuel"),
       "nothing in it is about modules");
    show(&exec_syntax, plain, &other);
    ok(strstr(other.data, "\"cwd\":\"ws\""), "the first plain directory is where it works");
}

/* What is registered is hidden wherever it stands; so is what has the shape of a key. */
static void test_secret(void)
{
    static const char key[] = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    _cleanup_(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct arena *arena = arena_new();
    struct secrets secrets = {0};
    struct request request;
    struct err err;

    for (int backend = 0; backend < BACKENDS; backend++) {
        _cleanup_fd_ int fd = memfd_create("plan", MFD_CLOEXEC);
        char *room;
        request_init(&request, (enum backend) backend);
        request.module = "m.wasm";
        request.program = "p";
        if (request_add_secret_env(&request, arena, "PLAIN", &err) < 0 ||
            request_put_secret(&request, arena, "PLAIN", "hunter2hunter2", &secrets, &err) < 0 ||
            request_add_arg(&request, arena, "--x=hunter2hunter2", &err) < 0 ||
            request_add_arg(&request, arena, key, &err) < 0 ||
            request_add_dir_text(&request, arena, "/a/hunter2hunter2", &err) < 0 ||
            explain_write(fd, &request) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
            buf_reserve(&text, 65536, &room) < 0)
            abort();
        ssize_t n = fd_read_full(fd, room, 65536);
        buf_commit(&text, n > 0 ? (size_t) n : 0);
        ok(strstr(text.data, "\"PLAIN=***\"]") && strstr(text.data, "\"secret_env\":[\"PLAIN\"]"),
           "a %s plan has a secret variable's name", request_backend_names[backend]);
        ok(strstr(text.data, "\"args\":[\"--x=[redacted]\",\"[redacted:github]\"]") &&
               strstr(text.data, "\"path\":\"/a/[redacted]\"") && !strstr(text.data, "hunter2") &&
               !strstr(text.data, key),
           "and its value is nowhere in it, nor is a key");
        buf_release(&text);
        secrets_release(&secrets);
    }
    arena_free(arena);
}

static void test_code(void)
{
    static const char *const words[] = {"--lang", "python", "-c", "print(1)", "--", "a", NULL};
    _cleanup_(buf_release) struct buf text = BUF_INIT(1 << 20);

    show(&code_syntax, words, &text);
    ok(strstr(text.data, "\"program\":\"python3\",\"args\":[\"-I\",\"/code/main.py\",\"a\"]"),
       "the interpreter is shown with its flags");
    ok(strstr(text.data,
              "\"language\":\"python\",\"source\":{\"file\":\"/code/main.py\",\"bytes\":8,"
              "\"sha256\":\"d287bb7f9d15abdc5b6e98536263815744b6ef21c8f3c839fc434ca70d8e"
              "fe99\"}"),
       "source is shown by its length and digest");
    ok(strstr(text.data, "\"cwd\":\"/home/wasp\""), "without a directory it works in its HOME");
}

int main(void)
{
    test_exec();
    test_code();
    test_secret();
    return done();
}
