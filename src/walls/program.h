/*
 * program: a syscall set as rules, and the BPF that decides as they do.
 *
 * Made here and not by libseccomp for three reasons. A call can have an answer of its own for what
 * its lines do not allow (EPERM, EINVAL), so that one program is enough where two would be
 * stacked. A load costs the kernel a walk through the program for every call there is, and this
 * tree weighs its branches by that. And what is made is proven: see program_differs.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_ARGS 6
#define MAX_NUMBER 512 /* no architecture has a call beyond */

/* (argument & mask) == value, or the opposite. */
struct condition {
    unsigned int arg;
    uint64_t mask, value;
    bool differs;
};

/* What to do with a call whose arguments meet all conditions. */
struct rule {
    uint32_t number;
    uint32_t action; /* SECCOMP_RET_* with its errno */
    unsigned int n_conditions;
    struct condition conditions[CALL_ARGS];
};

/*
 * The first rule that fits decides. A call that none fits gets ENOSYS; one of a foreign
 * architecture kills.
 */
struct policy {
    uint32_t arch; /* AUDIT_ARCH_* */
    bool has_x32;  /* numbers from 0x40000000 are another architecture's */
    struct rule *rules;
    size_t n_rules;
};

/* What the policy says about one call: the rules read as they are written. */
uint32_t policy_judge(const struct policy *policy, const struct seccomp_data *data);

/*
 * Makes the program. Returns its length in operations, which are the last ones of ops, or 0 if it
 * does not fit.
 */
size_t program_make(const struct policy *policy, struct sock_filter ops[BPF_MAXINSNS]);

/*
 * Runs the program on every number and on each side of every condition, and compares with
 * policy_judge. True if they disagree; *ret_data is then the call they disagree on.
 */
bool program_differs(const struct policy *policy, const struct sock_filter *ops, size_t n_ops,
                     struct seccomp_data *ret_data);
