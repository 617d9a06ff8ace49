/*
 * The shapes of well-known keys, for redact.c. A key that begins with a word of its own is a row of
 * the table; what is told by its surroundings (a URL, a header, an assignment) has a function.
 *
 * Every function looks at a bounded number of bytes from where it stands, and each word is the
 * beginning of at most one key: so the whole search is linear in the text.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/redact_view.h"

/* ---- keys that begin with a word of their own ------------------------------------------------ */

/* How issued keys begin, and how much of what must follow so that it is no ordinary word. */
static const struct token {
    const char *begins;
    const char *name;
    uint8_t at_least;
    uint16_t of;
    uint16_t rest; /* what more may belong to it; 0: as `of` */
    bool is_exact; /* so many and no more */
} tokens[] = {
    {"sk-ant-", "anthropic", 16, KEY},
    {"sk-proj-", "openai", 16, KEY},
    {"sk-svcacct-", "openai", 16, KEY},
    {"sk-admin-", "openai", 16, KEY},
    {"sk-or-v1-", "openrouter", 16, KEY},
    {"sk-", "openai", 16, ALNUM, KEY},
    {"AIza", "google", 30, KEY},
    {"ya29.", "google", 20, KEY, KEY | DOT},
    {"GOCSPX-", "google", 20, KEY},
    {"AKIA", "aws", 16, UPPER | DIGIT, .is_exact = true},
    {"ASIA", "aws", 16, UPPER | DIGIT, .is_exact = true},
    {"ghp_", "github", 20, ALNUM},
    {"gho_", "github", 20, ALNUM},
    {"ghu_", "github", 20, ALNUM},
    {"ghs_", "github", 20, ALNUM, KEY | DOT},
    {"ghr_", "github", 20, ALNUM},
    {"github_pat_", "github", 20, KEY},
    {"glpat-", "gitlab", 16, KEY, KEY | DOT},
    {"gldt-", "gitlab", 16, KEY, KEY | DOT},
    {"glrt-", "gitlab", 16, KEY, KEY | DOT},
    {"glcbt-", "gitlab", 16, KEY, KEY | DOT},
    {"glptt-", "gitlab", 16, KEY, KEY | DOT},
    {"glagent-", "gitlab", 16, KEY, KEY | DOT},
    {"glsoat-", "gitlab", 16, KEY, KEY | DOT},
    {"xox?-", "slack", 10, KEY, KEY | ESCAPE},
    {"xapp-", "slack", 10, KEY},
    {"hooks.slack.com/", "slack", 24, KEY | BASE64},
    {"discord.com/api/webhooks/", "discord", 24, KEY | BASE64},
    {"discordapp.com/api/webhooks/", "discord", 24, KEY | BASE64},
    {"sk_live_", "stripe", 16, ALNUM},
    {"sk_test_", "stripe", 16, ALNUM},
    {"rk_live_", "stripe", 16, ALNUM},
    {"rk_test_", "stripe", 16, ALNUM},
    {"whsec_", "stripe", 20, ALNUM | BASE64},
    {"npm_", "npm", 30, ALNUM},
    {"pypi-AgE", "pypi", 30, KEY},
    {"hf_", "huggingface", 30, ALNUM},
    {"gsk_", "groq", 30, ALNUM},
    {"xai-", "xai", 40, ALNUM},
    {"pplx-", "perplexity", 30, ALNUM},
    {"r8_", "replicate", 30, ALNUM},
    {"SG.", "sendgrid", 50, KEY | DOT},
    {"SK", "twilio", 32, HEX, .is_exact = true},
    {"dop_v1_", "digitalocean", 30, HEX},
    {"doo_v1_", "digitalocean", 30, HEX},
    {"dor_v1_", "digitalocean", 30, HEX},
    {"shpat_", "shopify", 30, HEX},
    {"shpss_", "shopify", 30, HEX},
    {"dckr_pat_", "docker", 20, KEY},
    {"hvs.", "vault", 20, KEY},
    {"glsa_", "grafana", 20, KEY},
    {"lin_api_", "linear", 30, ALNUM},
    {"ntn_", "notion", 40, ALNUM},
    {"tskey-", "tailscale", 20, KEY},
    {"figd_", "figma", 30, KEY},
    {"rubygems_", "rubygems", 40, HEX},
    {"dapi", "databricks", 32, HEX, .is_exact = true},
    {"ATATT3", "atlassian", 40, KEY, KEY | BASE64},
    {"AGE-SECRET-KEY-", "age", 20, UPPER | DIGIT},
};

static bool look_token(struct view *view, size_t at, const struct token *token,
                       struct shape_find *ret_find)
{
    size_t begins = strlen(token->begins);

    if (!view_has(view, at, token->begins, false) ||
        view_span(view, at + begins, token->of, token->at_least) < token->at_least)
        return false;
    size_t len = begins + token->at_least;
    if (token->is_exact && is(view_peek(view, at + len), KEY))
        return false;
    *ret_find = (struct shape_find){.name = token->name, .len = len};
    if (!token->is_exact)
        ret_find->rest.classes = token->rest ? token->rest : token->of;
    return true;
}

static bool look_tokens(struct view *view, size_t at, struct shape_find *ret_find)
{
    int first = view_peek(view, at);

    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
        if (tokens[i].begins[0] == first && look_token(view, at, &tokens[i], ret_find))
            return true;
    return false;
}

/* Three parts with dots between, of which the first is a JSON object in base64. */
static bool look_jwt(struct view *view, size_t at, struct shape_find *ret_find)
{
    if (!view_has(view, at, "eyJ", false))
        return false;
    size_t head = view_span(view, at, KEY, REDACT_LOOKAHEAD);
    if (head < 12 || view_peek(view, at + head) != '.')
        return false;
    size_t len = head + 1;
    if (!view_has(view, at + len, "eyJ", false)) {
        size_t body = view_span(view, at + len, KEY, REDACT_LOOKAHEAD);
        if (view_peek(view, at + len + body) != '.' ||
            !is(view_peek(view, at + len + body + 1), KEY))
            return false;
        len += body + 1;
    }
    *ret_find = (struct shape_find){.name = "jwt", .len = len, .rest.classes = KEY | DOT};
    return true;
}

/* 123456789:AA… */
static bool look_telegram(struct view *view, size_t at, struct shape_find *ret_find)
{
    size_t digits = view_span(view, at, DIGIT, 12);

    if (digits < 8 || digits > 10 || !view_has(view, at + digits, ":AA", false) ||
        view_span(view, at + digits + 3, KEY, 32) < 32)
        return false;
    *ret_find =
        (struct shape_find){.name = "telegram", .len = digits + 3 + 32, .rest.classes = KEY};
    return true;
}

/* ---- private keys ---------------------------------------------------------------------------- */

#define RULE "-----"
#define MAX_PEM 65536

static bool look_pem(struct view *view, size_t at, struct shape_find *ret_find)
{
    static const char begin[] = RULE "BEGIN ", middle[] = "PRIVATE KEY";
    size_t len = sizeof(begin) - 1;

    if (!view_has(view, at, begin, false))
        return false;
    size_t label = view_span(view, at + len, LABEL, 40);
    if (!view_has(view, at + len + label, RULE, false) ||
        !memmem(view->text + at + len, label, middle, sizeof(middle) - 1))
        return false;
    *ret_find = (struct shape_find){
        .name = "private-key",
        .len = len + label + sizeof(RULE) - 1,
        .rest = {.classes = BODY, .is_pem = true, .left = MAX_PEM},
    };
    return true;
}

/* Up to the end of its last line, "-----END … PRIVATE KEY-----". */
static size_t take_pem(struct shape_rest *rest, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (rest->rules == 2 || rest->left-- == 0 || !is((unsigned char) text[i], rest->classes)) {
            rest->classes = 0;
            return i;
        }
        rest->dashes = text[i] == '-' ? rest->dashes + 1 : 0;
        if (rest->dashes == sizeof(RULE) - 1) {
            rest->rules++;
            rest->dashes = 0;
        }
    }
    return len;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A word begins here: also behind an escaped line end, \n or \x0a, and behind %3D. */
static bool begins_word(const char *text, size_t at)
{
    const unsigned char *to = (const unsigned char *) text + at;

    if (at == 0 || !is(to[-1], KEY))
        return true;
    if (at >= 2 && to[-2] == '\\' && strchr("nrt", to[-1]))
        return true;
    bool is_hex = at >= 3 && is(to[-1], HEX | UPPER) && is(to[-2], HEX | UPPER);
    return is_hex && (to[-3] == '%' || (at >= 4 && to[-3] == 'x' && to[-4] == '\\'));
}

static look_function *const of_words[] = {look_pem,      look_tokens, look_jwt,
                                          look_telegram, look_scheme, look_assignment};

enum shape_answer shape_look(const char *text, size_t at, size_t len, bool is_all,
                             struct shape_find *ret_find)
{
    bool is_far = len - at >= REDACT_LOOKAHEAD;
    struct view view = {
        .text = text,
        .len = is_far ? at + REDACT_LOOKAHEAD : len,
        .is_all = is_all || is_far,
    };

    if (text[at] == ':') {
        bool found = look_url(&view, at, ret_find);
        return view.ran_out ? SHAPE_WAIT : found ? SHAPE_FOUND : SHAPE_NONE;
    }
    if (!is((unsigned char) text[at], KEY) || !begins_word(text, at))
        return SHAPE_NONE;
    for (size_t i = 0; i < ARRAY_SIZE(of_words); i++) {
        bool found = of_words[i](&view, at, ret_find);
        if (view.ran_out)
            return SHAPE_WAIT;
        if (found)
            return SHAPE_FOUND;
    }
    return SHAPE_NONE;
}

size_t shape_take_rest(struct shape_rest *rest, const char *text, size_t len)
{
    if (rest->is_pem)
        return take_pem(rest, text, len);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char) text[i];
        bool ends =
            rest->until ? c == (unsigned char) rest->until || c == '\n' : !is(c, rest->classes);
        if (ends) {
            rest->classes = 0;
            return i;
        }
    }
    return len;
}

bool redact_has_shape(const char *text)
{
    size_t len = strlen(text);
    struct shape_find find;

    for (size_t at = 0; at < len; at++)
        if (shape_look(text, at, len, true, &find) == SHAPE_FOUND)
            return true;
    return false;
}
