/*
 * tree: a process and all its descendants, looked at through /proc. For limits where there is no
 * cgroup: it sees what is alive at the moment of looking, and what was waited for.
 *
 * A look costs about 25 µs a process, and never goes past TREE_MOST of them.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define TREE_MOST 16384

struct tree {
    uint64_t cpu_ns; /* of the living, and of the dead that were waited for; in steps of 10 ms */
    /*
     * All that is resident: pages that several processes have in common, as after fork, count for
     * each of them, and so do pages of files. At least the truth, which tree_weigh tells.
     */
    uint64_t rss_bytes;
    uint32_t processes; /* living */
};

/* Looks at pid and everything below it. 0, or -1 and errno if pid itself is gone. */
int tree_look(pid_t pid, struct tree *ret_tree);
/*
 * As tree_look, without files and with common pages shared out among those that have them. Walks
 * all page tables, so only for when the first number is above the limit. Who cannot be weighed
 * counts as in a look.
 */
int tree_weigh(pid_t pid, struct tree *ret_tree);
/*
 * As tree_look, by looking at every process there is. tree_look does so itself on a kernel without
 * CONFIG_PROC_CHILDREN; here for its test.
 */
int tree_scan(pid_t pid, struct tree *ret_tree);
