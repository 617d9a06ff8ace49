/*
 * changes_record: changes as text. Text in, struct out; touches no file. For store/changes_*.c and
 * their tests.
 */
#pragma once

#include "store/changes.h"

#define CHANGES_SCHEMA "wasp.changes/1"
#define CHANGES_RECORD_MAX JSON_MAX_BYTES
#define CHANGE_LINE_MAX (64 * 1024) /* a path and a target, each byte six characters at worst */

/* An entry that was read, with what it points to. */
struct change_line {
    struct change change;
    char path[CHANGES_PATH_SIZE];
    char target[CHANGES_PATH_SIZE];
    char rule[64];
};

/* A UUID in lower case: it is a folder's name too. 0, or -1 and *err (ERR_REQUEST). */
int changes_check_run_id(const char *run_id, struct err *err);
/* True if it has components, and none of them is "." or "..". */
bool change_path_is_plain(const char *path);

/* Reads a line strictly. 0, or -1 and *err; *ret_line is then of no use. */
int change_parse(const char *text, size_t len, struct change_line *ret_line, struct err *err);
/* Reads the record of that run, without its entries. */
int changes_parse(const char *text, size_t len, const char *run_id, struct arena *arena,
                  struct changes *ret, struct err *err);

/* What says that they were applied, read into the fields of CHANGES_APPLIED. */
void changes_write_applied(struct json_writer *json, const struct changes *changes);
int changes_parse_applied(const char *text, size_t len, struct changes *changes, struct err *err);
