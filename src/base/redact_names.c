/* Which names say that a credential is behind them; declared in redact.h. */
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"

/* No word that counts is longer. */
#define WORD_SIZE 16

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

bool redact_name_tells(const char *name, size_t len)
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
