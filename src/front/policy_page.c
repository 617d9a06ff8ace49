#include "front/policy_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* ---- for people ------------------------------------------------------------------------------ */

/* Names of files may hold anything; a rule's texts cannot. */
static void add_name(struct page *page, const char *name)
{
    struct err clean;

    (void) err_set(&clean, ERR_REQUEST, "%s", name); /* always -1 */
    page_add(page, "%s", clean.message);
}

/* What narrows a rule, behind its text. */
static void add_details(struct page *page, const struct rule *rule)
{
    if (rule->writes)
        page_add(page, " read-write");
    for (size_t i = 0; i < rule->n_ports; i++)
        page_add(page, "%s%u", i ? "," : " port ", rule->ports[i]);
    for (size_t i = 0; i < rule->n_methods; i++)
        page_add(page, "%s%s", i ? "," : " ", rule->methods[i]);
    if (rule->path_prefix)
        page_add(page, " %s", rule->path_prefix);
    for (size_t i = 0; i < rule->n_args; i++)
        page_add(page, " '%s'", rule->args[i]);
    if (rule->args && rule->any_args)
        page_add(page, " …");
    else if (rule->args && rule->n_args == 0)
        page_add(page, " without arguments");
    if (rule->has_sha256) {
        char hex[DIGEST_HEX];
        digest_hex(&rule->sha256, hex);
        page_add(page, " sha256:%s", hex);
    }
    if (rule->real)
        page_add(page, " -> %s", rule->real);
}

static void add_rules(struct page *page, const struct policy *policy, int section, int verdict)
{
    const struct rules *rules = &policy->rules[section][verdict];

    for (const struct rule *rule = rules->items; rule < rules->items + rules->count; rule++) {
        page_add(page, "  %-5s %-11s %s", verdict_names[verdict], section_names[section],
                 rule->text);
        add_details(page, rule);
        page_add(page, "  (");
        add_name(page, policy->where);
        page_add(page, ":%u)%s%s\n", rule->line, rule->reason ? " " : "",
                 rule->reason ? rule->reason : "");
    }
}

static void add_limits(struct page *page, const char *name, const uint64_t values[LIMIT_COUNT])
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        char text[LIMIT_TEXT_SIZE];
        if (values[i] == 0)
            continue;
        limits_format((enum limit) i, values[i], text);
        page_add(page, "  limits.%s %s %s\n", name, limit_rows[i].name, text);
    }
}

static void add_approval(struct page *page, const struct policy *policy)
{
    for (int i = 0; i < CAPABILITIES; i++) {
        if (policy->risk[i] >= 0)
            page_add(page, "  approval.risk %s %s\n", capability_rows[i].name,
                     risk_rows[policy->risk[i]].name);
        if (policy->per_hour[i] >= 0)
            page_add(page, "  approval.per_hour %s %d\n", capability_rows[i].name,
                     policy->per_hour[i]);
    }
    for (int i = 0; i < RISKS; i++)
        if (policy->simulate[i])
            page_add(page, "  approval.simulate %s\n", risk_rows[i].name);
    if (policy->pending_ms)
        page_add(page, "  approval.pending_ms %" PRIu64 "\n", policy->pending_ms);
    if (policy->ttl_ms)
        page_add(page, "  approval.ttl_ms %" PRIu64 "\n", policy->ttl_ms);
    if (policy->uses)
        page_add(page, "  approval.uses %u\n", policy->uses);
}

static void add_settings(struct page *page, const struct policy *policy)
{
    if (policy->workspace)
        page_add(page, "  filesystem.workspace %s\n", policy->workspace);
    for (size_t i = 0; i < policy->n_backends; i++)
        page_add(page, "  code.backends %s %s\n", policy->backends[i].language,
                 request_backend_names[policy->backends[i].backend]);
    if (policy->isolation_given)
        page_add(page, "  code.isolation %s\n", request_isolation_names[policy->isolation]);
    if (policy->refuses_generated)
        page_add(page, "  code.generated false\n");
    add_limits(page, "default", policy->limit_default);
    add_limits(page, "max", policy->limit_max);
    add_approval(page, policy);
    if (policy->audit != AUDIT_UNSAID)
        page_add(page, "  audit.mode %s\n", audit_mode_names[policy->audit]);
    if (policy->durability != DURABILITY_UNSAID)
        page_add(page, "  audit.durability %s\n", durability_names[policy->durability]);
    if (policy->rotate_bytes)
        page_add(page, "  audit.rotate_bytes %" PRIu64 "\n", policy->rotate_bytes);
    if (policy->keep_segments)
        page_add(page, "  audit.keep_segments %u\n", policy->keep_segments);
}

static int print_layer(const struct policy *policy)
{
    _cleanup_(page_release) struct page page = {.text = BUF_INIT((size_t) 64 << 20)};
    char hex[DIGEST_HEX];

    digest_hex(&policy->digest, hex);
    if (policy->layer == LAYER_TIER) /* its name says that it is one */
        page_add(&page, "\n");
    else
        page_add(&page, "\n%s ", layer_names[policy->layer]);
    add_name(&page, policy->where);
    page_add(&page, "  sha256:%s%s%s%s%s\n", hex, policy->id ? "  id " : "",
             policy->id ? policy->id : "", policy->tier != TIER_NONE ? "  tier " : "",
             policy->tier != TIER_NONE ? tier_names[policy->tier] : "");
    for (int section = 0; section < SECTIONS; section++)
        for (int verdict = VERDICT_DENY; verdict >= 0; verdict--)
            add_rules(&page, policy, section, verdict);
    add_settings(&page, policy);
    return page_print(&page);
}

int policy_page_print(const struct policies *policies, const struct principal *principal)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    char hex[DIGEST_HEX];

    digest_hex(&policies->digest, hex);
    if (policies->count == 0)
        page_add(&page, "no policy is in force: what %s asks for stands as given\n",
                 principal->name);
    else
        page_add(&page,
                 "for %s, sha256:%s: each layer is judged by itself, the strictest word stands; "
                 "what none of its rules allows, a layer denies\n",
                 principal->name, hex);
    int status = page_print(&page);
    for (size_t i = 0; status == 0 && i < policies->count; i++)
        status = print_layer(&policies->layers[i]);
    return status;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void put_digest(struct json_writer *json, const char *key, const struct digest *digest)
{
    char hex[DIGEST_HEX];

    digest_hex(digest, hex);
    put_text(json, key, hex);
}

static void put_number(struct json_writer *json, const char *key, uint64_t number)
{
    json_key(json, key);
    json_put_uint(json, number);
}

static void put_texts(struct json_writer *json, const char *key, const char *const *texts,
                      size_t count)
{
    json_key(json, key);
    json_open_array(json);
    for (size_t i = 0; i < count; i++)
        json_put_string(json, texts[i]);
    json_close_array(json);
}

static void put_details(struct json_writer *json, const struct rule *rule, int section)
{
    if (rule->real)
        put_text(json, "real", rule->real);
    if (section == SECTION_FILESYSTEM && rule->verdict != VERDICT_DENY)
        put_text(json, "access", rule->writes ? "read-write" : "read-only");
    if (rule->n_ports) {
        json_key(json, "ports");
        json_open_array(json);
        for (size_t i = 0; i < rule->n_ports; i++)
            json_put_uint(json, rule->ports[i]);
        json_close_array(json);
    }
    if (rule->n_methods)
        put_texts(json, "methods", rule->methods, rule->n_methods);
    if (rule->path_prefix)
        put_text(json, "path_prefix", rule->path_prefix);
    if (rule->args) {
        put_texts(json, "args", rule->args, rule->n_args);
        json_key(json, "any_args");
        json_put_bool(json, rule->any_args);
    }
    if (section == SECTION_EXEC && !rule->is_any) {
        json_key(json, "found");
        json_put_bool(json, rule->has_program_id);
    }
    if (rule->has_sha256)
        put_digest(json, "sha256", &rule->sha256);
}

static void put_rules(struct json_writer *json, const struct policy *policy, int section,
                      int verdict)
{
    const struct rules *rules = &policy->rules[section][verdict];

    for (const struct rule *rule = rules->items; rule < rules->items + rules->count; rule++) {
        json_open_object(json);
        put_text(json, "section", section_names[section]);
        put_text(json, "list", verdict_names[verdict]);
        put_text(json, "text", rule->text);
        put_number(json, "line", rule->line);
        if (rule->reason)
            put_text(json, "reason", rule->reason);
        put_details(json, rule, section);
        json_close_object(json);
    }
}

/* By their keys in a policy, and in its units. */
static void put_limits(struct json_writer *json, const char *key,
                       const uint64_t values[LIMIT_COUNT])
{
    json_key(json, key);
    json_open_object(json);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        uint64_t unit = limit_rows[i].unit == UNIT_DURATION ? NS_PER_MS : 1;
        if (values[i] == UNITS_UNLIMITED)
            put_text(json, limit_rows[i].key, "unlimited");
        else if (values[i] != 0)
            put_number(json, limit_rows[i].key, values[i] / unit);
    }
    json_close_object(json);
}

static void put_approval(struct json_writer *json, const struct policy *policy)
{
    json_key(json, "approval");
    json_open_object(json);
    json_key(json, "risk");
    json_open_object(json);
    for (int i = 0; i < CAPABILITIES; i++)
        if (policy->risk[i] >= 0)
            put_text(json, capability_rows[i].name, risk_rows[policy->risk[i]].name);
    json_close_object(json);
    json_key(json, "per_hour");
    json_open_object(json);
    for (int i = 0; i < CAPABILITIES; i++)
        if (policy->per_hour[i] >= 0)
            put_number(json, capability_rows[i].name, (uint64_t) policy->per_hour[i]);
    json_close_object(json);
    json_key(json, "simulate");
    json_open_array(json);
    for (int i = 0; i < RISKS; i++)
        if (policy->simulate[i])
            json_put_string(json, risk_rows[i].name);
    json_close_array(json);
    if (policy->pending_ms)
        put_number(json, "pending_ms", policy->pending_ms);
    if (policy->ttl_ms)
        put_number(json, "ttl_ms", policy->ttl_ms);
    if (policy->uses)
        put_number(json, "uses", policy->uses);
    json_close_object(json);
}

static void put_audit(struct json_writer *json, const struct policy *policy)
{
    json_key(json, "audit");
    json_open_object(json);
    if (policy->audit != AUDIT_UNSAID)
        put_text(json, "mode", audit_mode_names[policy->audit]);
    if (policy->durability != DURABILITY_UNSAID)
        put_text(json, "durability", durability_names[policy->durability]);
    if (policy->rotate_bytes)
        put_number(json, "rotate_bytes", policy->rotate_bytes);
    if (policy->keep_segments)
        put_number(json, "keep_segments", policy->keep_segments);
    json_close_object(json);
}

static void put_code(struct json_writer *json, const struct policy *policy)
{
    json_key(json, "code");
    json_open_object(json);
    json_key(json, "backends");
    json_open_object(json);
    for (size_t i = 0; i < policy->n_backends; i++)
        put_text(json, policy->backends[i].language,
                 request_backend_names[policy->backends[i].backend]);
    json_close_object(json);
    put_text(json, "isolation", request_isolation_names[policy->isolation]);
    json_key(json, "generated");
    json_put_bool(json, !policy->refuses_generated);
    json_close_object(json);
}

static void put_layer(struct json_writer *json, const struct policy *policy)
{
    json_open_object(json);
    put_text(json, "layer", layer_names[policy->layer]);
    put_text(json, "where", policy->where);
    put_text(json, "id", policy->id);
    put_digest(json, "sha256", &policy->digest);
    put_text(json, "tier", policy->tier != TIER_NONE ? tier_names[policy->tier] : NULL);
    json_key(json, "rules");
    json_open_array(json);
    for (int section = 0; section < SECTIONS; section++)
        for (int verdict = VERDICT_DENY; verdict >= 0; verdict--)
            put_rules(json, policy, section, verdict);
    json_close_array(json);
    put_text(json, "workspace", policy->workspace);
    put_code(json, policy);
    json_key(json, "limits");
    json_open_object(json);
    put_limits(json, "default", policy->limit_default);
    put_limits(json, "max", policy->limit_max);
    json_close_object(json);
    put_approval(json, policy);
    put_audit(json, policy);
    json_close_object(json);
}

void policy_page_write(struct json_writer *json, const struct policies *policies,
                       const struct principal *principal)
{
    json_open_object(json);
    put_text(json, "schema", "wasp.policy.show/1");
    put_text(json, "principal", principal->name);
    if (policies->count > 0)
        put_digest(json, "sha256", &policies->digest);
    else
        put_text(json, "sha256", NULL);
    json_key(json, "layers");
    json_open_array(json);
    for (size_t i = 0; i < policies->count; i++)
        put_layer(json, &policies->layers[i]);
    json_close_array(json);
    json_close_object(json);
}
