/* Policies as text: every problem with its line and key. */
#include "plan/policy.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

static const struct policy_context yaml = {
    .layer = LAYER_USER, .where = "p.yaml", .home = "/home/u", .is_yaml = true};

#define V "version: 1\n"

static const struct {
    const char *text, *key;
    uint32_t line;
    const char *says;
} bad[] = {
    {"{}", "", 1, "has no key 'version'"},
    {"[]", "", 1, "must be an object, not an array"},
    {"version: 2", "version", 1, "must be 1"},
    {"version: \"1\"", "version", 1, "must be an integer, not a string"},
    {"version: null", "version", 1, "must be an integer, not null: write one"},
    {V "versions: 1", "versions", 2, "unknown key: there are version, id, tier"},
    {V "id: 1", "id", 2, "must be a string"},
    {V "id: \"\"", "id", 2, "must not be empty"},
    {V "id: \"a\\nb\"", "id", 2, "in one plain line"},
    {V "id: \"a\\u202eb\"", "id", 2, "in one plain line"},
    {V "id: \"a\\u009bb\"", "id", 2, "in one plain line"},
    {V "id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "id", 2,
     "longer than 64"},
    {V "tier: none", "tier", 2, "'none' is none of: low, medium, high"},
    {V "tier: Low", "tier", 2, "none of"},
    {V "filesystem: null", "filesystem", 2, "must be an object, not null"},
    {V "filesystem: []", "filesystem", 2, "must be an object"},
    {V "filesystem: {allow: null}", "filesystem.allow", 2, "must be an array, not null"},
    {V "filesystem: {allow: /x}", "filesystem.allow", 2, "must be an array, not a string"},
    {V "filesystem: {permit: []}", "filesystem.permit", 2, "unknown key: there are allow, ask"},
    {V "filesystem:\n  allow:\n    - /a\n    - 7", "filesystem.allow[1]", 5,
     "must be a path, or an object, not an integer"},
    {V "filesystem: {allow: [null]}", "filesystem.allow[0]", 2, "not null"},
    {V "filesystem: {allow: [\"\"]}", "filesystem.allow[0]", 2, "must not be empty"},
    {V "filesystem: {allow: [work]}", "filesystem.allow[0]", 2, "must be an absolute path"},
    {V "filesystem: {allow: [~v/x]}", "filesystem.allow[0]", 2, "only '~' and '~/"},
    {V "filesystem: {allow: [/a/../b]}", "filesystem.allow[0]", 2, "'..' is not taken"},
    {V "filesystem: {allow: [~/..]}", "filesystem.allow[0]", 2, "'..' is not taken"},
    {V "filesystem: {allow: [/]}", "filesystem.allow[0]", 2, "write \"*\" if that is meant"},
    {V "filesystem: {allow: [//.]}", "filesystem.allow[0]", 2, "write \"*\""},
    {V "filesystem: {allow: [/a/*]}", "filesystem.allow[0]", 2, "it covers all beneath"},
    {V "filesystem: {allow: [{access: read-only}]}", "filesystem.allow[0]", 2, "has no key 'path'"},
    {V "filesystem:\n  allow:\n    - path: /a\n      access: rw", "filesystem.allow[0].access", 5,
     "'rw' is none of: read-only, read-write"},
    {V "filesystem: {allow: [{path: /a, access: overlay}]}", "filesystem.allow[0].access", 2,
     "none of"},
    {V "filesystem: {deny: [{path: /a, access: read-only}]}", "filesystem.deny[0].access", 2,
     "denied for both"},
    {V "filesystem: {allow: [{path: /a, mode: x}]}", "filesystem.allow[0].mode", 2,
     "unknown key: there are path, access, reason"},
    {V "filesystem: {allow: [{path: /a, reason: 1}]}", "filesystem.allow[0].reason", 2,
     "must be a string"},
    {V "filesystem: {allow: [{path: /a, match: [/b]}]}", "filesystem.allow[0].match[0]", 2,
     "'/b' is not matched by this rule"},
    {V "filesystem: {allow: [{path: /a, no_match: [/b, /a/c]}]}", "filesystem.allow[0].no_match[1]",
     2, "'/a/c' is matched by this rule"},
    {V "filesystem: {allow: [{path: /a, match: [b]}]}", "filesystem.allow[0].match[0]", 2,
     "must be an absolute path"},
    {V "filesystem: {allow: [{path: /a, match: /b}]}", "filesystem.allow[0].match", 2,
     "must be an array"},
    {V "filesystem: {workspace: data}", "filesystem.workspace", 2, "is not absolute"},
    {V "filesystem: {workspace: /usr}", "filesystem.workspace", 2, "the system's own place"},
    {V "env: {allow: [A=b]}", "env.allow[0]", 2, "no '=' in it"},
    {V "env: {allow: [\"*_KEY\"]}", "env.allow[0]", 2, "at the end of a name"},
    {V "env: {allow: [{name: A, no_match: [A]}]}", "env.allow[0].no_match[0]", 2, "is matched"},
    {V "env: {workspace: /x}", "env.workspace", 2, "unknown key: there are allow, ask, deny"},
    {V "network: {allow: [a.com.]}", "network.allow[0]", 2, "no dot at the end"},
    {V "network: {allow: [\"https://a.com\"]}", "network.allow[0]", 2, "a host is no URL"},
    {V "network: {allow: [\"a.*\"]}", "network.allow[0]", 2, "'*' may only stand alone"},
    {V "network: {allow: [\"**\"]}", "network.allow[0]", 2, "'*' may only stand alone"},
    {V "network: {allow: [\"*.*.com\"]}", "network.allow[0]", 2, "'*' may only stand alone"},
    {V "network: {allow: [\"*.\"]}", "network.allow[0]", 2, "is no host"},
    {V "network: {allow: [\"*.0.0.1\"]}", "network.allow[0]", 2, "is no host"},
    {V "network: {allow: [\"*.127.0.0.1\"]}", "network.allow[0]", 2, "is no host"},
    {V "network: {allow: [\"\xc3\xa9.com\"]}", "network.allow[0]", 2, "xn--"},
    {V "network: {allow: [\"127.1\"]}", "network.allow[0]", 2, "is no host"},
    {V "network: {allow: [{host: a.com, ports: []}]}", "network.allow[0].ports", 2,
     "must not be empty"},
    {V "network: {allow: [{host: a.com, ports: [0]}]}", "network.allow[0].ports[0]", 2,
     "from 1 to 65535"},
    {V "network: {allow: [{host: a.com, ports: [443, 65536]}]}", "network.allow[0].ports[1]", 2,
     "from 1 to 65535"},
    {V "network: {allow: [{host: a.com, ports: [\"443\"]}]}", "network.allow[0].ports[0]", 2,
     "must be an integer"},
    {V "network: {allow: [{host: a.com, methods: []}]}", "network.allow[0].methods", 2,
     "must not be empty"},
    {V "network: {allow: [{host: a.com, methods: [\"G T\"]}]}", "network.allow[0].methods[0]", 2,
     "is no method"},
    {V "network: {allow: [{host: a.com, path_prefix: v1}]}", "network.allow[0].path_prefix", 2,
     "must begin with '/'"},
    {V "network: {allow: [{host: a.com, path_prefix: /a/../b}]}", "network.allow[0].path_prefix", 2,
     "the plain beginning"},
    {V "network: {allow: [{host: a.com, path_prefix: /a/..}]}", "network.allow[0].path_prefix", 2,
     "the plain beginning"},
    {V "network: {allow: [{host: a.com, path_prefix: /%2e}]}", "network.allow[0].path_prefix", 2,
     "the plain beginning"},
    {V "network: {allow: [{host: loopback, ports: [1]}]}", "network.allow[0]", 2,
     "nothing beside it"},
    {V "network: {allow: [{host: a.com, match: [\"https://b.com/\"]}]}",
     "network.allow[0].match[0]", 2, "is not matched"},
    {V "network: {allow: [{host: a.com, match: [\"ftp://a.com/\"]}]}", "network.allow[0].match[0]",
     2, "is no example"},
    {V "network: {allow: [{host: a.com, match: [\"https://u@a.com/\"]}]}",
     "network.allow[0].match[0]", 2, "is no example"},
    {V "network: {deny: [{host: a.com, no_match: [\"PUT http://a.com:99/\"]}]}",
     "network.deny[0].no_match[0]", 2, "is matched"},
    {V "exec: {allow: [bin/x]}", "exec.allow[0]", 2, "a name, or an absolute path"},
    {V "exec: {allow: [./x]}", "exec.allow[0]", 2, "a name, or an absolute path"},
    {V "exec: {allow: [..]}", "exec.allow[0]", 2, "a name, or an absolute path"},
    {V "exec: {allow: [\"py*\"]}", "exec.allow[0]", 2, "name each"},
    {V "exec: {allow: [git status]}", "exec.allow[0]", 2, "its arguments are 'args'"},
    {V "exec: {allow: [{program: git, args: status}]}", "exec.allow[0].args", 2,
     "must be an array"},
    {V "exec: {allow: [{program: git, args: [1]}]}", "exec.allow[0].args[0]", 2,
     "must be a string"},
    {V "exec: {allow: [{program: \"*\", args: [a]}]}", "exec.allow[0]", 2, "every program"},
    {V "exec: {allow: [{program: git, match: [1]}]}", "exec.allow[0].match[0]", 2,
     "must be a string"},
    {V "code: {allow: [ruby]}", "code.allow[0]", 2, "'ruby' is none of: python, javascript, bash"},
    {V "code: {allow: [/srv/m]}", "code.allow[0]", 2, "write {module: …}"},
    {V "code: {allow: [{}]}", "code.allow[0]", 2, "a language or a module"},
    {V "code: {allow: [{language: bash, module: /m}]}", "code.allow[0]", 2,
     "a language or a module"},
    {V "code: {allow: [{module: m}]}", "code.allow[0].module", 2, "must be an absolute path"},
    {V "code: {allow: [{module: /m, sha256: abc}]}", "code.allow[0].sha256", 2, "64 hex digits"},
    {V "code: {allow: [{language: bash, sha256: "
       "\"0000000000000000000000000000000000000000000000000000000000000000\"}]}",
     "code.allow[0]", 2, "'sha256' is a module's"},
    {V "code: {allow: [{language: bash, match: [python]}]}", "code.allow[0].match[0]", 2,
     "is not matched"},
    {V "code: {backends: {ruby: wasm}}", "code.backends.ruby", 2, "unknown language"},
    {V "code: {backends: {python: docker}}", "code.backends.python", 2, "none of: wasm, native"},
    {V "code: {backends: {bash: wasm}}", "code.backends.bash", 2, "there is no bash for wasm"},
    {V "code: {isolation: none}", "code.isolation", 2, "none of: full, landlock"},
    {V "code: {generated: \"true\"}", "code.generated", 2, "must be true or false"},
    {V "code: {validate: advise}", "code.validate", 2, "there is no validator yet"},
    {V "code: {validate: off}", "code.validate", 2, "quote it"},
    {V "limits: {max: {time: 1}}", "limits.max.time", 2, "unknown limit"},
    {V "limits: {max: {timeout_ms: 0}}", "limits.max.timeout_ms", 2, "timeout_ms"},
    {V "limits: {max: {timeout_ms: -1}}", "limits.max.timeout_ms", 2, "timeout_ms"},
    {V "limits: {max: {timeout_ms: 1s}}", "limits.max.timeout_ms", 2, "a whole number"},
    {V "limits: {max: {timeout_ms: null}}", "limits.max.timeout_ms", 2, "a whole number"},
    {V "limits: {max: {output_bytes: unlimited}}", "limits.max.output_bytes", 2,
     "cannot be unlimited"},
    {V "limits: {max: {open_files: 70000}}", "limits.max.open_files", 2, "the most that is"},
    {V "limits: {default: {timeout_ms: 2}, max: {timeout_ms: 1}}", "limits", 2,
     "the default of timeout_ms is above its max"},
    {V "limits: {min: {}}", "limits.min", 2, "unknown key: there are default, max"},
    {V "approval: {risk: {teleport: safe}}", "approval.risk.teleport", 2, "unknown capability"},
    {V "approval: {risk: {exec_run: high}}", "approval.risk.exec_run", 2,
     "none of: safe, monitored"},
    {V "approval: {per_hour: {exec_run: -1}}", "approval.per_hour.exec_run", 2, "from 0 to"},
    {V "approval: {simulate: [all]}", "approval.simulate[0]", 2, "none of"},
    {V "approval: {pending_ms: 0}", "approval.pending_ms", 2, "from 1000 to"},
    {V "approval: {ttl_ms: \"10m\"}", "approval.ttl_ms", 2, "must be an integer"},
    {V "approval: {uses: 0}", "approval.uses", 2, "from 1 to"},
    {V "audit: {mode: unsaid}", "audit.mode", 2, "none of: off, best-effort, required"},
    {V "audit: {durability: none}", "audit.durability", 2, "none of: kill, power"},
    {V "audit: {rotate_bytes: 1}", "audit.rotate_bytes", 2, "from 1048576 to"},
    {V "audit: {keep_segments: 0}", "audit.keep_segments", 2, "from 1 to"},
    {V "env: {allow: []}\nenv: {deny: []}", "env", 3, "is there twice, first in line 2"},
};

static void test_problems(void)
{

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct arena *arena = arena_new();
        struct policy_problems problems;
        struct policy policy;
        struct err err = {0};
        int rc =
            policy_parse(bad[i].text, strlen(bad[i].text), &yaml, arena, &policy, &problems, &err);
        bool is_one = rc < 0 && problems.count == 1;
        const struct policy_problem *first = is_one ? problems.items : NULL;
        ok(is_one && err.code == ERR_REQUEST && first->line == bad[i].line &&
               strcmp(first->key, bad[i].key) == 0 && strstr(first->message, bad[i].says) &&
               strstr(err.message, "p.yaml:") && strstr(err.message, bad[i].says),
           "row %zu is refused: %s", i, rc < 0 ? err.message : "it is not");
        arena_free(arena);
    }
}

static void test_all_problems(void)
{
    static const char text[] = "version: 2\n"
                               "tier: top\n"
                               "filesystem:\n"
                               "  allow:\n"
                               "    - /ok\n"
                               "    - bad\n"
                               "    - {path: /x, acess: read-only}\n"
                               "audit: {mode: yes}\n"
                               "audit: {}\n";
    static const uint32_t lines[] = {1, 2, 6, 7, 8, 8, 9};
    struct arena *arena = arena_new();
    struct policy_problems problems;
    struct policy policy = {.id = "untouched"};
    struct err err = {0};
    int rc = policy_parse(text, strlen(text), &yaml, arena, &policy, &problems, &err);
    bool in_order = problems.count == ARRAY_SIZE(lines);

    for (size_t i = 0; in_order && i < problems.count; i++)
        in_order = problems.items[i].line == lines[i];
    ok(rc < 0 && in_order, "all problems are told, by their lines (%zu)", problems.count);
    ok(strncmp(err.message, "p.yaml:1: version: must be 1", 28) == 0 &&
           strstr(err.hint, "6 more problems"),
       "the error is the first one: %s; %s", err.message, err.hint);
    ok(strcmp(policy.id, "untouched") == 0, "a policy with problems is not there at all");

    _cleanup_(buf_release) struct buf many = BUF_INIT(1 << 20);
    (void) buf_add_string(&many, "{\"version\":1,\"env\":{\"allow\":["); /* seen below */
    for (int i = 0; i < 150; i++)
        (void) buf_add_string(&many, "\"\",");
    (void) buf_add_string(&many, "\"A\"]}}");
    const struct policy_context json = {.layer = LAYER_USER, .where = "p.json"};
    rc = policy_parse(many.data, many.len, &json, arena, &policy, &problems, &err);
    ok(rc < 0 && problems.count == POLICY_MAX_PROBLEMS && problems.omitted == 50,
       "of very many problems the first hundred are told, the rest counted");
    arena_free(arena);
}

int main(void)
{
    test_problems();
    test_all_problems();
    return done();
}
