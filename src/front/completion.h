/*
 * completion: the tables as scripts for shells.
 */
#pragma once

#include "front/page.h"
#include "front/verb.h"

void completion_add_bash(struct page *page, const struct verb *const *verbs);
void completion_add_zsh(struct page *page, const struct verb *const *verbs);
void completion_add_fish(struct page *page, const struct verb *const *verbs);
