#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void test_structure(void)
{
    _cleanup_(buf_release) struct buf buf = BUF_INIT(4096);
    struct json_writer json;

    json_writer_init_buf(&json, &buf);
    json_open_object(&json);
    json_key(&json, "a");
    json_put_uint(&json, UINT64_MAX);
    json_key(&json, "b");
    json_open_array(&json);
    json_put_int(&json, INT64_MIN);
    json_put_bool(&json, true);
    json_put_bool(&json, false);
    json_put_null(&json);
    json_open_object(&json);
    json_close_object(&json);
    json_open_array(&json);
    json_close_array(&json);
    json_close_array(&json);
    json_key(&json, "c\"");
    json_put_string(&json, NULL);
    json_key(&json, "");
    json_put_string(&json, "");
    json_close_object(&json);
    ok(json_finish(&json) == 0 &&
           strcmp(buf.data,
                  "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,true,false,null,"
                  "{},[]],\"c\\\"\":null,\"\":\"\"}\n") == 0,
       "objects, arrays and values come with their commas and a newline at the end");
}

static void test_depth(void)
{
    _cleanup_(buf_release) struct buf buf = BUF_INIT(4096);
    struct json_writer json;

    json_writer_init_buf(&json, &buf);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_open_array(&json);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_close_array(&json);
    ok(json_finish(&json) == 0 && buf.len == 2 * JSON_MAX_DEPTH + 1, "32 levels can be written");
}

static void test_texts(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *json, *sentence;
    } rows[] = {
        {"plain / text", 12, "\"plain / text\"", "plain text stays as it is"},
        {"\"\\\n\r\t\b\f", 7, "\"\\\"\\\\\\n\\r\\t\\b\\f\"", "what has a short escape gets it"},
        {"\0\x01\x1b\x7f", 4, "\"\\u0000\\u0001\\u001b\\u007f\"", "controls are escaped"},
        {"\xc2\x9b", 2, "\"\\u009b\"", "C1 controls are escaped"},
        {"\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"", "UTF-8 stays as it is"},
        {"a\xff\x62", 3, "\"a\xef\xbf\xbd\x62\"", "a bad byte becomes U+FFFD"},
        {"\xe2\x82", 2, "\"\xef\xbf\xbd\"", "a character cut short becomes one U+FFFD"},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
         "a surrogate is not let through"},
        {"", 0, "\"\"", "nothing is an empty string"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(buf_release) struct buf buf = BUF_INIT(4096);
        struct json_writer json;
        json_writer_init_buf(&json, &buf);
        json_put_text(&json, rows[i].bytes, rows[i].len);
        ok(json_finish(&json) == 0 && buf.len == strlen(rows[i].json) + 1 &&
               memcmp(buf.data, rows[i].json, strlen(rows[i].json)) == 0,
           "%s", rows[i].sentence);
    }
}

/* RFC 4648, section 10. */
static void test_base64(void)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xfe", "+//+"},
    };
    static const char *const refused[] = {
        "Zg",     "Zg=",  "Zg===", "Z===",  "====", "Zh==", "Zm9=", "Zg==Zg==",
        "Zm9v\n", "Zm 9", "-__-",  "Zm9v=", "=Zm9", "Z=9v", "Zm=v", "\xc3\xa9==",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(buf_release) struct buf buf = BUF_INIT(64);
        struct json_writer json;
        char bytes[16], expected[32];
        size_t len = 99;
        json_writer_init_buf(&json, &buf);
        json_put_base64(&json, rows[i][0], strlen(rows[i][0]));
        (void) snprintf(expected, sizeof(expected), "\"%s\"\n", rows[i][1]); /* fits */
        ok(json_finish(&json) == 0 && strcmp(buf.data, expected) == 0 &&
               base64_decode(rows[i][1], strlen(rows[i][1]), bytes, &len) &&
               len == strlen(rows[i][0]) && memcmp(bytes, rows[i][0], len) == 0,
           "base64 gives %s and takes it back", expected[1] == '"' ? "nothing" : rows[i][1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        char bytes[16];
        size_t len = 99;
        ok(!base64_decode(refused[i], strlen(refused[i]), bytes, &len) && len == 99,
           "text %zu is not taken for base64", i);
    }
}

static void fill(struct json_writer *json, const char *bytes, size_t len)
{
    json_open_array(json);
    for (int i = 0; i < 10; i++)
        json_put_text(json, bytes, len);
    json_put_base64(json, bytes, len);
    json_close_array(json);
}

/*
 * Writes more than a pipe holds into a non-blocking one, whose reader is slow and takes odd
 * amounts.
 */
static void test_descriptor(void)
{
    _cleanup_(buf_release) struct buf expected = BUF_INIT(8 << 20), got = BUF_INIT(8 << 20);
    static char bytes[50021];
    struct json_writer json;
    int ends[2];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char) (i * 7 % 256);
    json_writer_init_buf(&json, &expected);
    fill(&json, bytes, sizeof(bytes));
    if (json_finish(&json) < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        abort();

    pid_t child = fork();
    if (child == 0) {
        json_writer_init_fd(&json, ends[1]);
        fill(&json, bytes, sizeof(bytes));
        _exit(json_finish(&json) == 0 ? 0 : 1);
    }
    (void) close(ends[1]);             /* the child's end is left */
    (void) fcntl(ends[0], F_SETFL, 0); /* the flag is of the read end alone */
    char chunk[777];
    for (ssize_t n; (n = fd_read_full(ends[0], chunk, sizeof(chunk))) > 0;)
        if (buf_add(&got, chunk, (size_t) n) < 0)
            abort();
    int status = -1;
    (void) waitpid(child, &status, 0); /* status says it all */
    ok(status == 0 && got.len == expected.len && memcmp(got.data, expected.data, got.len) == 0,
       "%zu bytes pass whole through a full, non-blocking pipe", expected.len);
    (void) close(ends[0]); /* nothing was written to it */
}

static void test_failures(void)
{
    struct json_writer json;
    struct buf small = BUF_INIT(10);
    int ends[2];

    json_writer_init_buf(&json, &small);
    json_put_string(&json, "longer than ten bytes");
    ok(json_finish(&json) == -1 && errno == EFBIG, "a full buffer is reported at the end");
    buf_release(&small);

    (void) signal(SIGPIPE, SIG_IGN); /* cannot fail */
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    (void) close(ends[0]); /* so that writing fails */
    json_writer_init_fd(&json, ends[1]);
    fill(&json, "x", 1);
    ok(json_finish(&json) == -1 && errno == EPIPE, "a closed pipe is reported at the end");
    (void) close(ends[1]); /* as above */

    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) {
        skip("no /dev/full here");
        return;
    }
    json_writer_init_fd(&json, full);
    fill(&json, "x", 1);
    ok(json_finish(&json) == -1 && errno == ENOSPC, "a full disk is reported at the end");
    (void) close(full); /* as above */
}

/* ---- reading --------------------------------------------------------------------------------- */

static int collect(const char *key, const struct json_value *value, void *data)
{
    (void) value; /* the keys alone are looked at */
    return buf_add_string(data, key);
}

static void test_reading(void)
{
    static const char text[] = " {\"z\": [1, -2, true, false, null, \"\\u00e9\\n\"], \"a\": {}, "
                               "\"m\": 9007199254740991} \n";
    _cleanup_(buf_release) struct buf keys = BUF_INIT(16);
    struct json_value *document = NULL;
    struct err err;

    if (!ok(json_parse(text, strlen(text), "text", &document, &err) == 0, "good JSON is taken"))
        return;
    const struct json_value *list = json_value_get(document, "z");
    ok(json_kind(document) == JSON_KIND_OBJECT && json_value_count(document) == 3 &&
           json_kind(list) == JSON_KIND_ARRAY && json_value_count(list) == 6 &&
           !json_value_get(document, "b"),
       "objects and arrays have their kind and size");
    ok(json_value_int(json_value_at(list, 0)) == 1 &&
           json_value_int(json_value_at(list, 1)) == -2 &&
           json_value_bool(json_value_at(list, 2)) && !json_value_bool(json_value_at(list, 3)) &&
           json_kind(json_value_at(list, 3)) == JSON_KIND_BOOL &&
           json_kind(json_value_at(list, 4)) == JSON_KIND_NULL &&
           strcmp(json_value_string(json_value_at(list, 5)), "\xc3\xa9\n") == 0 &&
           json_value_int(json_value_get(document, "m")) == 9007199254740991,
       "values read as they were written");
    ok(json_value_each(document, collect, &keys) == 0 && strcmp(keys.data, "zam") == 0,
       "members come in the document's order");
    json_free(document);
    json_free(NULL);
}

/* A text of depth levels of arrays. */
static bool takes_depth(size_t depth)
{
    char text[6000];
    struct json_value *document = NULL;
    struct err err;

    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    bool taken = json_parse(text, 2 * depth, "text", &document, &err) == 0;
    json_free(document);
    return taken;
}

static bool takes_size(size_t size)
{
    _cleanup_free_ char *text = malloc(size);
    struct json_value *document = NULL;
    struct err err;

    if (!text)
        abort();
    memset(text, ' ', size);
    text[0] = '1';
    bool taken = json_parse(text, size, "text", &document, &err) == 0;
    json_free(document);
    return taken;
}

static void test_bounds(void)
{
    ok(takes_depth(32), "32 levels are taken");
    ok(!takes_depth(33), "33 levels are refused");
    ok(!takes_depth(3000), "3000 levels are refused");
    ok(takes_size(1 << 20), "1 MiB is taken");
    ok(!takes_size((1 << 20) + 1), "1 MiB and a byte is refused");
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *message, *sentence;
    } rows[] = {
        {"", "t: line 1, column 0: the text ends too early", "an empty text is refused"},
        {"{\"a\":1,\"a\":2}", "duplicate", "a duplicate key is refused"},
        {"{\"x\":{\"a\":1,\"b\":1,\"a\":1}}", "duplicate",
         "a duplicate key further down is refused"},
        {"{\"a\":1,\"\\u0061\":2}", "duplicate", "a duplicate key in other letters is refused"},
        {"1.5", "t: numbers with a fraction", "a float is refused"},
        {"{\"a\":[0,{\"b\":1e3}]}", "t: a[1].b: numbers with",
         "a refused value is named by its path"},
        {"9007199254740992", "t: integers beyond 2^53-1", "2^53 is refused"},
        {"-9007199254740992", "t: integers beyond 2^53-1", "-2^53 is refused"},
        {"99999999999999999999", "integers beyond 2^53-1", "a number beyond 64 bits is refused"},
        {"\"a\\u0000b\"", "NUL", "NUL in a string is refused"},
        {"{\"a\\u0000b\":1}", "NUL", "NUL in a key is refused"},
        {"\xef\xbb\xbf{}", "byte order mark", "a byte order mark is refused"},
        {"\"\xff\"", "not valid UTF-8", "bytes that are no UTF-8 are refused"},
        {"\"\\ud800\"", "t: line", "half a surrogate pair is refused"},
        {"{} {}", "nothing may follow", "a second value is refused"},
        {"{}x", "nothing may follow", "trailing garbage is refused"},
        {"{\"a\":1,}", "t: line", "a trailing comma is refused"},
        {"{'a':1}", "t: line", "single quotes are refused"},
        {"{\"a\":01}", "t: line", "a leading zero is refused"},
        {"[NaN]", "t: line", "NaN is refused"},
        {"[1,", "ends too early", "a text cut short is refused"},
        {"// c\n1", "t: line", "a comment is refused"},
        {"\"a\nb\"", "t: line", "a bare newline in a string is refused"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct json_value *document = NULL;
        struct err err = {0};
        int rc = json_parse(rows[i].text, strlen(rows[i].text), "t", &document, &err);
        if (!ok(rc == -1 && !document && err.code == ERR_REQUEST &&
                    strstr(err.message, rows[i].message),
                "%s", rows[i].sentence))
            printf("# %s\n", err.message);
        json_free(document);
    }
    struct json_value *document = NULL;
    struct err err;
    ok(json_parse("1\0002", 3, "t", &document, &err) == -1, "NUL between values is refused");
}

int main(void)
{
    test_structure();
    test_depth();
    test_texts();
    test_base64();
    test_descriptor();
    test_failures();
    test_reading();
    test_bounds();
    test_refusals();
    return done();
}
