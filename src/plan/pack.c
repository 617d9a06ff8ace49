#include "plan/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * The form: MAGIC, the plan's numbers, the counts of args, env, unprotected names, grants and
 * pins, then the strings of the first three, then each grant and each pin as its numbers and
 * strings, then the strings of a native job. A number is 8 bytes in the machine's own order: both
 * ends are one build on one machine. A string is its length as a number, its bytes and a NUL. There
 * is one way only to pack a plan, so what was unpacked packs to the same bytes.
 */
#define MAGIC 0x35306e616c707377ULL /* "wsplan05" */

/*
 * A number in a struct, and the largest value that makes sense there. Both directions read these
 * rows.
 */
struct field {
    size_t offset, size;
    size_t count;
    uint64_t max;
};

#define SIZE_OF(type, member) sizeof(((type *) NULL)->member)
#define FIELD(type, member, most)                                                                  \
    {                                                                                              \
        .offset = offsetof(type, member), .size = SIZE_OF(type, member), .count = 1, .max = (most) \
    }

static const struct field plan_fields[] = {
    FIELD(struct plan, job, JOB_NATIVE),
    FIELD(struct plan, isolation, ISOLATION_LANDLOCK),
    FIELD(struct plan, identity, IDENTITY_CALLER),
    FIELD(struct plan, uid, UINT32_MAX),
    FIELD(struct plan, gid, UINT32_MAX),
    FIELD(struct plan, deadline_ns, UINT64_MAX),
    FIELD(struct plan, use_fuel, 1),
    FIELD(struct plan, pulley, 1),
    FIELD(struct plan, has_door, 1),
    FIELD(struct plan, limits.backend, BACKENDS - 1),
    {offsetof(struct plan, limits.value), sizeof(uint64_t), LIMIT_COUNT, UINT64_MAX},
    {offsetof(struct plan, limits.given), sizeof(bool), LIMIT_COUNT, 1},
    FIELD(struct plan, native.rootfs_dev, UINT64_MAX),
    FIELD(struct plan, native.rootfs_ino, UINT64_MAX),
    FIELD(struct plan, native.program_dev, UINT64_MAX),
    FIELD(struct plan, native.program_ino, UINT64_MAX),
    FIELD(struct plan, native.network, NETWORK_LOOPBACK),
    FIELD(struct plan, native.proc, PROC_NONE),
    FIELD(struct plan, native.tty, 1),
};

static const struct field grant_fields[] = {
    FIELD(struct plan_grant, also_dot, 1),
    FIELD(struct plan_grant, at, UINT8_MAX),
    FIELD(struct plan_grant, access, ACCESS_OVERLAY),
    FIELD(struct plan_grant, dev, UINT64_MAX),
    FIELD(struct plan_grant, ino, UINT64_MAX),
};

static const struct field pin_fields[] = {
    FIELD(struct plan_pin, grant, REQUEST_MAX_DIRS - 1),
    FIELD(struct plan_pin, kind, PIN_MASK),
};

/* The strings of a native job. */
static const size_t native_strings[] = {
    offsetof(struct plan, native.program), offsetof(struct plan, native.cwd),
    offsetof(struct plan, native.source),  offsetof(struct plan, native.source_name),
    offsetof(struct plan, native.rootfs),
};

/* Counted by hand, so that whoever adds a member is sent here. */
_Static_assert(sizeof(struct plan) == 208 + sizeof(struct limits),
               "a new member of a plan needs a row");
_Static_assert(sizeof(struct limits) == 8 + 9 * LIMIT_COUNT + 4,
               "a new member of the limits needs a row");
_Static_assert(sizeof(struct plan_grant) == 40, "a new member of a grant needs a row");
_Static_assert(sizeof(struct plan_pin) == 16, "a new member of a pin needs a row");

/* ---- packing --------------------------------------------------------------------------------- */

static int put_number(struct buf *into, uint64_t number)
{
    return buf_add(into, &number, sizeof(number));
}

static int put_string(struct buf *into, const char *text)
{
    size_t len = text ? strlen(text) : 0;

    return put_number(into, len) < 0 || buf_add(into, text, len) < 0 ? -1
                                                                     : buf_add_char(into, '\0');
}

/* Enums are 4 bytes and booleans 1, which the sizes in the rows say too. */
static uint64_t load(const void *at, size_t size)
{
    uint64_t number = 0;
    uint32_t half;

    if (size == sizeof(number))
        memcpy(&number, at, sizeof(number));
    else if (size == sizeof(half)) {
        memcpy(&half, at, sizeof(half));
        number = half;
    } else
        number = *(const uint8_t *) at;
    return number;
}

static int put_fields(struct buf *into, const void *object, const struct field *fields, size_t n)
{
    for (const struct field *field = fields; field < fields + n; field++)
        for (size_t i = 0; i < field->count; i++) {
            const char *at = (const char *) object + field->offset + i * field->size;
            if (put_number(into, load(at, field->size)) < 0)
                return -1;
        }
    return 0;
}

static int put_strings(struct buf *into, const char *const *strings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (put_string(into, strings[i]) < 0)
            return -1;
    return 0;
}

static int put_grants(struct buf *into, const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_grants; i++)
        if (put_fields(into, &plan->grants[i], grant_fields, ARRAY_SIZE(grant_fields)) < 0 ||
            put_string(into, plan->grants[i].host) < 0 ||
            put_string(into, plan->grants[i].guest) < 0)
            return -1;
    for (size_t i = 0; i < plan->n_pins; i++)
        if (put_fields(into, &plan->pins[i], pin_fields, ARRAY_SIZE(pin_fields)) < 0 ||
            put_string(into, plan->pins[i].path) < 0)
            return -1;
    return 0;
}

static int put_native(struct buf *into, const struct plan *plan)
{
    const char *text;

    for (size_t i = 0; i < ARRAY_SIZE(native_strings); i++) {
        memcpy(&text, (const char *) plan + native_strings[i], sizeof(text));
        if (put_string(into, text) < 0)
            return -1;
    }
    return 0;
}

static int put_plan(struct buf *into, const struct plan *plan)
{
    if (put_number(into, MAGIC) < 0 ||
        put_fields(into, plan, plan_fields, ARRAY_SIZE(plan_fields)) < 0 ||
        put_number(into, plan->n_args) < 0 || put_number(into, plan->n_env) < 0 ||
        put_number(into, plan->n_unprotected) < 0 || put_number(into, plan->n_grants) < 0 ||
        put_number(into, plan->n_pins) < 0)
        return -1;
    if (put_strings(into, plan->args, plan->n_args) < 0 ||
        put_strings(into, plan->env, plan->n_env) < 0 ||
        put_strings(into, plan->unprotected, plan->n_unprotected) < 0)
        return -1;
    return put_grants(into, plan) < 0 ? -1 : put_native(into, plan);
}

int plan_pack(const struct plan *plan, struct buf *into, struct err *err)
{
    size_t start = into->len;

    if (put_plan(into, plan) == 0 && into->len - start <= PACK_MAX_BYTES)
        return 0;
    if (into->data)
        into->data[start] = '\0';
    into->len = start;
    return err_set(err, ERR_REQUEST,
                   "arguments, environment and directories are too large for a plan");
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/*
 * What is left of the bytes. The first thing that does not fit sticks, and every answer is then 0
 * or "".
 */
struct reader {
    const char *at;
    size_t left;
    bool failed;
};

static const char *take(struct reader *reader, size_t len)
{
    const char *taken = reader->at;

    if (reader->failed || len > reader->left) {
        reader->failed = true;
        return NULL;
    }
    reader->at += len;
    reader->left -= len;
    return taken;
}

static uint64_t take_number(struct reader *reader, uint64_t max)
{
    uint64_t number = 0;
    const char *bytes = take(reader, sizeof(number));

    if (bytes)
        memcpy(&number, bytes, sizeof(number));
    if (number > max)
        reader->failed = true;
    return reader->failed ? 0 : number;
}

static const char *take_string(struct reader *reader)
{
    uint64_t len = take_number(reader, PACK_MAX_BYTES);
    const char *text = take(reader, len + 1);

    /* The NUL where it belongs and none before it. */
    if (!text || memchr(text, '\0', len + 1) != text + len) {
        reader->failed = true;
        return "";
    }
    return text;
}

static void store(void *at, size_t size, uint64_t number)
{
    uint32_t half = (uint32_t) number;

    if (size == sizeof(number))
        memcpy(at, &number, sizeof(number));
    else if (size == sizeof(half))
        memcpy(at, &half, sizeof(half));
    else
        *(uint8_t *) at = (uint8_t) number;
}

static void take_fields(struct reader *reader, void *object, const struct field *fields, size_t n)
{
    for (const struct field *field = fields; field < fields + n; field++)
        for (size_t i = 0; i < field->count; i++)
            store((char *) object + field->offset + i * field->size, field->size,
                  take_number(reader, field->max));
}

/*
 * How many of something there are, each at least `least` bytes long: more than could follow is a
 * lie.
 */
static size_t take_count(struct reader *reader, size_t least)
{
    uint64_t count = take_number(reader, PACK_MAX_BYTES);

    if (count > reader->left / least)
        reader->failed = true;
    return reader->failed ? 0 : count;
}

static void take_strings(struct reader *reader, const char **strings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strings[i] = take_string(reader);
    strings[n] = NULL;
}

/* The five lists lie behind one another in one allocation, which begins at plan->args. */
static int make_room(struct plan *plan)
{
    size_t n_pointers = plan->n_args + 1 + plan->n_env + 1 + plan->n_unprotected + 1;
    size_t size = n_pointers * sizeof(*plan->args) + plan->n_grants * sizeof(*plan->grants) +
                  plan->n_pins * sizeof(*plan->pins);

    plan->args = calloc(1, size);
    if (!plan->args)
        return -1;
    plan->env = plan->args + plan->n_args + 1;
    plan->unprotected = plan->env + plan->n_env + 1;
    plan->grants = (struct plan_grant *) (void *) (plan->args + n_pointers);
    plan->pins = (struct plan_pin *) (void *) (plan->grants + plan->n_grants);
    return 0;
}
_Static_assert(_Alignof(struct plan_grant) <= _Alignof(uint64_t) && sizeof(char *) % 8 == 0 &&
                   sizeof(struct plan_grant) % _Alignof(struct plan_pin) == 0,
               "grants and pins may lie behind pointers");

static void take_lists(struct reader *reader, struct plan *plan)
{
    take_strings(reader, plan->args, plan->n_args);
    take_strings(reader, plan->env, plan->n_env);
    take_strings(reader, plan->unprotected, plan->n_unprotected);
    for (struct plan_grant *grant = plan->grants; grant < plan->grants + plan->n_grants; grant++) {
        take_fields(reader, grant, grant_fields, ARRAY_SIZE(grant_fields));
        grant->host = take_string(reader);
        grant->guest = take_string(reader);
    }
    for (struct plan_pin *pin = plan->pins; pin < plan->pins + plan->n_pins; pin++) {
        take_fields(reader, pin, pin_fields, ARRAY_SIZE(pin_fields));
        pin->path = take_string(reader);
    }
}

static void take_native(struct reader *reader, struct plan *plan)
{
    for (size_t i = 0; i < ARRAY_SIZE(native_strings); i++) {
        const char *text = take_string(reader);
        memcpy((char *) plan + native_strings[i], &text, sizeof(text));
    }
}

int plan_unpack(const void *bytes, size_t len, struct plan *ret_plan, struct err *err)
{
    struct reader reader = {.at = bytes, .left = len, .failed = len > PACK_MAX_BYTES};
    struct plan plan = {0};

    if (take_number(&reader, UINT64_MAX) != MAGIC)
        return err_set(err, ERR_BACKEND, "the plan is not one of this wasp");
    take_fields(&reader, &plan, plan_fields, ARRAY_SIZE(plan_fields));
    plan.n_args = take_count(&reader, sizeof(uint64_t) + 1);
    plan.n_env = take_count(&reader, sizeof(uint64_t) + 1);
    plan.n_unprotected = take_count(&reader, sizeof(uint64_t) + 1);
    plan.n_grants = take_count(&reader, sizeof(uint64_t) * (ARRAY_SIZE(grant_fields) + 2) + 2);
    plan.n_pins = take_count(&reader, sizeof(uint64_t) * (ARRAY_SIZE(pin_fields) + 1) + 1);
    if (reader.failed)
        return err_set(err, ERR_BACKEND, "the plan is damaged");
    if (make_room(&plan) < 0)
        return err_no_memory(err);

    take_lists(&reader, &plan);
    take_native(&reader, &plan);
    if (reader.failed || reader.left > 0) {
        free(plan.args);
        return err_set(err, ERR_BACKEND, "the plan is damaged");
    }
    *ret_plan = plan;
    return 0;
}
