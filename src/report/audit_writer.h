/*
 * audit_writer: the open log, shared by the files that write it. Everything here needs its lock.
 */
#pragma once

#include <sys/types.h>

#include "report/audit.h"
#include "report/audit_head.h"
#include "report/audit_line.h"

struct audit {
    struct audit_settings settings;
    int state;        /* the state folder */
    int folder;       /* AUDIT_FOLDER in it */
    int head_fd;      /* AUDIT_HEAD; also the lock */
    int log_fd;       /* AUDIT_LOG; -1: not open yet */
    uint64_t segment; /* the one that log_fd is */
    dev_t log_dev;    /* and which file: it may be renamed by another writer, */
    ino_t log_ino;    /* who is then killed before the head says so */
    struct audit_head head;
};

/*
 * Appends one record behind the log's end, which must be where audit->head says, and takes the head
 * along. link: what is to be said of retention; its other members are filled in. -1 and *err: log
 * and head are as they were.
 */
int audit_put(struct audit *audit, const struct audit_record *record, struct audit_link *link,
              struct err *err);
/* Opens log.jsonl, making it if need be. */
int audit_open_log(struct audit *audit, uint64_t *ret_size, struct err *err);
/* Reads the head, opens the log, and sees to it that the two fit (audit_settle.c). */
int audit_settle(struct audit *audit, struct err *err);
/* Begins a new segment if the log has grown enough, and removes old ones (audit_rotate.c). */
int audit_rotate(struct audit *audit, struct err *err);
/* The error for a system call that failed on the log. */
int audit_fail(const char *what, struct err *err);
