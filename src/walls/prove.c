/*
 * The proof that a program decides as its rules do, by running it. All that a condition can tell
 * apart is tried: both sides of each bit that it looks at, and bits that it must not look at.
 */
#include <errno.h>
#include <string.h>

#include "walls/program.h"

#define MAX_VALUES 4096
#define FOREIGN_ARCH 0x40000003U /* i386; whatever the policy is for, it is not that */
#define X32_FIRST 0x40000000U

static bool holds(const struct condition *condition, const struct seccomp_data *data)
{
    return ((data->args[condition->arg] & condition->mask) == condition->value) !=
           condition->differs;
}

static bool fits(const struct rule *rule, const struct seccomp_data *data)
{
    if (rule->number != (uint32_t) data->nr)
        return false;
    for (size_t i = 0; i < rule->n_conditions; i++)
        if (!holds(&rule->conditions[i], data))
            return false;
    return true;
}

uint32_t policy_judge(const struct policy *policy, const struct seccomp_data *data)
{
    bool is_x32 = policy->has_x32 && (uint32_t) data->nr >= X32_FIRST && data->nr != -1;
    if (data->arch != policy->arch || is_x32)
        return SECCOMP_RET_KILL_PROCESS;
    for (size_t i = 0; i < policy->n_rules; i++)
        if (fits(&policy->rules[i], data))
            return policy->rules[i].action;
    return SECCOMP_RET_ERRNO | ENOSYS;
}

static bool test_holds(const struct sock_filter *op, uint32_t word)
{
    switch (BPF_OP(op->code)) {
    case BPF_JEQ:
        return word == op->k;
    case BPF_JGE:
        return word >= op->k;
    default:
        return (word & op->k) != 0;
    }
}

/* What the kernel would do: the few operations that program.c writes. Past the end it kills. */
static uint32_t run(const struct sock_filter *ops, size_t n_ops, const struct seccomp_data *data)
{
    uint32_t word = 0;
    for (size_t at = 0; at < n_ops; at++) {
        const struct sock_filter *op = &ops[at];
        if (op->code == (BPF_LD | BPF_W | BPF_ABS))
            memcpy(&word, (const char *) data + op->k, sizeof(word));
        else if (op->code == (BPF_ALU | BPF_AND | BPF_K))
            word &= op->k;
        else if (op->code == (BPF_RET | BPF_K))
            return op->k;
        else if (op->code == (BPF_JMP | BPF_JA))
            at += op->k;
        else
            at += test_holds(op, word) ? op->jt : op->jf;
    }
    return SECCOMP_RET_KILL_THREAD;
}

/* The call under test, and what each of its arguments is to be. */
struct trial {
    const struct policy *policy;
    const struct sock_filter *ops;
    size_t n_ops;
    struct seccomp_data data;
    size_t n_values[CALL_ARGS];
    uint64_t values[CALL_ARGS][MAX_VALUES];
};

static void add_value(struct trial *trial, unsigned int arg, uint64_t value)
{
    uint64_t *values = trial->values[arg];
    for (size_t i = 0; i < trial->n_values[arg]; i++)
        if (values[i] == value)
            return;
    if (trial->n_values[arg] < MAX_VALUES)
        values[trial->n_values[arg]++] = value;
}

/* Where several arguments count, all combinations are tried: then only a few bits of each. */
static void add_values(struct trial *trial, const struct condition *condition, bool is_alone)
{
    static const unsigned int some_bits[] = {0, 3, 31, 32, 63};
    uint64_t lowest = condition->mask & -condition->mask;
    add_value(trial, condition->arg, 0);
    add_value(trial, condition->arg, ~0ULL);
    add_value(trial, condition->arg, condition->value);
    add_value(trial, condition->arg, condition->value | ~condition->mask);
    add_value(trial, condition->arg, condition->value ^ lowest);
    for (size_t i = 0; i < sizeof(some_bits) / sizeof(some_bits[0]); i++)
        add_value(trial, condition->arg, condition->value ^ 1ULL << some_bits[i]);
    for (unsigned int bit = 0; is_alone && bit < 64; bit++)
        add_value(trial, condition->arg, condition->value ^ 1ULL << bit);
}

/* True if only one argument of this call is looked at. */
static bool looks_at_one(const struct policy *policy, uint32_t number)
{
    unsigned int seen = 0;
    for (size_t i = 0; i < policy->n_rules; i++)
        for (size_t j = 0; j < policy->rules[i].n_conditions; j++)
            if (policy->rules[i].number == number)
                seen |= 1U << policy->rules[i].conditions[j].arg;
    return (seen & (seen - 1)) == 0;
}

static void collect_values(struct trial *trial, uint32_t number)
{
    const struct policy *policy = trial->policy;
    bool is_alone = looks_at_one(policy, number);
    memset(trial->n_values, 0, sizeof(trial->n_values));
    for (size_t i = 0; i < policy->n_rules; i++)
        for (size_t j = 0; j < policy->rules[i].n_conditions; j++)
            if (policy->rules[i].number == number)
                add_values(trial, &policy->rules[i].conditions[j], is_alone);
}

/* Each value of this argument with each of the ones behind it. */
static bool differs_from(struct trial *trial, unsigned int arg)
{
    if (arg == CALL_ARGS)
        return run(trial->ops, trial->n_ops, &trial->data) !=
               policy_judge(trial->policy, &trial->data);
    if (trial->n_values[arg] == 0)
        return differs_from(trial, arg + 1);
    for (size_t i = 0; i < trial->n_values[arg]; i++) {
        trial->data.args[arg] = trial->values[arg][i];
        if (differs_from(trial, arg + 1))
            return true;
    }
    return false;
}

static bool differs_at(struct trial *trial, uint32_t number)
{
    collect_values(trial, number);
    memset(&trial->data, 0, sizeof(trial->data));
    trial->data.nr = (int) number;
    trial->data.arch = FOREIGN_ARCH;
    if (differs_from(trial, CALL_ARGS))
        return true;
    trial->data.arch = trial->policy->arch;
    return differs_from(trial, 0);
}

bool program_differs(const struct policy *policy, const struct sock_filter *ops, size_t n_ops,
                     struct seccomp_data *ret_data)
{
    static const uint32_t beyond[] = {0x3fffffff, 0x40000000, 0x40000001, 0x40000027,
                                      0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    struct trial trial = {.policy = policy, .ops = ops, .n_ops = n_ops};
    bool found = false;
    for (uint32_t number = 0; !found && number < 2 * MAX_NUMBER; number++)
        found = differs_at(&trial, number);
    for (size_t i = 0; !found && i < sizeof(beyond) / sizeof(beyond[0]); i++)
        found = differs_at(&trial, beyond[i]);
    if (found)
        *ret_data = trial.data;
    return found;
}
