/* The policies' word on what has no need, declared in decide.h. */
#include <stdio.h>
#include <string.h>

#include "plan/decide.h"

/* Where no layer says otherwise. */
#define PENDING_MS (15ULL * 60 * 1000)

/* Layers of the owner's own, which may set a value; the others may only make it stricter. */
static bool is_trusted(const struct policy *layer)
{
    return layer->layer == LAYER_SYSTEM || layer->layer == LAYER_USER;
}

static int deny(const struct policy *layer, struct err *err, const char *key, const char *why)
{
    return err_set(err, ERR_DENIED, "denied by %s%s%s (%s): %s",
                   layer->layer == LAYER_TIER ? "" : layer_names[layer->layer],
                   layer->layer == LAYER_TIER ? "" : " policy ", layer->where, key, why);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* A value of one limit and the layer that says it; NULL: the backend's own. */
struct bound {
    uint64_t value;
    const struct policy *layer;
};

static uint64_t pick(const struct policy *layer, enum limit limit, bool is_max)
{
    return is_max ? layer->limit_max[limit] : layer->limit_default[limit];
}

/* Where the owner wrote no policy, the tier that an agent gets in its place speaks for him. */
static bool is_base(const struct authority *authority, const struct policy *layer)
{
    for (size_t i = 0; i < authority->n_layers; i++)
        if (is_trusted(&authority->layers[i]))
            return is_trusted(layer);
    return layer->layer == LAYER_TIER;
}

/* The least that the base layers, or the others, say. */
static struct bound find_least(const struct authority *authority, enum limit limit, bool is_max,
                               bool of_base)
{
    struct bound least = {0, NULL};

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        uint64_t value = pick(layer, limit, is_max);
        if (is_base(authority, layer) == of_base && value > 0 &&
            (!least.layer || value < least.value))
            least = (struct bound){value, layer};
    }
    return least;
}

static struct bound lesser(struct bound a, struct bound b)
{
    return b.layer && b.value < a.value ? b : a;
}

/* No more than the backend can have. */
static struct bound within(struct bound bound, const struct limit_range *range)
{
    if (bound.value > range->max && !(bound.value == UNITS_UNLIMITED && range->may_be_unlimited))
        bound.value = range->max;
    return bound;
}

/* What it is where the request names none. */
static struct bound find_default(const struct authority *authority, enum limit limit,
                                 const struct limit_range *range)
{
    struct bound said = find_least(authority, limit, false, true);
    struct bound bound = said.layer ? within(said, range) : (struct bound){range->standard, NULL};

    return lesser(bound, find_least(authority, limit, false, false));
}

/* The most there can be; `otherwise` where no base layer says it. */
static struct bound find_max(const struct authority *authority, enum limit limit,
                             const struct limit_range *range, struct bound otherwise)
{
    struct bound said = find_least(authority, limit, true, true);

    return lesser(said.layer ? within(said, range) : otherwise,
                  find_least(authority, limit, true, false));
}

static int refuse_limit(enum limit limit, uint64_t value, struct bound max, struct err *err)
{
    char wanted[LIMIT_TEXT_SIZE], allowed[LIMIT_TEXT_SIZE], key[64], why[192];

    limits_format(limit, value, wanted);
    limits_format(limit, max.value, allowed);
    (void) snprintf(key, sizeof(key), "limits.max.%s", limit_rows[limit].key); /* fits */
    (void) snprintf(why, sizeof(why), "%s %s is above %s, the most it allows",
                    limit_rows[limit].option, wanted, allowed); /* fits */
    (void) deny(max.layer, err, key, why);                      /* -1, as below */
    return err_hint(err, "ask for less, or leave it out");
}

static int bound_limit(const struct authority *authority, enum limit limit, struct limits *limits,
                       struct clamp *clamps, size_t *n_clamps, struct err *err)
{
    const struct limit_range *range = &limit_rows[limit].of[limits->backend];
    const struct bound none = {UNITS_UNLIMITED, NULL}, standard = {range->standard, NULL};
    struct bound usual = find_default(authority, limit, range);
    struct bound agents = usual.value > standard.value ? usual : standard;
    struct bound max =
        find_max(authority, limit, range, authority->principal.is_agent ? agents : none);
    uint64_t *value = &limits->value[limit];

    if (!limits->given[limit]) {
        *value = usual.value < max.value ? usual.value : max.value;
        return 0;
    }
    if (*value <= max.value)
        return 0;
    if (!authority->principal.is_agent)
        return refuse_limit(limit, *value, max, err);
    clamps[(*n_clamps)++] = (struct clamp){limit, *value, max.value, max.layer};
    *value = max.value;
    return 0;
}

static int bound_limits(const struct authority *authority, struct request *request,
                        struct clamp *clamps, size_t *n_clamps, struct err *err)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (limit_exists((enum limit) i, request->backend) &&
            bound_limit(authority, (enum limit) i, &request->limits, clamps, n_clamps, err) < 0)
            return -1;
    return 0;
}

/* ---- how it is run --------------------------------------------------------------------------- */

static int check_unprotected(const struct authority *authority, const struct request *request,
                             struct err *err)
{
    if (!authority->principal.is_agent || request->n_unprotected == 0)
        return 0;
    (void) err_set(err, ERR_DENIED,
                   "denied: %s may not lift the protection of '%s': the host would run what it "
                   "writes there; no grant can allow it",
                   authority->principal.name, request->unprotected[0]); /* -1, as below */
    return err_hint(err, "leave it out, or let the owner make the request");
}

static bool says_landlock(const struct policy *layer)
{
    return layer->isolation_given && layer->isolation == ISOLATION_LANDLOCK;
}

/* The layer that forbids the landlock rung; a tier does so only if it says it. NULL: none. */
static const struct policy *find_strict(const struct authority *authority)
{
    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        if (!says_landlock(layer) && (layer->layer != LAYER_TIER || layer->isolation_given))
            return layer;
    }
    return NULL;
}

/* One of the owner's own layers wants it, and a project's word alone is not enough. */
static bool wants_landlock(const struct authority *authority)
{
    for (size_t i = 0; i < authority->n_layers; i++)
        if (is_trusted(&authority->layers[i]) && says_landlock(&authority->layers[i]))
            return true;
    return false;
}

static int bound_isolation(const struct authority *authority, struct request *request,
                           struct err *err)
{
    const struct policy *strict = find_strict(authority);
    bool is_wanted = wants_landlock(authority);

    if (!strict && is_wanted && !request->isolation_given)
        request->isolation = ISOLATION_LANDLOCK;
    if (request->isolation == ISOLATION_FULL)
        return 0;
    if (strict) {
        (void) deny(strict, err, "code.isolation",
                    "isolation 'landlock' is weaker than 'full', which it asks for"); /* -1 */
        return err_hint(err, "leave the isolation out; a policy allows the weaker one by "
                             "code.isolation: landlock");
    }
    if (is_wanted || !authority->principal.is_agent)
        return 0;
    return err_set(err, ERR_DENIED,
                   "denied: %s may not have isolation 'landlock': no policy of the owner's says "
                   "'code.isolation: landlock'",
                   authority->principal.name);
}

static int check_generated(const struct authority *authority, const struct request *request,
                           struct err *err)
{
    if (!request->language && !request->source)
        return 0;
    for (size_t i = 0; i < authority->n_layers; i++)
        if (authority->layers[i].refuses_generated)
            return deny(&authority->layers[i], err, "code.generated",
                        "it runs no source text that comes with a request; no grant can allow it");
    return 0;
}

/* On the landlock rung a native guest sees a directory where it is on the host. */
static int bound_workspace(const struct authority *authority, struct request *request,
                           struct err *err)
{
    const struct policy *layer = authority->layers, *end = layer + authority->n_layers;

    while (layer < end && !layer->workspace)
        layer++;
    if (layer == end)
        return 0;
    if (request->backend == BACKEND_NATIVE && request->isolation == ISOLATION_LANDLOCK)
        return request->n_dirs == 0 ? 0
                                    : deny(layer, err, "filesystem.workspace",
                                           "isolation 'landlock' cannot show a directory there");
    return request_place_workspace(request, layer->workspace, err);
}

static int check_backend(const struct authority *authority, const struct request *request,
                         struct err *err)
{
    enum backend backend;

    if (!request->language)
        return 0;
    return decide_backend(authority, request->language, (int) request->backend, request->backend,
                          &backend, err);
}

int decide_bounds(const struct authority *authority, struct request *request,
                  struct clamp *ret_clamps, size_t *ret_n_clamps, struct err *err)
{
    *ret_n_clamps = 0;
    if (!authority->principal.is_agent && authority->n_layers == 0)
        return 0;
    if (check_unprotected(authority, request, err) < 0 ||
        check_generated(authority, request, err) < 0 ||
        check_backend(authority, request, err) < 0 ||
        bound_isolation(authority, request, err) < 0 ||
        bound_workspace(authority, request, err) < 0)
        return -1;
    return bound_limits(authority, request, ret_clamps, ret_n_clamps, err);
}

/* ---- what runs a language -------------------------------------------------------------------- */

/* The layer, of the trusted ones or the others, that names the stronger one; NULL: none does. */
static const struct policy *find_backend(const struct authority *authority, const char *language,
                                         bool trusted, enum backend *ret_backend)
{
    const struct policy *found = NULL;

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        for (size_t k = 0; is_trusted(layer) == trusted && k < layer->n_backends; k++) {
            const struct policy_backend *named = &layer->backends[k];
            if (strcmp(named->language, language) == 0 &&
                (!found || named->backend < *ret_backend)) {
                *ret_backend = named->backend;
                found = layer;
            }
        }
    }
    return found;
}

_Static_assert(BACKEND_WASM < BACKEND_NATIVE, "the stronger backend is the smaller number");

int decide_backend(const struct authority *authority, const char *language, int asked,
                   enum backend otherwise, enum backend *ret_backend, struct err *err)
{
    enum backend usual = otherwise, other;
    const struct policy *strict = find_backend(authority, language, true, &usual);
    const struct policy *stricter = find_backend(authority, language, false, &other);
    char key[96], why[160];

    if (stricter && other < usual) {
        usual = other;
        strict = stricter;
    }
    if (asked < 0 || !strict || asked <= (int) usual) {
        *ret_backend = asked < 0 ? usual : (enum backend) asked;
        return 0;
    }
    (void) snprintf(key, sizeof(key), "code.backends.%s", language); /* cut: still says which */
    (void) snprintf(why, sizeof(why), "backend '%s' is weaker than '%s', which it asks for",
                    request_backend_names[asked], request_backend_names[usual]); /* fits */
    (void) deny(strict, err, key, why);                                          /* -1, as below */
    return err_hint(err, "leave the backend out, or ask for '%s'", request_backend_names[usual]);
}

/* ---- settings -------------------------------------------------------------------------------- */

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* One layer's word beside others of the same standing. */
static void add_settings(struct settings *all, const struct policy *layer)
{
    all->audit = layer->audit > all->audit ? layer->audit : all->audit;
    all->durability = layer->durability > all->durability ? layer->durability : all->durability;
    all->rotate_bytes = most_of(all->rotate_bytes, layer->rotate_bytes);
    all->keep_segments = (uint32_t) most_of(all->keep_segments, layer->keep_segments);
    all->pending_ms = least_of(all->pending_ms, layer->pending_ms);
    all->ttl_ms = least_of(all->ttl_ms, layer->ttl_ms);
    all->uses = (uint32_t) least_of(all->uses, layer->uses);
}

/* What is said by nobody. */
static void fill_settings(struct settings *settings, const struct authority *authority)
{
    bool in_force = authority->principal.is_agent || authority->n_layers > 0;

    if (settings->audit == AUDIT_UNSAID)
        settings->audit = in_force ? AUDIT_REQUIRED : AUDIT_BEST_EFFORT;
    if (settings->durability == DURABILITY_UNSAID)
        settings->durability = DURABILITY_KILL;
    if (settings->pending_ms == 0)
        settings->pending_ms = PENDING_MS;
}

void decide_settings(const struct authority *authority, struct settings *ret_settings)
{
    struct settings settings = {.audit = AUDIT_UNSAID}, others = {.audit = AUDIT_UNSAID};

    for (size_t i = 0; i < authority->n_layers; i++) {
        const struct policy *layer = &authority->layers[i];
        add_settings(is_trusted(layer) ? &settings : &others, layer);
    }
    fill_settings(&settings, authority);
    /*
     * The log is everybody's: a project may have more of it kept, and not have it cut sooner. 0 is
     * all that there is, or audit.h's own size.
     */
    if (settings.keep_segments > 0)
        settings.keep_segments = (uint32_t) most_of(settings.keep_segments, others.keep_segments);
    if (settings.rotate_bytes > 0)
        settings.rotate_bytes = most_of(settings.rotate_bytes, others.rotate_bytes);
    settings.audit = others.audit > settings.audit ? others.audit : settings.audit;
    settings.durability =
        others.durability > settings.durability ? others.durability : settings.durability;
    settings.pending_ms = least_of(settings.pending_ms, others.pending_ms);
    settings.ttl_ms = least_of(settings.ttl_ms, others.ttl_ms);
    settings.uses = (uint32_t) least_of(settings.uses, others.uses);
    *ret_settings = settings;
}
