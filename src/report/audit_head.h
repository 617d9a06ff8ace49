/*
 * audit_head: what the log must end with, kept apart from it (audit.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

#define AUDIT_HEAD_BYTES 512 /* one sector: a disk writes it whole or not at all */

struct audit_head {
    uint64_t seq;       /* of the last record that was acknowledged; 0: there is none */
    struct digest hash; /* its own; zeros if there is none */
    uint64_t segment;   /* the number that log.jsonl will have; from 1 */
    uint64_t size;      /* of log.jsonl, in bytes */
    bool has_next;      /* a record with the next seq is being written: */
    struct digest next; /* its hash */
    uint64_t next_size; /* and the log's size with it */
};

enum audit_head_state { HEAD_GOOD, HEAD_EMPTY, HEAD_BAD };

/* The head of a log without records. */
void audit_head_init(struct audit_head *head);
void audit_head_format(const struct audit_head *head, char ret_text[AUDIT_HEAD_BYTES]);
/* False if it is not, byte for byte, what audit_head_format writes. */
bool audit_head_parse(const char text[AUDIT_HEAD_BYTES], struct audit_head *ret_head);
/* *ret_head is written only with HEAD_GOOD. 0, or -1 and errno. */
int audit_head_read(int fd, enum audit_head_state *ret_state, struct audit_head *ret_head);
/* In one write. 0, or -1 and errno: what was there before is there still. */
int audit_head_write(int fd, const struct audit_head *head);
