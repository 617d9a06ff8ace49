/*
 * language: source text that can be run, and what runs it. A row each in language.c.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/request.h"

/* Their names, NULL at the end. */
extern const char *const language_names[];

/* The name as it is kept here, or NULL and *err (ERR_REQUEST), which lists those there are. */
const char *language_find(const char *name, struct err *err);
/* True if it can be run on wasm. Of a name that there is. */
bool language_has_wasm(const char *name);
/*
 * Makes the request's language and source what it runs: for a native guest the interpreter, told to
 * read nothing of its own accord, and the source as a file in its view; on the landlock rung, where
 * it has no view of its own, and for a wasm runtime as an argument. The request's arguments come
 * behind. -1 and *err if the backend has no such language.
 */
int language_put(struct request *request, struct arena *arena, struct err *err);
