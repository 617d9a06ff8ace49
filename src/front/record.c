#include "front/record.h"

#include <string.h>

#include "base/cleanup.h"
#include "report/audit.h"

static void close_audit(struct audit **audit)
{
    audit_close(*audit);
}

static int append(const char *state_dir, const struct audit_record *record, struct err *err)
{
    _cleanup_(close_audit) struct audit *audit = NULL;
    const struct audit_settings settings = {.durability = DURABILITY_POWER};
    struct audit_place place;

    if (audit_open(state_dir, &settings, &audit, err) < 0)
        return -1;
    return audit_append(audit, record, &place, err);
}

static bool gives(const char *event)
{
    return strcmp(event, "grant_created") == 0 || strcmp(event, "approved") == 0;
}

/* Always -1: *err says why it was not recorded. */
static int take_back(const struct ledger *ledger, const struct grant *grants, size_t n_grants,
                     struct arena *arena, struct err *err)
{
    struct grant ignored;
    struct err why;

    for (size_t i = 0; i < n_grants; i++)
        if (grants_revoke(ledger->db, grants[i].id, ledger->now_ms, arena, &ignored, &why) < 0)
            return err_prefix(err, "the grant '%s' stands but was not recorded (%s)", grants[i].id,
                              why.message);
    return err_prefix(err, "granted and taken back, because it could not be recorded");
}

int record_change(const struct ledger *ledger, const char *event, const struct approval *approval,
                  const struct grant *grants, size_t n_grants, struct arena *arena, struct err *err)
{
    const struct grant *only = n_grants == 1 ? grants : NULL;
    const char **ids = arena_array(arena, n_grants + 1, sizeof(*ids));
    struct audit_record record = {
        .event = event,
        .principal = approval ? approval->holder
                     : only   ? only->holder
                              : NULL,
        .request = approval                 ? &approval->request
                   : only && only->is_bound ? &only->request
                                            : NULL,
        .capability = only ? capability_rows[only->capability].name : NULL,
        .scope = only ? only->scope : NULL,
        .grants = ids,
        .n_grants = n_grants,
        .approval = approval ? approval->id
                    : only   ? only->approval
                             : NULL,
        .by = ledger->by,
        .reason = only ? only->reason : NULL,
    };

    for (size_t i = 0; ids && i < n_grants; i++)
        ids[i] = grants[i].id;
    int rc = ids ? append(ledger->state_dir, &record, err) : err_no_memory(err);
    if (rc == 0)
        return 0;
    if (gives(event))
        return take_back(ledger, grants, n_grants, arena, err);
    return err_prefix(err, "done, but it could not be recorded");
}
