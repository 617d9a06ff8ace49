/*
 * The way through the gate, in order: what is asked for, what the layers say, a person's word where
 * one is needed, the count of this hour, the grants it takes, the record of its start.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/approval.h"
#include "gate/gate.h"
#include "gate/record.h"
#include "plan/request_digest.h"
#include "plan/scope.h"
#include "run/facts.h"
#include "store/counters.h"

uint64_t gate_now_ms(void)
{
    return clock_realtime_ns() / NS_PER_MS;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool is_wanted(const struct gate_options *options, const char *id)
{
    for (size_t i = 0; i < options->n_grants; i++)
        if (strcmp(options->grants[i], id) == 0)
            return true;
    return options->n_grants == 0;
}

/* Whoever named grants gets no others. */
static void keep_wanted(struct gate *gate)
{
    size_t kept = 0;

    for (size_t i = 0; i < gate->grants.count; i++)
        if (is_wanted(gate->options, gate->grants.items[i].id))
            gate->grants.items[kept++] = gate->grants.items[i];
    gate->grants.count = kept;
    gate->authority.grants = gate->grants.items;
    gate->authority.n_grants = kept;
}

static int read_grants(struct gate *gate, uint64_t now_ms, struct err *err)
{
    const struct principal *principal = &gate->options->principal;

    if (!principal->is_agent)
        return 0;
    if (!gate->db && db_open_existing(gate->places->state_dir, &gate->db, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1; /* nobody ever granted anything */
    /* what is taken is told only once: without a log it is left to the next who has one */
    if ((gate->audit && record_expired(gate, now_ms, err) < 0) ||
        grants_list(gate->db, principal->name, true, now_ms, gate->arena, &gate->grants, err) < 0)
        return -1;
    keep_wanted(gate);
    return 0;
}

void gate_bound(struct gate *gate, struct request *request)
{
    gate->leave.clamps = gate->clamps;
    if (decide_bounds(&gate->authority, request, gate->clamps, &gate->leave.n_clamps,
                      &gate->bound_err) == 0)
        gate->bound_err.code = ERR_NONE;
}

/* What it asks for, with limits as the policy has them: that is what is judged and approved. */
static int read_request(struct gate *gate, struct request *request, struct err *err)
{
    const struct principal *principal = &gate->options->principal;

    if (gate->bound_err.code != ERR_NONE) {
        *err = gate->bound_err;
        return -1;
    }
    if (facts_find(request, principal, gate->places, gate->arena, &gate->facts, err) < 0 ||
        needs_of(request, &gate->facts, gate->arena, &gate->needs, err) < 0 ||
        facts_bind(&gate->facts, request, gate->arena, err) < 0)
        return -1;
    request_digest(request, &gate->facts, principal, &gate->authority.request);
    gate->leave.has_request = true;
    gate->leave.request = gate->authority.request;
    return 0;
}

static int judge(struct gate *gate, struct request *request, struct err *err)
{
    if (read_request(gate, request, err) < 0 || read_grants(gate, gate_now_ms(), err) < 0)
        return -1;
    return decide_all(&gate->authority, &gate->needs, gate->arena, &gate->decision, err);
}

int gate_explain(struct gate *gate, struct request *request, struct err *err)
{
    return judge(gate, request, err);
}

/* ---- what the layers say --------------------------------------------------------------------- */

/* The first need with that verdict; the decision has it, so there is one. */
static size_t find_verdict(const struct gate *gate, enum verdict verdict)
{
    size_t i = 0;

    while (i + 1 < gate->needs.count && gate->decision.judgements[i].verdict != verdict)
        i++;
    return i;
}

struct need gate_as_asked(const struct gate *gate, const struct need *need, struct judgement *told)
{
    struct need as_asked = *need;
    struct judgement judgement;

    if (!gate->options->principal.is_agent || !need->asked || !need->path)
        return *need;
    as_asked.path = as_asked.scope = need->asked;
    decide_need(&gate->authority, &as_asked, &judgement);
    if (judgement.verdict != VERDICT_DENY)
        return *need;
    *told = judgement;
    return as_asked;
}

static int refuse(struct gate *gate, struct err *err)
{
    size_t at = find_verdict(gate, VERDICT_DENY);
    const struct need *need = &gate->needs.items[at];
    struct judgement told = gate->decision.judgements[at];
    const struct need as_asked = gate_as_asked(gate, need, &told);
    struct audit_record record;
    struct err failed;

    (void) decide_refuse(&as_asked, &told, &gate->options->principal, err); /* always -1 */
    record_init(gate, "refused", &record);
    record.decision = verdict_names[VERDICT_DENY];
    record.rule = record_rule(gate, &told, need);
    record.capability = capability_rows[need->capability].name;
    record.scope = need->scope;
    record.reason = err->message;
    if (record_write(gate, &record, &failed) < 0)
        *err = failed;
    return -1;
}

/* A refusal that has no need behind it: a limit, a backend, the hour's number. */
void gate_record_refusal(struct gate *gate, struct err *err)
{
    struct audit_record record;
    struct err failed;

    record_init(gate, "refused", &record);
    record.decision = verdict_names[VERDICT_DENY];
    record.reason = err->message;
    if (record_write(gate, &record, &failed) < 0)
        *err = failed;
}

/* Restricted and privileged requests are shown first, if a policy wants that. */
int gate_check_simulated(struct gate *gate, const struct request *request, struct err *err)
{
    const char *given = gate->options->simulated;
    struct digest digest;
    char hex[DIGEST_HEX];

    if (!gate->decision.simulate && !given)
        return 0;
    if (given && digest_from_hex(given, &digest) && digest_equal(&digest, &gate->leave.request))
        return 0;
    gate->leave.plan = request; /* NULL for a call, which is its own plan */
    digest_hex(&gate->leave.request, hex);
    if (given)
        (void) err_set(err, ERR_SIMULATE, "the request is not the one with the digest %.64s",
                       given); /* -1, as below */
    else
        (void) err_set(err, ERR_SIMULATE,
                       "a policy wants this request to be simulated before it is run");
    return err_hint(err, "%s, then repeat it with --plan-sha256 %s",
                    request ? "look at 'plan' in the result" : "look at it", hex);
}

/* ---- what policies do not speak of ----------------------------------------------------------- */

static int refuse_link(const char *path, struct err *err)
{
    (void) err_set(err, ERR_DENIED, /* -1, as below */
                   "an agent's symlink at the root of a grant is not followed: '%s'", path);
    return err_hint(err, "name the directory itself");
}

static bool holds(const struct fact *directory, const struct fact *file)
{
    return directory->is_known && file->is_known && scope_path_covers(directory->real, file->real);
}

/* An agent that could write the policy it brings along would be its own judge. */
static int check_policy_place(const struct gate *gate, const struct request *request,
                              struct err *err)
{
    const char *policy = gate->options->policy;
    const struct facts *facts = &gate->facts;
    bool could_write = false;
    struct fact fact;

    if (!gate->options->principal.is_agent || !policy ||
        strncmp(policy, POLICY_PRESET, strlen(POLICY_PRESET)) == 0)
        return 0;
    if (fact_of_path(policy, gate->arena, &fact, err) < 0)
        return -1;
    for (size_t i = 0; i < request->n_dirs; i++)
        could_write |= request->dirs[i].access == ACCESS_RW && holds(&facts->dirs[i], &fact);
    for (size_t i = 0; i < request->n_capabilities; i++)
        could_write |= request->capabilities[i].capability == CAPABILITY_FS_WRITE &&
                       holds(&facts->paths[i], &fact);
    if (!could_write)
        return 0;
    return err_set(err, ERR_DENIED,
                   "the policy '%s' lies in a directory that the agent could write to: keep it "
                   "elsewhere",
                   policy);
}

/* By components: "//usr/./local" lies at "/usr". A ".." was refused when it was written. */
static bool lies_at(const char *place, const char *path)
{
    size_t len;

    for (;; path += len) {
        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len != 1 || path[0] != '.')
            break;
    }
    return len == strlen(place) - 1 && strncmp(path, place + 1, len) == 0;
}

/* A directory in the place of the system's own would put other programs there than were judged. */
static int check_places(const struct request *request, struct err *err)
{
    static const char *const places[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                         "/lib32", "/lib64", "/libx32", "/etc"};

    for (size_t i = 0; i < request->n_dirs; i++)
        for (size_t j = 0; request->backend == BACKEND_NATIVE && j < ARRAY_SIZE(places); j++)
            if (!request->dirs[i].plain && lies_at(places[j], request->dirs[i].guest))
                return err_set(err, ERR_DENIED,
                               "'%s' is the system's: where a policy is in force, nothing of the "
                               "guest's is put there",
                               request->dirs[i].guest);
    return 0;
}

static int check_rest(const struct gate *gate, const struct request *request, struct err *err)
{
    if (gate->facts.link)
        return refuse_link(gate->facts.link, err);
    if (check_policy_place(gate, request, err) < 0)
        return -1;
    return check_places(request, err);
}

/* What a person approves, or was shown, is all there is to it. */
static int check_stdin(const struct request *request, struct err *err)
{
    if (request->stdin_kind != STDIN_FILE && request->stdin_kind != STDIN_INHERIT)
        return 0;
    (void) err_set(err, ERR_DENIED, /* -1, as below */
                   "what the guest would read is not known beforehand, so nobody can approve it");
    return err_hint(err, "give its input as a file of at most 1 MiB, or as text in a manifest");
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* One use of each capability, however many things it needs it for. */
static int count_uses(struct gate *gate, uint64_t now_ms, struct err *err)
{
    struct counter counters[CAPABILITIES];
    size_t n = 0;

    if (!gate->options->principal.is_agent)
        return 0;
    for (int capability = 0; capability < CAPABILITIES; capability++) {
        bool used = false;
        int per_hour = PER_HOUR_ANY;
        for (size_t i = 0; i < gate->needs.count; i++) {
            const struct judgement *judgement = &gate->decision.judgements[i];
            if ((int) gate->needs.items[i].capability != capability)
                continue;
            used = true;
            if (per_hour == PER_HOUR_ANY ||
                (judgement->per_hour != PER_HOUR_ANY && judgement->per_hour < per_hour))
                per_hour = judgement->per_hour;
        }
        if (used && per_hour != PER_HOUR_ANY)
            counters[n++] =
                (struct counter){.capability = (enum capability) capability, .per_hour = per_hour};
    }
    if (n == 0)
        return 0;
    if (!gate->db && db_open(gate->places->state_dir, &gate->db, err) < 0)
        return -1;
    return counters_use(gate->db, gate->options->principal.name, counters, n, now_ms, NULL, err);
}

static bool has_grant(const struct gate *gate, const struct grant *grant)
{
    for (size_t i = 0; i < gate->n_used; i++)
        if (gate->used[i] == grant)
            return true;
    return false;
}

static int take_grants(struct gate *gate, uint64_t now_ms, struct err *err)
{
    gate->used = arena_array(gate->arena, gate->needs.count + 1, sizeof(void *));
    if (!gate->used)
        return err_no_memory(err);
    for (size_t i = 0; i < gate->needs.count; i++) {
        const struct grant *grant = gate->decision.judgements[i].grant;
        /* at the door each use is a use, but for what was approved of this very request */
        if (gate->needs.items[i].is_door && grant && !grant->is_bound)
            continue;
        if (grant && !has_grant(gate, grant))
            gate->used[gate->n_used++] = grant;
    }
    if (gate->n_used == 0)
        return 0;
    if (grants_use(gate->db, gate->used, gate->n_used, now_ms, err) < 0)
        return -1;
    gate->leave.grants = gate->used;
    gate->leave.n_grants = gate->n_used;
    for (size_t i = 0; i < gate->n_used; i++)
        if (record_use(gate, gate->used[i], err) < 0)
            return -1;
    return 0;
}

/* What is run, by name, and its digest: of the module, the source, or the words of a command. */
static void describe_subject(const struct request *request, struct audit_record *record,
                             struct digest *digest)
{
    bool is_program = request->program && !request->language;
    struct sha256 sha;

    record->capability =
        capability_rows[is_program ? CAPABILITY_EXEC_RUN : CAPABILITY_CODE_RUN].name;
    record->scope = is_program          ? request->program
                    : request->language ? request->language
                                        : request->module;
    if (request->module_bytes) {
        record->subject_kind = "module_sha256";
        record->subject = request->module_digest;
        return;
    }
    sha256_init(&sha);
    if (request->source) {
        record->subject_kind = "source_sha256";
        sha256_add(&sha, request->source, request->source_len);
    } else if (request->program) {
        record->subject_kind = "argv_sha256";
        sha256_add(&sha, request->program, strlen(request->program) + 1);
        for (size_t i = 0; i < request->n_args; i++)
            sha256_add(&sha, request->args[i], strlen(request->args[i]) + 1);
    } else {
        return; /* a module that is a file: its digest is known when it was read */
    }
    sha256_finish(&sha, digest);
    record->subject = digest;
}

static int record_start(struct gate *gate, const struct request *request, struct err *err)
{
    struct audit_record record;
    struct digest digest;
    const char **ids = arena_array(gate->arena, gate->n_used + 1, sizeof(*ids));

    if (!ids)
        return err_no_memory(err);
    for (size_t i = 0; i < gate->n_used; i++)
        ids[i] = gate->used[i]->id;
    record_init(gate, "start", &record);
    record.decision = verdict_names[VERDICT_ALLOW];
    record.grants = ids;
    record.n_grants = gate->n_used;
    describe_subject(request, &record, &digest);
    if (!record.subject && gate->facts.has_module_sha256) {
        record.subject_kind = "module_sha256";
        record.subject = &gate->facts.module_sha256;
    }
    return record_write(gate, &record, err);
}

/* What must be shown or approved before it is run. */
static int check_word(struct gate *gate, const struct request *request, struct err *err)
{
    bool asks = gate->decision.verdict == VERDICT_ASK;

    if ((asks || gate->decision.simulate) && check_stdin(request, err) < 0)
        return -1;
    if (gate_check_simulated(gate, request, err) < 0)
        return -1;
    return asks ? approval_get(gate, request, err) : 0;
}

static int admit(struct gate *gate, struct request *request, struct err *err)
{
    if (gate_stands_open(gate) && !gate->options->simulated)
        return record_start(gate, request, err);
    if (judge(gate, request, err) < 0) {
        if (err->code == ERR_DENIED)
            gate_record_refusal(gate, err);
        return -1;
    }
    if (gate->decision.verdict == VERDICT_DENY)
        return refuse(gate, err);
    if (check_rest(gate, request, err) < 0 || check_word(gate, request, err) < 0 ||
        count_uses(gate, gate_now_ms(), err) < 0 || take_grants(gate, gate_now_ms(), err) < 0) {
        if (err->code == ERR_DENIED || err->code == ERR_SIMULATE)
            gate_record_refusal(gate, err);
        return -1;
    }
    return record_start(gate, request, err);
}

/* He holds none, so naming one would be of no effect. */
static int check_grants(const struct gate_options *options, struct err *err)
{
    if (options->principal.is_agent || options->n_grants == 0)
        return 0;
    return err_set(err, ERR_USAGE,
                   "grants are named, but the request is the owner's, who holds none: leave them "
                   "out, or say whose it is with --principal");
}

bool gate_admit_call(struct gate *gate, const char *what, struct result *result)
{
    const char *name = gate->options->principal.name;
    struct sha256 sha;
    struct err err;

    gate->run_id = result->run_id;
    gate->call = what;
    sha256_init(&sha);
    sha256_add(&sha, name, strlen(name) + 1);
    sha256_add(&sha, what, strlen(what) + 1);
    sha256_finish(&sha, &gate->leave.request);
    gate->leave.has_request = true;
    gate->authority.request = gate->leave.request;
    if (check_grants(gate->options, &err) == 0 && record_open(gate, &err) == 0 &&
        read_grants(gate, gate_now_ms(), &err) == 0 && gate->bound_err.code == ERR_NONE)
        return true;
    result_fail(result, gate->bound_err.code != ERR_NONE ? &gate->bound_err : &err);
    return false;
}

bool gate_admit(struct gate *gate, struct request *request, struct result *result)
{
    struct err err;

    gate->secrets = request->secrets;
    gate->run_id = result->run_id;
    gate->backend = request_backend_names[request->backend];
    if (check_grants(gate->options, &err) == 0 && record_open(gate, &err) == 0 &&
        admit(gate, request, &err) == 0)
        return true;
    result_fail(result, &err);
    return false;
}

void gate_end(struct gate *gate, struct result *result)
{
    struct audit_record record;
    struct err err;

    record_init(gate, "end", &record);
    record.reason = reason_name(result->reason);
    record.has_exit_code = result->has_exit_code;
    record.exit_code = result->exit_code;
    record.has_usage = true;
    record.wall_ms = result->wall_ns / NS_PER_MS;
    record.cpu_ms = result->cpu_ns / NS_PER_MS;
    record.max_rss_bytes = result->max_rss_bytes;
    if (result->has_module) {
        record.subject_kind = "module_sha256";
        record.subject = &result->module_sha256;
    }
    if (record_write(gate, &record, &err) < 0)
        result_fail(result, &err);
}
