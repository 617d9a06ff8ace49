/*
 * tell: talking to the parent, see plan/tell.h. A parent that is gone cannot be told, and we die
 * with it anyway.
 */
#pragma once

#include "plan/tell.h"

void tell_failed(const struct err *err);
void tell_ready(uint32_t walls, uint32_t landlock_abi);
void tell_denial(const struct tell_denial *denial);
/* With a copy of a descriptor. Before TELL_READY only. 0, or -1 and errno. */
int tell_handle(enum handle_kind kind, uint32_t grant, int fd);
void tell_done(const struct tell_done *done);
