/* The audit log when its writers are many, are killed, or find no room. */
#include "audit_rig.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "report/audit_head.h"

#define ROOM ((size_t) 1 << 20)

/* ---- every state that a crash can leave ------------------------------------------------------ */

struct moment {
    char log[8192], head[AUDIT_HEAD_BYTES];
    size_t len;
};

static void freeze(const struct rig *rig, struct moment *moment)
{
    moment->len = rig_read(rig->log, moment->log, sizeof(moment->log));
    if (rig_read(rig->head, moment->head, sizeof(moment->head)) != sizeof(moment->head))
        abort();
}

/* The head as it is while the record between the two moments is written. */
static void head_between(const struct moment *before, const struct moment *after,
                         char ret_text[AUDIT_HEAD_BYTES])
{
    struct audit_head head, next;

    if (!audit_head_parse(before->head, &head) || !audit_head_parse(after->head, &next))
        abort();
    head.has_next = true;
    head.next = next.hash;
    head.next_size = next.size;
    audit_head_format(&head, ret_text);
}

/* What a crash left is no damage, and the next writer goes on. */
static bool survives(const struct rig *rig, uint64_t last_seq, uint64_t recovered)
{
    struct audit_verdict verdict;
    struct said said = rig_verify(rig, &verdict);

    if (said.findings > 0 || verdict.last_seq != last_seq) {
        printf("# %s, last is %" PRIu64 "\n", said.finding, verdict.last_seq);
        return false;
    }
    struct audit_place place = rig_append(rig, NULL, 1);
    said = rig_verify(rig, &verdict);
    if (said.findings > 0 || said.notes != recovered)
        printf("# after it: %s, %s\n", said.finding, said.note);
    return said.findings == 0 && said.notes == recovered && place.seq == last_seq + recovered + 1 &&
           verdict.last_seq == place.seq;
}

static void test_each_moment(void)
{
    struct moment before, after;
    char between[AUDIT_HEAD_BYTES];
    size_t failed = 0;
    struct rig rig;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    freeze(&rig, &before);
    (void) rig_append(&rig, NULL, 1);
    freeze(&rig, &after);
    head_between(&before, &after, between);
    for (size_t len = before.len; len <= after.len; len++) {
        bool is_whole = len == after.len;
        rig_write(rig.log, after.log, len);
        rig_write(rig.head, between, sizeof(between));
        failed += !survives(&rig, is_whole ? 4 : 3, len > before.len && !is_whole);
    }
    ok(failed == 0, "a writer may die after any byte of a record: %zu of %zu moments are damage",
       failed, after.len - before.len + 1);
    rig_write(rig.log, after.log, after.len);
    rig_write(rig.head, between, sizeof(between));
    (void) rig_append(&rig, NULL, 1);
    ok(rig_read(rig.log, before.log, sizeof(before.log)) > after.len &&
           memcmp(before.log, after.log, after.len) == 0,
       "a record that was whole stays, though its writer died");
    rig_release(&rig);
}

/* A cut or an addition is not taken for a crash, whatever the head was about to write. */
static void test_no_excuse(void)
{
    struct moment before, after;
    char between[AUDIT_HEAD_BYTES];
    struct rig rig;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 3);
    freeze(&rig, &before);
    (void) rig_append(&rig, NULL, 1);
    freeze(&rig, &after);
    head_between(&before, &after, between);
    rig_write(rig.head, between, sizeof(between));
    rig_write(rig.log, before.log, before.len - 1);
    ok(rig_verify(&rig, NULL).findings > 0, "a cut tail is found while a record is being written");
    memcpy(after.log + before.len, after.log, after.len - before.len);
    rig_write(rig.log, after.log, after.len);
    ok(rig_verify(&rig, NULL).findings > 0, "another record in the place of the next is found");
    rig_release(&rig);
}

/* ---- many writers ---------------------------------------------------------------------------- */

/* Appends until it is killed, or `most` times, and tells each place that was acknowledged. */
__attribute__((noreturn)) static void write_on(const struct rig *rig,
                                               const struct audit_settings *settings, int most,
                                               int tell)
{
    const struct audit_record record = {.event = "start", .reason = "storm", .principal = "owner"};
    struct audit_place place;
    struct err err = {0};

    for (int i = 0; i < most; i++) {
        struct audit *audit = rig_open(rig, settings);
        for (int j = 0; audit && j < 8; j++) {
            if (audit_append(audit, &record, &place, &err) < 0)
                _exit(1);
            if (write(tell, &place, sizeof(place)) != sizeof(place))
                _exit(2);
        }
        audit_close(audit);
    }
    _exit(0);
}

static pid_t start_writer(const struct rig *rig, const struct audit_settings *settings, int most,
                          int tell)
{
    pid_t pid = fork();

    if (pid == 0)
        write_on(rig, settings, most, tell);
    return pid;
}

struct acked {
    struct audit_place *places; /* by seq; seq 0: not acknowledged */
    size_t room, count;
    bool is_double;
};

static void note_acked(struct acked *acked, const struct audit_place *place)
{
    if (place->seq >= acked->room)
        abort();
    acked->is_double |= acked->places[place->seq].seq != 0;
    acked->places[place->seq] = *place;
    acked->count++;
}

/* Reads so many, or what there is until all writers are gone. */
static void hear_acks(int from, struct acked *acked, size_t most)
{
    struct audit_place place;

    for (size_t n = 0; n < most && read(from, &place, sizeof(place)) == sizeof(place); n++)
        note_acked(acked, &place);
}

static bool all_are_there(const struct rig *rig, const struct acked *acked)
{
    struct audit_reader *reader = NULL;
    struct audit_raw raw;
    struct audit_line line;
    struct err err = {0};
    char hex[DIGEST_HEX];
    size_t found = 0;

    if (audit_reader_open(rig->dir, &reader, &err) < 0)
        return false;
    while (audit_reader_next(reader, &raw, &err) > 0)
        if (raw.is_whole && audit_line_scan(raw.text, raw.len, &line) && line.seq < acked->room &&
            acked->places[line.seq].seq > 0) {
            digest_hex(&acked->places[line.seq].hash, hex);
            found += span_is(line.field[FIELD_HASH], hex);
        }
    audit_reader_close(reader);
    printf("# %zu acknowledged, %zu found\n", acked->count, found);
    return found == acked->count;
}

static void test_two_writers(void)
{
    struct acked acked = {.room = 4096};
    struct audit_verdict verdict;
    int pipes[2], status, good = 0;
    struct rig rig;

    rig_init(&rig);
    acked.places = calloc(acked.room, sizeof(*acked.places));
    if (!acked.places || pipe2(pipes, O_CLOEXEC) < 0)
        abort();
    pid_t pids[] = {start_writer(&rig, NULL, 100, pipes[1]),
                    start_writer(&rig, NULL, 100, pipes[1])};
    (void) close(pipes[1]);
    hear_acks(pipes[0], &acked, SIZE_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        good += waitpid(pids[i], &status, 0) == pids[i] && status == 0;
    (void) close(pipes[0]);
    struct said said = rig_verify(&rig, &verdict);
    ok(good == 2 && acked.count == 1600 && !acked.is_double && verdict.lines == 1600 &&
           said.findings == 0 && said.notes == 0 && all_are_there(&rig, &acked),
       "two writers at once: each record once, one chain %s", said.finding);
    free(acked.places);
    rig_release(&rig);
}

/* One round: writers in full swing, killed when so many records are acknowledged. */
static void storm(const struct rig *rig, const struct audit_settings *settings, struct acked *acked,
                  size_t acks)
{
    pid_t pids[3];
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        pids[i] = start_writer(rig, settings, 100000, pipes[1]);
    (void) close(pipes[1]);
    hear_acks(pipes[0], acked, acks);
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        if (pids[i] <= 0 || kill(pids[i], SIGKILL) < 0)
            abort();
    hear_acks(pipes[0], acked, SIZE_MAX); /* what they still got to say */
    (void) close(pipes[0]);
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        if (waitpid(pids[i], NULL, 0) != pids[i])
            abort();
}

static void test_storm(const char *what, const struct audit_settings *settings)
{
    struct acked acked = {.room = 400000};
    size_t damaged = 0;
    struct said said;
    struct rig rig;

    rig_init(&rig);
    acked.places = calloc(acked.room, sizeof(*acked.places));
    if (!acked.places)
        abort();
    srandom(6);
    for (int round = 0; round < 60; round++) {
        storm(&rig, settings, &acked, 1 + (size_t) random() % 40); /* NOLINT(cert-msc30-c) */
        said = rig_verify(&rig, NULL);
        damaged += said.findings > 0;
        if (said.findings > 0)
            printf("# round %d: %s:%" PRIu64 " %s\n", round, said.file, said.line, said.finding);
    }
    ok(damaged == 0, "%s: no kill -9 leaves damage", what);
    (void) rig_append(&rig, settings, 1);
    said = rig_verify(&rig, NULL);
    ok(said.findings == 0, "%s: and the next writer goes on %s", what, said.finding);
    ok(acked.count > 60 && !acked.is_double && all_are_there(&rig, &acked),
       "%s: nothing that was acknowledged is lost", what);
    free(acked.places);
    rig_release(&rig);
}

/* ---- no room --------------------------------------------------------------------------------- */

static void set_limit(rlim_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
}

/* A file that may not grow takes a part of what is written to it. */
static void test_short_write(void)
{
    const struct audit_record record = {.event = "end", .reason = "exited"};
    struct moment before, after;
    struct audit_place place = {0};
    struct err err = {0};
    struct rig rig;

    rig_init(&rig);
    (void) rig_append(&rig, NULL, 4);
    freeze(&rig, &before);
    struct audit *audit = rig_open(&rig, NULL);
    set_limit(before.len + 50);
    int rc = audit_append(audit, &record, &place, &err);
    set_limit(RLIM_INFINITY);
    freeze(&rig, &after);
    ok(rc < 0 && err.code == ERR_HOST && err.hint[0], "a record without room is refused: %s; %s",
       err.message, err.hint);
    ok(before.len == after.len && memcmp(before.log, after.log, before.len) == 0 &&
           memcmp(before.head, after.head, sizeof(before.head)) == 0,
       "and nothing of it stays, in the log or in the head");
    ok(audit_append(audit, &record, &place, &err) == 0 && place.seq == 5 &&
           rig_verify(&rig, NULL).findings == 0,
       "with room it is the next one");
    audit_close(audit);
    rig_release(&rig);
}

/* In a child with mounts of its own; the exit status counts what went wrong, 77: not possible. */
static int fill_disk(const struct rig *rig)
{
    const struct audit_record record = {.event = "end", .reason = "exited"};
    struct audit_place place = {0};
    struct audit *audit;
    struct err err = {0};
    char ballast[128];
    int bad = 0;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", rig->dir, "tmpfs", 0, "size=128k,mode=0700") < 0)
        return 77;
    (void) snprintf(ballast, sizeof(ballast), "%s/ballast", rig->dir);
    rig_write(ballast, rig->dir, 32);
    audit = rig_open(rig, NULL);
    while (audit && audit_append(audit, &record, &place, &err) == 0)
        ;
    bad += !audit || err.errnum != ENOSPC || place.seq < 10;
    struct audit_verdict verdict = {0};
    bad += rig_verify(rig, &verdict).findings != 0 || verdict.last_seq != place.seq;
    bad += unlink(ballast) < 0 || audit_append(audit, &record, &place, &err) < 0 ||
           place.seq != verdict.last_seq + 1;
    audit_close(audit);
    bad += mount(NULL, rig->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0;
    bad +=
        audit_open(rig->dir, &(struct audit_settings){0}, &audit, &err) == 0 || err.errnum != EROFS;
    bad += rig_verify(rig, &verdict).findings != 0 || verdict.last_seq != place.seq;
    return bad;
}

static void test_full_disk(void)
{
    struct rig rig;
    int status = 0;

    rig_init(&rig);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fill_disk(&rig));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip("no small disk can be made here: it takes root");
    else
        ok(status == 0, "a full disk refuses, keeps what was acknowledged, and takes the next when "
                        "there is room; a read-only one refuses and can be verified");
    rig_release(&rig);
}

int main(void)
{
    const struct audit_settings plain = {.durability = DURABILITY_KILL};
    const struct audit_settings small = {.durability = DURABILITY_KILL, .rotate_bytes = 1500};
    const struct audit_settings power = {.durability = DURABILITY_POWER, .rotate_bytes = 5000};

    (void) signal(SIGXFSZ, SIG_IGN); /* as the command does */
    test_each_moment();
    test_no_excuse();
    test_two_writers();
    test_storm("one file", &plain);
    test_storm("with many rotations", &small);
    test_storm("with every record on the disk", &power);
    test_short_write();
    test_full_disk();
    return done();
}
