/* What looks like a credential; declared in environment.h. */
#include <string.h>

#include "base/cleanup.h"
#include "plan/environment.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/* What keys and the parts of a JWT are made of. */
#define KEY_CHARACTERS LETTERS "0123456789_-"
#define KEY_CHARACTERS_AND_DOT KEY_CHARACTERS "."

/* No word that counts is longer. */
#define WORD_SIZE 16

/* ---- names ----------------------------------------------------------------------------------- */

/* One of these among the words of a name. TOKENS is not: MAX_TOKENS is a number. */
static const char *const telling_words[] = {
    "TOKEN",      "SECRET",    "SECRETS",   "PASSWORD",   "PASSWORDS",   "PASSWD",
    "PASSPHRASE", "PASS",      "PASSCODE",  "CREDENTIAL", "CREDENTIALS", "CREDS",
    "APIKEY",     "AUTHTOKEN", "ACCESSKEY", "SECRETKEY",  "PRIVATEKEY",  "JWT",
};

/* One of these right before KEY: a PUBLIC_KEY is none, nor is a PRIMARY_KEY. */
static const char *const telling_before_key[] = {
    "API",    "ACCESS", "PRIVATE", "AUTH",    "ENCRYPTION", "SIGNING",
    "MASTER", "SSH",    "DEPLOY",  "ACCOUNT", "SERVICE",
};

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/*
 * The next run of letters in capitals, "" if it is too long to count; false at the end of the name.
 * Where a capital follows a small letter, a word begins: githubToken.
 */
static bool next_word(const char **at, const char *end, char ret_word[WORD_SIZE])
{
    size_t len = 0;

    while (*at < end && !is_lower(**at) && !is_upper(**at))
        ++*at;
    if (*at == end)
        return false;
    do {
        char c = **at;
        if (len < WORD_SIZE)
            ret_word[len] = is_lower(c) ? (char) (c - 'a' + 'A') : c;
        len++;
        ++*at;
    } while (*at < end && (is_lower(**at) || (is_upper(**at) && !is_lower((*at)[-1]))));
    ret_word[len < WORD_SIZE ? len : 0] = '\0';
    return true;
}

static bool name_tells(const char *name, size_t len)
{
    char before[WORD_SIZE] = "", word[WORD_SIZE];

    for (const char *at = name; next_word(&at, name + len, word);) {
        if (is_one_of(word, telling_words, ARRAY_SIZE(telling_words)))
            return true;
        if (strcmp(word, "KEY") == 0 &&
            is_one_of(before, telling_before_key, ARRAY_SIZE(telling_before_key)))
            return true;
        if (strcmp(word, "PWD") == 0 && before[0]) /* alone it is the working directory */
            return true;
        memcpy(before, word, sizeof(before));
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* How issued keys begin, and how much must follow so that it is no ordinary word. */
static const struct beginning {
    const char *text;
    size_t at_least;
} beginnings[] = {
    {"sk-", 16},
    {"sk_live_", 16},
    {"sk_test_", 16},
    {"rk_live_", 16},
    {"ghp_", 20},
    {"gho_", 20},
    {"ghu_", 20},
    {"ghs_", 20},
    {"ghr_", 20},
    {"glpat-", 16},
    {"github_pat_", 20},
    {"xoxa-", 10},
    {"xoxb-", 10},
    {"xoxp-", 10},
    {"xoxr-", 10},
    {"xoxs-", 10},
    {"xoxe-", 10},
    {"xapp-", 10},
    {"AKIA", 16},
    {"ASIA", 16},
    {"AIza", 30},
    {"ya29.", 20},
    {"hf_", 30},
    {"npm_", 30},
    {"pypi-", 30},
    {"dop_v1_", 30},
    {"SG.", 30},
    {"gsk_", 30},
    {"whsec_", 20},
    {"glsa_", 20},
    {"AGE-SECRET-KEY-", 20},
};

static bool begins_key(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
        size_t len = strlen(beginnings[i].text);
        if (strncmp(text, beginnings[i].text, len) == 0 &&
            strspn(text + len, KEY_CHARACTERS_AND_DOT) >= beginnings[i].at_least)
            return true;
    }
    return false;
}

/* Three parts with dots between, of which the first two are JSON objects in base64. */
static bool begins_jwt(const char *text)
{
    for (int part = 0; part < 2; part++) {
        if (strncmp(text, "eyJ", 3) != 0)
            return false;
        text += strspn(text, KEY_CHARACTERS);
        if (*text++ != '.')
            return false;
    }
    return true;
}

/* The rest of "scheme://user:password@host", behind the scheme. */
static bool begins_password(const char *text)
{
    if (strncmp(text, "://", 3) != 0)
        return false;
    text += 3;
    size_t user = strcspn(text, ":@/?# ");
    if (text[user] != ':')
        return false;
    text += user + 1;
    size_t password = strcspn(text, "@/?# ");
    return password > 0 && text[password] == '@';
}

static bool value_tells(const char *value)
{
    const char *pem = strstr(value, "-----BEGIN ");

    if (pem && strstr(pem, "PRIVATE KEY"))
        return true;
    for (const char *at = value; *at; at++) {
        bool starts_word = at == value || !strchr(KEY_CHARACTERS, at[-1]);
        if (begins_password(at) || (starts_word && (begins_key(at) || begins_jwt(at))))
            return true;
    }
    return false;
}

bool environment_is_credential(const char *assignment)
{
    size_t len = strcspn(assignment, "=");

    if (assignment[len] == '\0' || assignment[len + 1] == '\0')
        return false; /* nothing is given away */
    return name_tells(assignment, len) || value_tells(assignment + len + 1);
}
