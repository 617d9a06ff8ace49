/*
 * help: the tables as text for people, and as the part of the man page that follows from them.
 */
#pragma once

#include "front/page.h"
#include "front/verb.h"

/* "wasp run [OPTIONS] MODULE.wasm [-- ARGS]" */
void help_add_usage(struct page *page, const struct syntax *syntax);
void help_add_overview(struct page *page, const struct verb *const *verbs);
void help_add_verb(struct page *page, const struct verb *verb);
/* One .SS section a verb, in man(7) macros; a verb with verbs of its own is left to them. */
void help_add_man(struct page *page, const struct verb *const *verbs);
/* Prints a verb's help. Returns the exit status. */
int help_print_verb(const struct verb *verb);
