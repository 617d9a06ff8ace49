/*
 * layers_rig: layers from short texts, for tables of what several policies say together.
 */
#pragma once

#include "decide_rig.h"

#define MAX_LAYERS 3

/* Policies as "LAYER KEYS", a tier as "tier NAME". */
static void read_layers(const char *const *texts, struct arena *arena, struct policy *layers,
                        struct authority *authority)
{
    *authority = (struct authority){.layers = layers};
    for (size_t i = 0; i < MAX_LAYERS && texts[i]; i++) {
        char name[16], json[2048];
        size_t len = strcspn(texts[i], " ");
        int layer = 0;

        (void) snprintf(name, sizeof(name), "%.*s", (int) len, texts[i]);
        while (strcmp(layer_names[layer], name) != 0)
            layer++;
        if (layer == LAYER_TIER) {
            int tier = TIER_LOW;
            while (strcmp(tier_names[tier], texts[i] + len + 1) != 0)
                tier++;
            rig_tier((enum tier) tier, arena, &layers[i]);
        } else {
            (void) snprintf(json, sizeof(json), "{\"version\":1%s%s}", texts[i][len] ? "," : "",
                            texts[i][len] ? texts[i] + len + 1 : "");
            rig_policy(json, (enum layer) layer, layer_names[layer], arena, &layers[i]);
        }
        authority->n_layers++;
    }
}

static void become(struct authority *authority, bool is_agent)
{
    if (is_agent)
        authority->principal = (struct principal){true, "agent:bot"};
    else
        principal_owner(&authority->principal);
}
