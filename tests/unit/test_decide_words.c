/* Refusals in words (decide_refuse). */
#include <string.h>

#include "base/utf8.h"
#include "decide_rig.h"
#include "plan/scope.h"
#include "tap.h"

static const char policy_text[] =
    "{\"version\":1,\"filesystem\":{\"ask\":[{\"path\":\"~/papers\",\"reason\":\"letters\"}],\n"
    "\"deny\":[{\"path\":\"~/.ssh\",\"reason\":\"keys\"},\"~/x\"]},\n"
    "\"exec\":{\"allow\":[\"ls\"]},\"approval\":{\"risk\":{\"exec_run\":\"privileged\"}}}";

#define GRANT "a grant would allow it: wasp grant create --holder agent:bot --capability "

static const struct {
    const char *layer; /* user, system, tier, - */
    bool is_owner;
    struct need need;
    const char *message, *hint;
} rows[] = {
    {"tier",
     false,
     {CAPABILITY_FS_WRITE, .path = "/home/u/ws"},
     "denied: agent:bot may not write beneath '/home/u/ws': no rule of tier low allows fs_write "
     "there",
     GRANT "fs_write --scope /home/u/ws --ttl 10m"},
    {"-",
     false,
     {CAPABILITY_FS_READ, .path = "/a"},
     "denied: agent:bot may not read beneath '/a': no rule of any policy allows fs_read there",
     GRANT "fs_read --scope /a --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_FS_READ, .path = "/home/u/a b"},
     "denied: agent:bot may not read beneath '/home/u/a b': no rule of user policy p.yaml allows "
     "fs_read there",
     GRANT "fs_read --scope '/home/u/a b' --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_FS_READ, .path = "/it's $HOME"},
     "denied: agent:bot may not read beneath '/it's $HOME': no rule of user policy p.yaml allows "
     "fs_read there",
     GRANT "fs_read --scope '/it'\\''s $HOME' --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_FS_READ, .path = "/a\n\x1b[2J'b\xff"},
     "denied: agent:bot may not read beneath '/a\\x0a\\x1b[2J'b\xef\xbf\xbd': no rule of user "
     "policy p.yaml allows fs_read there",
     GRANT "fs_read --scope $'/a\\x0a\\x1b[2J\\'b\\xff' --ttl 10m"},
    {"user",
     true,
     {CAPABILITY_FS_READ, .path = "/a"},
     "denied: owner may not read beneath '/a': no rule of user policy p.yaml allows fs_read there",
     "a rule of that policy would allow it ('wasp policy check')"},
    {"system",
     false,
     {CAPABILITY_FS_READ, .path = "/a"},
     "denied: agent:bot may not read beneath '/a': no rule of system policy p.yaml allows fs_read "
     "there",
     "no grant can allow what the system's policy does not: a rule there must"},
    {"user",
     false,
     {CAPABILITY_FS_READ, .path = "/home/u/.ssh/id"},
     "denied: agent:bot may not read beneath '/home/u/.ssh/id': denied by user policy p.yaml:2 "
     "(filesystem.deny '~/.ssh'): keys; no grant can allow it",
     ""},
    {"user",
     true,
     {CAPABILITY_FS_READ, .path = "/home/u/x"},
     "denied: owner may not read beneath '/home/u/x': denied by user policy p.yaml:2 "
     "(filesystem.deny '~/x'); no grant can allow it",
     ""},
    {"user",
     false,
     {CAPABILITY_FS_READ, .path = "/home/u/papers"},
     "approval is needed: agent:bot may read beneath '/home/u/papers' only if a person says so: "
     "user policy p.yaml:1 (filesystem.ask '~/papers'): letters",
     GRANT "fs_read --scope /home/u/papers --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_EXEC_RUN, .program = "/usr/bin/ls", .program_id = {1, 2}},
     "approval is needed: agent:bot may run '/usr/bin/ls' only if a person says so: exec_run is "
     "privileged here",
     GRANT "exec_run --scope /usr/bin/ls --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_EXEC_RUN, .program = NULL},
     "denied: agent:bot may not run 'prog': no rule of user policy p.yaml allows exec_run there",
     "what it is cannot be known on this host, so only a rule '*' allows it"},
    {"user",
     false,
     {CAPABILITY_ENV_SET, .name = "A"},
     "denied: agent:bot may not set the variable 'A': no rule of user policy p.yaml allows env_set "
     "there",
     GRANT "env_set --scope A --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_CODE_RUN, .name = "python"},
     "denied: agent:bot may not run code of 'python': no rule of user policy p.yaml allows "
     "code_run there",
     GRANT "code_run --scope python --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_CODE_RUN, .path = "/m.wasm"},
     "denied: agent:bot may not run code of 'module:/m.wasm': no rule of user policy p.yaml allows "
     "code_run there",
     GRANT "code_run --scope module:/m.wasm --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_NET_HTTP, .is_loopback = true},
     "denied: agent:bot may not connect its own processes (loopback): no rule of user policy "
     "p.yaml allows net_http there",
     GRANT "net_http --scope loopback --ttl 10m"},
    {"user",
     false,
     {CAPABILITY_NET_HTTP, .host = "example.com", .port = 443, .method = "GET", .url_path = "/v1"},
     "denied: agent:bot may not ask the network for 'GET https://example.com:443/v1': no rule of "
     "user policy p.yaml allows net_http there",
     GRANT "net_http --scope 'GET https://example.com:443/v1' --ttl 10m"},
};

/* The authority of a row; its layer is parsed anew, as messages name it. */
static void make_authority(const char *layer, bool is_owner, struct arena *arena,
                           struct policy *policy, struct authority *authority)
{
    *authority = (struct authority){.layers = policy, .n_layers = 1};
    if (is_owner)
        principal_owner(&authority->principal);
    else
        authority->principal = (struct principal){true, "agent:bot"};
    if (strcmp(layer, "tier") == 0)
        rig_tier(TIER_LOW, arena, policy);
    else if (strcmp(layer, "-") == 0)
        authority->n_layers = 0;
    else
        rig_policy(policy_text, strcmp(layer, "user") == 0 ? LAYER_USER : LAYER_SYSTEM, "p.yaml",
                   arena, policy);
}

static void refuse(const char *layer, bool is_owner, const struct need *asked, struct arena *arena,
                   struct err *err)
{
    struct need need = *asked;
    struct policy policy;
    struct authority authority;
    struct judgement judgement;

    make_authority(layer, is_owner, arena, &policy, &authority);
    need.scope = scope_of(asked, "prog", arena);
    decide_need(&authority, &need, &judgement);
    if (judgement.verdict == VERDICT_ALLOW || !need.scope ||
        decide_refuse(&need, &judgement, &authority.principal, err) != -1)
        abort();
}

static void test_row(size_t i, struct arena *arena)
{
    struct err err = {0};

    refuse(rows[i].layer, rows[i].is_owner, &rows[i].need, arena, &err);
    if (!ok(err.code == ERR_DENIED && strcmp(err.message, rows[i].message) == 0 &&
                strcmp(err.hint, rows[i].hint) == 0,
            "refused: %s", rows[i].message))
        printf("# %s\n# %s\n", err.message, err.hint);
}

/* Half a path would be a larger grant. */
static void test_long(struct arena *arena)
{
    char path[4000];
    struct err err = {0};
    const struct need need = {CAPABILITY_FS_WRITE, .path = path};

    for (size_t i = 0; i + 1 < sizeof(path); i++)
        path[i] = i % 10 ? 'a' : '/';
    path[sizeof(path) - 1] = '\0';
    refuse("user", false, &need, arena, &err);
    ok(strstr(err.hint, "--scope SCOPE --ttl 10m") && !strstr(err.hint, "/aaa"),
       "a scope that does not fit into a hint is not shown in part: %s", err.hint);
    ok(strstr(err.message, "...'") && strstr(err.message, "no rule of user policy p.yaml allows"),
       "a path that does not fit leaves the message its end: %s", err.message);
}

static void test_long_rule(struct arena *arena)
{
    char reason[2000], name[600];
    struct rule rule = {
        .text = name, .reason = reason, .line = 4000000000, .verdict = VERDICT_DENY};
    const struct policy policy = {.layer = LAYER_PROJECT, .where = name};
    const struct judgement judgement = {
        .verdict = VERDICT_DENY, .layer = &policy, .rule = &rule, .risk = RISK_SAFE};
    const struct need need = {CAPABILITY_FS_WRITE, .path = name, .scope = name};
    struct principal agent = {.is_agent = true};
    struct err err = {0};

    memset(agent.name, 'n', sizeof(agent.name) - 1);
    for (size_t i = 0; i < sizeof(reason); i++)
        reason[i] = "\xe2\x82\xac"[i % 3]; /* whole characters, and then one that is cut */
    reason[sizeof(reason) - 1] = '\0';
    memset(name, '/', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void) arena; /* nothing is kept */
    ok(decide_refuse(&need, &judgement, &agent, &err) == -1 &&
           utf8_valid(err.message, strlen(err.message)) &&
           strlen(err.message) < sizeof(err.message) && strncmp(err.message, "denied: n", 9) == 0,
       "a refusal of endless names is one message");
}

static void test_unknown(void)
{
    const struct need need = {.capability = CAPABILITIES, .scope = "x"};
    const struct authority owner = {.principal = {false, "owner"}};
    struct judgement judgement;
    struct err err = {0};

    decide_need(&owner, &need, &judgement);
    ok(judgement.verdict == VERDICT_DENY && judgement.per_hour == 0 && !judgement.grant_would_do,
       "what is no capability is denied, whoever asks");
    ok(decide_refuse(&need, &judgement, &owner.principal, &err) == -1 && err.code == ERR_DENIED,
       "and refused in words: %s", err.message);
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        test_row(i, arena);
    test_long(arena);
    test_long_rule(arena);
    test_unknown();
    arena_free(arena);
    return done();
}
