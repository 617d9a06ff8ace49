/*
 * compile: a module to native code, in a cell of its own.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "plan/request.h"
#include "run/grants.h"
#include "run/module.h"
#include "run/observer.h"

/*
 * Returns 0, sealed code in a memfd that the caller owns and the time it took; or -1 and *err.
 * *ret_signal is set where a signal to us ended it (err is set then, too). Of the observer, which
 * may be NULL, only the ticks are called.
 */
int compile_module(const struct request *request, const struct places *places,
                   const struct grants *identity, struct module *module,
                   const struct observer *observer, struct arena *arena, int *ret_code,
                   uint64_t *ret_ns, int *ret_signal, struct err *err);
