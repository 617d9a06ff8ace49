/* What a rule speaks of, and what not: tables of texts. */
#include "plan/match.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

#define HOME "/home/u"

static void test_paths(void)
{
    static const struct {
        const char *rule, *real, *path;
        bool allows, denies; /* what a rule of that kind answers */
    } rows[] = {
        {HOME "/work", NULL, HOME "/work", true, true},
        {HOME "/work", NULL, HOME "/work/a/b", true, true},
        {HOME "/work", NULL, HOME "/work2", false, false},
        {HOME "/work", NULL, HOME "/wor", false, false},
        {HOME "/work", NULL, HOME, false, true},
        {HOME "/work", NULL, "/", false, true},
        {HOME "/work", NULL, "/home/v", false, false},
        {HOME "/work", "/data/work", "/data/work/a", true, true},
        {HOME "/work", "/data/work", HOME "/work/a", true, true},
        {HOME "/work", "/data/work", "/data", false, true},
        {HOME "/work", "/data/work", "/data/works", false, false},
        {"/", NULL, "/any", true, true},
        {HOME "/work", NULL, HOME "/work/../.ssh", false, true},
        {HOME "/work", NULL, HOME "/work/./x", false, true},
        {HOME "/work", NULL, HOME "/work//x", false, true},
        {HOME "/work", NULL, HOME "/work/", false, true},
        {HOME "/work", NULL, "work", false, true},
        {HOME "/work", NULL, "", false, true},
        {HOME "/work", NULL, NULL, false, false},
        {NULL, NULL, HOME "/work", false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rule rule = {.path = rows[i].rule, .real = rows[i].real, .verdict = VERDICT_ALLOW};
        ok(match_path(&rule, rows[i].path) == rows[i].allows, "a rule for %s %s '%s'",
           rows[i].rule ? rows[i].rule : "nothing", rows[i].allows ? "allows" : "does not allow",
           rows[i].path ? rows[i].path : "(unknown)");
        rule.verdict = VERDICT_DENY;
        bool denies = match_path(&rule, rows[i].path);
        rule.verdict = VERDICT_ASK;
        ok(denies == rows[i].denies && match_path(&rule, rows[i].path) == denies,
           "and %s it, or asks for it", denies ? "denies" : "does not deny");
    }
    const struct rule any = {.is_any = true};
    ok(match_path(&any, "/x") && match_path(&any, NULL), "\"*\" covers every path, known or not");
}

static void test_names(void)
{
    static const struct {
        const char *rule, *name;
        bool matches, exactly;
    } rows[] = {
        {"CI", "CI", true, true},         {"CI", "CI_X", false, false},
        {"CI_*", "CI_X", true, false},    {"CI_*", "CI_", true, false},
        {"CI_*", "CI", false, false},     {"*", "X", true, false},
        {"LD_*", "LD_A", true, false},    {"CI", "ci", false, false},
        {NULL, "CI", false, false},       {"CI", NULL, false, false},
        {"python", "python", true, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rule rule = {.name = rows[i].rule, .verdict = VERDICT_ALLOW};
        ok(match_name(&rule, rows[i].name, false) == rows[i].matches &&
               match_name(&rule, rows[i].name, true) == rows[i].exactly,
           "'%s' and '%s'", rows[i].rule ? rows[i].rule : "nothing",
           rows[i].name ? rows[i].name : "nothing");
        rule.verdict = VERDICT_DENY;
        ok(match_name(&rule, rows[i].name, true) == rows[i].matches,
           "who denies '%s' denies what must be named, too",
           rows[i].rule ? rows[i].rule : "nothing");
    }
    struct rule any = {.is_any = true};
    ok(match_name(&any, "X", false) && !match_name(&any, "X", true),
       "\"*\" covers every name but those that must be named");
}

static const struct {
    const char *host, *normal; /* NULL: refused */
} hosts[] = {
    {"example.com", "example.com"},
    {"EXAMPLE.Com", "example.com"},
    {"a-b.xn--e1afmkfd.org", "a-b.xn--e1afmkfd.org"},
    {"localhost", "localhost"},
    {"127.0.0.1", "127.0.0.1"},
    {"::1", "::1"},
    {"[::1]", "::1"},
    {"0:0:0:0:0:0:0:1", "::1"},
    {"2001:DB8::1", "2001:db8::1"},
    {"1.2.3.4.example", "1.2.3.4.example"},
    {"example.com.", NULL},
    {".example.com", NULL},
    {"example..com", NULL},
    {"", NULL},
    {".", NULL},
    {"-a.com", NULL},
    {"a-.com", NULL},
    {"a_b.com", NULL},
    {"a b.com", NULL},
    {"a.com/x", NULL},
    {"u@a.com", NULL},
    {"a.com:443", NULL},
    {"\xc3\xa9.com", NULL},
    {"\xef\xbc\x91.com", NULL},
    {"*.com", NULL},
    {"*", NULL},
    {"127.1", NULL},
    {"2130706433", NULL},
    {"0x7f.0.0.1", NULL},
    {"0x7f000001", NULL},
    {"127.0.0.01", NULL},
    {"127.0.0.1.", NULL},
    {"0177.0.0.1", NULL},
    {"256.0.0.1", NULL},
    {"[::1", NULL},
    {"::1%eth0", NULL},
    {"a.0x10", NULL},
};

static void test_hosts(void)
{
    char normal[HOST_SIZE], longest[300];

    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        bool taken = host_normal(hosts[i].host, normal);
        ok(taken == (hosts[i].normal != NULL) && (!taken || strcmp(normal, hosts[i].normal) == 0),
           "the host '%s' is %s", hosts[i].host, hosts[i].normal ? hosts[i].normal : "refused");
    }
    memset(longest, 'a', sizeof(longest));
    longest[64] = '\0';
    ok(!host_normal(longest, normal) && host_normal(longest + 1, normal),
       "a label has at most 63 characters");
    for (size_t i = 0; i < sizeof(longest); i++)
        longest[i] = i % 50 == 49 ? '.' : 'a';
    longest[253] = '\0';
    bool fits = host_normal(longest, normal);
    longest[253] = 'a';
    longest[254] = '\0';
    ok(fits && !host_normal(longest, normal), "a host has at most 253 characters");
}

static const uint16_t ports[] = {443, 8443};
static const char *const methods[] = {"GET", "POST"};
static const char *const any_method[] = {"*"};

static const struct {
    struct rule rule;
    const char *host;
    uint16_t port;
    const char *method, *path;
    bool allows, denies;
} urls[] = {
    {{.host = "a.com"}, "a.com", 443, "GET", "/", true, true},
    {{.host = "a.com"}, "A.com", 443, "GET", "/", true, true},
    {{.host = "a.com"}, "a.com.", 443, "GET", "/", false, false},
    {{.host = "a.com"}, "a.com", 80, "HEAD", "/", true, true},
    {{.host = "a.com"}, "a.com", 22, "GET", "/", false, true},
    {{.host = "a.com"}, "a.com", 443, "POST", "/", false, true},
    {{.host = "a.com"}, "a.com", 443, "get", "/", false, true},
    {{.host = "a.com"}, "b.com", 443, "GET", "/", false, false},
    {{.host = "a.com"}, "xa.com", 443, "GET", "/", false, false},
    {{.host = "a.com"}, "x.a.com", 443, "GET", "/", false, false},
    {{.host = "a.com"}, "a.com.evil.org", 443, "GET", "/", false, false},
    {{.host = "*.a.com"}, "x.a.com", 443, "GET", "/", true, true},
    {{.host = "*.a.com"}, "y.x.a.com", 443, "GET", "/", true, true},
    {{.host = "*.a.com"}, "a.com", 443, "GET", "/", false, false},
    {{.host = "*.a.com"}, "xa.com", 443, "GET", "/", false, false},
    {{.host = "*"}, "any.org", 443, "GET", "/", true, true},
    {{.host = "*"}, "any.org", 8080, "GET", "/", false, true},
    {{.is_any = true}, "any.org", 8080, "PUT", "/..", true, true},
    {{.is_any = true}, "bad_host", 443, "GET", "/", false, false},
    {{.is_loopback = true}, "localhost", 443, "GET", "/", false, false},
    {{.host = "a.com", .ports = ports, .n_ports = 2}, "a.com", 8443, "GET", "/", true, true},
    {{.host = "a.com", .ports = ports, .n_ports = 2}, "a.com", 80, "GET", "/", false, false},
    {{.host = "a.com", .methods = methods, .n_methods = 2}, "a.com", 443, "POST", "/", true, true},
    {{.host = "a.com", .methods = methods, .n_methods = 2},
     "a.com",
     443,
     "HEAD",
     "/",
     false,
     false},
    {{.host = "a.com", .methods = methods, .n_methods = 2}, "a.com", 443, "post", "/", false, true},
    {{.host = "a.com", .methods = any_method, .n_methods = 1}, "a.com", 443, "X", "/", true, true},
    {{.host = "a.com", .methods = any_method, .n_methods = 1}, "a.com", 443, NULL, "/", true, true},
    {{.host = "a.com"}, "a.com", 443, NULL, "/", false, true},
    {{.host = "a.com"}, "a.com", 443, "GET", NULL, true, true},
    {{.host = "a.com", .path_prefix = "/v1"}, "a.com", 443, "GET", NULL, false, true},
};

static void test_urls(void)
{

    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        struct rule rule = urls[i].rule;
        rule.verdict = VERDICT_ALLOW;
        bool allows = match_url(&rule, urls[i].host, urls[i].port, urls[i].method, urls[i].path);
        rule.verdict = VERDICT_DENY;
        bool denies = match_url(&rule, urls[i].host, urls[i].port, urls[i].method, urls[i].path);
        ok(allows == urls[i].allows && denies == urls[i].denies,
           "row %zu: %s %s:%u is %s by a rule that allows and %s by one that denies", i,
           urls[i].method ? urls[i].method : "(unknown)", urls[i].host, urls[i].port,
           urls[i].allows ? "matched" : "left", urls[i].denies ? "matched" : "left");
    }
}

/* What could leave a prefix is matched by no rule that allows, and by each that denies. */
static void test_url_paths(void)
{
    static const struct {
        const char *prefix, *path;
        enum { IN, OUT, DOUBT } is;
    } rows[] = {
        {"/v1", "/v1", IN},           {"/v1", "/v1/", IN},
        {"/v1", "/v1/x", IN},         {"/v1", "/v1?q=/../x", IN},
        {"/v1", "/v1#f", IN},         {"/v1", "/v10", OUT},
        {"/v1/", "/v1", OUT},         {"/v1/", "/v1/", IN},
        {"/v1/", "/v1/x/y", IN},      {"/", "/x", IN},
        {"/v1", "/v2", OUT},          {"/v1", "/V1", OUT},
        {"/v1", "/v1/%20x", IN},      {"/v1", "/v1/%C3%A9", IN},
        {"/v1", "/v1/a..b", IN},      {"/v1", "/v1/...", IN},
        {"/v1", "/v1/x;y", IN},       {"/v1", "/x/../v1", DOUBT},
        {"/v1", "/v1/..", DOUBT},     {"/v1", "/v1/../x", DOUBT},
        {"/v1", "/v1/./x", DOUBT},    {"/v1", "/v1//x", DOUBT},
        {"/v1", "//v1", DOUBT},       {"/v1", "/v1/%2e%2e/x", DOUBT},
        {"/v1", "/v1/%2E/x", DOUBT},  {"/v1", "/v1/.%2e/x", DOUBT},
        {"/v1", "/v1%2fx", DOUBT},    {"/v1", "/v1/%252e", DOUBT},
        {"/v1", "/v1\\..\\x", DOUBT}, {"/v1", "/v1/%5c", DOUBT},
        {"/v1", "/v1/%0a", DOUBT},    {"/v1", "/v1/%00", DOUBT},
        {"/v1", "/v1/\x01", DOUBT},   {"/v1", "/v1/%", DOUBT},
        {"/v1", "/v1/%2", DOUBT},     {"/v1", "/v1/%zz", DOUBT},
        {"/v1", "/v1/..;/x", DOUBT},  {"/v1", "/v1/.;a/x", DOUBT},
        {"/v1", "/v1/%c0%ae", DOUBT}, {"/v1", "/v1/\xff", DOUBT},
        {"/v1", "", DOUBT},           {"/v1", "v1", DOUBT},
        {"/v1", "?x", DOUBT},
    };
    char longest[5000];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rule rule = {.host = "a.com", .path_prefix = rows[i].prefix};
        bool allows = match_url(&rule, "a.com", 443, "GET", rows[i].path);
        rule.verdict = VERDICT_DENY;
        bool denies = match_url(&rule, "a.com", 443, "GET", rows[i].path);
        ok(allows == (rows[i].is == IN) && denies == (rows[i].is != OUT),
           "row %zu: with the prefix %s a path is %s", i, rows[i].prefix,
           rows[i].is == IN    ? "within"
           : rows[i].is == OUT ? "without"
                               : "in doubt");
    }
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "/v1/", 4);
    longest[sizeof(longest) - 1] = '\0';
    const struct rule rule = {.host = "a.com", .path_prefix = "/v1"};
    ok(!match_url(&rule, "a.com", 443, "GET", longest), "a path of 5,000 bytes is in doubt");
}

static void test_programs(void)
{
    static const struct {
        const char *rule[4], *args[4];
        bool any_args, matches;
    } rows[] = {
        {{NULL}, {NULL}, false, true},
        {{NULL}, {"x"}, false, false},
        {{NULL}, {"x", "y"}, true, true},
        {{"status"}, {"status"}, false, true},
        {{"status"}, {NULL}, false, false},
        {{"status"}, {"push"}, false, false},
        {{"status"}, {"status", "-s"}, false, false},
        {{"status"}, {"status", "-s"}, true, true},
        {{"status"}, {"-C", "status"}, true, false},
        {{"--file=*"}, {"--file=a b"}, false, true},
        {{"--file=*"}, {"--file"}, false, false},
        {{"*"}, {""}, false, true},
        {{"a*b*c"}, {"aXbbYbc"}, false, true},
        {{"a*b*c"}, {"aXbbYbd"}, false, false},
        {{"*.c"}, {"x.c"}, false, true},
        {{"*.c"}, {"x.c.d"}, false, false},
        {{""}, {""}, false, true},
        {{""}, {"x"}, false, false},
        {{"$(id)"}, {"$(id)"}, false, true},
    };
    const struct file_id id = {1, 2}, other = {1, 3};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct rule rule = {.program_id = id, .has_program_id = true, .args = rows[i].rule};
        size_t n = 0;
        while (rule.n_args < 4 && rows[i].rule[rule.n_args])
            rule.n_args++;
        while (n < 4 && rows[i].args[n])
            n++;
        rule.any_args = rows[i].any_args;
        ok(match_program(&rule, &id, rows[i].args, n) == rows[i].matches &&
               match_args(&rule, rows[i].args, n) == rows[i].matches,
           "row %zu: arguments are %s", i, rows[i].matches ? "matched" : "not matched");
    }
    const struct rule rule = {.program_id = id, .has_program_id = true, .any_args = true};
    const struct rule absent = {.program_id = id, .any_args = true};
    const struct rule any = {.is_any = true};
    ok(match_program(&rule, &id, NULL, 0) && !match_program(&rule, &other, NULL, 0),
       "a program is known by its file");
    ok(!match_program(&rule, NULL, NULL, 0) && match_program(&any, NULL, NULL, 0),
       "a program that is not known is covered by \"*\" alone");
    ok(!match_program(&absent, &id, NULL, 0), "a rule for what is not there matches nothing");
}

int main(void)
{
    test_paths();
    test_names();
    test_hosts();
    test_urls();
    test_url_paths();
    test_programs();
    return done();
}
