/*
 * abi: numbers and layouts of wasi_snapshot_preview1 and of the older wasi_unstable, as they lie in
 * guest memory.
 *
 * Guest memory is little-endian and so must the host be: structs are copied as they are, always
 * whole and zeroed before.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "guest memory is little-endian");

/* Rights: what may be done with a descriptor, one bit a call. */
#define RIGHT_FD_DATASYNC (1ULL << 0)
#define RIGHT_FD_READ (1ULL << 1)
#define RIGHT_FD_SEEK (1ULL << 2)
#define RIGHT_FD_FDSTAT_SET_FLAGS (1ULL << 3)
#define RIGHT_FD_SYNC (1ULL << 4)
#define RIGHT_FD_TELL (1ULL << 5)
#define RIGHT_FD_WRITE (1ULL << 6)
#define RIGHT_FD_ADVISE (1ULL << 7)
#define RIGHT_FD_ALLOCATE (1ULL << 8)
#define RIGHT_PATH_CREATE_DIRECTORY (1ULL << 9)
#define RIGHT_PATH_CREATE_FILE (1ULL << 10)
#define RIGHT_PATH_LINK_SOURCE (1ULL << 11)
#define RIGHT_PATH_LINK_TARGET (1ULL << 12)
#define RIGHT_PATH_OPEN (1ULL << 13)
#define RIGHT_FD_READDIR (1ULL << 14)
#define RIGHT_PATH_READLINK (1ULL << 15)
#define RIGHT_PATH_RENAME_SOURCE (1ULL << 16)
#define RIGHT_PATH_RENAME_TARGET (1ULL << 17)
#define RIGHT_PATH_FILESTAT_GET (1ULL << 18)
#define RIGHT_PATH_FILESTAT_SET_SIZE (1ULL << 19)
#define RIGHT_PATH_FILESTAT_SET_TIMES (1ULL << 20)
#define RIGHT_FD_FILESTAT_GET (1ULL << 21)
#define RIGHT_FD_FILESTAT_SET_SIZE (1ULL << 22)
#define RIGHT_FD_FILESTAT_SET_TIMES (1ULL << 23)
#define RIGHT_PATH_SYMLINK (1ULL << 24)
#define RIGHT_PATH_REMOVE_DIRECTORY (1ULL << 25)
#define RIGHT_PATH_UNLINK_FILE (1ULL << 26)
#define RIGHT_POLL_FD_READWRITE (1ULL << 27)
#define RIGHT_SOCK_SHUTDOWN (1ULL << 28)
#define RIGHT_SOCK_ACCEPT (1ULL << 29)
#define RIGHTS_ALL ((1ULL << 30) - 1)

enum abi_filetype {
    FILETYPE_UNKNOWN = 0,
    FILETYPE_BLOCK_DEVICE = 1,
    FILETYPE_CHARACTER_DEVICE = 2,
    FILETYPE_DIRECTORY = 3,
    FILETYPE_REGULAR_FILE = 4,
    FILETYPE_SOCKET_DGRAM = 5,
    FILETYPE_SOCKET_STREAM = 6,
    FILETYPE_SYMBOLIC_LINK = 7,
};

enum abi_fdflags {
    FDFLAG_APPEND = 1 << 0,
    FDFLAG_DSYNC = 1 << 1,
    FDFLAG_NONBLOCK = 1 << 2,
    FDFLAG_RSYNC = 1 << 3,
    FDFLAG_SYNC = 1 << 4,
    FDFLAGS_ALL = (1 << 5) - 1,
};

enum abi_oflags {
    OFLAG_CREAT = 1 << 0,
    OFLAG_DIRECTORY = 1 << 1,
    OFLAG_EXCL = 1 << 2,
    OFLAG_TRUNC = 1 << 3,
    OFLAGS_ALL = (1 << 4) - 1,
};

enum abi_lookupflags { LOOKUP_SYMLINK_FOLLOW = 1 << 0 };

enum abi_fstflags {
    FST_ATIM = 1 << 0,
    FST_ATIM_NOW = 1 << 1,
    FST_MTIM = 1 << 2,
    FST_MTIM_NOW = 1 << 3,
    FST_ALL = (1 << 4) - 1,
};

enum abi_eventtype { EVENT_CLOCK = 0, EVENT_FD_READ = 1, EVENT_FD_WRITE = 2 };
enum abi_eventrwflags { EVENT_HANGUP = 1 << 0 };
enum abi_subclockflags { SUBCLOCK_ABSTIME = 1 << 0 };
enum abi_preopentype { PREOPEN_DIR = 0 };

struct abi_iovec {
    uint32_t buf;
    uint32_t len;
};

struct abi_fdstat {
    uint8_t filetype;
    uint8_t pad0;
    uint16_t flags;
    uint32_t pad1;
    uint64_t rights_base;
    uint64_t rights_inheriting;
};

struct abi_prestat {
    uint32_t tag;
    uint32_t name_len;
};

struct abi_filestat {
    uint64_t dev;
    uint64_t ino;
    uint64_t filetype; /* a byte and seven of padding */
    uint64_t nlink;
    uint64_t size;
    uint64_t atim;
    uint64_t mtim;
    uint64_t ctim;
};

struct abi_filestat_unstable {
    uint64_t dev;
    uint64_t ino;
    uint32_t filetype; /* a byte and three of padding */
    uint32_t nlink;
    uint64_t size;
    uint64_t atim;
    uint64_t mtim;
    uint64_t ctim;
};

struct abi_dirent {
    uint64_t next;
    uint64_t ino;
    uint32_t name_len;
    uint32_t type; /* a byte and three of padding */
};

struct abi_subscription {
    uint64_t userdata;
    uint8_t tag;
    uint8_t pad0[7];
    uint32_t id; /* of the clock, or the descriptor */
    uint32_t pad1;
    uint64_t timeout;
    uint64_t precision;
    uint16_t flags;
    uint8_t pad2[6];
};

struct abi_subscription_unstable {
    uint64_t userdata;
    uint8_t tag;
    uint8_t pad0[7];
    uint64_t identifier; /* of the clock subscription, or the descriptor in its low half */
    uint32_t clock;
    uint32_t pad1;
    uint64_t timeout;
    uint64_t precision;
    uint16_t flags;
    uint8_t pad2[6];
};

struct abi_event {
    uint64_t userdata;
    uint16_t error;
    uint8_t type;
    uint8_t pad0[5];
    uint64_t nbytes;
    uint16_t flags;
    uint8_t pad1[6];
};

_Static_assert(sizeof(struct abi_iovec) == 8, "iovec");
_Static_assert(sizeof(struct abi_fdstat) == 24, "fdstat");
_Static_assert(offsetof(struct abi_fdstat, flags) == 2, "fdstat");
_Static_assert(sizeof(struct abi_prestat) == 8, "prestat");
_Static_assert(sizeof(struct abi_filestat) == 64, "filestat");
_Static_assert(sizeof(struct abi_filestat_unstable) == 56, "filestat of wasi_unstable");
_Static_assert(offsetof(struct abi_filestat_unstable, nlink) == 20, "filestat of wasi_unstable");
_Static_assert(sizeof(struct abi_dirent) == 24, "dirent");
_Static_assert(sizeof(struct abi_subscription) == 48, "subscription");
_Static_assert(offsetof(struct abi_subscription, flags) == 40, "subscription");
_Static_assert(sizeof(struct abi_subscription_unstable) == 56, "subscription of wasi_unstable");
_Static_assert(offsetof(struct abi_subscription_unstable, flags) == 48,
               "subscription of wasi_unstable");
_Static_assert(sizeof(struct abi_event) == 32, "event");
_Static_assert(offsetof(struct abi_event, nbytes) == 16, "event");
