/*
 * remedy: what to do about something that the host lacks or forbids, in words and in one place:
 * `wasp doctor` prints them, and a run that is refused for the same lack can say the same.
 */
#pragma once

#include <stddef.h>

enum remedy {
    REMEDY_NONE,
    REMEDY_AGAIN,
    REMEDY_KERNEL, /* subject: the version */
    REMEDY_MODULE, /* subject: the kernel's module */
    REMEDY_OUTER_SECCOMP,
    REMEDY_OUTER_LSM,
    REMEDY_APPARMOR_USERNS,
    REMEDY_USERNS_CLONE,
    REMEDY_MAX_NAMESPACES, /* subject: which: "user", "net" */
    REMEDY_CHROOT,
    REMEDY_KERNEL_NAMESPACES,
    REMEDY_FORBIDDEN,
    REMEDY_ROOT_MOUNTS,
    REMEDY_IDMAP, /* subject: the directory */
    REMEDY_UID_RANGE,
    REMEDY_PROC,
    REMEDY_NESTING,
    REMEDY_DEVICES,
    REMEDY_OVERLAY,
    REMEDY_TERMINAL,
    REMEDY_LANDLOCK_OFF,
    REMEDY_LANDLOCK_OLD,
    REMEDY_SECCOMP,
    REMEDY_CGROUP_USER,
    REMEDY_CGROUP_ROOT,
    REMEDY_SWAP,
    REMEDY_PROGRAMS,
    REMEDY_FOLDER_OWNER, /* subject: the folder */
    REMEDY_FOLDER_WRITE, /* likewise */
    REMEDY_NO_HOME,
    REMEDY_INTERPRETER, /* subject: its package */
    REMEDY_INTERPRETER_OUTSIDE,
    REMEDIES
};

/* All fit into an err's hint; a subject is cut to REMEDY_SUBJECT_BYTES. */
#define REMEDY_BYTES 384
#define REMEDY_SUBJECT_BYTES 96

/* As it is, with "{}" where the subject belongs. Never NULL; empty for REMEDY_NONE. */
const char *remedy_text(enum remedy remedy);
/* With the subject in its place; a subject that is NULL counts as empty. */
void remedy_format(enum remedy remedy, const char *subject, char ret_text[REMEDY_BYTES]);
/* Adds the way out for whoever cannot change the host: for walls that the landlock rung lacks. */
void remedy_add_rung(char text[REMEDY_BYTES]);
