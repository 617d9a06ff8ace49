/*
 * capability: what can be allowed, asked for or denied. Each has a section of the policy that
 * speaks of it, and a risk.
 */
#pragma once

#include <stdbool.h>

enum capability {
    CAPABILITY_FS_READ,  /* a directory, or a file, for reading; an overlay reads too */
    CAPABILITY_FS_WRITE, /* the same for writing */
    CAPABILITY_NET_HTTP, /* a host; or "loopback", what a native guest's own processes share */
    CAPABILITY_EXEC_RUN, /* a program with its arguments, in a native cell */
    CAPABILITY_ENV_SET,  /* a variable in the guest's environment */
    CAPABILITY_CODE_RUN, /* source text of a language, or a module */
    CAPABILITIES
};

/* The parts of a policy that hold rules. */
enum section {
    SECTION_FILESYSTEM,
    SECTION_ENV,
    SECTION_NETWORK,
    SECTION_EXEC,
    SECTION_CODE,
    SECTIONS
};

enum risk { RISK_SAFE, RISK_MONITORED, RISK_CONTROLLED, RISK_RESTRICTED, RISK_PRIVILEGED, RISKS };

#define PER_HOUR_ANY (-1)

struct capability_row {
    const char *name; /* "fs_read" */
    enum section section;
    enum risk risk; /* unless a policy says otherwise */
};

struct risk_row {
    const char *name;
    int per_hour;     /* uses by one holder; PER_HOUR_ANY: as many as it likes */
    bool needs_grant; /* nothing but a person's word allows it */
};

extern const struct capability_row capability_rows[CAPABILITIES];
extern const struct risk_row risk_rows[RISKS];
extern const char *const section_names[]; /* by number, NULL at the end */

/* By name; -1: there is none, and what is not known is denied. */
int capability_find(const char *name);
