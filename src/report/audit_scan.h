/*
 * audit_scan: reads our own lines byte by byte: whatever differs from what we would have written is
 * not taken. Each function steps over what it names, or returns false and stays where it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_MAX_NUMBER 9007199254740991ULL /* 2^53 - 1: every reader of JSON has those exactly */
#define AUDIT_HASH_HEX 64

/* Part of a line; text == NULL: it is not there. */
struct span {
    const char *text;
    size_t len;
};

struct scan {
    const char *at, *end;
};

bool scan_literal(struct scan *scan, const char *text, size_t len);
/* Digits as printf writes them, at most AUDIT_MAX_NUMBER. */
bool scan_number(struct scan *scan, uint64_t *ret_value);
/* In quotes, which the span has not: text as base/json.h escapes it; 64 hex digits; a time. */
bool scan_text(struct scan *scan, struct span *ret_span);
bool scan_hash(struct scan *scan, struct span *ret_span);
bool scan_time(struct scan *scan, struct span *ret_span);
/* A list of such texts, brackets included; not an empty one. */
bool scan_texts(struct scan *scan, struct span *ret_span);

bool span_is(struct span span, const char *text);
