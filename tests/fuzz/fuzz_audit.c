/*
 * A line of the audit log that somebody else wrote, and a head: the scanner takes nothing that
 * strict JSON would not, and what it takes is within the line.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/audit_head.h"
#include "report/audit_show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *text, size_t len)
{
    struct json_value *json = NULL;
    struct err err;

    if (json_parse(text, len, "line", &json, &err) < 0)
        abort();
    json_free(json);
}

static void check_line(const char *text, size_t len)
{
    _cleanup_(buf_release) struct buf shown = BUF_INIT((size_t) 1 << 20);
    _cleanup_(buf_release) struct buf ocsf = BUF_INIT((size_t) 1 << 20);
    struct audit_line line;
    struct digest hash;

    if (!audit_line_scan(text, len, &line))
        return;
    /* A NUL in a text is the one thing that we write and json_parse refuses. */
    if (memmem(text, len, "\\u0000", 6) == NULL)
        check_json(text, len);
    for (int i = 0; i < AUDIT_FIELDS; i++)
        if (line.field[i].text &&
            (line.field[i].text < text || line.field[i].text + line.field[i].len > text + len))
            abort();
    audit_line_hash(text, &line, &hash);
    if (line.hashed >= len || audit_show_line(&line, &shown) < 0 ||
        audit_ocsf_line(text, len, &line, &ocsf) < 0)
        abort();
    for (size_t i = 0; i + 1 < shown.len; i++)
        if ((unsigned char) shown.data[i] < 0x20 || shown.data[i] == 0x7f)
            abort();
    if (memmem(text, len, "\\u0000", 6) == NULL)
        check_json(ocsf.data, ocsf.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char head[AUDIT_HEAD_BYTES], again[AUDIT_HEAD_BYTES];
    struct audit_head parsed;

    check_line((const char *) data, size);
    memset(head, ' ', sizeof(head));
    memcpy(head, data, size < sizeof(head) ? size : sizeof(head));
    head[sizeof(head) - 1] = '\n';
    if (audit_head_parse(head, &parsed)) {
        audit_head_format(&parsed, again);
        if (memcmp(head, again, sizeof(head)) != 0)
            abort();
    }
    return 0;
}
