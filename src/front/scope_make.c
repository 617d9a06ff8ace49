#include "front/scope_make.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/plan.h"
#include "plan/scope.h"
#include "plan/words.h"
#include "run/facts.h"
#include "store/grants.h"

#define MODULE "module:"

static int make_path(const char *text, struct arena *arena, const char **ret_scope, struct err *err)
{
    struct fact fact;

    if (text[0] == '\0' || text[0] == '~' || strcmp(text, "*") == 0) {
        (void) err_set(err, ERR_REQUEST, "scope '%s': write a path", text); /* -1, as below */
        return err_hint(err, "it is for all that lies beneath, too; '~' is a shell's word");
    }
    if (fact_of_path(text, arena, &fact, err) < 0)
        return -1;
    if (!fact.is_known)
        return err_set(err, ERR_REQUEST, "scope '%s': nobody can tell where that lies", text);
    *ret_scope = fact.real;
    return 0;
}

/* A relative path is made an absolute one first. */
static int find_program(const char *name, struct arena *arena, const char **ret_real,
                        struct err *err)
{
    struct fact fact = {.is_known = false};
    const char *path = name;

    if (strchr(name, '/') && make_path(name, arena, &path, err) < 0)
        return -1;
    if (fact_of_program(path, arena, &fact, err) < 0)
        return -1;
    if (!fact.is_known) {
        (void) err_set(err, ERR_REQUEST, "there is no program '%s'", name); /* -1, as below */
        return err_hint(err, "a bare name is looked for on %s", CELL_PATH);
    }
    *ret_real = fact.real;
    return 0;
}

static int make_command(const char *text, struct arena *arena, const char **ret_scope,
                        struct err *err)
{
    _cleanup_(buf_release) struct buf scope = BUF_INIT(GRANT_MAX_SCOPE);
    const char *const *words;
    const char *real;
    size_t n;

    if (words_split_patterns(text, arena, &words, &n, err) < 0)
        return err_prefix(err, "scope");
    if (find_program(words[0], arena, &real, err) < 0)
        return -1;
    if (words_join(&scope, &real, 1) < 0 || words_join(&scope, words + 1, n - 1) < 0)
        return err_set(err, ERR_REQUEST, "the scope is longer than %d bytes", GRANT_MAX_SCOPE);
    *ret_scope = arena_strdup(arena, scope.data);
    return *ret_scope ? 0 : err_no_memory(err);
}

static int make_code(const char *text, struct arena *arena, const char **ret_scope, struct err *err)
{
    const char *real;

    *ret_scope = text;
    if (strncmp(text, MODULE, strlen(MODULE)) != 0)
        return 0;
    if (make_path(text + strlen(MODULE), arena, &real, err) < 0)
        return -1;
    *ret_scope = arena_printf(arena, MODULE "%s", real);
    return *ret_scope ? 0 : err_no_memory(err);
}

static int make_text(const char *text, struct arena *arena, const char **ret_scope, struct err *err)
{
    (void) arena, (void) err; /* nothing but text */
    *ret_scope = text;
    return 0;
}

typedef int make_scope(const char *text, struct arena *arena, const char **ret_scope,
                       struct err *err);

static make_scope *const makers[SECTIONS] = {
    [SECTION_FILESYSTEM] = make_path, [SECTION_ENV] = make_text,  [SECTION_NETWORK] = make_text,
    [SECTION_EXEC] = make_command,    [SECTION_CODE] = make_code,
};

int scope_make(enum capability capability, const char *text, struct arena *arena,
               const char **ret_scope, struct err *err)
{
    const char *scope;

    if (makers[capability_rows[capability].section](text, arena, &scope, err) < 0 ||
        scope_check(capability, scope, err) < 0)
        return -1;
    *ret_scope = scope;
    return 0;
}
