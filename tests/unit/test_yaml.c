/* Restricted YAML and our JSON: what is taken, what it means, and in which line a problem is. */
#include "plan/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

/* The canonical form, or the problems: "LINE KEY MESSAGE;". */
static char *read_text(const char *text, size_t len, bool is_yaml)
{
    struct arena *arena = arena_new();
    struct problems problems = {.arena = arena};
    struct buf out = BUF_INIT(1 << 20);
    struct json_writer json;
    struct node document;
    int rc = is_yaml ? document_parse_yaml(text, len, &problems, &document)
                     : document_parse_json(text, len, &problems, &document);

    json_writer_init_buf(&json, &out);
    if (rc == 0 && !problems_any(&problems)) {
        document_write(&document, &json);
        (void) json_finish(&json); /* what is missing is seen */
        out.data[--out.len] = '\0';
    }
    for (size_t i = 0; i < problems.found.count; i++)
        (void) buf_printf(&out, "%u %s %s;", problems.found.items[i].line,
                          problems.found.items[i].key, problems.found.items[i].message);
    arena_free(arena);
    return out.data;
}

static void test_yaml_means(void)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"a: 1", "{\"a\":1}"},
        {"---\na: 1\n", "{\"a\":1}"},
        {"---\na: 1\n...\n", "{\"a\":1}"},
        {"# c\na: 1 # d\n", "{\"a\":1}"},
        {"b: 1\na: 2", "{\"a\":2,\"b\":1}"},
        {"[1, -2, 0]", "[1,-2,0]"},
        {"- true\n- false\n- null", "[true,false,null]"},
        {"{}", "{}"},
        {"[]", "[]"},
        {"a: {b: [c, d], e: f}", "{\"a\":{\"b\":[\"c\",\"d\"],\"e\":\"f\"}}"},
        {"~/work", "\"~/work\""},
        {"127.0.0.1", "\"127.0.0.1\""},
        {"1.2.3", "\"1.2.3\""},
        {"7z", "\"7z\""},
        {"python3", "\"python3\""},
        {"-x", "\"-x\""},
        {"yesterday", "\"yesterday\""},
        {"CI_*", "\"CI_*\""},
        {"\"*\"", "\"*\""},
        {"'yes'", "\"yes\""},
        {"\"\"", "\"\""},
        {"'1'", "\"1\""},
        {"\"\\u00e9\"", "\"\xc3\xa9\""},
        {"|\n  a\n  b\n", "\"a\\nb\\n\""},
        {">-\n  a\n  b\n", "\"a b\""},
        {"9007199254740991", "9007199254740991"},
        {"a: \"<<\"", "{\"a\":\"<<\"}"},
        {"\"<<\": 1", "{\"<<\":1}"},
        {"\"1\": 1", "{\"1\":1}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *is = read_text(rows[i].yaml, strlen(rows[i].yaml), true);
        ok(is && strcmp(is, rows[i].json) == 0, "row %zu of YAML means %s (%s)", i, rows[i].json,
           is ? is : "nothing");
    }
}

static const struct {
    const char *yaml, *says;
} refusals[] = {
    {"a: &x 1", "1 a anchors ('&x')"},
    {"a: 1\nb: *a", "2 b aliases ('*a')"},
    {"allow: [*]", "1 "},
    {"a: !!str 1", "1 a tags ('tag:yaml.org,2002:str')"},
    {"a: ! 1", "1 a tags"},
    {"a:\n- !t {b: c}", "2 a[0] tags ('!t')"},
    {"&k a: 1", "1 a anchors"},
    {"%YAML 1.1\n---\na: 1", "directives"},
    {"%TAG ! x\n---\na: 1", "directives"},
    {"a: 1\na: 2", "2 a is there twice, first in line 1"},
    {"a: 1\n---\nb: 2", "2  holds more than one document"},
    {"a: 1\n<<: {b: 2}", "2  merge keys"},
    {"[a]: 1", "1  a key must be a text"},
    {"{a: b}: 1", "1  a key must be a text"},
    {"1: a", "1 1 a key must be a text: quote it"},
    {"true: a", "1 true a key must be a text"},
    {"~: a", "1 ~ a key must be a text"},
    {"on: a", "1 on a key must be a text"},
    {"a:", "1 a has no value"},
    {"a: 1\nb:\n", "2 b has no value"},
    {"- a\n-\n- b", "[1] has no value"},
    {"a: yes", "1 a 'yes' is read as a text by some"},
    {"a: No", "1 a 'No'"},
    {"a: on", "quote it"},
    {"a: OFF", "quote it"},
    {"a: y", "quote it"},
    {"a: N", "quote it"},
    {"a: ~", "quote it"},
    {"a: True", "quote it"},
    {"a: NULL", "quote it"},
    {"a: 1.5", "quote it"},
    {"a: .5", "quote it"},
    {"a: 1.", "quote it"},
    {"a: 1e3", "quote it"},
    {"a: +1", "quote it"},
    {"a: 0777", "quote it"},
    {"a: 0o7", "quote it"},
    {"a: 0x1F", "quote it"},
    {"a: 0b1", "quote it"},
    {"a: 1_000", "quote it"},
    {"a: -0x1", "quote it"},
    {"a: 12:30", "quote it"},
    {"a: 1:30:05", "quote it"},
    {"a: 2024-01-02", "quote it"},
    {"a: .inf", "quote it"},
    {"a: -.INF", "quote it"},
    {"a: .NaN", "quote it"},
    {"a: 9007199254740992", "1 a integers beyond 2^53-1"},
    {"a: -99999999999999999999", "integers beyond"},
    {"a: \"x\\0y\"", "1 a NUL"},
    {"a: [1", "no YAML"},
    {"a: 'x", "no YAML"},
    {"a:\n\t- b", "2  no YAML"},
    {"a: b: c", "1  no YAML"},
    {"\xef\xbb\xbf"
     "a: 1",
     "byte order mark"},
    {"a: \xff", "not valid UTF-8"},
    {"", "is empty"},
    {"# nothing\n", "is empty"},
    {"a: yes\nb: no\nc: {d: ~}", "3 c.d '~'"},
};

static void test_yaml_refused(void)
{

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        _cleanup_free_ char *is = read_text(refusals[i].yaml, strlen(refusals[i].yaml), true);
        ok(is && strstr(is, refusals[i].says), "row %zu of YAML is refused: %s", i,
           is ? is : "it is not");
    }
}

static void test_json(void)
{
    static const struct {
        const char *json, *says;
    } rows[] = {
        {"{\"b\": 1, \"a\": [true, false, null, \"x\"]}",
         "{\"a\":[true,false,null,\"x\"],\"b\":1}"},
        {" [ ] ", "[]"},
        {"\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"\xc3\xa9\xf0\x9f\x98\x80\\n/\""},
        {"-7", "-7"},
        {"", "1  the text ends too early"},
        {"{", "the text ends too early"},
        {"{\"a\"", "1 a the text ends too early"},
        {"{\"a\":\n1,\n\"a\": 2}", "3 a is there twice, first in line 1"},
        {"{\"a\": 1.5,\n\"b\": 1e3}", "1 a numbers with a fraction"},
        {"{\"a\": 1.5,\n\"b\": 1e3}", "2 b numbers with a fraction"},
        {"[1,\n 9007199254740992]", "2 [1] integers beyond"},
        {"[01]", "no number"},
        {"[-]", "no number"},
        {"[True]", "no value"},
        {"[nul]", "no value"},
        {"{a: 1}", "a key in quotes is missing"},
        {"{\"a\": 1,}", "a key in quotes is missing"},
        {"[1,]", "no value"},
        {"[1 2]", "',' or ']' is missing"},
        {"{\"a\": 1 \"b\": 2}", "',' or '}' is missing"},
        {"{\"a\" 1}", "1 a ':' is missing"},
        {"[1] 2", "nothing may follow"},
        {"[\"a\nb\"]", "does not end in its line"},
        {"[\"a\tb\"]", "a control character"},
        {"[\"\\x\"]", "a backslash"},
        {"[\"\\u12\"]", "a backslash"},
        {"[\"\\u0000\"]", "NUL"},
        {"[\"\\ud800\"]", "a backslash"},
        {"[\"\\udc00\"]", "a backslash"},
        {"[\"\\ud800\\u0041\"]", "a backslash"},
        {"[\"a", "the text ends too early"},
        {"\xef\xbb\xbf[]", "byte order mark"},
        {"[\"\xc3\"]", "not valid UTF-8"},
        {"[1] // x", "nothing may follow"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *is = read_text(rows[i].json, strlen(rows[i].json), false);
        ok(is && strstr(is, rows[i].says), "row %zu of JSON gives: %s", i, is ? is : "nothing");
    }
}

static char *nest(size_t depth)
{
    char *text = calloc(1, 2 * depth + 1);

    if (!text)
        abort();
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return text;
}

static void test_bounds(void)
{
    _cleanup_free_ char *deep = nest(JSON_MAX_DEPTH), *deeper = nest(JSON_MAX_DEPTH + 1);
    _cleanup_(buf_release) struct buf keys = BUF_INIT(1 << 20);
    _cleanup_free_ char *large = calloc(1, JSON_MAX_BYTES + 2);

    for (int yaml = 0; yaml < 2; yaml++) {
        _cleanup_free_ char *fits = read_text(deep, strlen(deep), yaml);
        _cleanup_free_ char *not = read_text(deeper, strlen(deeper), yaml);
        ok(strcmp(fits, deep) == 0 && strstr(not, "nested more than 32 levels deep"),
           "a document is at most 32 levels deep");
    }
    for (int i = 0; i < DOCUMENT_MAX_KEYS; i++)
        (void) buf_printf(&keys, "%c\"k%d\":1", i ? ',' : '{', i); /* seen below */
    (void) buf_add_string(&keys, "}");
    _cleanup_free_ char *fits = read_text(keys.data, keys.len, false);
    keys.data[keys.len - 1] = ',';
    (void) buf_add_string(&keys, "\"x\":1}");
    _cleanup_free_ char *not = read_text(keys.data, keys.len, false);
    ok(fits[0] == '{' && strstr(not, "has more than 64 keys"), "an object has at most 64 keys");

    memset(large, ' ', JSON_MAX_BYTES + 1);
    large[0] = '[';
    large[1] = ']';
    for (int yaml = 0; yaml < 2; yaml++) {
        _cleanup_free_ char *taken = read_text(large, JSON_MAX_BYTES, yaml);
        _cleanup_free_ char *refused = read_text(large, JSON_MAX_BYTES + 1, yaml);
        ok(strcmp(taken, "[]") == 0 && strstr(refused, "larger than 1 MiB"),
           "a document has at most 1 MiB");
    }
    _cleanup_free_ char *nul = read_text("[1]\0 ", 5, false);
    _cleanup_free_ char *nul_in = read_text("[\"a\0\"]", 6, false);
    ok(strstr(nul, "nothing may follow") && strstr(nul_in, "control character"),
       "a NUL does not end the text");
}

/* Found without making the text, and the same. */
static void test_digest(void)
{
    static const char *const texts[] = {
        "{}",
        "[1,-1,true,null,\"x\",{\"b\":{},\"a\":[[]]}]",
        "{\"\xc3\xa9\":\"\\u0001\\\"\\\\\\u007f\\u0080\",\"a\":\"\xe2\x82\xac\"}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct arena *arena = arena_new();
        struct problems problems = {.arena = arena};
        _cleanup_(buf_release) struct buf out = BUF_INIT(1 << 20);
        struct json_writer json;
        struct digest made, digest;
        struct node document;
        struct sha256 sha;
        int rc = document_parse_json(texts[i], strlen(texts[i]), &problems, &document);
        json_writer_init_buf(&json, &out);
        if (rc == 0)
            document_write(&document, &json);
        sha256_init(&sha);
        if (rc == 0 && json_finish(&json) == 0)
            sha256_add(&sha, out.data, out.len - 1);
        sha256_finish(&sha, &made);
        ok(rc == 0 && document_digest(&document, &digest) == 0 && digest_equal(&digest, &made),
           "the digest is that of the canonical form of %s", texts[i]);
        arena_free(arena);
    }
}

int main(void)
{
    test_yaml_means();
    test_yaml_refused();
    test_json();
    test_bounds();
    test_digest();
    return done();
}
