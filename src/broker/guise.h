/*
 * guise: the rights with which files are looked for and opened. An ordinary user's are his own.
 * Root takes those of whoever owns the scope: no more may be had through the door than the guest
 * would have in a cell that was granted the directory, and what it makes belongs to that owner.
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define GUISE_MAX_GROUPS 256

struct guise {
    bool is_on;
    struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3]; /* as before */
    gid_t groups[GUISE_MAX_GROUPS];
    int n_groups; /* -1: they were kept */
};

#define GUISE_NONE     \
    {                  \
        .is_on = false \
    }

/* Those of the directory's owner, until guise_off. 0, or -1 and *err. */
int guise_on(struct guise *guise, int directory, struct err *err);
/* errno stays. Takes GUISE_NONE too. */
void guise_off(struct guise *guise);
