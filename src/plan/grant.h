/*
 * grant: one capability as a revocable token (CONTRACT §6). store/ keeps them, decide weighs them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "plan/capability.h"

#define GRANT_ID_SIZE 37 /* UUIDv7 as text */

struct grant {
    char id[GRANT_ID_SIZE];
    const char *holder; /* "agent:NAME" */
    enum capability capability;
    /*
     * fs_*: an absolute path, and all beneath it. env_set: a name. code_run: a language, or
     * "module:" and an absolute path. exec_run: a program's absolute real path, then its arguments
     * as a policy writes them, apart by spaces and quoted as words.h has it; none: any arguments.
     * net_http: "loopback", or METHOD and a URL's beginning: "GET https://host:443/prefix".
     */
    const char *scope;
    uint64_t created_ms, expires_ms; /* since 1970 */
    uint32_t uses_left, uses;        /* uses: how many there were */
    const char *reason;              /* may be NULL */
    const char *approved_by;         /* "uid:1000" */
    bool is_bound;                   /* to one request: */
    struct digest request;
    const char *approval; /* the id of the approval that made it; NULL: the owner did */
    uint64_t revoked_ms;  /* 0: not */
};
