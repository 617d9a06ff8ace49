/*
 * manifest: a request on disk (CONTRACT §4), JSON text in, the same struct request out that the
 * command line makes. It touches no file: whoever read the text says which folder it lay in.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/policy.h"
#include "plan/request.h"

enum manifest_kind { MANIFEST_SAMPLE, MANIFEST_WASM_RUN, MANIFEST_NATIVE_RUN, MANIFEST_CODE };

struct manifest {
    enum manifest_kind kind;
    const char *sample;    /* MANIFEST_SAMPLE: its name, else NULL; request.module is then NULL */
    const char *workspace; /* MANIFEST_SAMPLE: its host path; request.dirs has it as "." already */
    const char *runtime;   /* MANIFEST_CODE on wasm: the one to use, else NULL */
    enum tier tier;        /* TIER_NONE: none named */
    const char *policy;    /* a file, behind the manifest's folder; NULL: none named */
    const char **grants;   /* ids of those to be used; n_grants 0: any */
    size_t n_grants;
    struct request request;
};

#define MANIFEST_MAX_GRANTS 64

/*
 * Says what source text is run on. The manifest has its tier and policy already; asked is the
 * backend it names, or -1. 0, or -1 and *err. Without anybody to say, it is what the manifest says,
 * else native.
 */
typedef int manifest_choose(void *data, const struct manifest *manifest, const char *language,
                            int asked, enum backend *ret_backend, struct err *err);
/*
 * Relative paths count from base_dir: the manifest's own folder, as its path was written, or NULL
 * for the working directory. What holds between the parts is left to request_check, what runs the
 * source to language_put. Everything in *ret_manifest lies in the arena; it is written only on
 * success. Otherwise -1 and *err: ERR_REQUEST (or ERR_DENIED) with the key's path at the start of
 * the message.
 */
int manifest_parse(const char *text, size_t len, const char *base_dir, manifest_choose *choose,
                   void *data, struct arena *arena, struct manifest *ret_manifest, struct err *err);
