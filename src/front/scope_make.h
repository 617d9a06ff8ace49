/*
 * scope_make: the scope of a grant as a person writes it, made what plan/grant.h says it is: paths
 * and programs are those that are meant now, by the kernel's own word.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "plan/capability.h"

/*
 * fs_*: a path; a relative one counts from the working directory, links are followed, and what is
 * not there yet is taken for where it would lie. exec_run: a program that is there, by a bare name
 * on CELL_PATH or by a path, then its arguments. code_run: a language, or "module:" and a path.
 * env_set and net_http are judged as text (plan/scope.h). *ret_scope lies in the arena. 0, or -1
 * and *err (ERR_REQUEST).
 */
int scope_make(enum capability capability, const char *text, struct arena *arena,
               const char **ret_scope, struct err *err);
