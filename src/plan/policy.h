/*
 * policy: what the owner of the machine allows at most (CONTRACT §5). Text in, struct out; it
 * touches no file. One struct policy is one layer; layers are judged one by one (decide.h).
 *
 *     version: 1
 *     id: team                     # optional, for people
 *     tier: medium                 # optional: a built-in ceiling that holds besides these rules
 *     filesystem:
 *       allow: [{path: ~/work, access: read-write, reason: "…", match: [~/work/a], no_match: [/b]}]
 *       ask:   [{path: ~/papers}]  # access is read-only unless said; read-only covers overlays
 *       deny:  [~/.ssh]            # a text is short for {path: …}; denied is denied for both
 *       workspace: /data           # where a first directory without a guest path is; the cwd
 *     env:      {allow: [TASK_ID, CI_*], ask: [], deny: [{name: AWS_*}]}
 *     network:  {allow: [loopback, {host: api.example.com, ports: [443], methods: [GET],
 *                                   path_prefix: /v1/}, {host: "*.example.com"}]}
 *     exec:     {allow: [python3, {program: git, args: [status, "*"]}, {program: /opt/x/tool}]}
 *     code:
 *       allow: [python, {language: bash}, {module: /srv/modules, sha256: …}]
 *       backends: {python: wasm}   # per language: what runs it where the request names none, and
 *                                  # what it may not be weaker than
 *       isolation: full            # the weakest rung; absent: full
 *       generated: true            # false: no source text at all; absent: true
 *       validate: "off"            # the one value there is yet; YAML wants it quoted
 *     limits:
 *       default: {timeout_ms: 60000}          # where the request names none; keys as in a manifest
 *       max: {timeout_ms: 120000, output_bytes: 8000}
 *     approval:
 *       risk: {exec_run: privileged}          # a project may only raise it
 *       per_hour: {exec_run: 10}
 *       simulate: [restricted, privileged]
 *       pending_ms: 900000                    # how long a request waits for an answer
 *       ttl_ms: 600000                        # the longest life of what an approval grants
 *       uses: 1                               # the most uses of it
 *     audit: {mode: required, durability: kill, rotate_bytes: …, keep_segments: …}
 *
 * Every section may be absent, and then allows nothing; so does an empty list. "*" must be written,
 * and as a whole: a rule whose text is "*" covers everything of its section (of the filesystem for
 * reading, unless its access says more). Deny beats ask beats allow within a layer; the strictest
 * layer stands.
 *
 * A path that is denied or asked for also covers the folders above it: who is given one of them is
 * given what is in it. A host that is denied is denied on all ports and for all methods that its
 * rule does not leave out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "plan/capability.h"
#include "plan/facts.h"
#include "plan/limits.h"
#include "plan/problems.h"
#include "plan/request.h"

#define POLICY_PRESET "preset:" /* before the name of one, where a file could be named */
#define POLICY_MAX_BYTES ((size_t) 1 << 20)
#define POLICY_MAX_RULES 20000

/* Ordered: the strictest of several is the largest. */
enum verdict { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY, VERDICTS };
extern const char *const verdict_names[]; /* allow, ask, deny; NULL at the end */

enum tier { TIER_NONE, TIER_LOW, TIER_MEDIUM, TIER_HIGH, TIERS };
extern const char *const tier_names[]; /* none, low, medium, high; NULL at the end */

/* Where a layer comes from. */
enum layer {
    LAYER_SYSTEM,  /* /etc/wasp */
    LAYER_USER,    /* the user's configuration, or --policy in its place */
    LAYER_PROJECT, /* .wasp/ of the working directory or one above it; several may be in force */
    LAYER_TIER,    /* built in: named by another layer, by the request, or for want of any */
    LAYERS
};
extern const char *const layer_names[]; /* system, user, project, tier; NULL at the end */

enum audit_mode { AUDIT_UNSAID, AUDIT_OFF, AUDIT_BEST_EFFORT, AUDIT_REQUIRED }; /* ordered */
extern const char *const audit_mode_names[]; /* unsaid, off, best-effort, required; NULL */
enum durability { DURABILITY_UNSAID, DURABILITY_KILL, DURABILITY_POWER };
extern const char *const durability_names[]; /* unsaid, kill, power; NULL at the end */

/* Commands that an exec rule must match, and must not. */
struct rule_examples {
    const char *const *match, *const *no_match; /* each NULL at its end */
};

/* One line of a list. Texts lie in the arena and are as written but for "~" and relative paths. */
struct rule {
    const char *text;     /* the one thing it is about, as written, for messages: "~/work", "git" */
    const char *reason;   /* shown to the model; NULL: none */
    uint32_t line;        /* in the file, from 1 */
    enum verdict verdict; /* the list it stands in */
    bool is_any; /* "*" with nothing that narrows it; filesystem: `writes` holds all the same */
    bool writes; /* filesystem: access read-write */
    bool is_loopback;    /* network */
    bool has_program_id; /* exec; false: there is none here, and the rule matches nothing */
    bool any_args;       /* exec: any further words; so without `args` in the rule */
    bool has_sha256;     /* code */
    /* filesystem; code: the module, a file or a folder of them. Absolute, no "." or ".." */
    const char *path;
    const char *real; /* the same with links followed, if they lead elsewhere; else NULL. Filled in
                         by whoever loaded the file, as `program_id` below */
    /* env: a name, with '*' at its end a prefix. code: a language. network: see host */
    const char *name;
    /* network: as host_normal makes it; "*.example.com" covers every host below, not itself */
    const char *host;           /* "*": every host */
    const uint16_t *ports;      /* n_ports 0: 443 and 80; deny: all */
    const char *const *methods; /* upper case, or "*"; n_methods 0: GET and HEAD; deny: all */
    size_t n_ports, n_methods;
    const char *path_prefix; /* NULL: every path */
    /* exec: a bare name, to be found on the cell's PATH, or an absolute path */
    const char *program;
    struct file_id program_id;
    const char *const *args; /* '*' within a word matches any run of characters; a last word "*" is
                                not among them, but any_args. NULL: none in the rule */
    size_t n_args;
    const struct rule_examples *examples; /* exec: not tested yet; NULL: none */
    struct digest sha256;                 /* code: of the module */
};

struct rules {
    struct rule *items;
    size_t count;
};

struct policy {
    enum layer layer;
    const char *id;       /* NULL: none given */
    const char *where;    /* the file, or "tier low"; for messages */
    struct digest digest; /* SHA-256 of the canonical form */
    enum tier tier;       /* TIER_NONE: none named */
    struct rules rules[SECTIONS][VERDICTS];
    const char *workspace;    /* NULL: not said */
    enum isolation isolation; /* the weakest allowed */
    bool isolation_given;
    bool refuses_generated;
    struct policy_backend {
        const char *language;
        enum backend backend;
    } * backends;
    size_t n_backends;
    /* By limit, in limits.h's units; 0: not said. UNITS_UNLIMITED can be said. */
    uint64_t limit_default[LIMIT_COUNT], limit_max[LIMIT_COUNT];
    /* approval */
    int risk[CAPABILITIES];     /* enum risk; -1: not said */
    int per_hour[CAPABILITIES]; /* -1: not said; 0: never */
    bool simulate[RISKS];
    uint64_t pending_ms, ttl_ms; /* 0: not said */
    uint32_t uses;               /* 0: not said */
    /* audit */
    enum audit_mode audit;
    enum durability durability;
    uint64_t rotate_bytes;  /* 0: not said */
    uint32_t keep_segments; /* 0: not said: all */
};

/* What a text in a policy may refer to. */
struct policy_context {
    enum layer layer;
    const char *where;    /* the file's name, for messages */
    const char *home;     /* what "~" is; NULL: "~" is refused */
    const char *base_dir; /* relative paths count from it (a project's own folder); NULL: refused */
    bool is_yaml;         /* restricted YAML (yaml.h), else JSON */
};

/*
 * Parses one layer. Everything in *ret_policy lies in the arena; it is written only on success.
 * Otherwise -1 and *err (ERR_REQUEST): "FILE:LINE: KEY: what is wrong" for the first problem, and
 * all of them in *ret_problems, if that is not NULL. Examples (`match`, `no_match`) are tested
 * here, but for those of exec rules, which whoever resolved the programs tests.
 */
int policy_parse(const char *text, size_t len, const struct policy_context *context,
                 struct arena *arena, struct policy *ret_policy,
                 struct policy_problems *ret_problems, struct err *err);

/* The text of a built-in document: a tier ("low"), or a preset ("agent-skill"). NULL: no such. */
const char *policy_tier_text(enum tier tier);
const char *policy_preset_text(const char *name);
extern const char *const policy_preset_names[]; /* NULL at the end */
/*
 * A built-in tier as a layer. Fails only for want of memory: the texts are tested. Without a home
 * (NULL, or the root) its rules on what is beneath it match nothing.
 */
int policy_tier(enum tier tier, const char *home, struct arena *arena, struct policy *ret_policy,
                struct err *err);
