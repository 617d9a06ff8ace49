/*
 * units: durations, sizes and counts as people write them.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define UNITS_UNLIMITED UINT64_MAX

/*
 * "250ms", "30s", "5m", "1h", "unlimited"; fractions such as "1.5s" are taken and rounded down. A
 * bare number is seconds. 0, what rounds to 0, a sign, an overflow or an unknown unit is refused;
 * `what` names the value in the message.
 */
int units_parse_duration(const char *text, const char *what, uint64_t *ret_ns, struct err *err);
/*
 * "65536", "64KiB", "1.5MiB", "2GiB", "64k", "1m", "1g" (powers of 1024; also K, M, G),
 * "unlimited".
 */
int units_parse_size(const char *text, const char *what, uint64_t *ret_bytes, struct err *err);
/* A positive whole number or "unlimited". */
int units_parse_count(const char *text, const char *what, uint64_t *ret_count, struct err *err);
