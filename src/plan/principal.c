#include "plan/principal.h"

#include <stdio.h>
#include <string.h>

#define AGENT "agent:"
#define NAME_CHARACTERS                                              \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
    "._-@/"

void principal_owner(struct principal *ret_principal)
{
    *ret_principal = (struct principal){.name = "owner"};
}

int principal_parse(const char *text, struct principal *ret_principal, struct err *err)
{
    size_t len = strlen(text);

    if (strcmp(text, "owner") == 0) {
        principal_owner(ret_principal);
        return 0;
    }
    if (strncmp(text, AGENT, strlen(AGENT)) != 0)
        return err_set(err, ERR_USAGE, "'%s' is no principal: it is owner or agent:NAME", text);
    const char *name = text + strlen(AGENT);
    if (*name == '\0' || name[strspn(name, NAME_CHARACTERS)] != '\0')
        return err_set(err, ERR_USAGE,
                       "'%s' is no name for an agent: it has letters, digits and . _ - @ / only",
                       name);
    if (len >= PRINCIPAL_MAX)
        return err_set(err, ERR_USAGE, "the agent's name is longer than %zu characters",
                       PRINCIPAL_MAX - 1 - strlen(AGENT));
    *ret_principal = (struct principal){.is_agent = true};
    memcpy(ret_principal->name, text, len + 1);
    return 0;
}
