/*
 * fd: descriptors. Everything is CLOEXEC from birth.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* openat2 with CLOEXEC added; resolve is RESOLVE_*. Returns a descriptor or -1 and errno. */
int fd_openat2(int dir, const char *path, uint64_t flags, mode_t mode, uint64_t resolve);
/* All of it or -1 and errno; EINTR is retried. */
int fd_write_all(int fd, const void *bytes, size_t len);
/* Reads until len bytes or the end; returns how many, or -1 and errno. EINTR is retried. */
ssize_t fd_read_full(int fd, void *bytes, size_t len);
/* An empty memfd that can be sealed, and sealing it against every change. Or -1 and errno. */
int fd_memory(const char *name);
int fd_seal(int fd);
/*
 * A memfd with the bytes in it, sealed against every change, at offset 0. -1 and *err on failure.
 */
int fd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd, struct err *err);
