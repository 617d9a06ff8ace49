/*
 * facts: finds out what a request's names are on this host (plan/facts.h), so that a policy judges
 * places and not spellings.
 */
#pragma once

#include "base/arena.h"
#include "plan/facts.h"
#include "plan/principal.h"
#include "plan/request.h"
#include "run/run.h"

/*
 * A name that leads to nothing is taken for where it would lie: whether there is something is no
 * business of whoever may not look there. Everything lies in the arena. 0, or -1 and *err.
 */
int facts_find(const struct request *request, const struct principal *principal,
               const struct places *places, struct arena *arena, struct facts *ret_facts,
               struct err *err);
/* One path, as facts_find has it. */
int fact_of_path(const char *path, struct arena *arena, struct fact *ret_fact, struct err *err);
/* An open file or directory; unknown if it has no place any more. */
int fact_of_fd(int fd, struct arena *arena, struct fact *ret_fact, struct err *err);
/* A program by its name on CELL_PATH, or by its absolute path; unknown if there is none. */
int fact_of_program(const char *program, struct arena *arena, struct fact *ret_fact,
                    struct err *err);
/* Up to so many bytes of a file that is the guest's stdin are read beforehand, and so bound. */
#define FACTS_STDIN_BYTES ((size_t) 1 << 20)
/*
 * Writes down in the request which directories, rootfs, program and stdin were judged: the run
 * refuses others in their place. The module is pinned to its digest; one that could not be read is
 * pinned to what nothing has, so that none can appear there later. stdin from a small file becomes
 * its bytes. 0, or -1 and *err.
 */
int facts_bind(const struct facts *facts, struct request *request, struct arena *arena,
               struct err *err);
