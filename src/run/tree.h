/*
 * tree: a process and all its descendants, looked at through /proc. For limits where there is no
 * cgroup: it sees what is alive at the moment of looking, and what was waited for.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct tree {
    uint64_t cpu_ns;    /* of the living, and of the dead that were waited for */
    uint64_t rss_bytes; /* resident and not shared with others (RssAnon + RssShmem) */
    uint32_t processes; /* living */
};

/* Looks at pid and everything below it. 0, or -1 and errno if pid itself is gone. */
int tree_look(pid_t pid, struct tree *ret_tree);
