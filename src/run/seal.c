#include "run/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"

static const char magic[8] = "waspsl1";

static uint64_t time_ns(const struct timespec *time)
{
    return (uint64_t) time->tv_sec * NS_PER_S + (uint64_t) time->tv_nsec;
}

static struct seal_id identify(const struct stat *st)
{
    return (struct seal_id){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t) st->st_size,
        .mtime_ns = time_ns(&st->st_mtim),
        .ctime_ns = time_ns(&st->st_ctim),
    };
}

static void compute_mac(const struct seal *seal, const uint8_t key[DIGEST_KEY_BYTES],
                        struct digest *ret_mac)
{
    struct mac mac;
    mac_init(&mac, key);
    mac_add(&mac, seal, offsetof(struct seal, mac));
    mac_finish(&mac, ret_mac);
}

void seal_make(struct seal *seal, const uint8_t key[DIGEST_KEY_BYTES], const struct stat *st,
               const struct digest *digest, const struct digest *subject)
{
    memset(seal, 0, sizeof(*seal));
    memcpy(seal->magic, magic, sizeof(magic));
    seal->id = identify(st);
    /*
     * the change time cannot be set back by the file's owner, the modification time can be set
     * forward
     */
    seal->at_rest = seal->id.ctime_ns + SEAL_RACY_NS < clock_realtime_ns();
    seal->digest = *digest;
    seal->subject = *subject;
    compute_mac(seal, key, &seal->mac);
}

bool seal_is_ours(const struct seal *seal, const uint8_t key[DIGEST_KEY_BYTES],
                  const struct digest *subject)
{
    struct digest expected;
    compute_mac(seal, key, &expected);
    return memcmp(seal->magic, magic, sizeof(magic)) == 0 && digest_equal(&expected, &seal->mac) &&
           digest_equal(&seal->subject, subject);
}

bool seal_covers(const struct seal *seal, const struct stat *st)
{
    struct seal_id now = identify(st);
    return seal->at_rest == 1 && memcmp(&now, &seal->id, sizeof(now)) == 0;
}

int seal_read(int folder, const char *name, struct seal *ret_seal)
{
    _cleanup_fd_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = fd_read_full(fd, ret_seal, sizeof(*ret_seal));
    if (n == (ssize_t) sizeof(*ret_seal))
        return 0;
    errno = EBADMSG;
    return -1;
}

int seal_write(int temp, int folder, const char *name, const struct seal *seal)
{
    struct temp_file file;
    if (temp_create(temp, &file) < 0)
        return -1;
    if (fd_write_all(file.fd, seal, sizeof(*seal)) < 0) {
        temp_drop(&file);
        return -1;
    }
    return temp_rename(&file, folder, name);
}
