#include "front/samples.h"

#include <string.h>

#include "tap.h"

static void test_table(void)
{
    for (size_t i = 0; sample_names[i]; i++) {
        const struct sample *sample = &samples[i];
        struct digest digest;
        struct sha256 sha;
        struct err err = {0};
        sha256_init(&sha);
        sha256_add(&sha, sample->bytes, sample->len);
        sha256_finish(&sha, &digest);
        ok(strcmp(sample->name, sample_names[i]) == 0 && sample_find(sample->name, &err) == sample,
           "%s is found by its name, which no other has", sample->name);
        ok(sample->len > 8 && memcmp(sample->bytes, "\0asm\1\0\0\0", 8) == 0, "%s is a module",
           sample->name);
        ok(digest_equal(sample->digest, &digest), "the digest of %s is that of its bytes",
           sample->name);
        ok(sample->description[0] && strlen(sample->description) < 200,
           "%s says what it does in a line", sample->name);
    }
}

/* CONTRACT §3 */
static void test_promised(void)
{
    static const char *const promised[] = {"workspace-probe", "workspace-write", "env-report"};
    struct err err = {0};

    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++)
        ok(sample_find(promised[i], &err) != NULL, "there is a sample %s", promised[i]);
}

static void test_unknown(void)
{
    static const char *const unknown[] = {"", "nope", "workspace-prob", "Env-Report", "a\nb"};

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct err err = {0};
        bool found = sample_find(unknown[i], &err) != NULL;
        bool lists_all = true;
        for (size_t j = 0; sample_names[j]; j++)
            lists_all = lists_all && strstr(err.message, sample_names[j]);
        ok(!found && err.code == ERR_REQUEST && lists_all, "'%s' is refused with all there are",
           i < 4 ? unknown[i] : "a name with a newline");
    }
}

static void test_put(void)
{
    struct request request;

    request_init(&request, BACKEND_WASM);
    sample_put(&samples[0], &request);
    ok(strcmp(request.module, samples[0].name) == 0 && request.module_bytes == samples[0].bytes &&
           request.module_len == samples[0].len && request.module_digest == samples[0].digest,
       "a request for a sample has its name, its bytes and its digest");
}

int main(void)
{
    test_table();
    test_promised();
    test_unknown();
    test_put();
    return done();
}
