#include "report/judgement.h"

#include <string.h>

#include "report/shown.h"

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        shown_put(json, text, strlen(text), NULL);
    else
        json_put_null(json);
}

static void write_rule(struct json_writer *json, const struct judgement *judgement)
{
    const struct policy *layer = judgement->layer;

    write_text(json, "layer", layer ? layer_names[layer->layer] : NULL);
    write_text(json, "where", layer ? layer->where : NULL);
    json_key(json, "rule");
    if (!judgement->rule) {
        json_put_null(json);
        return;
    }
    json_open_object(json);
    json_key(json, "line");
    json_put_uint(json, judgement->rule->line);
    write_text(json, "text", judgement->rule->text);
    write_text(json, "reason", judgement->rule->reason);
    json_close_object(json);
}

static void write_need(struct json_writer *json, const struct need *need,
                       const struct judgement *judgement, const struct principal *principal)
{
    struct err err;

    json_open_object(json);
    write_text(json, "capability", capability_rows[need->capability].name);
    write_text(json, "scope", need->scope);
    write_text(json, "verdict", verdict_names[judgement->verdict]);
    write_rule(json, judgement);
    write_text(json, "grant", judgement->grant ? judgement->grant->id : NULL);
    json_key(json, "grant_would_do");
    json_put_bool(json, judgement->grant_would_do);
    write_text(json, "risk", risk_rows[judgement->risk].name);
    json_key(json, "per_hour");
    if (judgement->per_hour == PER_HOUR_ANY)
        json_put_null(json);
    else
        json_put_uint(json, (uint64_t) judgement->per_hour);
    if (judgement->verdict != VERDICT_ALLOW) {
        (void) decide_refuse(need, judgement, principal, &err); /* always -1 */
        write_text(json, "message", err.message);
        write_text(json, "hint", err.hint[0] ? err.hint : NULL);
    }
    json_close_object(json);
}

int judgement_write(int fd, const struct leave *leave, const struct needs *needs,
                    const struct decision *decision)
{
    struct json_writer json;

    json_writer_init_fd(&json, fd);
    json_open_object(&json);
    write_text(&json, "schema", "wasp.judgement/1");
    write_text(&json, "verdict", verdict_names[decision->verdict]);
    json_key(&json, "simulate");
    json_put_bool(&json, decision->simulate);
    json_key(&json, "needs");
    json_open_array(&json);
    for (size_t i = 0; i < needs->count; i++)
        write_need(&json, &needs->items[i], &decision->judgements[i], leave->principal);
    json_close_array(&json);
    leave_write(&json, leave);
    json_close_object(&json);
    return json_finish(&json);
}
