#include "front/manifest_file.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "front/input.h"
#include "front/samples.h"

/* One byte more than is taken: then it is refused for its size. */
#define READ_BYTES (JSON_MAX_BYTES + 1)

/* The folder as the path is written; NULL for the working directory, and so for "-". */
static int take_folder(const char *path, struct arena *arena, const char **ret_folder,
                       struct err *err)
{
    const char *slash = strrchr(path, '/');

    *ret_folder = slash ? arena_strndup(arena, path, (size_t) (slash - path) + 1) : NULL;
    return slash && !*ret_folder ? err_no_memory(err) : 0;
}

/* A manifest that names a sample becomes a request for the sample's module. */
static int resolve_sample(struct manifest *manifest, struct err *err)
{
    if (manifest->kind != MANIFEST_SAMPLE)
        return 0;
    const struct sample *sample = sample_find(manifest->sample, err);
    if (!sample)
        return err_prefix(err, "sample");
    sample_put(sample, &manifest->request);
    return 0;
}

int manifest_file_read(const char *path, manifest_choose *choose, void *data, struct arena *arena,
                       struct manifest *ret_manifest, int *ret_signal, struct err *err)
{
    _cleanup_(buf_release) struct buf text = BUF_INIT(READ_BYTES);
    const char *folder = NULL;
    struct manifest manifest;

    if (input_read(path, "manifest", &text, ret_signal, err) < 0 ||
        take_folder(path, arena, &folder, err) < 0)
        return -1;
    if (manifest_parse(text.data ? text.data : "", text.len, folder, choose, data, arena, &manifest,
                       err) < 0 ||
        resolve_sample(&manifest, err) < 0)
        return -1;
    *ret_manifest = manifest;
    return 0;
}
