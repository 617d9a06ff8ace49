/*
 * host: what the machine says about itself. It only explains a failure and chooses what to advise:
 * whether something works is found by trying it (probe.h).
 */
#pragma once

#include <stdbool.h>

#include "base/remedy.h"

struct host {
    char kernel[65];               /* as of uname -r */
    char container[24];            /* "docker", …; empty: none that shows */
    bool has_outer_seccomp;        /* a filter was there before us */
    bool is_chroot;                /* our root is no mount */
    bool has_apparmor_restriction; /* kernel.apparmor_restrict_unprivileged_userns=1 */
    bool has_userns_clone_off;     /* kernel.unprivileged_userns_clone=0 */
};

/* Fills it; what cannot be read counts as not so. */
void host_read(struct host *ret_host);

/*
 * What to do about a system call that fails with errnum, and which the kernel has since that
 * version ("5.6"; the subject of REMEDY_KERNEL).
 */
enum remedy host_why_call(const struct host *host, int errnum, const char *since);
/* The same for what needs a capability in a new user namespace. */
enum remedy host_why_capability(const struct host *host, int errnum, const char *since);
/* The same for making that one, and for making the others in it. */
enum remedy host_why_user_namespace(const struct host *host, int errnum);
enum remedy host_why_namespaces(const struct host *host, int errnum);
