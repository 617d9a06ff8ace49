/* Policies as text: what they say, their digests, and those that are built in. */
#include "plan/policy.h"

#include <string.h>

#include "base/cleanup.h"
#include "plan/match.h"
#include "tap.h"

static const struct policy_context yaml = {
    .layer = LAYER_USER, .where = "p.yaml", .home = "/home/u", .is_yaml = true};

/* ---- what is said ---------------------------------------------------------------------------- */

static const char full_yaml[] =
    "version: 1\n"
    "id: team\n"
    "tier: medium\n"
    "filesystem:\n"
    "  allow:\n"
    "    - {path: ~/work/, access: read-write, reason: \"it's here\", match: [~/work/a],\n"
    "       no_match: [~/b]}\n"
    "    - \"*\"\n"
    "  ask: [\"~\"]\n"
    "  deny: [~/.ssh, /a//b/./c]\n"
    "  workspace: /data\n"
    "env: {allow: [TASK_ID, CI_*], deny: [{name: AWS_*}, \"*\"]}\n"
    "network:\n"
    "  allow:\n"
    "    - loopback\n"
    "    - {host: API.example.com, ports: [443, 8443], methods: [get, \"*\"], path_prefix: /v1/,\n"
    "       match: [\"https://api.example.com/v1/x\", \"POST https://api.example.com:8443/v1/\"],\n"
    "       no_match: [api.example.com, \"http://api.example.com/v1/\", loopback]}\n"
    "    - \"*.example.com\"\n"
    "    - \"*\"\n"
    "    - {host: \"*\", ports: [1]}\n"
    "    - \"[::1]\"\n"
    "exec:\n"
    "  allow:\n"
    "    - python3\n"
    "    - {program: git, args: [status, \"*\"], match: [git status -s], no_match: [git push]}\n"
    "    - {program: /opt/x/tool, args: []}\n"
    "    - \"*\"\n"
    "code:\n"
    "  allow:\n"
    "    - python\n"
    "    - {language: \"*\"}\n"
    "    - {module: /srv/m, sha256: "
    "ABcdef0000000000000000000000000000000000000000000000000000000000,\n"
    "       match: [/srv/m/x.wasm], no_match: [/srv/n, python]}\n"
    "    - {module: \"*\"}\n"
    "    - \"*\"\n"
    "  backends: {python: wasm, bash: native}\n"
    "  isolation: landlock\n"
    "  generated: false\n"
    "  validate: \"off\"\n"
    "limits:\n"
    "  default: {timeout_ms: 60000}\n"
    "  max: {timeout_ms: 120000, output_bytes: 8000, memory_bytes: unlimited}\n"
    "approval:\n"
    "  risk: {exec_run: privileged}\n"
    "  per_hour: {exec_run: 10, fs_read: 0}\n"
    "  simulate: [restricted, privileged]\n"
    "  pending_ms: 900000\n"
    "  ttl_ms: 600000\n"
    "  uses: 1\n"
    "audit: {mode: \"off\", durability: power, rotate_bytes: 1048576, keep_segments: 3}\n";

static const struct rule *rule_at(const struct policy *policy, enum section section,
                                  enum verdict verdict, size_t index)
{
    const struct rules *rules = &policy->rules[section][verdict];

    return index < rules->count ? &rules->items[index] : NULL;
}

static void check_paths(const struct policy *policy)
{
    const struct rule *work = rule_at(policy, SECTION_FILESYSTEM, VERDICT_ALLOW, 0);
    const struct rule *any = rule_at(policy, SECTION_FILESYSTEM, VERDICT_ALLOW, 1);
    const struct rule *home = rule_at(policy, SECTION_FILESYSTEM, VERDICT_ASK, 0);
    const struct rule *ssh = rule_at(policy, SECTION_FILESYSTEM, VERDICT_DENY, 0);
    const struct rule *abc = rule_at(policy, SECTION_FILESYSTEM, VERDICT_DENY, 1);

    ok(strcmp(work->text, "~/work/") == 0 && strcmp(work->path, "/home/u/work") == 0 &&
           work->writes && strcmp(work->reason, "it's here") == 0 && work->line == 6,
       "a path is normal, with the home in it, and its rule knows its line");
    ok(any->is_any && !any->path && !any->writes && any->line == 8,
       "\"*\" is everything, for reading unless it says more");
    ok(strcmp(home->path, "/home/u") == 0 && home->verdict == VERDICT_ASK &&
           ssh->verdict == VERDICT_DENY && strcmp(abc->path, "/a/b/c") == 0,
       "a rule knows its list");
}

static void check_network(const struct policy *policy)
{
    const struct rule *rules = policy->rules[SECTION_NETWORK][VERDICT_ALLOW].items;

    ok(rules[0].is_loopback && !rules[0].host && !rules[0].is_any, "loopback is loopback");
    ok(strcmp(rules[1].host, "api.example.com") == 0 && rules[1].n_ports == 2 &&
           rules[1].ports[1] == 8443 && strcmp(rules[1].methods[0], "GET") == 0 &&
           strcmp(rules[1].path_prefix, "/v1/") == 0,
       "a host is lower case, its methods upper case");
    ok(strcmp(rules[2].host, "*.example.com") == 0 && !rules[2].is_any, "\"*.\" stays");
    ok(rules[3].is_any && !rules[4].is_any && strcmp(rules[4].host, "*") == 0,
       "\"*\" is everything only with nothing beside it");
    ok(strcmp(rules[5].host, "::1") == 0, "an IPv6 address has no brackets");
}

static void check_programs(const struct policy *policy)
{
    const struct rule *rules = policy->rules[SECTION_EXEC][VERDICT_ALLOW].items;

    ok(strcmp(rules[0].program, "python3") == 0 && rules[0].any_args && rules[0].n_args == 0,
       "a program alone has any arguments");
    ok(rules[1].n_args == 1 && strcmp(rules[1].args[0], "status") == 0 && rules[1].any_args &&
           strcmp(rules[1].examples->match[0], "git status -s") == 0 &&
           !rules[1].examples->match[1] && strcmp(rules[1].examples->no_match[0], "git push") == 0,
       "a last \"*\" is any further arguments; examples are kept for later");
    ok(rules[2].n_args == 0 && !rules[2].any_args && !rules[2].examples,
       "an empty list is no arguments");
    ok(rules[3].is_any && !rules[3].program, "\"*\" is every program");
}

static void check_code(const struct policy *policy)
{
    const struct rule *rules = policy->rules[SECTION_CODE][VERDICT_ALLOW].items;

    ok(strcmp(rules[0].name, "python") == 0 && !match_path(&rules[0], "/x"), "a language is one");
    ok(match_name(&rules[1], "bash", false) && !match_path(&rules[1], "/x"),
       "{language: \"*\"} is every language and no module");
    ok(rules[2].has_sha256 && rules[2].sha256.bytes[0] == 0xab &&
           strcmp(rules[2].path, "/srv/m") == 0,
       "a module may have a digest");
    ok(match_path(&rules[3], "/x") && !match_name(&rules[3], "bash", false),
       "{module: \"*\"} is every module and no language");
    ok(rules[4].is_any, "\"*\" is both");
    ok(policy->n_backends == 2 && strcmp(policy->backends[1].language, "bash") == 0 &&
           policy->backends[1].backend == BACKEND_NATIVE &&
           policy->isolation == ISOLATION_LANDLOCK && policy->isolation_given &&
           policy->refuses_generated,
       "backends, isolation and generated are read");
}

static void check_settings(const struct policy *policy)
{
    ok(policy->limit_default[LIMIT_WALL] == 60000000000 &&
           policy->limit_max[LIMIT_WALL] == 120000000000 &&
           policy->limit_max[LIMIT_OUTPUT] == 8000 && policy->limit_default[LIMIT_OUTPUT] == 0 &&
           policy->limit_max[LIMIT_MEMORY] == UNITS_UNLIMITED,
       "limits are in wasp's own units, 0 where nothing is said");
    ok(policy->risk[CAPABILITY_EXEC_RUN] == RISK_PRIVILEGED &&
           policy->risk[CAPABILITY_FS_READ] == -1 && policy->per_hour[CAPABILITY_EXEC_RUN] == 10 &&
           policy->per_hour[CAPABILITY_FS_READ] == 0 && policy->per_hour[CAPABILITY_ENV_SET] == -1,
       "risks and rates are by capability; 0 is never, and not the same as unsaid");
    ok(policy->simulate[RISK_RESTRICTED] && policy->simulate[RISK_PRIVILEGED] &&
           !policy->simulate[RISK_SAFE] && policy->pending_ms == 900000 &&
           policy->ttl_ms == 600000 && policy->uses == 1,
       "approval is read");
    ok(policy->audit == AUDIT_OFF && policy->durability == DURABILITY_POWER &&
           policy->rotate_bytes == 1048576 && policy->keep_segments == 3,
       "audit is read");
    ok(policy->tier == TIER_MEDIUM && strcmp(policy->id, "team") == 0 &&
           strcmp(policy->workspace, "/data") == 0 && policy->layer == LAYER_USER,
       "id, tier and workspace are read");
}

static void test_full(struct arena *arena)
{
    struct policy policy;
    struct err err = {0};
    int rc = policy_parse(full_yaml, strlen(full_yaml), &yaml, arena, &policy, NULL, &err);

    if (!ok(rc == 0, "a policy with every key is taken %s", err.message))
        return;
    check_paths(&policy);
    check_network(&policy);
    check_programs(&policy);
    check_code(&policy);
    check_settings(&policy);
}

static void test_nothing(struct arena *arena)
{
    static const char *const texts[] = {
        "version: 1", "version: 1\nfilesystem: {}",
        "version: 1\nfilesystem: {allow: [], ask: [], deny: []}\nexec: {allow: []}\ncode: {}"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct policy policy;
        struct err err;
        size_t rules = 0;
        int rc = policy_parse(texts[i], strlen(texts[i]), &yaml, arena, &policy, NULL, &err);
        for (int section = 0; rc == 0 && section < SECTIONS; section++)
            for (int verdict = 0; verdict < VERDICTS; verdict++)
                rules += policy.rules[section][verdict].count;
        ok(rc == 0 && rules == 0 && !policy.isolation_given && policy.audit == AUDIT_UNSAID &&
               policy.tier == TIER_NONE && !policy.refuses_generated,
           "absent and empty both mean nothing (%zu)", i);
    }
}

/* ---- digests --------------------------------------------------------------------------------- */

static void test_spellings(struct arena *arena)
{
    static const struct {
        const char *text;
        bool is_yaml, is_same;
    } rows[] = {
        {"{\"version\":1,\"env\":{\"allow\":[\"A\"],\"deny\":[{\"name\":\"B\"}]}}", false, true},
        {"{ \"env\" : {\n\"deny\":[{\"name\":\"\\u0042\"}], \"allow\":[\"A\"]}, \"version\":1}\n",
         false, true},
        {"# x\nversion: 1\nenv:\n  allow: [A]\n  deny:\n  - name: 'B'\n", true, true},
        {"env: {deny: [{name: \"B\"}], allow: [A]}\nversion: 1", true, true},
        {"{\"version\":1,\"env\":{\"allow\":[\"A\"],\"deny\":[\"B\"]}}", false, false},
        {"{\"version\":1,\"env\":{\"allow\":[\"A\"]}}", false, false},
        {"{\"version\":1,\"env\":{\"allow\":[\"B\"],\"deny\":[{\"name\":\"A\"}]}}", false, false},
    };
    struct digest first = {{0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct policy_context context = {.where = "p", .is_yaml = rows[i].is_yaml};
        struct policy policy;
        struct err err;
        int rc =
            policy_parse(rows[i].text, strlen(rows[i].text), &context, arena, &policy, NULL, &err);
        if (i == 0)
            first = policy.digest;
        ok(rc == 0 && digest_equal(&first, &policy.digest) == rows[i].is_same,
           "spelling %zu has %s digest", i, rows[i].is_same ? "the same" : "another");
    }
    char hex[DIGEST_HEX];
    digest_hex(&first, hex);
    /* printf '%s' '{"env":{"allow":["A"],"deny":[{"name":"B"}]},"version":1}' | sha256sum */
    ok(strcmp(hex, "601bcc56f6f64d64a9fe1074bf7b5c77df288ea51589041934f1538d29604ed3") == 0,
       "it is the SHA-256 of the canonical form: %s", hex);
}

/* ---- homes and places ------------------------------------------------------------------------ */

static void test_places(struct arena *arena)
{
    static const struct {
        const char *home, *base, *text;
        const char *path; /* or what the problem says */
        bool is_taken;
    } rows[] = {
        {"/home/u", NULL, "~/x", "/home/u/x", true},
        {"/home/u/", NULL, "~/x", "/home/u/x", true},
        {"/home/u", NULL, "~", "/home/u", true},
        {NULL, NULL, "~/x", "HOME is not set", false},
        {"/", NULL, "~/x", "HOME is the root folder", false},
        {"//", NULL, "~", "HOME is the root folder", false},
        {"home", NULL, "~/x", "no plain absolute path", false},
        {"/a/../b", NULL, "~/x", "no plain absolute path", false},
        {"/a/..", NULL, "~/x", "no plain absolute path", false},
        {NULL, NULL, "/x", "/x", true},
        {NULL, "/p", "x/y", "/p/x/y", true},
        {NULL, "/p", "./x", "/p/x", true},
        {NULL, "/p", ".", "/p", true},
        {NULL, "/p", "../x", "'..' is not taken", false},
        {NULL, "/p", "/x", "/x", true},
        {NULL, NULL, "x", "must be an absolute path", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct policy_context context = {
            .where = "p", .home = rows[i].home, .base_dir = rows[i].base};
        char text[256];
        struct policy policy;
        struct err err = {0};
        (void) snprintf(text, sizeof(text), "{\"version\":1,\"filesystem\":{\"allow\":[\"%s\"]}}",
                        rows[i].text); /* fits */
        int rc = policy_parse(text, strlen(text), &context, arena, &policy, NULL, &err);
        const char *is =
            rc == 0 ? policy.rules[SECTION_FILESYSTEM][VERDICT_ALLOW].items[0].path : err.message;
        ok((rc == 0) == rows[i].is_taken && strstr(is, rows[i].path) &&
               (rc < 0 || strcmp(is, rows[i].path) == 0),
           "row %zu: '%s' is %s", i, rows[i].text, is);
    }
}

/* ---- built in -------------------------------------------------------------------------------- */

static bool is_denied(const struct policy *policy, const char *path)
{
    const struct rules *rules = &policy->rules[SECTION_FILESYSTEM][VERDICT_DENY];

    for (size_t i = 0; i < rules->count; i++)
        if (match_path(&rules->items[i], path))
            return true;
    return false;
}

static bool is_allowed(const struct policy *policy, const char *path, bool writes)
{
    const struct rules *rules = &policy->rules[SECTION_FILESYSTEM][VERDICT_ALLOW];

    for (size_t i = 0; i < rules->count; i++)
        if (match_path(&rules->items[i], path) && (!writes || rules->items[i].writes))
            return !is_denied(policy, path);
    return false;
}

static void test_tiers(struct arena *arena)
{
    static const char *const credentials[] = {
        "/home/u/.ssh",
        "/home/u/.ssh/id_rsa",
        "/home/u/.aws/credentials",
        "/home/u/.gnupg",
        "/home/u/.config/gcloud/x",
        "/home/u/.kube/config",
        "/home/u/.docker",
        "/home/u/.netrc",
        "/home/u/.npmrc",
        "/home/u/.pypirc",
        "/home/u/.mozilla/firefox",
        "/home/u/.local/share/keyrings",
        "/home/u/.config/wasp",
        "/home/u/.local/state/wasp/x",
        "/home/u/.cache/wasp",
        "/home/u/.bashrc",
        "/home/u/.config/autostart/x",
        "/home/u/.local/bin/ls",
        "/home/u/.vscode/tasks",
        "/home/u/.config/google-chrome",
        "/home/u/.wasp",
        "/home/u",
        "/home",
        "/",
        "/etc",
        "/home/v/work",
    };
    struct policy tiers[TIERS];
    struct err err = {0};

    for (int tier = TIER_LOW; tier < TIERS; tier++)
        if (!ok(policy_tier((enum tier) tier, "/home/u", arena, &tiers[tier], &err) == 0 &&
                    tiers[tier].layer == LAYER_TIER && tiers[tier].tier == TIER_NONE,
                "tier %s is a policy %s", tier_names[tier], err.message))
            return;
    bool all = true;
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++)
        if (is_allowed(&tiers[TIER_MEDIUM], credentials[i], false)) {
            all = false;
            printf("# %s\n", credentials[i]);
        }
    ok(all, "tier medium allows no credentials, nothing that runs later, and not the home itself");
    ok(is_allowed(&tiers[TIER_MEDIUM], "/home/u/work/x", true) &&
           is_allowed(&tiers[TIER_MEDIUM], "/home/u/.cache/pip", true),
       "tier medium allows the rest of the home");
    ok(!is_allowed(&tiers[TIER_LOW], "/home/u/work", false) &&
           tiers[TIER_LOW].rules[SECTION_NETWORK][VERDICT_ALLOW].count == 0,
       "tier low allows no folder and no network");
    ok(is_allowed(&tiers[TIER_HIGH], "/etc", true) &&
           is_allowed(&tiers[TIER_HIGH], "/home/u/.ssh", true),
       "tier high allows everything");
    struct policy homeless;
    ok(policy_tier(TIER_MEDIUM, NULL, arena, &homeless, &err) == 0 &&
           !is_allowed(&homeless, "/x", false) &&
           policy_tier(TIER_MEDIUM, "/", arena, &homeless, &err) == 0 &&
           !is_allowed(&homeless, "/x", false),
       "tier medium without a home allows no folder");
}

static void test_presets(struct arena *arena)
{
    for (size_t i = 0; policy_preset_names[i]; i++) {
        const char *text = policy_preset_text(policy_preset_names[i]);
        struct policy policy;
        struct err err = {0};
        int rc = text ? policy_parse(text, strlen(text), &yaml, arena, &policy, NULL, &err) : -1;
        ok(rc == 0 && strcmp(policy.id, policy_preset_names[i]) == 0 && policy.tier != TIER_NONE,
           "preset %s is a policy with a tier %s", policy_preset_names[i], err.message);
        if (rc == 0 && strcmp(policy.id, "agent-skill") == 0)
            ok(policy.limit_default[LIMIT_WALL] == 60000000000 &&
                   policy.limit_max[LIMIT_WALL] == 120000000000 &&
                   policy.limit_max[LIMIT_OUTPUT] == 8000 && strcmp(policy.workspace, "/data") == 0,
               "agent-skill: 60 s, at most 120 s, 8,000 bytes, /data");
    }
    ok(!policy_preset_text("low") && !policy_preset_text("") && !policy_tier_text(TIER_NONE),
       "there are no others");
}

static void test_many(struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(1 << 20);
    const struct policy_context context = {.where = "p"};
    struct policy policy;
    struct err err = {0};

    (void) buf_add_string(&text, "{\"version\":1,\"env\":{\"allow\":["); /* seen below */
    for (int i = 0; i < POLICY_MAX_RULES; i++)
        (void) buf_printf(&text, "%s\"V%d\"", i ? ",\n" : "", i);
    (void) buf_add_string(&text, "]}}");
    ok(policy_parse(text.data, text.len, &context, arena, &policy, NULL, &err) == 0 &&
           policy.rules[SECTION_ENV][VERDICT_ALLOW].items[POLICY_MAX_RULES - 1].line ==
               POLICY_MAX_RULES,
       "%d rules are taken, each with its line", POLICY_MAX_RULES);
    text.len -= 3;
    (void) buf_add_string(&text, ",\"W\"]}}");
    ok(policy_parse(text.data, text.len, &context, arena, &policy, NULL, &err) < 0 &&
           strstr(err.message, "more than 20000 rules"),
       "one more is not");
}

int main(void)
{
    struct arena *arena = arena_new();

    test_full(arena);
    test_nothing(arena);
    test_spellings(arena);
    test_places(arena);
    test_tiers(arena);
    test_presets(arena);
    test_many(arena);
    arena_free(arena);
    return done();
}
