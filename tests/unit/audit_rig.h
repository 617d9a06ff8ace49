/*
 * audit_rig: a log in a folder of its own, and what verify says of it.
 */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "report/audit.h"
#include "report/audit_files.h"
#include "report/audit_line.h"
#include "report/audit_read.h"
#include "report/audit_verify.h"
#include "tap.h"

struct rig {
    char dir[64];
    char log[128], head[128];
};

__attribute__((unused)) static void rig_name(struct rig *rig)
{
    (void) snprintf(rig->log, sizeof(rig->log), "%s/audit/log.jsonl", rig->dir);
    (void) snprintf(rig->head, sizeof(rig->head), "%s/audit.head", rig->dir);
}

__attribute__((unused)) static void rig_init(struct rig *rig)
{
    (void) snprintf(rig->dir, sizeof(rig->dir), "/tmp/wasp-audit-XXXXXX");
    if (!mkdtemp(rig->dir))
        abort();
    rig_name(rig);
}

__attribute__((unused)) static void rig_release(struct rig *rig)
{
    char command[128];

    (void) snprintf(command, sizeof(command), "rm -rf %s", rig->dir);
    if (system(command) != 0) /* NOLINT(cert-env33-c): a name of our own making */
        printf("# cannot remove %s\n", rig->dir);
}

__attribute__((unused)) static struct audit *rig_open(const struct rig *rig,
                                                      const struct audit_settings *settings)
{
    static const struct audit_settings plain = {.durability = DURABILITY_KILL};
    struct audit *audit = NULL;
    struct err err = {0};

    if (audit_open(rig->dir, settings ? settings : &plain, &audit, &err) < 0) {
        printf("# %s\n", err.message);
        return NULL;
    }
    return audit;
}

/* n records by one writer; the place of the last. */
__attribute__((unused)) static struct audit_place rig_append(const struct rig *rig,
                                                             const struct audit_settings *settings,
                                                             int n)
{
    struct audit *audit = rig_open(rig, settings);
    struct audit_place place = {0};
    struct err err = {0};

    for (int i = 0; audit && i < n; i++) {
        const struct audit_record record = {
            .event = "start", .principal = "owner", .decision = "allow", .run_id = "run-1"};
        if (audit_append(audit, &record, &place, &err) < 0)
            printf("# %s\n", err.message);
    }
    audit_close(audit);
    return place;
}

/* What was said last, for tests that look for words. */
struct said {
    uint64_t findings, notes;
    char finding[256], note[256];
    char file[AUDIT_NAME_SIZE];
    uint64_t line, seq;
};

__attribute__((unused)) static void rig_hear(const struct audit_finding *finding, void *data)
{
    struct said *said = data;

    if (finding->is_note) {
        said->notes++;
        (void) snprintf(said->note, sizeof(said->note), "%s", finding->what);
        return;
    }
    if (said->findings++ > 0)
        return; /* the first one is what the tests look at */
    (void) snprintf(said->finding, sizeof(said->finding), "%s", finding->what);
    (void) snprintf(said->file, sizeof(said->file), "%s", finding->file);
    said->line = finding->line;
    said->seq = finding->seq;
}

__attribute__((unused)) static struct said rig_verify(const struct rig *rig,
                                                      struct audit_verdict *ret_verdict)
{
    struct said said = {0};
    struct audit_verdict verdict = {0};
    struct err err = {0};

    if (audit_verify(rig->dir, NULL, rig_hear, &said, &verdict, &err) < 0) {
        said.findings = UINT64_MAX;
        (void) snprintf(said.finding, sizeof(said.finding), "%.200s", err.message);
    }
    if (ret_verdict)
        *ret_verdict = verdict;
    return said;
}

__attribute__((unused)) static size_t rig_read(const char *path, char *bytes, size_t room)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, room);

    return n < 0 ? 0 : (size_t) n;
}

__attribute__((unused)) static void rig_write(const char *path, const char *bytes, size_t len)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, bytes, len) != (ssize_t) len)
        abort();
}
