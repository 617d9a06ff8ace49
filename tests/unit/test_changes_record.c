/* Changes as text: what is written is what is read, and nothing else is. */
#include "store/changes_record.h"

#include <string.h>

#include "base/cleanup.h"
#include "store/changes_rules.h"
#include "tap.h"

#define ID "01890a5d-ac96-774b-bcce-b302099a8057"
#define HOST                                                                   \
    "\"host\":{\"type\":\"file\",\"mode\":\"0644\",\"dev\":\"64768\",\"ino\":" \
    "\"18446744073709551615\",\"size\":\"3\",\"mtime_ns\":\"-1\",\"ctime_ns\":\"1\"}"
#define BEFORE_TYPE "{\"dir\":0,\"path\":\"a/b\",\"change\":\"changed\",\"type\":"
#define AFTER_TYPE ",\"size\":4,\"mode\":\"0755\",\"mtime_ns\":\"1700000000000000001\",\"content\":"
#define ENTRY BEFORE_TYPE "\"file\"" AFTER_TYPE "true," HOST ",\"protected\":\".envrc\"}"
#define RECORD_TAIL \
    ",\"added\":1,\"changed\":2,\"deleted\":3,\"protected\":4,\"refused\":5,\"bytes\":6}"
#define RECORD                                                                                     \
    "{\"schema\":\"wasp.changes/1\",\"run_id\":\"" ID "\",\"started_ns\":\"1700000000000000000\"," \
    "\"kept_at\":\"2026-01-31T12:00:00.000Z\",\"dirs\":[{\"host\":\"/h\",\"guest\":\"/g\","        \
    "\"dev\":\"1\",\"ino\":\"2\"},{\"host_b64\":\"L/8=\",\"guest_b64\":\"/w==\",\"dev\":\"1\","    \
    "\"ino\":\"2\"}]" RECORD_TAIL

static void test_entry(void)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    struct change_line line;
    struct json_writer json;
    struct err err = {0};

    if (!ok(change_parse(ENTRY, strlen(ENTRY), &line, &err) == 0, "an entry is read%s",
            err.message))
        return;
    const struct change *change = &line.change;
    ok(strcmp(change->path, "a/b") == 0 && change->kind == CHANGE_CHANGED &&
           change->type == CHANGE_FILE && change->mode == 0755 && change->content &&
           change->mtime_ns == 1700000000000000001 && change->host.ino == UINT64_MAX &&
           change->host.mtime_ns == -1 && strcmp(change->protected_by, ".envrc") == 0,
       "with all that is in it");
    json_writer_init_buf(&json, &text);
    change_write(&json, change);
    ok(json_finish(&json) == 0 && strcmp(text.data, ENTRY "\n") == 0,
       "what is written is what was read");
}

static void test_bad_entries(void)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"dir\":0}",
        ENTRY "x",
        BEFORE_TYPE "\"files\"" AFTER_TYPE "true," HOST "}",
        BEFORE_TYPE "\"file\"" AFTER_TYPE "true}",               /* changed, and not there */
        BEFORE_TYPE "\"symlink\"" AFTER_TYPE "false," HOST "}",  /* without a target */
        BEFORE_TYPE "\"directory\"" AFTER_TYPE "true," HOST "}", /* with content */
        BEFORE_TYPE "\"file\"" AFTER_TYPE "true," HOST ",\"target\":\"x\"}",
        BEFORE_TYPE "\"file\"" AFTER_TYPE "true," HOST ",\"unknown\":1}",
        BEFORE_TYPE "\"file\"" AFTER_TYPE "true," HOST ",\"refused\":\"why\"}",
        BEFORE_TYPE "\"file\",\"mode\":\"644\",\"content\":true," HOST "}",
        BEFORE_TYPE "\"file\",\"mode\":\"0888\",\"content\":true," HOST "}",
        BEFORE_TYPE "\"file\",\"mtime_ns\":\"1e9\",\"content\":true," HOST "}",
        BEFORE_TYPE "\"file\",\"mtime_ns\":\" 1\",\"content\":true," HOST "}",
        BEFORE_TYPE "\"file\",\"mtime_ns\":\"9223372036854775808\",\"content\":true," HOST "}",
        BEFORE_TYPE "\"file\",\"size\":-1,\"content\":true," HOST "}",
        "{\"dir\":0,\"path\":\"a\",\"change\":\"added\",\"type\":\"file\",\"content\":false}",
        "{\"dir\":0,\"path\":\"a\",\"change\":\"added\",\"type\":\"directory\"," HOST "}",
        "{\"dir\":0,\"path\":\"a\",\"change\":\"deleted\",\"type\":\"directory\"," HOST "}",
        "{\"dir\":0,\"path_b64\":\"YQ==\",\"change\":\"added\",\"type\":\"directory\"}", /* text */
        "{\"dir\":0,\"path_b64\":\"/wA=\",\"change\":\"added\",\"type\":\"directory\"}", /* NUL */
        "{\"dir\":0,\"path_b64\":\"/\",\"change\":\"added\",\"type\":\"directory\"}",
    };
    struct change_line line;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};
        ok(change_parse(bad[i], strlen(bad[i]), &line, &err) < 0 && err.code == ERR_REQUEST,
           "it is none: %s", err.message);
    }
}

static void test_paths(void)
{
    static const char *const good[] = {"a", "a/b", "...", ".a", "a..", "a b", "-"};
    static const char *const bad[] = {"",   "/",   "/a",   "a/",   "a//b", ".",
                                      "..", "./a", "a/..", "../a", "a/./b"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        ok(change_path_is_plain(good[i]), "'%s' is a path", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(!change_path_is_plain(bad[i]), "'%s' is none", bad[i]);
}

static void test_record(struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(4096);
    struct json_writer json;
    struct changes changes = {0};
    struct err err = {0};

    if (!ok(changes_parse(RECORD, strlen(RECORD), ID, arena, &changes, &err) == 0,
            "a record is read%s", err.message))
        return;
    ok(changes.n_dirs == 2 && strcmp(changes.dirs[1].host, "/\xff") == 0 &&
           changes_total(&changes) == 6 && changes.bytes == 6 && changes.kept,
       "with all that is in it");
    json_writer_init_buf(&json, &text);
    json_open_object(&json);
    changes_write(&json, &changes);
    json_close_object(&json);
    ok(json_finish(&json) == 0 && strcmp(text.data, RECORD "\n") == 0,
       "what is written is what was read");
    ok(changes_parse(RECORD, strlen(RECORD), "01890a5d-ac96-774b-bcce-000000000000", arena,
                     &changes, &err) < 0,
       "that of another run is not: %s", err.message);
}

static void test_links(void)
{
    static const struct {
        const char *path, *target;
        bool leads_out;
    } rows[] = {
        {"a", "b", false},        {"a", "b/c", false},        {"a", "/b", true},
        {"a", "..", true},        {"a", "../b", true},        {"a/b", "..", false},
        {"a/b", "../c", false},   {"a/b", "../..", true},     {"a/b/c", "../../d", false},
        {"a/b", "./../c", false}, {"a/b", "c/..", true},      {"a/b", "../c/../d", true},
        {"a", ".", false},        {"a", "...", false},        {"a", "b//c", false},
        {"a", "..b/..c", false},  {"a/b", "..//..//x", true}, {"a/b", ".././c", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ok(change_link_leads_out(rows[i].path, rows[i].target) == rows[i].leads_out,
           "a symlink '%s' to '%s' %s", rows[i].path, rows[i].target,
           rows[i].leads_out ? "may lead out" : "stays inside");
}

static void test_ids(void)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "01890a5d-ac96-774b-bcce-b302099a80570",
                                      "01890a5d-ac96-774b-bcce-b302099a805",
                                      "01890A5D-ac96-774b-bcce-b302099a8057",
                                      "01890a5d/ac96-774b-bcce-b302099a8057",
                                      "../../../../../../../../../../../etc"};
    struct err err;

    ok(changes_check_run_id(ID, &err) == 0, "a run id is one");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ok(changes_check_run_id(bad[i], &err) < 0, "'%s' is none", bad[i]);
}

int main(void)
{
    struct arena *arena = arena_new();

    test_entry();
    test_bad_entries();
    test_paths();
    test_record(arena);
    test_links();
    test_ids();
    arena_free(arena);
    return done();
}
