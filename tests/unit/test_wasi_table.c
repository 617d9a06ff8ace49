/* The tables of functions that a module may import. */
#include "wasi_rig.h"

static bool is_sorted(const struct wasi_function *table, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(table[i - 1].name, table[i].name) >= 0)
            return false;
    return true;
}

static bool is_complete(const char *module, const struct wasi_function *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wasi_find(module, table[i].name) != &table[i] || table[i].call == NULL ||
            strspn(table[i].params, "iI") != strlen(table[i].params) ||
            table[i].has_result != (strcmp(table[i].name, "proc_exit") != 0))
            return false;
    return true;
}

int main(void)
{
    size_t n_new, n_old;
    const struct wasi_function *new = wasi_functions(false, &n_new);
    const struct wasi_function *old = wasi_functions(true, &n_old);

    ok(n_new == 46, "preview 1 has 46 functions");
    ok(n_old == 45, "wasi_unstable has 45");
    ok(is_sorted(new, n_new) && is_sorted(old, n_old), "both tables are sorted by name");
    ok(is_complete("wasi_snapshot_preview1", new, n_new), "each row of preview 1 is found by name");
    ok(is_complete("wasi_unstable", old, n_old), "each row of wasi_unstable is found by name");
    ok(wasi_find("wasi_unstable", "sock_accept") == NULL, "wasi_unstable has no sock_accept");
    ok(wasi_find("wasi_snapshot_preview1", "sock_accept") != NULL, "preview 1 has it");
    ok(wasi_find("wasi_snapshot_preview1", "fd_fork") == NULL, "an unknown function is not found");
    ok(wasi_find("env", "fd_read") == NULL, "an unknown module is not found");
    ok(wasi_find("wasi_unstable", "fd_seek")->call !=
           wasi_find("wasi_snapshot_preview1", "fd_seek")->call,
       "what differs between the modules is another function");
    return done();
}
