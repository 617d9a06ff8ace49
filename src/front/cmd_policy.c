/*
 * policy: what is allowed on this machine: check a file, show what is in force.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/policy_explain.h"
#include "front/policy_page.h"
#include "front/verb.h"
#include "plan/yaml.h"
#include "store/policies.h"

static int finish_json(struct json_writer *json, int status)
{
    struct err err;

    if (json_finish(json) == 0)
        return status;
    (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
    return page_fail(&err);
}

/* ---- check ----------------------------------------------------------------------------------- */

struct check_options {
    const char *file;
    bool json;
};

static const struct option check_rows[] = {
    {"--json", NULL, "print the answer as JSON ('wasp schema policy-check')", .kind = OPTION_FLAG,
     .at = offsetof(struct check_options, json)},
};

static const struct operand check_operands[] = {
    {"FILE", .at = offsetof(struct check_options, file), .values = VALUES_FILE},
};

static const struct syntax check_syntax = {
    .verb = "policy check",
    .options = check_rows,
    .n_options = ARRAY_SIZE(check_rows),
    .operands = check_operands,
    .n_operands = ARRAY_SIZE(check_operands),
};

/* What the check came to. */
struct checked {
    const char *file;
    bool is_good;
    struct policy policy; /* if it is */
    struct policy_problems problems;
    struct err err; /* if it is not; without problems, of the file itself */
};

static size_t count_rules(const struct policy *policy)
{
    size_t count = 0;

    for (int section = 0; section < SECTIONS; section++)
        for (int verdict = 0; verdict < VERDICTS; verdict++)
            count += policy->rules[section][verdict].count;
    return count;
}

static void write_problem(struct json_writer *json, uint32_t line, const char *key,
                          const char *message)
{
    json_open_object(json);
    json_key(json, "line");
    if (line)
        json_put_uint(json, line);
    else
        json_put_null(json);
    json_key(json, "key");
    json_put_string(json, key);
    json_key(json, "message");
    json_put_string(json, message);
    json_close_object(json);
}

static int print_check_json(const struct checked *checked)
{
    const struct policy_problems *problems = &checked->problems;
    struct json_writer json;
    char hex[DIGEST_HEX];

    digest_hex(&checked->policy.digest, hex);
    json_writer_init_fd(&json, STDOUT_FILENO);
    json_open_object(&json);
    json_key(&json, "schema");
    json_put_string(&json, "wasp.policy.check/1");
    json_key(&json, "file");
    json_put_string(&json, checked->file);
    json_key(&json, "ok");
    json_put_bool(&json, checked->is_good);
    json_key(&json, "sha256");
    json_put_string(&json, checked->is_good ? hex : NULL);
    json_key(&json, "problems");
    json_open_array(&json);
    for (size_t i = 0; i < problems->count; i++)
        write_problem(&json, problems->items[i].line, problems->items[i].key,
                      problems->items[i].message);
    if (!checked->is_good && problems->count == 0)
        write_problem(&json, 0, "", checked->err.message);
    json_close_array(&json);
    json_key(&json, "omitted");
    json_put_uint(&json, problems->omitted);
    json_close_object(&json);
    return finish_json(&json, checked->is_good ? 0 : err_kind(checked->err.code)->exit_status);
}

static int print_check(const struct checked *checked)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    const struct policy_problems *problems = &checked->problems;

    if (!checked->is_good && problems->count == 0)
        return page_fail(&checked->err);
    for (size_t i = 0; i < problems->count; i++) {
        const struct policy_problem *problem = &problems->items[i];
        page_add(&page, "%s:%u: %s%s%s\n", checked->file, problem->line, problem->key,
                 problem->key[0] ? ": " : "", problem->message);
    }
    if (problems->omitted)
        page_add(&page, "and %zu more\n", problems->omitted);
    if (checked->is_good) {
        char hex[DIGEST_HEX];
        digest_hex(&checked->policy.digest, hex);
        page_add(&page, "%s: no problems, %zu rules, sha256:%s\n", checked->file,
                 count_rules(&checked->policy), hex);
    }
    int status = page_print(&page);
    return status || checked->is_good ? status : err_kind(checked->err.code)->exit_status;
}

/* From here, as a path that says where it is. */
static const char *make_absolute(const char *path, struct arena *arena, struct err *err)
{
    char cwd[PATH_MAX];
    const char *absolute = NULL;

    if (path[0] == '/')
        return path;
    if (!getcwd(cwd, sizeof(cwd)))
        (void) err_sys(err, ERR_HOST, "cannot tell the working directory"); /* NULL says it */
    else if (!(absolute = arena_printf(arena, "%s/%s", cwd, path)))
        (void) err_no_memory(err); /* likewise */
    return absolute;
}

static int check(const struct call *call)
{
    struct check_options options = {.file = NULL};
    struct environment environment;
    struct checked checked = {.is_good = false};
    struct err err;

    if (options_parse(&check_syntax, call->words, &options, call->arena, &err) < 0 ||
        environment_read(call->arena, &environment, &err) < 0)
        return page_fail(&err);
    const char *path = make_absolute(options.file, call->arena, &err);
    if (!path)
        return page_fail(&err);
    (void) err_set(&checked.err, ERR_REQUEST, "%s", options.file); /* makes it fit to be shown */
    checked.file = options.json ? options.file : arena_strdup(call->arena, checked.err.message);
    if (!checked.file) {
        (void) err_no_memory(&err); /* always -1 */
        return page_fail(&err);
    }
    checked.is_good = policies_check(path, environment.home, call->arena, &checked.policy,
                                     &checked.problems, &checked.err) == 0;
    if (!checked.is_good && checked.err.code != ERR_REQUEST)
        return page_fail(&checked.err);
    return options.json ? print_check_json(&checked) : print_check(&checked);
}

static const struct verb verb_check = {
    .syntax = &check_syntax,
    .summary = "find every problem of a policy file",
    .about = "Reads the file as a run would, its owner and mode included, and prints each problem "
             "with its line and key. Exits with 2 if there is any.",
    .main = check,
};

/* ---- show ------------------------------------------------------------------------------------ */

struct show_options {
    const char *policy, *tier, *preset, *principal;
    bool json;
};

static const struct option show_rows[] = {
    {"--policy", "FILE", "this file, or preset:NAME, in the place of the user's own",
     .kind = OPTION_TEXT, .at = offsetof(struct show_options, policy), .values = VALUES_FILE},
    {"--principal", "owner|agent:NAME", "for whom (default owner)", .kind = OPTION_TEXT,
     .at = offsetof(struct show_options, principal)},
    {"--tier", "TIER", "the text of this built-in tier instead", .kind = OPTION_TEXT,
     .at = offsetof(struct show_options, tier), .choices = tier_names + TIER_LOW},
    {"--preset", "NAME", "the text of this preset instead, to begin a policy with",
     .kind = OPTION_TEXT, .at = offsetof(struct show_options, preset),
     .choices = policy_preset_names},
    {"--json", NULL, "print it as JSON ('wasp schema policy-show', 'wasp schema policy')",
     .kind = OPTION_FLAG, .at = offsetof(struct show_options, json)},
};

static const struct syntax show_syntax = {
    .verb = "policy show",
    .options = show_rows,
    .n_options = ARRAY_SIZE(show_rows),
};

/* A built-in document is the same for everybody. */
static int check_show(const struct show_options *options, struct err *err)
{
    bool in_force = options->policy || options->principal;

    if (!!options->tier + !!options->preset + in_force <= 1)
        return 0;
    return err_set(err, ERR_USAGE,
                   "--tier and --preset print one document: each stands alone, but for --json");
}

/* A built-in document as it is, or in its canonical form. */
static int show_text(const char *text, bool as_json, struct arena *arena)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct problems problems = {.arena = arena};
    struct json_writer json;
    struct node document;
    struct err err;

    if (!as_json) {
        page_add(&page, "%s", text);
        return page_print(&page);
    }
    if (document_parse_yaml(text, strlen(text), &problems, &document) < 0) {
        (void) err_no_memory(&err); /* the texts are tested: nothing else can be wrong */
        return page_fail(&err);
    }
    json_writer_init_fd(&json, STDOUT_FILENO);
    document_write(&document, &json);
    return finish_json(&json, 0);
}

static int load(const struct show_options *options, const struct principal *principal,
                struct arena *arena, struct policies *ret_policies, struct err *err)
{
    struct environment environment;
    char cwd[PATH_MAX];

    if (environment_read(arena, &environment, err) < 0)
        return -1;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, ERR_HOST, "cannot tell the working directory");
    const struct policy_places places = {
        .system_dir = POLICIES_SYSTEM_DIR,
        .user_dir = environment.places.config_dir,
        .file = options->policy,
        .cwd = cwd,
        .home = environment.home,
        .is_agent = principal->is_agent,
    };
    return policies_load(&places, true, arena, ret_policies, err);
}

static int show(const struct call *call)
{
    struct show_options options = {.json = false};
    struct principal principal;
    struct policies policies;
    struct json_writer json;
    struct err err;

    if (options_parse(&show_syntax, call->words, &options, call->arena, &err) < 0 ||
        check_show(&options, &err) < 0)
        return page_fail(&err);
    if (options.tier)
        return show_text(policy_tier_text((enum tier) choice_find(tier_names, options.tier)),
                         options.json, call->arena);
    if (options.preset)
        return show_text(policy_preset_text(options.preset), options.json, call->arena);
    principal_owner(&principal);
    if ((options.principal && principal_parse(options.principal, &principal, &err) < 0) ||
        load(&options, &principal, call->arena, &policies, &err) < 0)
        return page_fail(&err);
    if (!options.json)
        return policy_page_print(&policies, &principal);
    json_writer_init_fd(&json, STDOUT_FILENO);
    policy_page_write(&json, &policies, &principal);
    return finish_json(&json, 0);
}

static const struct verb verb_show = {
    .syntax = &show_syntax,
    .summary = "print the policies in force, and where each rule comes from",
    .about =
        "Prints the layers in force for a run started here: the system's (/etc/wasp), the user's "
        "(XDG_CONFIG_HOME/wasp), those of the project (.wasp in the working directory and above), "
        "and the tiers they name. In each folder the file is policy.yaml or policy.json. With "
        "--tier or --preset, prints that document instead, fit to be kept as a file.",
    .main = show,
};

static const struct verb *const verbs[] = {&verb_check, &verb_show, &verb_policy_explain, NULL};

static const struct syntax syntax = {.verb = "policy"};

const struct verb verb_policy = {
    .syntax = &syntax,
    .summary = "check policy files, and see what they allow",
    .verbs = verbs,
};
