#include "report/audit_head.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/audit_scan.h"

void audit_head_init(struct audit_head *head)
{
    memset(head, 0, sizeof(*head));
    head->segment = 1;
}

static int format_next(const struct audit_head *head, char *text, size_t size)
{
    char hex[DIGEST_HEX];

    if (!head->has_next)
        return snprintf(text, size, "null}");
    digest_hex(&head->next, hex);
    return snprintf(text, size, "{\"hash\":\"%s\",\"size\":%" PRIu64 "}}", hex, head->next_size);
}

void audit_head_format(const struct audit_head *head, char ret_text[AUDIT_HEAD_BYTES])
{
    char hex[DIGEST_HEX];

    digest_hex(&head->hash, hex);
    int len = snprintf(ret_text, AUDIT_HEAD_BYTES,
                       "{\"schema\":\"wasp.audit.head/1\",\"seq\":%" PRIu64 ",\"hash\":\"%s\","
                       "\"segment\":%" PRIu64 ",\"size\":%" PRIu64 ",\"next\":",
                       head->seq, hex, head->segment, head->size);
    len += format_next(head, ret_text + len, AUDIT_HEAD_BYTES - (size_t) len);
    assert(len < AUDIT_HEAD_BYTES); /* with the longest numbers it has 340 */
    memset(ret_text + len, ' ', AUDIT_HEAD_BYTES - (size_t) len);
    ret_text[AUDIT_HEAD_BYTES - 1] = '\n';
}

#define LITERAL(scan, text) scan_literal(scan, text, sizeof(text) - 1)

static bool scan_digest(struct scan *scan, struct digest *ret_digest)
{
    char hex[DIGEST_HEX];
    struct span span;

    if (!scan_hash(scan, &span))
        return false;
    memcpy(hex, span.text, span.len);
    hex[span.len] = '\0';
    return digest_from_hex(hex, ret_digest);
}

static bool scan_next(struct scan *scan, struct audit_head *head)
{
    if (LITERAL(scan, "null"))
        return true;
    head->has_next = true;
    return LITERAL(scan, "{\"hash\":") && scan_digest(scan, &head->next) &&
           LITERAL(scan, ",\"size\":") && scan_number(scan, &head->next_size) &&
           head->next_size > head->size;
}

bool audit_head_parse(const char text[AUDIT_HEAD_BYTES], struct audit_head *ret_head)
{
    struct scan scan = {text, text + AUDIT_HEAD_BYTES};
    char again[AUDIT_HEAD_BYTES];
    struct audit_head head;

    audit_head_init(&head);
    if (!LITERAL(&scan, "{\"schema\":\"wasp.audit.head/1\",\"seq\":") ||
        !scan_number(&scan, &head.seq) || !LITERAL(&scan, ",\"hash\":") ||
        !scan_digest(&scan, &head.hash) || !LITERAL(&scan, ",\"segment\":") ||
        !scan_number(&scan, &head.segment) || !LITERAL(&scan, ",\"size\":") ||
        !scan_number(&scan, &head.size) || !LITERAL(&scan, ",\"next\":") ||
        !scan_next(&scan, &head) || head.segment == 0)
        return false;
    audit_head_format(&head, again); /* what is behind it must fit, too */
    if (memcmp(again, text, AUDIT_HEAD_BYTES) != 0)
        return false;
    *ret_head = head;
    return true;
}

int audit_head_read(int fd, enum audit_head_state *ret_state, struct audit_head *ret_head)
{
    char text[AUDIT_HEAD_BYTES + 1]; /* a longer file is none of ours */
    ssize_t n;

    do
        n = pread(fd, text, sizeof(text), 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    if (n == 0)
        *ret_state = HEAD_EMPTY;
    else if (n == AUDIT_HEAD_BYTES && audit_head_parse(text, ret_head))
        *ret_state = HEAD_GOOD;
    else
        *ret_state = HEAD_BAD;
    return 0;
}

int audit_head_write(int fd, const struct audit_head *head)
{
    char text[AUDIT_HEAD_BYTES];
    ssize_t n;

    audit_head_format(head, text);
    do
        n = pwrite(fd, text, sizeof(text), 0);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t) sizeof(text))
        return 0;
    if (n < 0)
        return -1;
    /* Only one that was empty takes a part. If that stays, the next writer finds it damaged. */
    if (ftruncate(fd, 0) == 0)
        errno = ENOSPC;
    return -1;
}
