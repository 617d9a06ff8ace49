#include "store/changes_rules.h"

#include <string.h>

#include "plan/protected.h"
#include "store/changes_host.h"

const char *change_rule(const char *host, const struct change *change,
                        const char *const *unprotected)
{
    uint8_t at = protected_walk(protected_root(host, unprotected), change->path, unprotected);
    bool in_place = change->kind == CHANGE_CHANGED && change->type == change->host.type;

    if (in_place && change->type == CHANGE_DIRECTORY)
        return protected_at_rule(at);
    /* What is in a directory is judged by itself, whether it comes or goes. */
    bool is_directory = change->type == CHANGE_DIRECTORY &&
                        (!change->host.there || change->host.type == CHANGE_DIRECTORY);
    return is_directory ? protected_at_name(at) : protected_at_move(at);
}

/* How many directories the last name of a path lies in. */
static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

bool change_link_leads_out(const char *path, const char *target)
{
    size_t above = depth_of(path), len;
    bool named = false;

    if (target[0] == '/')
        return true;
    for (; *target; target += len + (target[len] == '/')) {
        len = strcspn(target, "/");
        bool is_up = len == 2 && target[0] == '.' && target[1] == '.';
        if (is_up && (named || above == 0))
            return true;
        if (is_up)
            above--;
        else if (len > 1 || (len == 1 && target[0] != '.'))
            named = true;
    }
    return false;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

enum change_refusal change_flaw(const struct change *change, uint32_t raw_mode)
{
    bool stays = change->kind != CHANGE_DELETED;

    if (stays && change->type > CHANGE_SYMLINK)
        return REFUSAL_SPECIAL;
    if (stays && change->type == CHANGE_FILE && (raw_mode & 06000))
        return REFUSAL_SETUID;
    if (stays && change->type == CHANGE_SYMLINK &&
        change_link_leads_out(change->path, change->target))
        return REFUSAL_SYMLINK;
    if (change->kind == CHANGE_ADDED &&
        strncmp(last_name(change->path), CHANGES_TEMP_PREFIX, strlen(CHANGES_TEMP_PREFIX)) == 0)
        return REFUSAL_RESERVED;
    return REFUSAL_NONE;
}

uint32_t change_mode(const struct change *change, uint32_t raw_mode, uint32_t mask)
{
    const struct change_host *host = &change->host;
    uint32_t before = host->there && host->type == change->type ? host->mode : 0;

    if (change->type == CHANGE_SYMLINK)
        return 0777;
    if (change->type != CHANGE_DIRECTORY && (raw_mode & 06000))
        return raw_mode & 07777; /* refused, and so shown as it is */
    uint32_t bits = change->type == CHANGE_DIRECTORY ? 01777 : 0777;
    uint32_t mode = raw_mode & bits & (~mask | before);
    if (change->type != CHANGE_DIRECTORY)
        return mode;
    /*
     * A directory stays one that its owner can use, and remove. Its setgid bit is the host's
     * business: a new one gets that of the directory above.
     */
    if (host->there && host->type == CHANGE_DIRECTORY && ((raw_mode ^ before) & bits) == 0)
        return before;
    return mode | 0700 | (before & 06000);
}
