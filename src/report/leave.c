#include "report/leave.h"

#include <string.h>

#include "base/clock.h"
#include "report/explain.h"
#include "report/shown.h"

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    shown_put(json, text, strlen(text), NULL);
}

static void write_digest(struct json_writer *json, const char *key, const struct digest *digest)
{
    char hex[DIGEST_HEX];

    digest_hex(digest, hex);
    write_text(json, key, hex);
}

static void write_time(struct json_writer *json, const char *key, uint64_t ms)
{
    char text[CLOCK_TEXT_SIZE];

    clock_format(ms * NS_PER_MS, text);
    write_text(json, key, text);
}

/* The name that people gave it, or where it is from. */
static const char *name_layer(const struct policy *layer)
{
    return layer->id ? layer->id : layer->where;
}

static void write_policy(struct json_writer *json, const struct leave *leave)
{
    json_key(json, "policy");
    json_open_object(json);
    write_text(json, "id", name_layer(&leave->layers[0]));
    write_digest(json, "digest", &leave->policy);
    json_key(json, "layers");
    json_open_array(json);
    for (size_t i = 0; i < leave->n_layers; i++) {
        const struct policy *layer = &leave->layers[i];
        json_open_object(json);
        write_text(json, "layer", layer_names[layer->layer]);
        write_text(json, "id", name_layer(layer));
        write_text(json, "where", layer->where);
        write_digest(json, "digest", &layer->digest);
        json_close_object(json);
    }
    json_close_array(json);
    json_close_object(json);
}

static void write_clamps(struct json_writer *json, const struct leave *leave)
{
    char text[LIMIT_TEXT_SIZE];

    json_key(json, "clamped");
    json_open_array(json);
    for (size_t i = 0; i < leave->n_clamps; i++) {
        const struct clamp *clamp = &leave->clamps[i];
        json_open_object(json);
        write_text(json, "limit", limit_rows[clamp->limit].name);
        limits_format(clamp->limit, clamp->from, text);
        write_text(json, "asked", text);
        limits_format(clamp->limit, clamp->to, text);
        write_text(json, "given", text);
        write_text(json, "by", clamp->layer ? clamp->layer->where : "default");
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_grants(struct json_writer *json, const struct leave *leave)
{
    json_key(json, "grants");
    json_open_array(json);
    for (size_t i = 0; i < leave->n_grants; i++) {
        const struct grant *grant = leave->grants[i];
        json_open_object(json);
        write_text(json, "id", grant->id);
        write_text(json, "capability", capability_rows[grant->capability].name);
        write_text(json, "scope", grant->scope);
        write_time(json, "expires_at", grant->expires_ms);
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_approval(struct json_writer *json, const struct leave *leave)
{
    json_key(json, "approval");
    json_open_object(json);
    write_text(json, "id", leave->approval);
    write_time(json, "expires_at", leave->approval_expires_ms);
    json_close_object(json);
}

static void write_audit(struct json_writer *json, const struct leave *leave)
{
    json_key(json, "audit");
    if (leave->has_place) {
        json_open_object(json);
        json_key(json, "seq");
        json_put_uint(json, leave->place.seq);
        write_digest(json, "hash", &leave->place.hash);
        json_close_object(json);
    } else {
        json_put_null(json);
    }
    if (leave->audit_error)
        write_text(json, "audit_error", leave->audit_error);
}

void leave_write(struct json_writer *json, const struct leave *leave)
{
    if (leave->principal)
        write_text(json, "principal", leave->principal->name);
    if (leave->n_layers > 0)
        write_policy(json, leave);
    if (leave->n_clamps > 0)
        write_clamps(json, leave);
    if (leave->n_grants > 0)
        write_grants(json, leave);
    if (leave->approval)
        write_approval(json, leave);
    if (leave->has_request)
        write_digest(json, "request_sha256", &leave->request);
    if (leave->plan) {
        json_key(json, "plan");
        if (explain_put(json, leave->plan, false) < 0)
            json_put_null(json);
    }
    if (leave->audits)
        write_audit(json, leave);
}
