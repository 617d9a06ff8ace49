#include "gate/gate.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "gate/record.h"
#include "store/db.h"

int gate_open(struct gate *gate, const struct gate_options *options, const struct places *places,
              bool with_programs, struct arena *arena, struct err *err)
{
    char *cwd = getcwd(NULL, 0); /* NULL: it has no name, so nothing of a project lies above it */
    const struct policy_places found_in = {
        .system_dir = places->system_dir,
        .user_dir = places->config_dir,
        .file = options->policy,
        .cwd = cwd,
        .home = places->home,
        .tier = options->tier,
        .is_agent = options->principal.is_agent,
    };

    *gate = (struct gate){
        .options = options, .places = places, .arena = arena, .audit_err.code = ERR_NONE};
    int rc = policies_load(&found_in, with_programs, arena, &gate->policies, err);
    free(cwd);
    if (rc < 0)
        return -1;
    gate->authority = (struct authority){
        .principal = options->principal,
        .layers = gate->policies.layers,
        .n_layers = gate->policies.count,
    };
    decide_settings(&gate->authority, &gate->settings);
    gate->leave = (struct leave){
        .principal = &gate->options->principal,
        .layers = gate->policies.layers,
        .n_layers = gate->policies.count,
        .policy = gate->policies.digest,
    };
    return 0;
}

bool gate_stands_open(const struct gate *gate)
{
    return !gate->options->principal.is_agent && gate->policies.count == 0;
}

void gate_release(struct gate *gate)
{
    db_close(gate->db);
    gate->db = NULL;
    audit_close(gate->audit);
    gate->audit = NULL;
}
