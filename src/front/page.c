#include "front/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "report/verdict.h"
#include "wasp.h"

void page_release(struct page *page)
{
    buf_release(&page->text);
}

void page_add(struct page *page, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        text = NULL; /* vasprintf leaves it undefined */
        page->failed = true;
    } else if (buf_add(&page->text, text, (size_t) len) < 0) {
        page->failed = true;
    }
}

void page_escape(struct page *page, const char *text, const char *special)
{
    for (; *text; text++)
        page_add(page, strchr(special, *text) ? "\\%c" : "%c", *text);
}

int page_fail(const struct err *err)
{
    _cleanup_(buf_release) struct buf line = BUF_INIT(sizeof(struct err));

    wasp_say(STDERR_FILENO, verdict_line(err, &line) < 0 ? err->message : line.data);
    return err_kind(err->code)->exit_status;
}

int page_print(const struct page *page)
{
    struct err err;

    if (page->failed) {
        (void) err_no_memory(&err); /* always -1 */
        return page_fail(&err);
    }
    if (fd_write_all(STDOUT_FILENO, page->text.data, page->text.len) < 0) {
        (void) err_sys(&err, ERR_HOST, "cannot write to standard output"); /* always -1 */
        return page_fail(&err);
    }
    return 0;
}
