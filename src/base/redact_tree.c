/*
 * The values of redact.h as one tree of all their forms, searched as Aho and Corasick do: a byte is
 * looked at once however many forms there are, and the depth of the node it leads to is how many
 * bytes of the stream may still become a value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact_parts.h"

/* 24 bytes each: four values of the largest size in all their forms. */
#define MAX_NODES (4U << 20)
#define SMALLEST 256U

/* realloc would leave a copy of the secrets behind. */
static int grow(struct secrets *secrets)
{
    uint32_t capacity = secrets->capacity ? 2 * secrets->capacity : SMALLEST;

    if (capacity > MAX_NODES) {
        errno = ENOSPC;
        return -1;
    }
    struct secret_node *nodes = calloc(capacity, sizeof(*nodes));
    if (!nodes)
        return -1;
    if (secrets->nodes) {
        memcpy(nodes, secrets->nodes, secrets->n_nodes * sizeof(*nodes));
        explicit_bzero(secrets->nodes, secrets->n_nodes * sizeof(*nodes));
        free(secrets->nodes);
    } else {
        secrets->n_nodes = 1; /* the root */
    }
    secrets->nodes = nodes;
    secrets->capacity = capacity;
    return 0;
}

static uint32_t child_of(const struct secrets *secrets, uint32_t node, unsigned char byte)
{
    if (node == 0)
        return secrets->first[byte];
    uint32_t child = secrets->nodes[node].child;
    while (child && secrets->nodes[child].byte != byte)
        child = secrets->nodes[child].sibling;
    return child;
}

static int add_child(struct secrets *secrets, uint32_t parent, unsigned char byte,
                     uint32_t *ret_child)
{
    if (secrets->n_nodes == secrets->capacity && grow(secrets) < 0)
        return -1;
    uint32_t child = secrets->n_nodes++;
    struct secret_node *nodes = secrets->nodes;
    /* the root has its children as siblings too: that is how all nodes are walked */
    nodes[child] = (struct secret_node){
        .byte = byte, .depth = nodes[parent].depth + 1, .sibling = nodes[parent].child};
    nodes[parent].child = child;
    if (parent == 0)
        secrets->first[byte] = child;
    *ret_child = child;
    return 0;
}

int secrets_add_form(struct secrets *secrets, const char *bytes, size_t len)
{
    uint32_t node = 0;

    if (!secrets->nodes && grow(secrets) < 0)
        return -1;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char) bytes[i];
        uint32_t child = child_of(secrets, node, byte);
        if (!child && add_child(secrets, node, byte, &child) < 0)
            return -1;
        node = child;
    }
    secrets->nodes[node].is_form = true;
    if (len > secrets->longest)
        secrets->longest = len;
    return 0;
}

uint32_t secrets_step(const struct secrets *secrets, uint32_t node, unsigned char byte)
{
    for (;;) {
        uint32_t child = child_of(secrets, node, byte);
        if (child || node == 0)
            return child;
        node = secrets->nodes[node].fail;
    }
}

/* By depth: what a node fails to is nearer to the root, and so is linked already. */
static int link_nodes(struct secrets *secrets)
{
    struct secret_node *nodes = secrets->nodes;
    _cleanup_free_ uint32_t *queue = malloc(secrets->n_nodes * sizeof(*queue));
    size_t n = 1;

    if (!queue)
        return -1;
    queue[0] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = queue[i];
        for (uint32_t child = nodes[parent].child; child; child = nodes[child].sibling) {
            struct secret_node *node = &nodes[child];
            node->fail = parent ? secrets_step(secrets, nodes[parent].fail, node->byte) : 0;
            node->found = node->is_form ? node->depth : nodes[node->fail].found;
            queue[n++] = child;
        }
    }
    return 0;
}

int secrets_add(struct secrets *secrets, const void *bytes, size_t len)
{
    if (len < REDACT_MIN_VALUE || len > REDACT_MAX_VALUE) {
        errno = EINVAL;
        return -1;
    }
    if (secrets->count >= REDACT_MAX_VALUES) {
        errno = ENOSPC;
        return -1;
    }
    if (secrets_add_forms(secrets, bytes, len) < 0 || link_nodes(secrets) < 0)
        return -1;
    secrets->count++;
    return 0;
}

void secrets_release(struct secrets *secrets)
{
    if (!secrets)
        return;
    if (secrets->nodes)
        explicit_bzero(secrets->nodes, secrets->n_nodes * sizeof(*secrets->nodes));
    free(secrets->nodes);
    explicit_bzero(secrets, sizeof(*secrets));
}
