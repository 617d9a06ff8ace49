/*
 * broker_rig: a broker over a throwaway tree. rw/ is a writable scope, ro/ one for reading,
 * outside/ is none; rw/own is one of wasp's own folders. It remembers what it was asked to judge
 * and to run.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "broker/broker.h"
#include "tap.h"

struct rig {
    char root[PATH_MAX]; /* real */
    struct broker_scope scopes[3];
    struct file_id own[1];
    struct broker_quota quota;
    struct broker broker;
    struct buf answer;
    struct tell_denial denial;
    /* what check was asked, and whether it says no */
    int n_checks;
    bool refuses;
    char judged[PATH_MAX];
    const char *program; /* what it wants run */
    /* what run was asked */
    int n_runs;
    char ran[512];
};

__attribute__((unused, noreturn)) static void rig_die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

__attribute__((unused)) static const char *rig_path(const struct rig *rig, const char *path)
{
    static char texts[4][2 * PATH_MAX];
    static unsigned int next;
    char *text = texts[next++ % 4];

    (void) snprintf(text, sizeof(texts[0]), "%s/%s", rig->root, path); /* fits */
    return text;
}

__attribute__((unused)) static void rig_put(const struct rig *rig, const char *path,
                                            const char *bytes, size_t len)
{
    int fd = open(rig_path(rig, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, bytes, len) != (ssize_t) len || close(fd) < 0)
        rig_die(path);
}

__attribute__((unused)) static void rig_text(const struct rig *rig, const char *path,
                                             const char *text)
{
    rig_put(rig, path, text, strlen(text));
}

/* What is in a file, or "(none)". */
__attribute__((unused)) static const char *rig_read(const struct rig *rig, const char *path)
{
    static char text[4096];
    int fd = open(rig_path(rig, path), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    cleanup_fd(&fd);
    if (n < 0)
        return "(none)";
    text[n] = '\0';
    return text;
}

__attribute__((unused)) static struct stat rig_stat(const struct rig *rig, const char *path)
{
    struct stat st = {.st_ino = 0};

    (void) lstat(rig_path(rig, path), &st); /* all zero: it is not there */
    return st;
}

static int rig_check(void *data, const struct broker_use *use, const char **ret_program,
                     struct err *err)
{
    struct rig *rig = data;

    rig->n_checks++;
    (void) snprintf(rig->judged, sizeof(rig->judged), "%s",
                    use->path ? use->path : use->argv[0]); /* fits */
    if (rig->refuses) {
        (void) err_set(err, ERR_DENIED, "the policy says no"); /* -1, as below */
        return err_hint(err, "ask for a grant");
    }
    if (rig->program != NULL)
        *ret_program = rig->program;
    return 0;
}

static int rig_run(void *data, const struct broker_exec *exec, struct buf *answer, struct err *err)
{
    struct rig *rig = data;
    int len = snprintf(rig->ran, sizeof(rig->ran), "%s", exec->program);

    rig->n_runs++;
    for (size_t i = 0; i < exec->n_args; i++)
        len += snprintf(rig->ran + len, sizeof(rig->ran) - (size_t) len, "|%s", exec->args[i]);
    (void) snprintf(rig->ran + len, sizeof(rig->ran) - (size_t) len, " <%s %s %llu",
                    exec->stdin_text ? exec->stdin_text : "-", exec->cwd ? exec->cwd : "-",
                    (unsigned long long) exec->timeout_ms); /* fits, and a test would see it */
    return buf_add_string(answer, "{\"exit_code\":0}") < 0 ? err_no_memory(err) : 0;
}

static int rig_open_dir(const struct rig *rig, const char *path)
{
    int fd = open(rig_path(rig, path), O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        rig_die(path);
    return fd;
}

static void rig_plant(const struct rig *rig)
{
    static const char *const folders[] = {
        "rw", "ro", "outside", "rw/sub", "rw/.git", "rw/.git/hooks", "rw/own"};
    static const struct {
        const char *text, *path;
    } links[] = {
        {"sub/inner", "rw/in"},
        {"../outside/secret", "rw/out"},
        {"../outside", "rw/outdir"},
        {"/etc/passwd", "rw/abs"},
        {".git/hooks", "rw/hooks"},
        {"own", "rw/state"},
        {"loop", "rw/loop"},
        {"sub", "rw/subdir"},
        {"/proc/self/root", "rw/root"},
        {"../rw/sub/inner", "rw/around"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (mkdir(rig_path(rig, folders[i]), 0755) < 0)
            rig_die(folders[i]);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (symlink(links[i].text, rig_path(rig, links[i].path)) < 0)
            rig_die(links[i].path);
    if (mkfifo(rig_path(rig, "rw/fifo"), 0644) < 0)
        rig_die("mkfifo");
    rig_text(rig, "outside/secret", "secret");
    rig_text(rig, "rw/file", "0123456789");
    rig_text(rig, "rw/sub/inner", "inner");
    rig_text(rig, "ro/file", "read me");
    rig_text(rig, "rw/own/key", "key");
    rig_text(rig, "rw/.git/hooks/post-checkout", "hook");
}

__attribute__((unused)) static void rig_init(struct rig *rig)
{
    char made[] = "/tmp/wasp-broker.XXXXXX";
    struct stat st;

    *rig = (struct rig){.answer = BUF_INIT(DOOR_MAX_ANSWER)};
    if (mkdtemp(made) == NULL || realpath(made, rig->root) == NULL || chmod(made, 0755) < 0)
        rig_die("mkdtemp");
    rig_plant(rig);
    const struct {
        const char *name;
        bool writable;
    } scopes[] = {{"rw", true}, {"ro", false}};
    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
        rig->scopes[i] = (struct broker_scope){.path = strdup(rig_path(rig, scopes[i].name)),
                                               .fd = rig_open_dir(rig, scopes[i].name),
                                               .writable = scopes[i].writable};
    st = rig_stat(rig, "rw/own");
    rig->own[0] = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    rig->quota = (struct broker_quota){.disk_bytes = 1 << 20, .file_bytes = 1 << 16};
    rig->broker = (struct broker){
        .has = {[CAPABILITY_FS_READ] = true,
                [CAPABILITY_FS_WRITE] = true,
                [CAPABILITY_EXEC_RUN] = true},
        .scopes = rig->scopes,
        .n_scopes = ARRAY_SIZE(scopes),
        .own = rig->own,
        .n_own = 1,
        .quota = &rig->quota,
        .data = rig,
        .check = rig_check,
        .run = rig_run,
    };
}

static int rig_remove(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void) st;
    (void) kind;
    (void) where;
    return remove(path);
}

__attribute__((unused)) static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < 2; i++) {
        cleanup_fd(&rig->scopes[i].fd);
        free((void *) (uintptr_t) rig->scopes[i].path);
    }
    buf_release(&rig->answer);
    (void) nftw(rig->root, rig_remove, 16, FTW_DEPTH | FTW_PHYS); /* what stays lies in /tmp */
}

/* One call; the code of its error, or "" if it went well. */
__attribute__((unused)) static const char *rig_call(struct rig *rig, enum door_call call,
                                                    const char *json)
{
    static char code[32];
    struct json_value *document;
    struct err err;

    buf_release(&rig->answer);
    rig->n_checks = rig->n_runs = 0;
    rig->judged[0] = '\0';
    if (broker_call(&rig->broker, call, json, strlen(json), &rig->answer, &rig->denial) < 0)
        return "(no answer)";
    if (json_parse(rig->answer.data, rig->answer.len, "answer", &document, &err) < 0)
        return "(no JSON)";
    const struct json_value *error = json_value_get(document, "error");
    (void) snprintf(code, sizeof(code), "%s",
                    error ? json_value_string(json_value_get(error, "code")) : ""); /* fits */
    json_free(document);
    return code;
}

/* The same for a path beneath the tree; `more` are further members, each with a comma before it. */
__attribute__((unused)) static const char *rig_file(struct rig *rig, enum door_call call,
                                                    const char *path, const char *more)
{
    static char json[4 * PATH_MAX];

    (void) snprintf(json, sizeof(json), "{\"path\":\"%s\"%s}",
                    path[0] == '/' ? path : rig_path(rig, path), more); /* fits */
    return rig_call(rig, call, json);
}

/* True if the answer holds this text. */
__attribute__((unused)) static bool rig_says(const struct rig *rig, const char *text)
{
    return rig->answer.data != NULL && strstr(rig->answer.data, text) != NULL;
}

#define IS(call, code) (strcmp(call, code) == 0)
