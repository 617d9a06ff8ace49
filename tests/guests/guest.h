/*
 * guest: what several guests need. A guest that can do several things takes them as groups of
 * arguments parted by ",", does each and prints one line for each, so that one run shows several
 * attempts and a failed one does not hide the next.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct act {
    const char *name;
    int n_args;
    /* Prints what it found and returns 0, or an errno of WASI (the libc's are the same numbers). */
    int (*run)(char **args);
};

static inline const char *errno_name(int number)
{
    static const char *const names[] = {
        [EACCES] = "EACCES",   [EBADF] = "EBADF",
        [EEXIST] = "EEXIST",   [EFAULT] = "EFAULT",
        [EFBIG] = "EFBIG",     [EILSEQ] = "EILSEQ",
        [EINVAL] = "EINVAL",   [EIO] = "EIO",
        [EISDIR] = "EISDIR",   [ELOOP] = "ELOOP",
        [EMFILE] = "EMFILE",   [ENAMETOOLONG] = "ENAMETOOLONG",
        [ENFILE] = "ENFILE",   [ENOENT] = "ENOENT",
        [ENOMEM] = "ENOMEM",   [ENOSPC] = "ENOSPC",
        [EDQUOT] = "EDQUOT",   [ENOTDIR] = "ENOTDIR",
        [ENOTSUP] = "ENOTSUP", [ENOTEMPTY] = "ENOTEMPTY",
        [EPERM] = "EPERM",     [EROFS] = "EROFS",
        [EXDEV] = "EXDEV",     [ENXIO] = "ENXIO",
        [EAGAIN] = "EAGAIN",   [ENOTCAPABLE] = "ENOTCAPABLE",
    };
    static char other[16];
    if (number > 0 && number < (int) (sizeof names / sizeof names[0]) && names[number])
        return names[number];
    (void) snprintf(other, sizeof other, "E%d", number);
    return other;
}

/* Does the groups in argv and returns the exit code: 0, or 2 for a group that makes no sense. */
static inline int acts_main(const struct act *acts, size_t n_acts, int argc, char **argv)
{
    for (int i = 1; i < argc;) {
        int end = i;
        while (end < argc && strcmp(argv[end], ",") != 0)
            end++;
        const struct act *act = NULL;
        for (size_t a = 0; a < n_acts; a++)
            if (strcmp(acts[a].name, argv[i]) == 0 && acts[a].n_args == end - i - 1)
                act = &acts[a];
        if (!act) {
            fprintf(stderr, "no act '%s' with %d arguments\n", argv[i], end - i - 1);
            return 2;
        }
        printf("%s:", act->name);
        int failed = act->run(argv + i + 1);
        printf(" %s\n", failed ? errno_name(failed) : "ok");
        (void) fflush(stdout); /* what was done so far is to be seen even if the next act ends us */
        i = end + 1;
    }
    return 0;
}
