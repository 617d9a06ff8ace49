#include "run/module.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int open_file(const char *path, struct module *ret_module, struct err *err)
{
    /* a FIFO or a device must not keep us waiting */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        (void) err_set(err, ERR_NOT_FOUND, "failed to read input file");
        return err_hint(err, "there is no such file; a relative path counts from the working "
                             "folder, in a manifest from the manifest's");
    }
    if (fd < 0)
        return err_sys(err, ERR_UNREADABLE, "failed to read input file");
    ret_module->file = fd;
    if (fstat(fd, &ret_module->st) < 0)
        return err_sys(err, ERR_UNREADABLE, "failed to read input file");
    if (S_ISDIR(ret_module->st.st_mode))
        return err_set(err, ERR_UNREADABLE, "it is a directory");
    if (!S_ISREG(ret_module->st.st_mode))
        return err_set(err, ERR_UNREADABLE, "it is not a regular file");
    if ((uint64_t) ret_module->st.st_size > MODULE_MAX_BYTES)
        return err_set(err, ERR_TOO_LARGE, "it has %lld bytes, wasp takes %llu at most",
                       (long long) ret_module->st.st_size, MODULE_MAX_BYTES);
    return 0;
}

int module_open(const struct request *request, struct module *ret_module, struct err *err)
{
    *ret_module = (struct module){
        .embedded = request->module_bytes,
        .embedded_len = request->module_len,
        .file = -1,
        .bytes = -1,
    };
    if (ret_module->embedded == NULL)
        return open_file(request->module, ret_module, err);
    ret_module->digest = *request->module_digest;
    return 0;
}

/* The file may grow while it is read: the bound holds for what is read, not for what stat said. */
static int copy_and_hash(struct module *module, int to, struct digest *ret_digest, struct err *err)
{
    char bytes[65536];
    struct sha256 sha;
    uint64_t total = 0;
    sha256_init(&sha);
    for (;;) {
        ssize_t n = fd_read_full(module->file, bytes, sizeof(bytes));
        if (n < 0)
            return err_sys(err, ERR_UNREADABLE, "failed to read input file");
        if (n == 0)
            break;
        total += (uint64_t) n;
        if (total > MODULE_MAX_BYTES)
            return err_set(err, ERR_TOO_LARGE, "it grows while it is read");
        sha256_add(&sha, bytes, (size_t) n);
        if (fd_write_all(to, bytes, (size_t) n) < 0)
            return err_sys(err, ERR_HOST, "cannot copy the module");
    }
    sha256_finish(&sha, ret_digest);
    return 0;
}

static int read_into_memory(struct module *module, struct digest *ret_digest, struct err *err)
{
    _cleanup_fd_ int fd = fd_memory("wasp-module");
    if (fd < 0)
        return err_sys(err, ERR_HOST, "cannot make a memory file for the module");
    if (copy_and_hash(module, fd, ret_digest, err) < 0)
        return -1;
    if (fd_seal(fd) < 0)
        return err_sys(err, ERR_HOST, "cannot seal the module");
    module->bytes = take_fd(&fd);
    return 0;
}

int module_digest(struct module *module, const struct cache *cache, struct err *err)
{
    if (module->embedded != NULL || cache_recall(cache, &module->st, &module->digest))
        return 0;
    if (read_into_memory(module, &module->digest, err) < 0)
        return -1;
    cache_remember(cache, &module->st, &module->digest);
    return 0;
}

int module_read(struct module *module, struct err *err)
{
    struct digest digest;
    if (module->bytes >= 0)
        return 0;
    if (module->embedded != NULL)
        return fd_sealed("wasp-module", module->embedded, module->embedded_len, &module->bytes,
                         err);
    if (read_into_memory(module, &digest, err) < 0)
        return -1;
    if (digest_equal(&digest, &module->digest))
        return 0;
    return err_set(err, ERR_UNREADABLE, "it changed while it was read");
}

void module_release(struct module *module)
{
    cleanup_fd(&module->file);
    cleanup_fd(&module->bytes);
    module->file = module->bytes = -1;
}
