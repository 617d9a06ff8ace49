/*
 * probing: what the probes share, and no other file needs: the scene they act in, how they say what
 * they saw, and being born as a cell is.
 */
#pragma once

#include "run/probe.h"

struct scene {
    const struct places *places;
    const char *home; /* may be NULL */
    const struct host *host;
};

/*
 * Tries one thing. *finding is PROBE_OK with nothing to say until it says otherwise; it lies in
 * memory that is shared with whoever asked.
 */
typedef void probe_act(const struct scene *scene, struct finding *finding);

/* Fills status, detail and remedy of *finding by running it in a child with a deadline. */
int probe_in_child(const struct scene *scene, probe_act *act, struct finding *finding,
                   struct err *err);

/* ---- saying -------------------------------------------------------------------------------- */

/* What was seen, all being well. */
void finding_note(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What went wrong, with ": " and the text of errno behind it where errnum is not 0. */
void finding_set(struct finding *finding, enum probe_status status, int errnum, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
/* What to do about it. */
void finding_advise(struct finding *finding, enum remedy remedy, const char *subject);
/* A call failed: PROBE_MISSING, errno's text, and the advice for it. since: the kernel's version */
void finding_call_failed(struct finding *finding, const struct scene *scene, const char *call,
                         const char *since);
/* The same for the new mount API, which needs a capability of the new user namespace. */
void finding_mount_failed(struct finding *finding, const struct scene *scene, const char *call);
/* A child of ours died: why, if that says something, and true if it does. */
bool finding_death(struct finding *finding, int status);

/* User namespaces are there, and open to ordinary users, since then. */
#define BIRTH_SINCE "3.8"

/* ---- being born ---------------------------------------------------------------------------- */

/*
 * Runs act as the first process of new user and pid namespaces, with its ids mapped as a cell's.
 * What stands in the way becomes the finding.
 */
void born_in_user_namespace(const struct scene *scene, struct finding *finding, probe_act *act);
/* Then: makes the rest of a cell's namespaces. 0, or -1 and the finding. */
int birth_unshare(const struct scene *scene, struct finding *finding);
/* And takes a cell's uid. */
int birth_take_uid(const struct scene *scene, struct finding *finding);
/* Both. */
int birth_enter(const struct scene *scene, struct finding *finding);
/* And makes a tmpfs the root, with the host's detached. */
int birth_enter_root(const struct scene *scene, struct finding *finding);

/* ---- the probes ---------------------------------------------------------------------------- */

/* kernel */
probe_act probe_openat2, probe_close_range, probe_pidfd, probe_memfd, probe_no_new_privs,
    probe_seccomp, probe_landlock, probe_landlock_rung;
/* cell */
probe_act probe_user_namespace, probe_namespaces, probe_process_limit, probe_loopback,
    probe_nesting, probe_nesting_no_proc;
/* mount, view */
probe_act probe_tmpfs, probe_mount_clones, probe_pivot_root, probe_idmap;
probe_act probe_devices, probe_proc, probe_overlay, probe_terminal;
/* limits */
probe_act probe_cgroup, probe_swap;
/* own */
probe_act probe_cell_wasm, probe_cell_native, probe_compiler, probe_cache_folder,
    probe_state_folder, probe_config_folder, probe_python, probe_javascript, probe_bash;
