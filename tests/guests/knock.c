/*
 * What goes through the door, one act each:
 *
 *     call NAME JSON       calls it and prints the answer
 *     at NAME POINTER LEN  calls it with this for its request, and prints what it returned
 *     answer POINTER CAP   copies the last answer there, and prints what that returned
 *     many COUNT NAME JSON makes that many calls and prints the last answer
 */
#include "guest.h"

#include "../../guest/include/wasp_guest.h"

typedef int32_t function(const char *request, int32_t len);

static function *find(const char *name)
{
    static const struct {
        const char *name;
        function *function;
    } rows[] = {{"fs_read", wasp_import_fs_read},
                {"fs_write", wasp_import_fs_write},
                {"exec_run", wasp_import_exec_run}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].function;
    exit(2);
}

static int show(int32_t len)
{
    char *answer = wasp_take_answer(len);

    if (answer == NULL) {
        printf(" %d", len);
        return 0;
    }
    answer[strcspn(answer, "\n")] = '\0';
    printf(" %s", answer);
    free(answer);
    return 0;
}

static int do_call(char **args)
{
    return show(find(args[0])(args[1], (int32_t) strlen(args[1])));
}

static int do_at(char **args)
{
    const char *request = (const char *) strtoul(args[1], NULL, 0);

    printf(" %d", find(args[0])(request, (int32_t) strtoul(args[2], NULL, 0)));
    return 0;
}

static int do_answer(char **args)
{
    char *to = (char *) strtoul(args[0], NULL, 0);

    printf(" %d", wasp_import_answer(to, (int32_t) strtoul(args[1], NULL, 0)));
    return 0;
}

static int do_many(char **args)
{
    function *called = find(args[1]);
    int32_t len = 0;

    for (long count = strtol(args[0], NULL, 10); count > 0; count--)
        len = called(args[2], (int32_t) strlen(args[2]));
    return show(len);
}

int main(int argc, char **argv)
{
    static const struct act acts[] = {
        {"call", 2, do_call}, {"at", 3, do_at}, {"answer", 2, do_answer}, {"many", 3, do_many}};

    return acts_main(acts, sizeof acts / sizeof acts[0], argc, argv);
}
