/*
 * ask: a question to the person at the terminal.
 */
#pragma once

#include "gate/gate.h"
#include "store/changes.h"

/*
 * Shows in short what a run changed, names escaped, and asks whether to apply it. True if the
 * answer is yes, on the terminal that this process belongs to. Anything else, no terminal, five
 * minutes without an answer, or SIGINT, SIGTERM or SIGHUP, which the caller has blocked and which
 * stay pending: false.
 */
bool changes_ask(const struct changes *changes);
/* Shows what would run and what for it needs approval, and asks; WORD_NONE as above. */
enum gate_word approval_ask(const struct approval *approval);
