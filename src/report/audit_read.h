/*
 * audit_read: the log's lines in order, over all segments. Reading makes and changes nothing.
 */
#pragma once

#include "report/audit_files.h"
#include "report/audit_head.h"
#include "report/audit_line.h"

/* One file of the log. */
struct audit_source {
    uint64_t number; /* of a segment; 0: log.jsonl */
    int fd;          /* -1: not open; log.jsonl is, from the start: it may get another name */
    uint64_t limit;  /* so far it is read: what was there when we looked */
    char name[AUDIT_NAME_SIZE];
};

struct audit_reader {
    const char *state_dir;      /* borrowed */
    int state, folder, head_fd; /* -1: there is none */
    int watch;                  /* inotify; -1: nobody waited yet */
    enum audit_head_state head_state;
    struct audit_head head; /* if HEAD_GOOD; as it was when we looked */
    uint64_t log_size;      /* of log.jsonl, likewise; 0 if there is none */
    struct audit_source *sources;
    size_t n_sources;
    size_t at; /* the source that is being read */
    uint64_t line;
    uint64_t offset; /* in the source, of what comes behind the buffer */
    char *buffer;
    size_t start, end; /* what of the buffer was not handed out */
    bool is_skipping;  /* in a line that is longer than any record */
};

/* A line as it is in the file; the text lies in the reader until the next call. */
struct audit_raw {
    const char *text; /* without its newline */
    size_t len;
    const char *file; /* "log.jsonl" */
    uint64_t line;    /* in the file, from 1 */
    bool is_whole;    /* false: no newline at its end, which is that of the file */
    bool is_long;     /* longer than any record; the text is not kept */
};

/* A log that is not there is an empty one. state_dir stays borrowed. 0, or -1 and *err. */
int audit_reader_open(const char *state_dir, struct audit_reader **ret_reader, struct err *err);
void audit_reader_close(struct audit_reader *reader); /* NULL: nothing happens */
/* 1 and a line, 0 at the end of what was there when we looked, or -1 and *err. */
int audit_reader_next(struct audit_reader *reader, struct audit_raw *ret_raw, struct err *err);
/* Looks again: audit_reader_next then goes on with what was added meanwhile. */
int audit_reader_look(struct audit_reader *reader, struct err *err);
/*
 * Waits until something may have been added since audit_reader_look; false if nobody reads `out`
 * any more.
 */
bool audit_reader_wait(struct audit_reader *reader, int out);
/* The number that log.jsonl will have, by the files beside it. */
uint64_t audit_reader_next_number(const struct audit_reader *reader);
