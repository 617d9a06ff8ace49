/*
 * filters_rig: the filters of native jobs, loaded for real into a child.
 */
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "filters.h"
#include "tap.h"

/* In the order in which they get narrower; each is a whole filter. */
enum { FREE, NATIVE, QUIET, RUNG, N_FILTERS };

#define PROGRAM(name)                                                    \
    {                                                                    \
        .len = ARRAY_SIZE(name), .filter = (struct sock_filter *) (name) \
    }

static const struct {
    const char *name;
    struct sock_fprog program; /* the kernel only reads it */
} filters[N_FILTERS] = {
    [FREE] = {.name = "no filter"},
    [NATIVE] = {"native", PROGRAM(filter_native)},
    [QUIET] = {"native_quiet", PROGRAM(filter_native_quiet)},
    [RUNG] = {"native_rung", PROGRAM(filter_native_rung)},
};

__attribute__((unused, noreturn)) static void rig_die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

/* In a child, for the rest of its life. */
static void rig_load(int filter)
{
    if (filter == FREE)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filters[filter].program) < 0) {
        perror("cannot load the filter");
        _exit(125);
    }
}
