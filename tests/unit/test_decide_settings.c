/* Settings of all layers together, and the terms on which something is allowed. */
#include <stdio.h>
#include <string.h>

#include "layers_rig.h"
#include "tap.h"

/* ---- settings -------------------------------------------------------------------------------- */

#define AUDIT(keys) "\"audit\":{" keys "}"
#define APPROVAL(keys) "\"approval\":{" keys "}"

static const struct {
    const char *layers[MAX_LAYERS];
    bool is_agent;
    const char *shown; /* audit durability rotate keep pending ttl uses */
} settings_cases[] = {
    {{NULL}, false, "best-effort kill 0 0 900000 0 0"},
    {{NULL}, true, "required kill 0 0 900000 0 0"},
    {{"user"}, false, "required kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"mode\":\"off\"")}, false, "off kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"mode\":\"best-effort\"")}, true, "best-effort kill 0 0 900000 0 0"},
    {{"system " AUDIT("\"mode\":\"required\""), "user " AUDIT("\"mode\":\"off\"")},
     true,
     "required kill 0 0 900000 0 0"},
    {{"user", "project " AUDIT("\"mode\":\"off\"")}, true, "required kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"mode\":\"off\""), "project " AUDIT("\"mode\":\"required\"")},
     true,
     "required kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"mode\":\"off\""), "tier low"}, true, "required kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"durability\":\"power\""), "project " AUDIT("\"durability\":\"kill\"")},
     true,
     "required power 0 0 900000 0 0"},
    {{"user", "project " AUDIT("\"durability\":\"power\"")}, true, "required power 0 0 900000 0 0"},
    {{"user " AUDIT("\"rotate_bytes\":1048576,\"keep_segments\":5")},
     true,
     "required kill 1048576 5 900000 0 0"},
    {{"user", "project " AUDIT("\"rotate_bytes\":1048576,\"keep_segments\":1")},
     true,
     "required kill 0 0 900000 0 0"},
    {{"user " AUDIT("\"rotate_bytes\":2097152,\"keep_segments\":5"),
      "project " AUDIT("\"rotate_bytes\":1048576,\"keep_segments\":9")},
     true,
     "required kill 2097152 9 900000 0 0"},
    {{"user " APPROVAL("\"pending_ms\":1000,\"ttl_ms\":3600000,\"uses\":5")},
     true,
     "required kill 0 0 1000 3600000 5"},
    {{"user " APPROVAL("\"ttl_ms\":3600000,\"uses\":5"),
      "project " APPROVAL("\"ttl_ms\":60000,\"uses\":2")},
     true,
     "required kill 0 0 900000 60000 2"},
    {{"user", "project " APPROVAL("\"pending_ms\":9000000,\"ttl_ms\":9000000,\"uses\":9")},
     true,
     "required kill 0 0 900000 9000000 9"},
    {{"system " APPROVAL("\"uses\":3"), "user " APPROVAL("\"uses\":5")},
     true,
     "required kill 0 0 900000 0 3"},
};

static void test_settings(size_t i, struct arena *arena)
{
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    struct settings is;
    char shown[256];

    read_layers(settings_cases[i].layers, arena, layers, &authority);
    become(&authority, settings_cases[i].is_agent);
    decide_settings(&authority, &is);
    (void) snprintf(shown, sizeof(shown), "%s %s %llu %u %llu %llu %u", audit_mode_names[is.audit],
                    durability_names[is.durability], (unsigned long long) is.rotate_bytes,
                    is.keep_segments, (unsigned long long) is.pending_ms,
                    (unsigned long long) is.ttl_ms, is.uses);
    ok(strcmp(shown, settings_cases[i].shown) == 0, "settings %zu are %s", i, shown);
}

/* ---- terms ----------------------------------------------------------------------------------- */

static const struct {
    const char *layers[MAX_LAYERS];
    bool is_agent;
    enum risk risk;
    int per_hour;
    bool simulate;
} terms[] = {
    {{NULL}, false, RISK_CONTROLLED, PER_HOUR_ANY, false},
    {{NULL}, true, RISK_CONTROLLED, 100, false},
    {{"user"}, true, RISK_CONTROLLED, 100, false},
    {{"user"}, false, RISK_CONTROLLED, 100, false},
    {{"user " APPROVAL("\"risk\":{\"exec_run\":\"safe\"}")}, true, RISK_SAFE, PER_HOUR_ANY, false},
    {{"user " APPROVAL("\"risk\":{\"exec_run\":\"restricted\"}")},
     true,
     RISK_RESTRICTED,
     30,
     false},
    {{"user " APPROVAL("\"risk\":{\"exec_run\":\"privileged\"}")},
     true,
     RISK_PRIVILEGED,
     20,
     false},
    {{"user " APPROVAL("\"risk\":{\"fs_read\":\"privileged\"}")},
     true,
     RISK_CONTROLLED,
     100,
     false},
    {{"system " APPROVAL("\"risk\":{\"exec_run\":\"restricted\"}"),
      "user " APPROVAL("\"risk\":{\"exec_run\":\"safe\"}")},
     true,
     RISK_RESTRICTED,
     30,
     false},
    {{"user", "project " APPROVAL("\"risk\":{\"exec_run\":\"safe\"}")},
     true,
     RISK_CONTROLLED,
     100,
     false},
    {{"user", "project " APPROVAL("\"risk\":{\"exec_run\":\"restricted\"}")},
     true,
     RISK_RESTRICTED,
     30,
     false},
    {{"user " APPROVAL("\"risk\":{\"exec_run\":\"safe\"}"),
      "project " APPROVAL("\"risk\":{\"exec_run\":\"monitored\"}")},
     true,
     RISK_MONITORED,
     PER_HOUR_ANY,
     false},
    {{"user " APPROVAL("\"per_hour\":{\"exec_run\":10}")}, true, RISK_CONTROLLED, 10, false},
    {{"user " APPROVAL("\"per_hour\":{\"exec_run\":500}")}, true, RISK_CONTROLLED, 500, false},
    {{"user " APPROVAL("\"per_hour\":{\"exec_run\":0}")}, true, RISK_CONTROLLED, 0, false},
    {{"user", "project " APPROVAL("\"per_hour\":{\"exec_run\":500}")},
     true,
     RISK_CONTROLLED,
     100,
     false},
    {{"user", "project " APPROVAL("\"per_hour\":{\"exec_run\":5}")},
     true,
     RISK_CONTROLLED,
     5,
     false},
    {{"user " APPROVAL("\"per_hour\":{\"exec_run\":500}"),
      "project " APPROVAL("\"per_hour\":{\"exec_run\":300}")},
     true,
     RISK_CONTROLLED,
     300,
     false},
    {{"system " APPROVAL("\"per_hour\":{\"exec_run\":50}"),
      "user " APPROVAL("\"per_hour\":{\"exec_run\":500}")},
     true,
     RISK_CONTROLLED,
     50,
     false},
    {{"user " APPROVAL("\"simulate\":[\"restricted\",\"privileged\"]")},
     true,
     RISK_CONTROLLED,
     100,
     false},
    {{"user " APPROVAL("\"simulate\":[\"controlled\"]")}, true, RISK_CONTROLLED, 100, true},
    {{"user", "project " APPROVAL("\"simulate\":[\"controlled\"]")},
     true,
     RISK_CONTROLLED,
     100,
     true},
    {{"user " APPROVAL("\"simulate\":[\"controlled\"]"),
      "project " APPROVAL("\"risk\":{\"exec_run\":\"restricted\"}")},
     true,
     RISK_RESTRICTED,
     30,
     true},
    {{"user " APPROVAL("\"risk\":{\"exec_run\":\"restricted\"},\"simulate\":[\"restricted\"]")},
     false,
     RISK_RESTRICTED,
     30,
     true},
};

static void test_terms(size_t i, struct arena *arena)
{
    const struct need need = {.capability = CAPABILITY_EXEC_RUN, .scope = "x"};
    struct policy layers[MAX_LAYERS];
    struct authority authority;
    struct judgement judgement;

    read_layers(terms[i].layers, arena, layers, &authority);
    become(&authority, terms[i].is_agent);
    decide_need(&authority, &need, &judgement);
    ok(judgement.risk == terms[i].risk && judgement.per_hour == terms[i].per_hour &&
           judgement.simulate == terms[i].simulate,
       "terms %zu: %s, %d an hour%s", i, risk_rows[judgement.risk].name, judgement.per_hour,
       judgement.simulate ? ", simulated" : "");
}

int main(void)
{
    struct arena *arena = arena_new();

    if (!arena)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(settings_cases); i++)
        test_settings(i, arena);
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
        test_terms(i, arena);
    arena_free(arena);
    return done();
}
