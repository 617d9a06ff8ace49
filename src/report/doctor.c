#include "report/doctor.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What a run is made of, and so what the exit status is about. */
static const enum use essential[] = {USE_WASM_FULL, USE_NATIVE_FULL};
static const enum use last_resort[] = {USE_WASM_FULL, USE_WASM_LANDLOCK, USE_NATIVE_FULL,
                                       USE_NATIVE_NO_PROC, USE_NATIVE_LANDLOCK};

static const char *const limit_names[] = {
    [CGROUP_NONE] = "rlimits", [CGROUP_V1] = "cgroup-v1", [CGROUP_V2] = "cgroup-v2"};

static bool is_usable(const struct checkup *checkup, enum use use)
{
    struct verdict_of_use verdict;

    checkup_judge(checkup, use, &verdict);
    return verdict.usable;
}

static size_t count_usable(const struct checkup *checkup, const enum use *wanted, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += is_usable(checkup, wanted[i]);
    return count;
}

int doctor_exit_status(const struct checkup *checkup)
{
    if (count_usable(checkup, essential, ARRAY_SIZE(essential)) == ARRAY_SIZE(essential))
        return 0;
    return count_usable(checkup, last_resort, ARRAY_SIZE(last_resort)) > 0 ? 1 : 125;
}

static const char *verdict_name(int exit_status)
{
    return exit_status == 0 ? "full" : exit_status == 1 ? "partial" : "none";
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_field(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

/* Paths are in it, and they may be any bytes. */
static void put_detail(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text[0])
        json_put_text(json, text, strlen(text));
    else
        json_put_null(json);
}

static void write_host(const struct checkup *checkup, struct json_writer *json)
{
    const struct host *host = &checkup->host;

    json_key(json, "host");
    json_open_object(json);
    put_detail(json, "kernel", host->kernel);
    json_key(json, "uid");
    json_put_uint(json, geteuid());
    json_key(json, "host_root");
    json_put_bool(json, checkup->identity == IDENTITY_RANGE);
    put_detail(json, "container", host->container);
    json_key(json, "outer_seccomp");
    json_put_bool(json, host->has_outer_seccomp);
    json_close_object(json);
}

static void write_finding(const struct finding *finding, struct json_writer *json)
{
    json_open_object(json);
    put_field(json, "id", finding->id);
    put_field(json, "what", finding->what);
    put_field(json, "status", probe_status_name(finding->status));
    put_detail(json, "detail", finding->detail);
    put_detail(json, "remedy", finding->remedy);
    put_field(json, "waits_for", finding->waits_for);
    json_key(json, "needed_by");
    json_open_array(json);
    for (unsigned int use = 0; use < USES; use++)
        if (finding->needed_by & USE_BIT(use))
            json_put_string(json, use_name((enum use) use));
    json_close_array(json);
    json_close_object(json);
}

static void write_use(const struct checkup *checkup, enum use use, struct json_writer *json)
{
    struct verdict_of_use verdict;

    checkup_judge(checkup, use, &verdict);
    json_open_object(json);
    put_field(json, "use", use_name(use));
    json_key(json, "usable");
    json_put_bool(json, verdict.usable);
    json_key(json, "because");
    json_open_array(json);
    for (size_t i = 0; i < verdict.n_because; i++)
        json_put_string(json, verdict.because[i]);
    json_close_array(json);
    json_close_object(json);
}

void doctor_write_json(const struct checkup *checkup, struct json_writer *json)
{
    json_open_object(json);
    put_field(json, "schema", "wasp.doctor/1");
    put_field(json, "version", WASP_VERSION);
    write_host(checkup, json);
    json_key(json, "probes");
    json_open_array(json);
    for (size_t i = 0; i < checkup->count; i++)
        write_finding(&checkup->findings[i], json);
    json_close_array(json);
    json_key(json, "uses");
    json_open_array(json);
    for (unsigned int use = 0; use < USES; use++)
        write_use(checkup, (enum use) use, json);
    json_close_array(json);
    put_field(json, "limits", limit_names[checkup_limits(checkup)]);
    put_field(json, "verdict", verdict_name(doctor_exit_status(checkup)));
    json_close_object(json);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The most pressing first; what only waits for another comes behind what is to be done. */
static const struct group {
    enum probe_status status;
    bool waits;
} order[] = {
    {PROBE_MISSING, false}, {PROBE_UNKNOWN, false}, {PROBE_DEGRADED, false},
    {PROBE_UNKNOWN, true},  {PROBE_OK, false},      {PROBE_NOT_NEEDED, false},
};

static bool is_in_group(const struct finding *finding, const struct group *group)
{
    return finding->status == group->status && !!finding->waits_for == group->waits;
}

static int add_finding(const struct finding *finding, struct buf *text)
{
    const char *detail = finding->detail;

    if (buf_printf(text, "%-10s  %-15s  %s%s%s%s\n", probe_status_name(finding->status),
                   finding->id, finding->what, detail[0] ? " (" : "", detail,
                   detail[0] ? ")" : "") < 0)
        return -1;
    return finding->remedy[0]
               ? buf_printf(text, "%-10s  %-15s  remedy: %s\n", "", "", finding->remedy)
               : 0;
}

static int add_findings(const struct checkup *checkup, struct buf *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        for (size_t j = 0; j < checkup->count; j++)
            if (is_in_group(&checkup->findings[j], &order[i]) &&
                add_finding(&checkup->findings[j], text) < 0)
                return -1;
    return 0;
}

static int add_use(const struct checkup *checkup, enum use use, struct buf *text)
{
    struct verdict_of_use verdict;

    checkup_judge(checkup, use, &verdict);
    if (buf_printf(text, "%-10s  %-15s  %s", verdict.usable ? "yes" : "no", use_name(use),
                   use_about(use)) < 0)
        return -1;
    for (size_t i = 0; i < verdict.n_because; i++)
        if (buf_printf(text, "%s%s", i ? ", " : ": for want of ", verdict.because[i]) < 0)
            return -1;
    return buf_add_char(text, '\n');
}

static int add_host(const struct checkup *checkup, struct buf *text)
{
    const struct host *host = &checkup->host;
    bool is_root = checkup->identity == IDENTITY_RANGE;

    return buf_printf(text, "wasp %s on Linux %s%s%s, started by %s%s\n\n", WASP_VERSION,
                      host->kernel, host->container[0] ? " in a container: " : "", host->container,
                      is_root ? "root" : "an ordinary user",
                      host->has_outer_seccomp ? ", behind an outer seccomp filter" : "");
}

static int add_verdict(const struct checkup *checkup, struct buf *text)
{
    static const char *const sentences[] = {
        "modules and programs run with full walls",
        "not all can run with full walls; what can be used is above",
        "nothing can run here",
    };
    int status = doctor_exit_status(checkup);

    return buf_printf(text, "\nlimits: %s\nverdict: %s\n", limit_names[checkup_limits(checkup)],
                      sentences[status == 125 ? 2 : status]);
}

int doctor_write_text(const struct checkup *checkup, struct buf *text)
{
    if (add_host(checkup, text) < 0 || add_findings(checkup, text) < 0 ||
        buf_add_char(text, '\n') < 0)
        return -1;
    for (unsigned int use = 0; use < USES; use++)
        if (add_use(checkup, (enum use) use, text) < 0)
            return -1;
    return add_verdict(checkup, text);
}
