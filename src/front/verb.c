#include "front/verb.h"

#include <string.h>

#include "front/suggest.h"

const struct verb *verb_find(const struct verb *const *verbs, const char *name, struct err *err)
{
    struct suggestion suggestion;

    suggestion_init(&suggestion, name);
    for (; *verbs; verbs++) {
        if (strcmp((*verbs)->syntax->verb, name) == 0)
            return *verbs;
        suggestion_offer(&suggestion, (*verbs)->syntax->verb);
    }
    (void) err_set(err, ERR_USAGE, "unknown verb '%s'", name); /* NULL says it */
    if (suggestion.best)
        (void) err_hint(err, "did you mean '%s'?", suggestion.best);
    else
        (void) err_hint(err, "see 'wasp help'");
    return NULL;
}
