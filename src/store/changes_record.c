#include "store/changes_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define RUN_ID_SHAPE "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

static const char *const kinds[] = {"added", "changed", "deleted"};
_Static_assert(ARRAY_SIZE(kinds) == CHANGE_KINDS, "a name each");

static const char *const types[] = {"file", "directory", "symlink", "fifo", "socket", "device"};
_Static_assert(ARRAY_SIZE(types) == CHANGE_TYPES, "a name each");

static const char *const states[] = {"kept", "applying", "applied"};
_Static_assert(ARRAY_SIZE(states) == CHANGES_STATES, "a name each");

const struct change_refusal_words change_refusals[REFUSALS] = {
    [REFUSAL_NONE] = {NULL, "nothing is wrong with it"},
    [REFUSAL_SPECIAL] = {"special", "is a device, a fifo or a socket"},
    [REFUSAL_SETUID] = {"setuid", "has a setuid or setgid bit"},
    [REFUSAL_SYMLINK] = {"symlink", "is a symlink that leads out of the directory"},
    [REFUSAL_PROTECTED] = {"protected", "is a protected name"},
    [REFUSAL_CHANGED] = {"changed_since", "was changed on the host since the run began"},
    [REFUSAL_MOUNT] = {"mount", "is where the host has something mounted"},
    [REFUSAL_DEPTH] = {"depth", "lies too deep or has too long a path"},
    [REFUSAL_RESERVED] = {"reserved", "is a name that wasp itself uses while it applies"},
    [REFUSAL_ABOVE] = {"above", "lies in a directory that is refused"},
    [REFUSAL_BELOW] = {"below", "is a directory to remove, and something in it stays"},
};

const char *change_kind_name(enum change_kind kind)
{
    return kinds[kind];
}

const char *change_type_name(enum change_type type)
{
    return types[type];
}

const char *changes_state_name(enum changes_state state)
{
    return states[state];
}

uint64_t changes_total(const struct changes *changes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < CHANGE_KINDS; i++)
        total += changes->counts[i];
    return total;
}

int changes_check_run_id(const char *run_id, struct err *err)
{
    static const char shape[] = RUN_ID_SHAPE;
    size_t i = 0;

    for (; shape[i]; i++)
        if (shape[i] == '-' ? run_id[i] != '-'
                            : !run_id[i] || !strchr("0123456789abcdef", run_id[i]))
            break;
    if (!shape[i] && !run_id[i])
        return 0;
    (void) err_set(err, ERR_REQUEST, "'%s' is no run id", run_id); /* -1, as below */
    return err_hint(err, "'run_id' in the run's result says it, and 'wasp changes list'");
}

bool change_path_is_plain(const char *path)
{
    size_t len;

    for (;; path += len + 1) {
        len = strcspn(path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && memcmp(path, "..", 2) == 0))
            return false;
        if (!path[len])
            return true;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* As text, or under the other key in base64 if it is none. */
static void write_bytes(struct json_writer *json, const char *key, const char *key_b64,
                        const char *bytes)
{
    bool is_text = utf8_valid(bytes, strlen(bytes));

    json_key(json, is_text ? key : key_b64);
    if (is_text)
        json_put_string(json, bytes);
    else
        json_put_base64(json, bytes, strlen(bytes));
}

static void write_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_put_string(json, text);
}

static void write_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_put_uint(json, value);
}

/* Numbers that may be beyond 2^53 are strings: not every reader would keep their last digits. */
static void write_u64(struct json_writer *json, const char *key, uint64_t value)
{
    char text[24];

    (void) snprintf(text, sizeof(text), "%" PRIu64, value); /* fits */
    write_string(json, key, text);
}

static void write_i64(struct json_writer *json, const char *key, int64_t value)
{
    char text[24];

    (void) snprintf(text, sizeof(text), "%" PRId64, value); /* fits */
    write_string(json, key, text);
}

static void write_mode(struct json_writer *json, uint32_t mode)
{
    char text[8];

    (void) snprintf(text, sizeof(text), "%04o", mode & 07777U); /* fits */
    write_string(json, "mode", text);
}

static void write_host(struct json_writer *json, const struct change_host *host)
{
    json_key(json, "host");
    json_open_object(json);
    write_string(json, "type", types[host->type]);
    write_mode(json, host->mode);
    write_u64(json, "dev", host->dev);
    write_u64(json, "ino", host->ino);
    write_u64(json, "size", host->size);
    write_i64(json, "mtime_ns", host->mtime_ns);
    write_i64(json, "ctime_ns", host->ctime_ns);
    json_close_object(json);
}

void change_write_head(struct json_writer *json, const struct change *change)
{
    write_uint(json, "dir", change->dir);
    write_bytes(json, "path", "path_b64", change->path);
    write_string(json, "change", kinds[change->kind]);
    write_string(json, "type", types[change->type]);
}

void change_write(struct json_writer *json, const struct change *change)
{
    json_open_object(json);
    change_write_head(json, change);
    if (change->kind != CHANGE_DELETED) {
        write_uint(json, "size", change->size);
        write_mode(json, change->mode);
        write_i64(json, "mtime_ns", change->mtime_ns);
        json_key(json, "content");
        json_put_bool(json, change->content);
    }
    if (change->target)
        write_bytes(json, "target", "target_b64", change->target);
    if (change->host.there)
        write_host(json, &change->host);
    if (change->protected_by)
        write_string(json, "protected", change->protected_by);
    if (change->refused)
        write_string(json, "refused", change_refusals[change->refused].name);
    json_close_object(json);
}

static void write_dirs(struct json_writer *json, const struct changes *changes)
{
    json_key(json, "dirs");
    json_open_array(json);
    for (size_t i = 0; i < changes->n_dirs; i++) {
        const struct changes_dir *dir = &changes->dirs[i];
        json_open_object(json);
        write_bytes(json, "host", "host_b64", dir->host);
        write_bytes(json, "guest", "guest_b64", dir->guest);
        write_u64(json, "dev", dir->dev);
        write_u64(json, "ino", dir->ino);
        json_close_object(json);
    }
    json_close_array(json);
}

void changes_write(struct json_writer *json, const struct changes *changes)
{
    write_string(json, "schema", CHANGES_SCHEMA);
    write_string(json, "run_id", changes->run_id);
    write_u64(json, "started_ns", changes->started_ns);
    write_string(json, "kept_at", changes->kept_at[0] ? changes->kept_at : NULL);
    write_dirs(json, changes);
    for (size_t i = 0; i < CHANGE_KINDS; i++)
        write_uint(json, kinds[i], changes->counts[i]);
    write_uint(json, "protected", changes->n_protected);
    write_uint(json, "refused", changes->n_refused);
    write_uint(json, "bytes", changes->bytes);
}

void changes_write_applied(struct json_writer *json, const struct changes *changes)
{
    json_open_object(json);
    write_string(json, "applied_at", changes->applied_at);
    write_uint(json, "applied", changes->n_applied);
    write_uint(json, "left_out", changes->n_left_out);
    json_close_object(json);
}
