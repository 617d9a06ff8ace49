/*
 * How the filters are made: small policies judged by eye, and the proof that is part of every build
 * must see it when a program is wrong.
 */
#include <errno.h>
#include <linux/audit.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap.h"
#include "walls/program.h"

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define ALL_BITS (~0ULL)
#define INT_BITS 0xffffffffULL
#define MANY 300

static struct rule rules[] = {
    {.number = 3, .action = ALLOW},
    {.number = 5, .action = ERRNO(EPERM), 1, {{.arg = 1, .mask = INT_BITS, .value = 0x5412}}},
    {.number = 5, .action = ALLOW},
    {.number = 7, .action = ALLOW, 2, {{0, ALL_BITS, 1, false}, {1, 0xf, 2, false}}},
    {.number = 7, .action = ERRNO(EACCES)},
    {.number = 8, .action = ERRNO(EACCES), 1, {{.arg = 4, .mask = ALL_BITS, .differs = true}}},
    {.number = 8, .action = ALLOW},
    {.number = 9, .action = ALLOW, 1, {{.arg = 2, .mask = 0x4}}},
    {.number = 511, .action = ALLOW},
};
static const struct policy policy = {AUDIT_ARCH_X86_64, true, rules, ARRAY_SIZE(rules)};

static const struct {
    const char *sentence;
    struct seccomp_data data;
    uint32_t action;
} judged[] = {
    {"a call without conditions is allowed", {.nr = 3}, ALLOW},
    {"a call that no line names is not there", {.nr = 4}, ERRNO(ENOSYS)},
    {"the last number is a number like others", {.nr = 511}, ALLOW},
    {"and behind it is nothing", {.nr = 512}, ERRNO(ENOSYS)},
    {"the first line that fits decides", {.nr = 5, .args = {0, 0x5412}}, ERRNO(EPERM)},
    {"32 bits are 32 bits", {.nr = 5, .args = {0, 0xff00005412}}, ERRNO(EPERM)},
    {"a line that does not fit leaves it to the next", {.nr = 5, .args = {0, 0x5413}}, ALLOW},
    {"all conditions must hold", {.nr = 7, .args = {1, 0x52}}, ALLOW},
    {"the first one too", {.nr = 7, .args = {2, 0x52}}, ERRNO(EACCES)},
    {"the second one too", {.nr = 7, .args = {1, 0x53}}, ERRNO(EACCES)},
    {"64 bits are 64 bits", {.nr = 7, .args = {1ULL << 32 | 1, 2}}, ERRNO(EACCES)},
    {"zero does not differ from zero", {.nr = 8}, ALLOW},
    {"a low bit differs", {.nr = 8, .args = {0, 0, 0, 0, 1}}, ERRNO(EACCES)},
    {"a high bit differs", {.nr = 8, .args = {0, 0, 0, 0, 1ULL << 63}}, ERRNO(EACCES)},
    {"a mask looks at its bits alone", {.nr = 9, .args = {0, 0, ~4ULL}}, ALLOW},
    {"conditions that fail leave nothing", {.nr = 9, .args = {0, 0, 4}}, ERRNO(ENOSYS)},
    {"an x32 number kills", {.nr = 0x40000003}, KILL},
    {"the highest one, too", {.nr = -2}, KILL},
    {"call -1 is nobody's", {.nr = -1}, ERRNO(ENOSYS)},
};

static void try_judging(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
        struct seccomp_data data = judged[i].data;
        data.arch = AUDIT_ARCH_X86_64;
        ok(policy_judge(&policy, &data) == judged[i].action, "%s", judged[i].sentence);
    }
    struct seccomp_data foreign = {.nr = 3, .arch = AUDIT_ARCH_I386};
    ok(policy_judge(&policy, &foreign) == KILL, "a foreign architecture kills");
}

/* Each operation that decides something, made wrong one at a time. */
static size_t count_unseen(struct sock_filter *start, size_t n, size_t *ret_tried)
{
    struct seccomp_data data;
    size_t unseen = 0;
    *ret_tried = 0;
    for (size_t i = 0; i < n; i++) {
        struct sock_filter right = start[i];
        bool is_jump = BPF_CLASS(right.code) == BPF_JMP && BPF_OP(right.code) != BPF_JA;
        if (is_jump) {
            start[i].jt = right.jf;
            start[i].jf = right.jt;
        } else if (BPF_CLASS(right.code) == BPF_RET) {
            start[i].k = right.k == ALLOW ? ERRNO(ENOSYS) : ALLOW;
        } else if (BPF_CLASS(right.code) == BPF_LD) {
            start[i].k = right.k ^ sizeof(uint32_t);
        } else {
            continue;
        }
        ++*ret_tried;
        unseen += !program_differs(&policy, start, n, &data);
        start[i] = right;
    }
    return unseen;
}

static void try_proof(void)
{
    struct sock_filter ops[BPF_MAXINSNS];
    struct seccomp_data data;
    size_t tried, n = program_make(&policy, ops);
    struct sock_filter *start = ops + BPF_MAXINSNS - n;
    ok(n > 0 && !program_differs(&policy, start, n, &data), "a program decides as its rules do");
    size_t unseen = count_unseen(start, n, &tried);
    ok(unseen == 0 && tried > 20, "the proof sees each of %zu wrong operations", tried);
    struct policy wider = policy;
    wider.n_rules--;
    ok(program_differs(&wider, start, n, &data) && data.nr == 511,
       "the proof sees a call too many, and says which");
}

/* Jumps over more than 255 operations, which take a step in between. */
static void try_long_program(void)
{
    struct sock_filter ops[BPF_MAXINSNS];
    struct seccomp_data data;
    static struct rule many[2 * MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] = (struct rule){.number = i, .action = ALLOW, .n_conditions = 1};
        many[i].conditions[0] =
            (struct condition){.arg = i % CALL_ARGS, .mask = ALL_BITS, i, false};
        many[MANY + i] = (struct rule){.number = i % 2 ? 1 : i, .action = ERRNO(1 + i % 20)};
    }
    struct policy large = {AUDIT_ARCH_AARCH64, false, many, ARRAY_SIZE(many)};
    size_t n = program_make(&large, ops);
    ok(n > 1000 && !program_differs(&large, ops + BPF_MAXINSNS - n, n, &data),
       "a program of %zu operations decides as its rules do", n);
}

static void try_too_long_program(void)
{
    struct sock_filter ops[BPF_MAXINSNS];
    static struct rule many[BPF_MAXINSNS];
    for (uint32_t i = 0; i < ARRAY_SIZE(many); i++) {
        many[i] = (struct rule){.number = 1, .action = ERRNO(i), .n_conditions = 1};
        many[i].conditions[0] = (struct condition){.mask = ALL_BITS, .value = i};
    }
    struct policy large = {AUDIT_ARCH_AARCH64, false, many, ARRAY_SIZE(many)};
    ok(program_make(&large, ops) == 0,
       "a program that is longer than the kernel takes is not made");
}

int main(void)
{
    try_judging();
    try_proof();
    try_long_program();
    try_too_long_program();
    return done();
}
