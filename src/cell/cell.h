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

/* What Landlock lets a guest do in a place besides the grants. */
enum cell_right {
    RIGHT_LIST,    /* see what there is */
    RIGHT_READ,    /* and read it */
    RIGHT_SYSTEM,  /* and run it */
    RIGHT_WORK,    /* and change it */
    RIGHT_DEVICES, /* read and write what is there */
    RIGHT_FILE,    /* of a single file: read it */
    RIGHT_DEVICE,  /* of a single device: read and write it */
};

struct cell_place {
    int fd;
    enum cell_right right;
    const char *name;
};

/* The system's folders and those that every native guest has. */
#define CELL_MAX_PLACES 32

struct cell {
    enum isolation isolation; /* known before the plan, which says the same */
#ifdef WASP_TEST_HOOKS
    uint32_t without; /* bits of enum tell_wall: walls to leave out */
#endif
    struct plan plan;
    int grants[CELL_MAX_GRANTS]; /* directories: roots of detached mounts, or (landlock rung) host
                                    directories */
    struct cell_net *net;        /* native: the namespace that is being made; NULL: none */
    bool in_cgroup;              /* native: memory and processes are limited from outside */
    int rootfs;                  /* native: a detached tree; -1: none, or not yet */
    int terminal;                /* native: the guest's end; -1: none */
    struct cell_place places[CELL_MAX_PLACES]; /* native: what else there is to reach */
    size_t n_places;
    uint32_t walls; /* enum tell_wall: what stands already */
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

/* IDENTITY_USER: reopens each grant and makes its detached mount. */
cell_step cell_clone_grants;
/* Native: waits until all is ready outside, and enters the cgroup. */
cell_step cell_await_go;
/* Native: the net namespace, made beside everything else (net.c), and entered. */
cell_step cell_begin_net;
cell_step cell_join_net;
/* errno, with what to do about it. */
int cell_refuse_namespaces(struct err *err);
/* Sets a limit of the process, never above what the caller itself has: a lower one stays. */
int cell_limit(int resource, const char *name, uint64_t value, struct err *err);
/* Puts the process where it can signal no other but its own children. 0, or -1 and errno. */
int cell_scope_signals(void);
/* Empties all sets of capabilities but the bounding one. */
int cell_empty_capabilities(struct err *err);
/* Makes the mount the root and detaches the host's. */
int cell_pivot(int root, struct err *err);

/*
 * Holds the protected names of one grant in place (pins.c). `mount` is the grant's read-write mount
 * where it hangs in our namespace: before 6.15 the kernel puts nothing on a detached one. `mask` is
 * found in the place of sockets: no directory, and likewise hung up; -1 if there is no PIN_MASK.
 */
int cell_pin(int mount, const struct plan_pin *pins, size_t n, uint32_t grant, int mask,
             struct err *err);

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

/* Which kind of job this program has; beside cell_job. */
extern const bool cell_is_native;

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
