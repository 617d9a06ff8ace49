/*
 * Any bytes as YAML: refused, or a document whose canonical form is JSON that means the same, with
 * the same digest.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct node *document, struct arena *arena)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT((size_t) 16 << 20);
    struct problems problems = {.arena = arena};
    struct digest first, second;
    struct json_writer json;
    struct node again;

    json_writer_init_buf(&json, &text);
    document_write(document, &json);
    assert(json_finish(&json) == 0);
    if (text.len > JSON_MAX_BYTES) /* escapes made it longer than what is taken */
        return;
    assert(document_parse_json(text.data, text.len, &problems, &again) == 0);
    assert(!problems_any(&problems));
    assert(document_digest(document, &first) == 0 && document_digest(&again, &second) == 0);
    assert(digest_equal(&first, &second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct problems problems = {.arena = arena};
    struct node document;

    if (!arena)
        return 0;
    if (document_parse_yaml((const char *) data, size, &problems, &document) < 0)
        assert(problems_any(&problems));
    else if (!problems_any(&problems))
        check_again(&document, arena);
    arena_free(arena);
    return 0;
}
