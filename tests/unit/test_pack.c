#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "plan/pack.h"

#define MAX_ITEMS 12

/* A plan with room for what it points to. */
struct sample {
    struct plan plan;
    const char *args[MAX_ITEMS + 1], *env[MAX_ITEMS + 1], *unprotected[MAX_ITEMS + 1];
    struct plan_grant grants[MAX_ITEMS];
    struct plan_pin pins[MAX_ITEMS];
};

static unsigned seed = 1;

static unsigned roll(unsigned below)
{
    return (unsigned) rand_r(&seed) % below;
}

static const char *any_string(void)
{
    static const char *const strings[] = {"",
                                          "a",
                                          "NAME=value",
                                          "/some/where",
                                          "\xff\xfe",
                                          "a\nb",
                                          "a rather longer string, longer than the others are"};

    return strings[roll(ARRAY_SIZE(strings))];
}

static size_t any_strings(const char **strings)
{
    size_t n = roll(MAX_ITEMS + 1);

    for (size_t i = 0; i < n; i++)
        strings[i] = any_string();
    strings[n] = NULL;
    return n;
}

static uint64_t any_number(void)
{
    return roll(4) == 0 ? UINT64_MAX : (uint64_t) roll(1U << 30) << roll(32);
}

static void any_native(struct plan_native *native)
{
    native->program = any_string();
    native->cwd = any_string();
    native->source = any_string();
    native->source_name = any_string();
    native->rootfs = any_string();
    native->rootfs_dev = any_number();
    native->rootfs_ino = any_number();
    native->program_dev = any_number();
    native->program_ino = any_number();
    native->network = (enum network) roll(NETWORK_LOOPBACK + 1);
    native->proc = (enum proc_view) roll(PROC_NONE + 1);
    native->tty = roll(2);
}

static void any_grants(struct sample *sample)
{
    struct plan *plan = &sample->plan;

    plan->grants = sample->grants;
    plan->n_grants = roll(MAX_ITEMS + 1);
    for (size_t i = 0; i < plan->n_grants; i++)
        sample->grants[i] = (struct plan_grant){
            .host = any_string(),
            .guest = any_string(),
            .also_dot = roll(2),
            .at = (uint8_t) roll(256),
            .access = (enum access) roll(ACCESS_OVERLAY + 1),
            .dev = any_number(),
            .ino = any_number(),
        };
    plan->pins = sample->pins;
    plan->n_pins = roll(MAX_ITEMS + 1);
    for (size_t i = 0; i < plan->n_pins; i++)
        sample->pins[i] = (struct plan_pin){
            .grant = roll(REQUEST_MAX_DIRS),
            .kind = (enum pin_kind) roll(PIN_MASK + 1),
            .path = any_string(),
        };
}

static void any_plan(struct sample *sample)
{
    struct plan *plan = &sample->plan;

    memset(sample, 0, sizeof(*sample));
    plan->job = (enum plan_job) roll(JOB_NATIVE + 1);
    plan->isolation = (enum isolation) roll(ISOLATION_LANDLOCK + 1);
    plan->identity = (enum identity) roll(IDENTITY_CALLER + 1);
    plan->uid = (uint32_t) any_number();
    plan->gid = (uint32_t) any_number();
    plan->deadline_ns = any_number();
    plan->use_fuel = roll(2);
    plan->pulley = roll(2);
    plan->has_door = roll(2);
    plan->limits.backend = (enum backend) roll(BACKENDS);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        plan->limits.value[i] = any_number();
        plan->limits.given[i] = roll(2);
    }
    plan->args = sample->args;
    plan->n_args = any_strings(sample->args);
    plan->env = sample->env;
    plan->n_env = any_strings(sample->env);
    plan->unprotected = sample->unprotected;
    plan->n_unprotected = any_strings(sample->unprotected);
    any_grants(sample);
    any_native(&plan->native);
}

static bool same_strings(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    for (size_t i = 0; n_a == n_b && i < n_a; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return n_a == n_b && !a[n_a] && !b[n_b];
}

static bool same_grants(const struct plan *a, const struct plan *b)
{
    for (size_t i = 0; a->n_grants == b->n_grants && i < a->n_grants; i++) {
        const struct plan_grant *x = &a->grants[i], *y = &b->grants[i];
        if (strcmp(x->host, y->host) != 0 || strcmp(x->guest, y->guest) != 0 ||
            x->also_dot != y->also_dot || x->at != y->at || x->access != y->access ||
            x->dev != y->dev || x->ino != y->ino)
            return false;
    }
    return a->n_grants == b->n_grants;
}

static bool same_pins(const struct plan *a, const struct plan *b)
{
    for (size_t i = 0; a->n_pins == b->n_pins && i < a->n_pins; i++)
        if (a->pins[i].grant != b->pins[i].grant || a->pins[i].kind != b->pins[i].kind ||
            strcmp(a->pins[i].path, b->pins[i].path) != 0)
            return false;
    return a->n_pins == b->n_pins;
}

static bool same_native(const struct plan_native *a, const struct plan_native *b)
{
    return strcmp(a->program, b->program) == 0 && strcmp(a->cwd, b->cwd) == 0 &&
           strcmp(a->source, b->source) == 0 && strcmp(a->source_name, b->source_name) == 0 &&
           strcmp(a->rootfs, b->rootfs) == 0 && a->rootfs_dev == b->rootfs_dev &&
           a->rootfs_ino == b->rootfs_ino && a->program_dev == b->program_dev &&
           a->program_ino == b->program_ino && a->network == b->network && a->proc == b->proc &&
           a->tty == b->tty;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
    return a->backend == b->backend && memcmp(a->value, b->value, sizeof(a->value)) == 0 &&
           memcmp(a->given, b->given, sizeof(a->given)) == 0;
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
    return a->job == b->job && a->isolation == b->isolation && a->identity == b->identity &&
           a->uid == b->uid && a->gid == b->gid && a->deadline_ns == b->deadline_ns &&
           a->use_fuel == b->use_fuel && a->pulley == b->pulley &&
           same_limits(&a->limits, &b->limits) &&
           same_strings(a->args, a->n_args, b->args, b->n_args) &&
           same_strings(a->env, a->n_env, b->env, b->n_env) &&
           same_strings(a->unprotected, a->n_unprotected, b->unprotected, b->n_unprotected) &&
           same_grants(a, b) && same_pins(a, b) && same_native(&a->native, &b->native);
}

static void pack(const struct plan *plan, struct buf *into)
{
    struct err err;

    if (plan_pack(plan, into, &err) < 0)
        abort();
}

static void test_round_trips(void)
{
    bool same = true, canonical = true;

    for (int i = 0; i < 200; i++) {
        _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
        _cleanup_(buf_release) struct buf again = BUF_INIT(PACK_MAX_BYTES);
        struct sample sample;
        struct plan plan;
        struct err err;

        any_plan(&sample);
        pack(&sample.plan, &packed);
        if (plan_unpack(packed.data, packed.len, &plan, &err) < 0) {
            same = false;
            break;
        }
        same = same && same_plan(&plan, &sample.plan);
        pack(&plan, &again);
        canonical = canonical && again.len == packed.len &&
                    memcmp(again.data, packed.data, packed.len) == 0;
        free(plan.args);
    }
    ok(same, "200 random plans unpack as they were packed");
    ok(canonical, "and pack again to the same bytes");
}

/* Reads every string of the plan, so that ASan sees one that leaves the bytes. */
static size_t touch(const struct plan *plan)
{
    size_t sum = 0;

    for (size_t i = 0; i < plan->n_args; i++)
        sum += strlen(plan->args[i]);
    for (size_t i = 0; i < plan->n_env; i++)
        sum += strlen(plan->env[i]);
    for (size_t i = 0; i < plan->n_grants; i++)
        sum += strlen(plan->grants[i].host) + strlen(plan->grants[i].guest);
    for (size_t i = 0; i < plan->n_pins; i++)
        sum += strlen(plan->pins[i].path);
    for (size_t i = 0; i < plan->n_unprotected; i++)
        sum += strlen(plan->unprotected[i]);
    return sum + strlen(plan->native.program) + strlen(plan->native.rootfs);
}

/*
 * True if the bytes, in an allocation of exactly their size, are refused, or make a plan whose
 * strings lie in bounds and whose enums and booleans are in range.
 */
static bool survives(const char *bytes, size_t len, bool *ret_taken)
{
    _cleanup_free_ char *exact = malloc(len ? len : 1);
    struct plan plan = {.n_args = 12345};
    struct err err = {0};

    if (!exact)
        abort();
    memcpy(exact, bytes, len);
    *ret_taken = plan_unpack(exact, len, &plan, &err) == 0;
    if (!*ret_taken)
        return err.code == ERR_BACKEND && plan.n_args == 12345;
    bool sound = touch(&plan) <= len && plan.job <= JOB_NATIVE &&
                 plan.isolation <= ISOLATION_LANDLOCK && plan.identity <= IDENTITY_CALLER;
    free(plan.args);
    return sound;
}

static void test_damage(void)
{
    _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
    struct sample sample;
    bool cut_refused = true, flips_survive = true, taken;

    do
        any_plan(&sample);
    while (sample.plan.n_args < 2 || sample.plan.n_env < 2 || sample.plan.n_grants < 2 ||
           sample.plan.n_pins < 2 || sample.plan.n_unprotected < 2);
    pack(&sample.plan, &packed);

    for (size_t len = 0; len < packed.len; len++)
        cut_refused = survives(packed.data, len, &taken) && !taken && cut_refused;
    ok(cut_refused, "a plan cut short anywhere is refused");
    for (size_t at = 0; at < packed.len; at++)
        for (unsigned mask = 0; mask < 3; mask++) {
            char flip = (char[]){1, (char) 0x80, (char) 0xff}[mask];
            packed.data[at] ^= flip;
            flips_survive = survives(packed.data, packed.len, &taken) && flips_survive;
            packed.data[at] ^= flip;
        }
    ok(flips_survive, "a plan with any byte changed is refused or stays in bounds");
    if (buf_add_char(&packed, '\0') < 0)
        abort();
    ok(survives(packed.data, packed.len, &taken) && !taken,
       "a plan with a byte too many is refused");
}

/*
 * Offsets of the form: the number of arguments follows MAGIC, nine numbers, those of the limits
 * and seven of a native job; five counts follow one another, and behind them five empty strings.
 */
#define COUNTS_AT (8 * (1 + 9 + 1 + 2 * LIMIT_COUNT + 7))
#define COUNTS 5
#define EMPTY_STRINGS (5 * (8 + 1))

static void test_lies(void)
{
    static const uint64_t lies[] = {1, 7, 1000, UINT32_MAX, UINT64_MAX / 8, UINT64_MAX};
    _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
    const struct plan empty = {.job = JOB_WASM};
    bool refused = true, taken;

    pack(&empty, &packed);
    ok(packed.len == COUNTS_AT + 8 * COUNTS + EMPTY_STRINGS &&
           survives(packed.data, packed.len, &taken) && taken,
       "an empty plan is a plan");
    for (size_t list = 0; list < COUNTS; list++)
        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
            uint64_t none = 0;
            memcpy(packed.data + COUNTS_AT + 8 * list, &lies[i], sizeof(lies[i]));
            refused = survives(packed.data, packed.len, &taken) && !taken && refused;
            memcpy(packed.data + COUNTS_AT + 8 * list, &none, sizeof(none));
        }
    ok(refused, "a list that claims more than there is is refused");
}

static void test_too_large(void)
{
    _cleanup_(buf_release) struct buf packed = BUF_INIT(100);
    _cleanup_(buf_release) struct buf wide = BUF_INIT(4 * PACK_MAX_BYTES);
    _cleanup_free_ char *large = calloc(1, PACK_MAX_BYTES);
    const struct plan empty = {.job = JOB_WASM};
    struct err err = {0};

    if (!large || buf_add_string(&packed, "before") < 0)
        abort();
    ok(plan_pack(&empty, &packed, &err) == -1 && err.code == ERR_REQUEST &&
           strcmp(packed.data, "before") == 0 && packed.len == 6,
       "a plan that does not fit is refused and leaves the buffer as it was");
    memset(large, 'x', PACK_MAX_BYTES - 1);
    const char *args[] = {large, NULL};
    const struct plan plan = {.args = args, .n_args = 1};
    ok(plan_pack(&plan, &wide, &err) == -1, "a plan that could not be unpacked is not packed");
}

/* As it crosses to a cell. */
static void test_memfd(void)
{
    _cleanup_(buf_release) struct buf packed = BUF_INIT(PACK_MAX_BYTES);
    _cleanup_fd_ int fd = -1;
    struct sample sample;
    struct err err;

    any_plan(&sample);
    pack(&sample.plan, &packed);
    if (!ok(fd_sealed("plan", packed.data, packed.len, &fd, &err) == 0, "a plan fits a memfd"))
        return;
    _cleanup_free_ char *bytes = malloc(packed.len + 1);
    ok(bytes && fd_read_full(fd, bytes, packed.len + 1) == (ssize_t) packed.len &&
           memcmp(bytes, packed.data, packed.len) == 0,
       "it is read from its start, whole");
    ok(pwrite(fd, "x", 1, 0) == -1 && ftruncate(fd, 0) == -1 && ftruncate(fd, 1 << 20) == -1,
       "a sealed memfd can be neither written, cut nor grown");
}

int main(void)
{
    test_round_trips();
    test_damage();
    test_lies();
    test_too_large();
    test_memfd();
    return done();
}
