/*
 * uuid: names for runs, grants and approvals that sort by when they were made.
 */
#pragma once

#include <stdint.h>

#define UUID_SIZE 37 /* as text, with its NUL */

/*
 * UUIDv7 (RFC 9562): milliseconds since the epoch, then the fraction of the millisecond (method 3
 * of its section 6.2, so that ids made in the same millisecond sort too), then chance.
 */
void uuid_make(uint64_t realtime_ns, char ret_id[UUID_SIZE]);
