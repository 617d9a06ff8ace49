/*
 * suggest: what somebody probably meant.
 */
#pragma once

#include <stddef.h>

#define SUGGEST_MAX_WORD 32

/* The word so far that is nearest to what was typed. */
struct suggestion {
    const char *typed;
    const char *best; /* NULL: none is near */
    size_t distance;
};

void suggestion_init(struct suggestion *suggestion, const char *typed);
/* Offers a word. Remembers the pointer if it is near enough and nearer than those before. */
void suggestion_offer(struct suggestion *suggestion, const char *word);
