/*
 * page: text for people (help, man page, completion): put together whole, then written. A run
 * prints none.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define PAGE_MAX_BYTES (1024 * 1024)

struct page {
    struct buf text;
    bool failed; /* the first failure sticks; page_print tells it */
};

#define PAGE_INIT                                         \
    {                                                     \
        .text = BUF_INIT(PAGE_MAX_BYTES), .failed = false \
    }

void page_release(struct page *page);
void page_add(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds text with a backslash before each character that is in `special`. */
void page_escape(struct page *page, const char *text, const char *special);
/* Writes it to stdout. Returns the exit status: 0, or 125 with a line on stderr. */
int page_print(const struct page *page);
/* The line for an error on stderr. Returns the exit status of its kind. */
int page_fail(const struct err *err);
