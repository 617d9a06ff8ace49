/* Listing directories: cookies, cut entries, and the parent of a grant. */
#include "wasi_rig.h"

struct listed {
    struct abi_dirent dirent;
    char name[256];
};

/* Reads the whole entries in RIG_DATA; returns how many. */
static size_t parse(const struct rig *rig, struct listed *list, size_t max)
{
    uint32_t used = rig_u32(rig, RIG_OUT), at = 0;
    size_t count = 0;

    while (count < max && used - at >= sizeof(struct abi_dirent)) {
        struct listed *entry = &list[count];
        memcpy(&entry->dirent, rig->memory.base + RIG_DATA + at, sizeof(entry->dirent));
        at += sizeof(entry->dirent);
        if (entry->dirent.name_len > used - at)
            break;
        memcpy(entry->name, rig->memory.base + RIG_DATA + at, entry->dirent.name_len);
        entry->name[entry->dirent.name_len] = '\0';
        at += entry->dirent.name_len;
        count++;
    }
    return count;
}

static uint32_t list_at(struct rig *rig, uint32_t fd, uint32_t size, uint64_t cookie)
{
    return CALL(rig, fd_readdir, fd, RIG_DATA, size, cookie, RIG_OUT);
}

static const struct listed *find(const struct listed *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static void test_types(struct rig *rig)
{
    static const struct {
        const char *name;
        uint32_t type;
    } rows[] = {{".", FILETYPE_DIRECTORY},
                {"..", FILETYPE_DIRECTORY},
                {"sub", FILETYPE_DIRECTORY},
                {"file", FILETYPE_REGULAR_FILE},
                {"rel", FILETYPE_SYMBOLIC_LINK}};
    struct listed list[32];

    ok(list_at(rig, RIG_RW, 4096, 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) < 4096,
       "a preopen can be listed");
    size_t count = parse(rig, list, 32);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct listed *entry = find(list, count, rows[i].name);
        ok(entry != NULL && entry->dirent.type == rows[i].type, "'%s' is there with its type",
           rows[i].name);
    }
    struct stat st;
    if (stat(rig_host(rig, "rw/file"), &st) < 0)
        rig_die("stat");
    const struct listed *file = find(list, count, "file");
    ok(file != NULL && file->dirent.ino == st.st_ino, "and with its inode");
}

static void test_parent(struct rig *rig)
{
    struct listed list[32];
    struct stat root, parent;

    if (stat(rig_host(rig, "rw"), &root) < 0 || stat(rig_host(rig, "."), &parent) < 0)
        rig_die("stat");
    uint32_t again = rig_open(rig, RIG_RW, ".", OFLAG_DIRECTORY, RIGHT_FD_READDIR);
    for (uint32_t fd = RIG_RW; fd <= again; fd += again - RIG_RW) {
        (void) list_at(rig, fd, 4096, 0);
        const struct listed *up = find(list, parse(rig, list, 32), "..");
        ok(up != NULL && up->dirent.ino == root.st_ino && up->dirent.ino != parent.st_ino,
           "the root of a grant is its own parent (descriptor %u)", fd);
    }
    uint32_t sub = rig_open(rig, RIG_RW, "sub", OFLAG_DIRECTORY, RIGHT_FD_READDIR);
    (void) list_at(rig, sub, 4096, 0);
    const struct listed *up = find(list, parse(rig, list, 32), "..");
    ok(up != NULL && up->dirent.ino == root.st_ino, "further down the parent is the real one");
}

/* Whatever the buffer, going on from the last whole entry meets every name once. */
static void test_walk(struct rig *rig, uint32_t fd, uint32_t size, unsigned int expected)
{
    static struct listed list[2048];
    uint64_t cookie = 0;
    unsigned int seen = 0;

    for (unsigned int calls = 0; calls < 5000; calls++) {
        if (list_at(rig, fd, size, cookie) != WASI_SUCCESS)
            break;
        size_t count = parse(rig, list, ARRAY_SIZE(list));
        seen += (unsigned int) count;
        if (rig_u32(rig, RIG_OUT) < size || count == 0)
            break;
        cookie = list[count - 1].dirent.next;
    }
    ok(seen == expected, "a buffer of %u bytes walks over %u entries (%u)", size, expected, seen);
}

static void test_many(struct rig *rig)
{
    static const uint32_t sizes[] = {40, 256, 4096, 40000};

    for (unsigned int i = 0; i < 500; i++) {
        char name[32];
        (void) snprintf(name, sizeof(name), "rw/sub/name.%u", i); /* fits */
        rig_write_host(rig, name, "");
    }
    uint32_t fd = rig_open(rig, RIG_RW, "sub", OFLAG_DIRECTORY, RIGHT_FD_READDIR);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        test_walk(rig, fd, sizes[i], 503); /* ".", "..", inner and those */
}

static void test_edges(struct rig *rig)
{
    uint32_t fd = rig_open(rig, RIG_RW, "sub", OFLAG_DIRECTORY, RIGHT_FD_READDIR);
    static const uint64_t cookies[] = {1,          2,          3,         1234567,    1ULL << 31,
                                       1ULL << 32, 1ULL << 62, INT64_MAX, 1ULL << 63, UINT64_MAX};

    ok(list_at(rig, fd, 1, 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 1,
       "a buffer of one byte is filled");
    ok(list_at(rig, fd, 0, 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 0, "and one of none");
    rig->memory.base[RIG_DATA + 30] = 0x77;
    ok(list_at(rig, fd, 30, 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) == 30 &&
           rig->memory.base[RIG_DATA + 30] == 0x77,
       "an entry is cut at the end of the buffer, not behind it");
    for (size_t i = 0; i < ARRAY_SIZE(cookies); i++) {
        uint32_t answer = list_at(rig, fd, 4096, cookies[i]);
        ok(answer == WASI_SUCCESS || answer == WASI_EINVAL, "cookie %#llx does no harm (%u)",
           (unsigned long long) cookies[i], answer);
    }
    ok(list_at(rig, fd, 4096, 0) == WASI_SUCCESS && rig_u32(rig, RIG_OUT) > 60,
       "and the start is still the start");
}

static void test_removed(struct rig *rig)
{
    if (mkdir(rig_host(rig, "rw/gone"), 0755) < 0)
        rig_die("mkdir");
    uint32_t fd = rig_open(rig, RIG_RW, "gone", OFLAG_DIRECTORY,
                           RIGHT_FD_READDIR | RIGHT_PATH_CREATE_FILE | RIGHT_PATH_OPEN);
    ok(CALL_PATH(rig, path_remove_directory, RIG_RW, "gone") == WASI_SUCCESS,
       "an open directory can be removed");
    uint32_t answer = list_at(rig, fd, 4096, 0);
    ok(answer == WASI_SUCCESS, "and is then empty (%u)", answer);
    ok(CALL_OPEN(rig, fd, 0, "x", OFLAG_CREAT, 0, 0) == WASI_ENOENT, "nothing can be made in it");
}

int main(void)
{
    struct rig rig;

    rig_init(&rig);
    test_types(&rig);
    test_parent(&rig);
    test_edges(&rig);
    test_many(&rig);
    test_removed(&rig);
    rig_release(&rig);
    return done();
}
