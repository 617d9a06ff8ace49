/*
 * settle: what becomes of overlay directories when the guest is gone.
 */
#pragma once

#include "base/arena.h"
#include "plan/request.h"
#include "report/changes.h"
#include "run/result.h"
#include "run/run.h"

/* Asks a person whether to apply them. */
typedef bool settle_ask(const struct changes *changes);

/*
 * What the guest changed is kept, shown and applied as the request says; ask may be NULL: there is
 * nobody. True if there is something to tell, in *told. What cannot be kept is lost, so the run is
 * then told as failed.
 */
bool settle_changes(const struct request *request, const struct places *places, uint64_t started_ns,
                    settle_ask *ask, struct arena *arena, struct result *result,
                    struct changes_report *told);
