#include "report/settle.h"

#include "base/redact.h"

static int keep_changes(const struct result *result, const struct places *places,
                        uint64_t started_ns, struct arena *arena, struct changes *ret_changes,
                        struct err *err)
{
    struct changes_source *sources = arena_array(arena, result->n_overlays, sizeof(*sources));

    if (!sources)
        return err_no_memory(err);
    for (size_t i = 0; i < result->n_overlays; i++)
        sources[i] = (struct changes_source){
            .upper = result->overlays[i].upper,
            .lower = result->overlays[i].lower,
            .host = result->overlays[i].host,
            .guest = result->overlays[i].guest,
        };
    return changes_keep(places->state_dir, result->run_id, sources, result->n_overlays, started_ns,
                        NULL, arena, ret_changes, err);
}

/* A guest that failed has nothing applied by itself: `wasp changes apply` is still there. */
static bool is_to_apply(const struct request *request, const struct result *result,
                        const struct changes *changes, settle_ask *ask)
{
    bool ended_well =
        result->reason == REASON_EXITED && result->has_exit_code && result->exit_code == 0;

    if (!changes->kept || !ended_well || request->apply == APPLY_NEVER)
        return false;
    return request->apply == APPLY_AUTO || (ask && ask(changes));
}

static void apply_changes(const struct request *request, const struct result *result,
                          const struct places *places, struct arena *arena,
                          struct changes_report *told)
{
    const struct changes_options options = {.unprotected = request->unprotected};

    told->was_applied = true;
    told->apply_err.code = ERR_NONE;
    if (changes_apply(places->state_dir, result->run_id, &options, arena, &told->outcome,
                      &told->apply_err) < 0 &&
        told->apply_err.code == ERR_NONE)
        (void) err_set(&told->apply_err, ERR_HOST, "the changes were not applied"); /* always -1 */
    (void) redact_text(told->apply_err.message, /* as a verdict is; it is fine either way */
                       sizeof(told->apply_err.message), request->secrets);
}

static int show_diff(const struct result *result, const struct places *places, struct arena *arena,
                     struct changes_report *told, struct err *err)
{
    struct changes_text text = {.fd = -1, .into = &told->diff};

    told->has_diff = true;
    if (changes_diff(places->state_dir, result->run_id, &text, arena, err) < 0)
        return -1;
    told->diff_cut = text.cut;
    return 0;
}

bool settle_changes(const struct request *request, const struct places *places, uint64_t started_ns,
                    settle_ask *ask, struct arena *arena, struct result *result,
                    struct changes_report *told)
{
    struct err err;

    if (result->n_overlays == 0)
        return false;
    if (keep_changes(result, places, started_ns, arena, &told->changes, &err) < 0 ||
        (request->diff && told->changes.kept && show_diff(result, places, arena, told, &err) < 0)) {
        (void) err_step(&err, "changes"); /* always -1 */
        result_fail(result, &err);
        return false;
    }
    if (is_to_apply(request, result, &told->changes, ask))
        apply_changes(request, result, places, arena, told);
    return true;
}
