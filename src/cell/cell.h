/*
 * cell: the child's side. The process builds the walls around itself, step by step, and then
 * becomes the job.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"
#include "plan/tell.h"

/*
 * The most grants a plan can hold, so that the descriptors fit in the cell without an allocation.
 */
#define CELL_MAX_GRANTS REQUEST_MAX_DIRS

struct cell {
    enum isolation isolation; /* known before the plan, which says the same */
#ifdef WASP_TEST_HOOKS
    uint32_t without; /* bits of enum tell_wall: walls to leave out */
#endif
    struct plan plan;
    int grants[CELL_MAX_GRANTS]; /* directories: roots of detached mounts, or (landlock rung) host
                                    directories */
    uint32_t walls;              /* enum tell_wall: what stands already */
    uint32_t landlock_abi;
};

/* One step: 0, or -1 and *err. Each is in the file of its name. */
typedef int cell_step(struct cell *cell, struct err *err);

cell_step cell_close_descriptors;
cell_step cell_enter_namespaces;
cell_step cell_receive_plan;
cell_step cell_take_identity;
cell_step cell_enter_root;
cell_step cell_set_limits;
cell_step cell_drop_privileges;
cell_step cell_enter_landlock;
cell_step cell_load_filter;

/* All of the above in order; the failing one's name is in err->step. */
cell_step cell_build_walls;

/*
 * Takes away what only loading needed: executable pages and, where nothing is writable, the calls
 * that write. By the job, before guest code.
 */
cell_step cell_shed_loading;

/*
 * The job: one file each, one in a program. Runs with all walls up and the load filter in force;
 * tells what became of it and returns 0, or -1 and *err where it could not begin.
 */
cell_step cell_job;

/* True if a test leaves this wall out; false in a release. */
static inline bool cell_without(const struct cell *cell, enum tell_wall wall)
{
#ifdef WASP_TEST_HOOKS
    return (cell->without & wall) != 0;
#else
    (void) cell;
    (void) wall;
    return false;
#endif
}

/* True if any grant may be written to. */
bool cell_is_writable(const struct cell *cell);
