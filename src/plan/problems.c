#include "plan/problems.h"

/* here the function itself is meant */
#undef problem_add

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Puts the path behind what is there; a path that is too long is cut. */
static size_t print_place(const struct place *place, char *to, size_t size)
{
    if (!place || !place->up)
        return 0;
    size_t at = print_place(place->up, to, size);
    int n = place->key ? snprintf(to + at, size - at, "%s%.64s", at ? "." : "", place->key)
                       : snprintf(to + at, size - at, "[%zu]", place->index);
    return n < 0 || at + (size_t) n >= size ? size - 1 : at + (size_t) n;
}

int problem_no_memory(struct problems *problems)
{
    problems->no_memory = true;
    return -1;
}

bool problems_any(const struct problems *problems)
{
    return problems->no_memory || problems->found.count > 0;
}

static struct policy_problem *next_problem(struct problems *problems)
{
    struct policy_problems *found = &problems->found;

    if (!found->items)
        found->items =
            arena_array(problems->arena, POLICY_MAX_PROBLEMS, sizeof(struct policy_problem));
    if (!found->items) {
        (void) problem_no_memory(problems); /* always -1 */
        return NULL;
    }
    if (found->count == POLICY_MAX_PROBLEMS) {
        found->omitted++;
        return NULL;
    }
    return &found->items[found->count++];
}

/* As messages are: one line, valid UTF-8, nothing that steers a terminal. */
static void keep_clean(const char *text, char *to, size_t size)
{
    struct err clean;

    (void) err_set(&clean, ERR_REQUEST, "%s", text); /* always -1 */
    size_t len = strlen(clean.message);
    if (len >= size) /* not within a character */
        for (len = size - 1; len > 0 && ((unsigned char) clean.message[len] & 0xc0) == 0x80;)
            len--;
    memcpy(to, clean.message, len);
    to[len] = '\0';
}

int problem_add(struct problems *problems, uint32_t line, const struct place *place,
                const char *format, ...)
{
    struct policy_problem *problem = next_problem(problems);
    char raw[768] = "";
    va_list args;

    if (!problem)
        return -1;
    problem->line = line;
    (void) print_place(place, raw, sizeof(problem->key)); /* what was cut is of use, too */
    keep_clean(raw, problem->key, sizeof(problem->key));
    va_start(args, format);
    (void) vsnprintf(raw, sizeof(raw), format, args); /* may be cut as well */
    va_end(args);
    keep_clean(raw, problem->message, sizeof(problem->message));
    return -1;
}

/* There are few, and most are in order. */
void problems_sort(struct problems *problems)
{
    struct policy_problem *items = problems->found.items;

    for (size_t i = 1; i < problems->found.count; i++) {
        struct policy_problem moved = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].line > moved.line; at--)
            items[at] = items[at - 1];
        items[at] = moved;
    }
}
