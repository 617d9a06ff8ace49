/*
 * cgroup_place: where in the machine's cgroups a run may have one of its own. Known to cgroup.c
 * alone.
 */
#pragma once

#include "run/cgroup.h"

/* For tests: bits of cgroup_make's `without`. */
enum cgroup_without { CGROUP_WITHOUT_V2 = 1 << 0, CGROUP_WITHOUT_V1 = 1 << 1 };

/*
 * Fills kind and parents: below our own cgroup, so that what limits us limits the run, too. On v2
 * that is mostly not to be had (a cgroup with processes in it cannot share out its resources), so
 * beside it, unless our own has limits that the run would escape. CGROUP_NONE: there is no place.
 * That we may make folders there is not known before it is tried.
 */
void cgroup_find(struct cgroup *cgroup, unsigned int without);
