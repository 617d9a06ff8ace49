#include "front/verb.h"

#include <string.h>

#include "front/suggest.h"

const char *verb_word(const struct verb *verb)
{
    const char *space = strrchr(verb->syntax->verb, ' ');

    return space ? space + 1 : verb->syntax->verb;
}

const struct verb *verb_find(const struct verb *const *verbs, const char *word, struct err *err)
{
    struct suggestion suggestion;

    suggestion_init(&suggestion, word);
    for (; *verbs; verbs++) {
        if (strcmp(verb_word(*verbs), word) == 0)
            return *verbs;
        suggestion_offer(&suggestion, verb_word(*verbs));
    }
    (void) err_set(err, ERR_USAGE, "unknown verb '%s'", word); /* NULL says it */
    if (suggestion.best)
        (void) err_hint(err, "did you mean '%s'?", suggestion.best);
    else
        (void) err_hint(err, "see 'wasp help'");
    return NULL;
}

const struct verb *verb_follow(const struct verb *verb, const char *const **words, struct err *err)
{
    while (verb && verb->verbs) {
        const char *name = verb->syntax->verb;
        if (!**words) {
            (void) err_set(err, ERR_USAGE, "'%s' needs one of its verbs", name); /* NULL says it */
            (void) err_hint(err, "see 'wasp help %s'", name);
            return NULL;
        }
        verb = verb_find(verb->verbs, **words, err);
        if (!verb)
            (void) err_prefix(err, "%s", name); /* NULL says it */
        else
            ++*words;
    }
    return verb;
}
