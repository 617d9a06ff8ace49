/*
 * BPF jumps forward only. So the program is written from its end: whatever a jump leads to is there
 * already, and its distance is known. A label is the number of operations from there to the end.
 */
#include "walls/program.h"

#include <errno.h>

#define MAX_SPANS (MAX_NUMBER + 3)
#define MAX_RETURNS 16
#define MAX_EXCEPTED 3 /* more of them cost the numbers around them more than they save */
#define FAR 250        /* a conditional jump reaches 255; a little is left for what comes between */
#define WORD_BITS 32
#define WHOLE_WORD 0xffffffffU
#define X32_BIT 0x40000000U
#define NO_CALL 0xffffffffU

#define NOT_THERE (SECCOMP_RET_ERRNO | ENOSYS)

struct maker {
    const struct policy *policy;
    struct sock_filter *ops;
    size_t n; /* how many are written: the label of the last one */
    struct {
        uint32_t action;
        size_t label;
    } returns[MAX_RETURNS];
    size_t n_returns;
};

/* Numbers from `first` to the next span's, which share their fate, a few excepted. */
struct span {
    uint32_t first;
    uint32_t weight;  /* how many they are: at the load the kernel asks about each */
    bool is_constant; /* else the arguments of the call `first` decide */
    uint32_t action;
    uint32_t excepted[MAX_EXCEPTED];
    size_t n_excepted;
};

static size_t emit(struct maker *maker, struct sock_filter op)
{
    if (maker->n < BPF_MAXINSNS)
        maker->ops[BPF_MAXINSNS - 1 - maker->n] = op;
    return ++maker->n;
}

static size_t load(struct maker *maker, size_t offset)
{
    return emit(maker, (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) offset));
}

/* A label that a conditional jump reaches from here. */
static size_t within_reach(struct maker *maker, size_t label)
{
    size_t distance = maker->n - label;
    if (distance < FAR)
        return label;
    return emit(maker, (struct sock_filter) BPF_STMT(BPF_JMP | BPF_JA, (uint32_t) distance));
}

static size_t jump(struct maker *maker, uint16_t test, uint32_t value, size_t yes, size_t no)
{
    yes = within_reach(maker, yes);
    no = within_reach(maker, no);
    return emit(maker, (struct sock_filter) BPF_JUMP(BPF_JMP | test | BPF_K, value,
                                                     (uint8_t) (maker->n - yes),
                                                     (uint8_t) (maker->n - no)));
}

/* A return is written once for all jumps that reach it. */
static size_t make_return(struct maker *maker, uint32_t action)
{
    size_t i = 0;
    while (i < maker->n_returns && maker->returns[i].action != action)
        i++;
    if (i < maker->n_returns && maker->n - maker->returns[i].label < FAR)
        return maker->returns[i].label;
    size_t label = emit(maker, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action));
    if (i < MAX_RETURNS) {
        maker->returns[i].action = action;
        maker->returns[i].label = label;
        maker->n_returns += i == maker->n_returns;
    }
    return label;
}

static size_t word_offset(const struct condition *condition)
{
    return offsetof(struct seccomp_data, args) + condition->arg * sizeof(uint64_t);
}

static bool is_load(const struct maker *maker, size_t label, size_t offset)
{
    if (label > BPF_MAXINSNS)
        return false;
    const struct sock_filter *op = &maker->ops[BPF_MAXINSNS - label];
    return op->code == (BPF_LD | BPF_W | BPF_ABS) && op->k == offset;
}

/* Where to go on with this word loaded already. */
static size_t behind_load(const struct maker *maker, size_t label, size_t offset)
{
    return is_load(maker, label, offset) ? label - 1 : label;
}

static size_t compare_word(struct maker *maker, size_t offset, uint32_t mask, uint32_t value,
                           size_t yes, size_t no)
{
    if (mask == 0)
        return yes;
    if (mask == WHOLE_WORD || value == 0) { /* neither test changes the word */
        yes = behind_load(maker, yes, offset);
        no = behind_load(maker, no, offset);
    }
    if (mask != WHOLE_WORD && value == 0)
        jump(maker, BPF_JSET, mask, no, yes);
    else
        jump(maker, BPF_JEQ, value, yes, no);
    if (mask != WHOLE_WORD && value != 0)
        emit(maker, (struct sock_filter) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    return load(maker, offset);
}

/* The upper half of the argument, then the lower one; both little-endian. */
static size_t make_condition(struct maker *maker, const struct condition *condition, size_t holds,
                             size_t fails)
{
    size_t low = word_offset(condition);
    size_t yes = condition->differs ? fails : holds, no = condition->differs ? holds : fails;
    size_t next =
        compare_word(maker, low, (uint32_t) condition->mask, (uint32_t) condition->value, yes, no);
    return compare_word(maker, low + sizeof(uint32_t), (uint32_t) (condition->mask >> WORD_BITS),
                        (uint32_t) (condition->value >> WORD_BITS), next, no);
}

/*
 * A rule that compares one whole word and is followed by one that begins with it spares that one
 * its load: nothing else leads there. A list of values is one load and one jump each.
 */
static size_t spare_load(struct maker *maker, const struct rule *rule, size_t otherwise)
{
    const struct condition *only = rule->conditions;
    bool keeps_word = rule->n_conditions == 1 && only->mask == WHOLE_WORD;
    if (!keeps_word || !is_load(maker, otherwise, word_offset(only)))
        return otherwise;
    if (otherwise == maker->n)
        maker->n--;
    return otherwise - 1;
}

static size_t make_rule(struct maker *maker, const struct rule *rule, size_t otherwise)
{
    size_t next = make_return(maker, rule->action);
    otherwise = spare_load(maker, rule, otherwise);
    for (size_t i = rule->n_conditions; i-- > 0;)
        next = make_condition(maker, &rule->conditions[i], next, otherwise);
    return next;
}

/* The next rule for this call from the i-th on; n_rules if there is none. */
static size_t find_rule(const struct policy *policy, uint32_t number, size_t i)
{
    while (i < policy->n_rules && policy->rules[i].number != number)
        i++;
    return i;
}

/* The rules of one call from the i-th on, up to one without conditions. */
static size_t make_call(struct maker *maker, uint32_t number, size_t i)
{
    const struct policy *policy = maker->policy;
    i = find_rule(policy, number, i);
    if (i == policy->n_rules)
        return make_return(maker, NOT_THERE);
    if (policy->rules[i].n_conditions == 0)
        return make_return(maker, policy->rules[i].action);
    size_t otherwise = make_call(maker, number, i + 1);
    return make_rule(maker, &policy->rules[i], otherwise);
}

static struct span span_of(const struct policy *policy, uint32_t number)
{
    size_t i = find_rule(policy, number, 0);
    struct span span = {.first = number, .weight = 1, .is_constant = true, .action = NOT_THERE};
    if (i < policy->n_rules) {
        span.is_constant = policy->rules[i].n_conditions == 0;
        span.action = policy->rules[i].action;
    }
    return span;
}

static bool is_alike(const struct span *a, const struct span *b)
{
    return a->is_constant && b->is_constant && a->action == b->action;
}

/* One number between two spans that are alike is an exception: one test instead of two. */
static bool join_last(struct span *spans, size_t n)
{
    if (n < 3)
        return false;
    struct span *left = &spans[n - 3], *alone = &spans[n - 2], *right = &spans[n - 1];
    if (alone->weight != 1 || !is_alike(left, right) || left->n_excepted == MAX_EXCEPTED)
        return false;
    left->excepted[left->n_excepted++] = alone->first;
    left->weight += alone->weight + right->weight;
    return true;
}

static size_t find_spans(const struct policy *policy, struct span *spans)
{
    size_t n = 0;
    /* the first number that no rule can have begins a span that reaches as far as there are any */
    for (uint32_t number = 0; number <= MAX_NUMBER; number++) {
        struct span span = span_of(policy, number);
        if (n > 0 && is_alike(&spans[n - 1], &span))
            spans[n - 1].weight++;
        else
            spans[n++] = span;
        if (join_last(spans, n))
            n -= 2;
    }
    if (policy->has_x32) {
        spans[n++] = (struct span){
            .first = X32_BIT, .weight = 1, .is_constant = true, .action = SECCOMP_RET_KILL_PROCESS};
        spans[n++] = span_of(policy, NO_CALL); /* syscall(-1) is nobody's */
    }
    return n;
}

/* Where to part the spans so that both sides weigh the same, or nearly. */
static size_t middle_of(const struct span *spans, size_t n)
{
    uint32_t total = 0, left = 0;
    for (size_t i = 0; i < n; i++)
        total += spans[i].weight;
    size_t middle = 0;
    while (middle < n - 1 && 2 * (left + spans[middle].weight) <= total)
        left += spans[middle++].weight;
    if (middle == 0)
        return 1;
    /* one further to the right if that is nearer */
    bool is_nearer = middle < n - 1 && 2 * (left + spans[middle].weight) - total < total - 2 * left;
    return middle + is_nearer;
}

static size_t make_span(struct maker *maker, const struct span *span)
{
    size_t next =
        span->is_constant ? make_return(maker, span->action) : make_call(maker, span->first, 0);
    for (size_t i = 0; i < span->n_excepted; i++) {
        size_t call = make_call(maker, span->excepted[i], 0);
        next = jump(maker, BPF_JEQ, span->excepted[i], call, next);
    }
    return next;
}

static size_t make_tree(struct maker *maker, const struct span *spans, size_t n)
{
    if (n == 1)
        return make_span(maker, spans);
    size_t middle = middle_of(spans, n);
    size_t right = make_tree(maker, spans + middle, n - middle);
    size_t left = make_tree(maker, spans, middle);
    return jump(maker, BPF_JGE, spans[middle].first, right, left);
}

size_t program_make(const struct policy *policy, struct sock_filter ops[BPF_MAXINSNS])
{
    struct span spans[MAX_SPANS];
    struct maker maker = {.policy = policy, .ops = ops};
    make_tree(&maker, spans, find_spans(policy, spans));
    size_t start = load(&maker, offsetof(struct seccomp_data, nr));
    size_t foreign = make_return(&maker, SECCOMP_RET_KILL_PROCESS);
    jump(&maker, BPF_JEQ, policy->arch, start, foreign);
    size_t n = load(&maker, offsetof(struct seccomp_data, arch));
    return n <= BPF_MAXINSNS ? n : 0;
}
