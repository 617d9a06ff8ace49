/*
 * filter: the seccomp programs that are made at build time out of src/walls/, embedded in the cell
 * that uses them.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

/*
 * The kernel reads the program only; the cast removes the const that its struct lacks.
 */
#define PROGRAM(name)                                                    \
    {                                                                    \
        .len = ARRAY_SIZE(name), .filter = (struct sock_filter *) (name) \
    }

/* Adds a filter to those in force: a call must pass all of them. */
static inline int filter_load(const struct sock_fprog *program, struct err *err)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) != 0)
        return err_sys(err, ERR_WALL, "cannot load the seccomp filter");
    return 0;
}
