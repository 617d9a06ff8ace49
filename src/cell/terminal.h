/*
 * terminal: a terminal of the guest's own. Never the caller's: what a guest types into it stays in
 * the cell.
 */
#pragma once

#include "cell/view.h"

/* Makes it: /dev/pts, /dev/ptmx; the parent is given the master, cell->terminal is the guest's. */
int terminal_make(struct view *view, struct err *err);
