#include "report/shown.h"

#include <stdint.h>

#include "base/cleanup.h"

void shown_put(struct json_writer *json, const char *text, size_t len,
               const struct secrets *secrets)
{
    _cleanup_(buf_release) struct buf out = BUF_INIT(SIZE_MAX - 1); /* the request bounds it */

    if (redact_copy(text, len, secrets, &out) < 0)
        json_put_string(json, "[redacted]"); /* no memory: rather nothing than too much */
    else
        json_put_text(json, out.data ? out.data : "", out.len);
}
