/*
 * The streams of redact.h. First the values are searched, then, in what is let go, the shapes.
 *
 * Both keep what they hold back in a buffer that is moved to its front only when half of it is
 * gone, so that pieces of one byte cost no more than one large piece.
 */
#include "base/redact.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact_parts.h"
#include "base/utf8.h"

/* Larger pieces are taken in parts, which bounds what lies in the buffers. */
#define SLICE ((size_t) 65536)
/* A marker for every byte: what a text can grow to. */
#define LARGEST_OUT(len) (32 * (len) + 64)

/* Bytes [start, end) of the stream are a secret. */
struct redact_span {
    uint64_t start, end;
    bool is_told; /* the marker is written */
};

static void wipe(struct buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->capacity);
    buf_release(buf);
}

/* Bytes before `at` are gone; `keep` of them stay. Returns how many were moved away. */
static size_t compact(struct buf *held, size_t *at, size_t keep)
{
    if (*at <= held->len / 2 || *at <= keep)
        return 0;
    size_t gone = *at - keep;
    memmove(held->data, held->data + gone, held->len - gone);
    held->len -= gone;
    *at = keep;
    return gone;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int push_span(struct redact_values *values, uint64_t start, uint64_t end)
{
    bool is_told = false;

    /* Those it overlaps become one with it; it ends behind all of them. */
    while (values->n_spans > values->first_span) {
        const struct redact_span *last = &values->spans[values->n_spans - 1];
        if (last->end <= start)
            break;
        start = last->start < start ? last->start : start;
        is_told = is_told || last->is_told;
        values->n_spans--;
    }
    if (values->first_span > 0 && values->first_span == values->n_spans)
        values->first_span = values->n_spans = 0;
    if (values->n_spans == values->spans_capacity) {
        size_t capacity = values->spans_capacity ? 2 * values->spans_capacity : 8;
        struct redact_span *spans =
            reallocarray(values->spans, capacity, sizeof(struct redact_span));
        if (!spans)
            return -1;
        values->spans = spans;
        values->spans_capacity = capacity;
    }
    values->spans[values->n_spans++] = (struct redact_span){start, end, is_told};
    return 0;
}

/* Lets go what lies before `upto`: nothing that begins there can still become a secret. */
static int release_values(struct redactor *redactor, uint64_t upto, struct buf *out)
{
    struct redact_values *values = &redactor->values;
    uint64_t now = values->origin + values->at;

    while (now < upto) {
        struct redact_span *span =
            values->first_span < values->n_spans ? &values->spans[values->first_span] : NULL;
        uint64_t next = upto;
        if (span && span->start <= now) {
            if (!span->is_told && buf_add_string(out, REDACTED) < 0)
                return -1;
            redactor->count += !span->is_told;
            span->is_told = true;
            next = span->end < upto ? span->end : upto;
            values->first_span += span->end <= upto;
        } else {
            next = span && span->start < upto ? span->start : upto;
            if (buf_add(out, values->held.data + (now - values->origin), (size_t) (next - now)) < 0)
                return -1;
        }
        now = next;
    }
    values->at = (size_t) (now - values->origin);
    return 0;
}

/* Spans that are gone make room, once they are half of all. */
static void compact_spans(struct redact_values *values)
{
    if (values->first_span <= values->n_spans / 2)
        return;
    values->n_spans -= values->first_span;
    memmove(values->spans, values->spans + values->first_span,
            values->n_spans * sizeof(struct redact_span));
    values->first_span = 0;
}

static int search_values(struct redactor *redactor, size_t from)
{
    struct redact_values *values = &redactor->values;
    const struct secrets *secrets = redactor->secrets;
    const unsigned char *bytes = (const unsigned char *) values->held.data;
    uint32_t node = values->node;

    for (size_t i = from; i < values->held.len; i++) {
        if (node == 0 && secrets->first[bytes[i]] == 0)
            continue; /* nearly all bytes */
        node = secrets_step(secrets, node, bytes[i]);
        uint64_t end = values->origin + i + 1;
        uint32_t found = secrets->nodes[node].found;
        if (found > 0 && push_span(values, end - found, end) < 0)
            return -1;
    }
    values->node = node;
    return 0;
}

static int add_values(struct redactor *redactor, const char *bytes, size_t len, struct buf *out)
{
    struct redact_values *values = &redactor->values;

    while (len > 0) {
        size_t n = len < SLICE ? len : SLICE;
        size_t from = values->held.len;
        if (buf_add(&values->held, bytes, n) < 0 || search_values(redactor, from) < 0)
            return -1;
        uint64_t end = values->origin + values->held.len;
        if (release_values(redactor, end - redactor->secrets->nodes[values->node].depth, out) < 0)
            return -1;
        values->origin += compact(&values->held, &values->at, 0);
        compact_spans(values);
        bytes += n;
        len -= n;
    }
    return 0;
}

/* is_cut: a secret may have gone on, so that its beginning counts, too. */
static int finish_values(struct redactor *redactor, bool is_cut, struct buf *out)
{
    struct redact_values *values = &redactor->values;
    uint64_t end = values->origin + values->held.len;
    uint32_t depth = redactor->secrets->nodes[values->node].depth;

    if (is_cut && depth >= REDACT_MIN_VALUE && push_span(values, end - depth, end) < 0)
        return -1;
    values->node = 0;
    return release_values(redactor, end, out);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Takes out what was found at `at`, behind what may be seen of it. */
static int take_shape(struct redactor *redactor, const struct shape_find *find, struct buf *out)
{
    struct redact_shapes *shapes = &redactor->shapes;

    if (buf_add(out, shapes->held.data + shapes->at, find->keep) < 0 ||
        buf_printf(out, "[redacted:%s]", find->name) < 0)
        return -1;
    shapes->at += find->keep + find->len;
    shapes->rest = find->rest;
    redactor->count++;
    return 0;
}

static bool is_to_wait(const struct redact_shapes *shapes, bool is_last)
{
    return !is_last && shapes->held.len - shapes->at < shapes->wait;
}

static int search_shapes(struct redactor *redactor, bool is_last, struct buf *out)
{
    struct redact_shapes *shapes = &redactor->shapes;
    const struct buf *held = &shapes->held;
    struct shape_find find = {.name = NULL};

    while (shapes->at < held->len && !is_to_wait(shapes, is_last)) {
        const char *text = held->data;
        if (shapes->rest.classes) {
            shapes->at += shape_take_rest(&shapes->rest, text + shapes->at, held->len - shapes->at);
            continue;
        }
        size_t next = shapes->at;
        enum shape_answer answer = SHAPE_NONE;
        while (next < held->len && answer == SHAPE_NONE) {
            answer = shape_look(text, next, held->len, is_last, &find);
            next += answer == SHAPE_NONE;
        }
        if (buf_add(out, text + shapes->at, next - shapes->at) < 0)
            return -1;
        shapes->at = next;
        size_t there = held->len - next;
        /* Looking again at every byte would be quadratic. */
        shapes->wait = answer == SHAPE_WAIT ? 2 * there : 0;
        if (shapes->wait > REDACT_LOOKAHEAD)
            shapes->wait = REDACT_LOOKAHEAD;
        if (answer == SHAPE_FOUND && take_shape(redactor, &find, out) < 0)
            return -1;
    }
    return 0;
}

static int add_shapes(struct redactor *redactor, const char *bytes, size_t len, struct buf *out)
{
    struct redact_shapes *shapes = &redactor->shapes;

    while (len > 0) {
        size_t n = len < SLICE ? len : SLICE;
        if (buf_add(&shapes->held, bytes, n) < 0 || search_shapes(redactor, false, out) < 0)
            return -1;
        (void) compact(&shapes->held, &shapes->at, SHAPE_CONTEXT); /* no other place counts it */
        bytes += n;
        len -= n;
    }
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool has_values(const struct redactor *redactor)
{
    return redactor->secrets && redactor->secrets->count > 0;
}

void redactor_init(struct redactor *redactor, const struct secrets *secrets, bool with_shapes)
{
    size_t longest = secrets ? secrets->longest : 0;

    *redactor = (struct redactor){
        .secrets = secrets,
        .with_shapes = with_shapes,
        /* half of it is gone at most, and a slice is added */
        .values.held = BUF_INIT(2 * longest + 2 * SLICE),
        .shapes.held = BUF_INIT(2 * REDACT_LOOKAHEAD + SLICE * 2 + 64),
    };
}

void redactor_release(struct redactor *redactor)
{
    if (!redactor)
        return;
    wipe(&redactor->values.held);
    wipe(&redactor->shapes.held);
    free(redactor->values.spans);
    redactor_init(redactor, redactor->secrets, redactor->with_shapes);
}

int redactor_add(struct redactor *redactor, const void *bytes, size_t len, struct buf *out)
{
    if (!has_values(redactor))
        return redactor->with_shapes ? add_shapes(redactor, bytes, len, out)
                                     : buf_add(out, bytes, len);
    if (!redactor->with_shapes)
        return add_values(redactor, bytes, len, out);
    _cleanup_(buf_release) struct buf between =
        BUF_INIT(LARGEST_OUT(len + redactor->secrets->longest));
    if (add_values(redactor, bytes, len, &between) < 0)
        return -1;
    return between.len > 0 ? add_shapes(redactor, between.data, between.len, out) : 0;
}

static int finish(struct redactor *redactor, bool is_cut, struct buf *out)
{
    _cleanup_(buf_release) struct buf between = BUF_INIT(LARGEST_OUT(redactor->values.held.len));

    if (has_values(redactor) &&
        finish_values(redactor, is_cut, redactor->with_shapes ? &between : out) < 0)
        return -1;
    if (!redactor->with_shapes)
        return 0;
    if (between.len > 0 && add_shapes(redactor, between.data, between.len, out) < 0)
        return -1;
    return search_shapes(redactor, true, out);
}

int redactor_finish(struct redactor *redactor, struct buf *out)
{
    return finish(redactor, false, out);
}

int redact_copy(const char *text, size_t len, const struct secrets *secrets, struct buf *out)
{
    _cleanup_(redactor_release) struct redactor redactor;

    redactor_init(&redactor, secrets, true);
    if (redactor_add(&redactor, text, len, out) < 0)
        return -1;
    return finish(&redactor, false, out);
}

/* What replaces a text: as much as fits, and "..." where it was or is cut. */
static void put_back(char *text, size_t size, const struct buf *out, bool had_dots)
{
    size_t len = out->len;

    if (had_dots || len >= size) {
        size_t room = size > 4 ? size - 4 : 0;
        len = len < room ? len : utf8_cut(out->data, room);
    }
    memcpy(text, out->data, len);
    (void) snprintf(text + len, size - len, "%s", /* len leaves room for it */
                    had_dots || out->len >= size ? "..." : "");
}

bool redact_text(char *text, size_t size, const struct secrets *secrets)
{
    size_t len = strnlen(text, size);
    bool has_dots = len >= 3 && memcmp(text + len - 3, "...", 3) == 0;
    _cleanup_(redactor_release) struct redactor redactor;
    _cleanup_(buf_release) struct buf out = BUF_INIT(LARGEST_OUT(len));

    redactor_init(&redactor, secrets, true);
    if (redactor_add(&redactor, text, has_dots ? len - 3 : len, &out) < 0 ||
        finish(&redactor, has_dots || len + 1 >= size, &out) < 0) {
        (void) snprintf(text, size, "%s", REDACTED); /* what fits of it says enough */
        return true;
    }
    if (redactor.count == 0)
        return false;
    put_back(text, size, &out, has_dots);
    return true;
}
