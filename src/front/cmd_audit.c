/*
 * audit: the log of what was asked, decided and done: show, verify, export.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "front/environment.h"
#include "front/page.h"
#include "front/verb.h"
#include "report/audit_filter.h"
#include "report/audit_read.h"
#include "report/audit_show.h"
#include "report/audit_told.h"
#include "wasp.h"

#define EXIT_FINDINGS 1   /* as `doctor`: it worked, and not all is well */
#define CHUNK_BYTES 65536 /* so much is written at once */

static int read_state_dir(struct arena *arena, const char **ret_dir, struct err *err)
{
    struct environment environment;

    if (environment_read(arena, &environment, err) < 0)
        return -1;
    *ret_dir = environment.places.state_dir;
    return 0;
}

/* ---- what show and export have in common ----------------------------------------------------- */

static const char *const formats[] = {"jsonl", "ocsf", NULL};
static const char *const decisions[] = {"allow", "ask", "deny", NULL};

struct audit_options {
    struct audit_filter filter;
    bool follow, json, head_only, quiet;
    const char *format; /* export; NULL: jsonl */
    bool has_anchor;    /* verify */
    struct audit_place anchor;
};

#define TAKE_TEXT(member)                                                                          \
    static int take_##member(void *target, struct arena *arena, const char *word, struct err *err) \
    {                                                                                              \
        struct audit_options *options = target;                                                    \
        return audit_filter_text(word, arena, &options->filter.member, err);                       \
    }
TAKE_TEXT(event)
TAKE_TEXT(run_id)
TAKE_TEXT(principal)
TAKE_TEXT(decision)

static int take_since(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct audit_options *options = target;

    (void) arena; /* a time has room of its own */
    return audit_filter_time(word, "--since", clock_realtime_ns(), options->filter.since, err);
}

static int take_until(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct audit_options *options = target;

    (void) arena; /* as above */
    return audit_filter_time(word, "--until", clock_realtime_ns(), options->filter.until, err);
}

static const struct option filter_rows[] = {
    {"--event", "EVENT", "only records of this event: start, end, refused, approved, …",
     .kind = OPTION_TAKE, .take = take_event},
    {"--run-id", "RUN_ID", "only records of this run", .kind = OPTION_TAKE, .take = take_run_id},
    {"--principal", "PRINCIPAL", "only records of who asked: owner, agent:NAME",
     .kind = OPTION_TAKE, .take = take_principal},
    {"--decision", "allow|ask|deny", "only records that were decided so", .kind = OPTION_TAKE,
     .take = take_decision, .choices = decisions},
    {"--since", "TIME", "only records from then on: 2026-01-31T12:00:00Z, 2026-01-31, or 10m ago",
     .kind = OPTION_TAKE, .take = take_since},
    {"--until", "TIME", "only records before then", .kind = OPTION_TAKE, .take = take_until},
};

static const struct option_table filter_table = {filter_rows, ARRAY_SIZE(filter_rows)};
static const struct option_table *const filters[] = {&filter_table, NULL};

/* How a record is printed. 0, or -1: no memory. */
typedef int print_line(const struct audit_raw *raw, const struct audit_line *line, struct buf *out);

static int print_json(const struct audit_raw *raw, const struct audit_line *line, struct buf *out)
{
    (void) line; /* as it is in the file */
    return buf_add(out, raw->text, raw->len) < 0 ? -1 : buf_add_char(out, '\n');
}

static int print_text(const struct audit_raw *raw, const struct audit_line *line, struct buf *out)
{
    (void) raw;
    return audit_show_line(line, out);
}

static int print_ocsf(const struct audit_raw *raw, const struct audit_line *line, struct buf *out)
{
    return audit_ocsf_line(raw->text, raw->len, line, out);
}

struct listing {
    struct audit_reader *reader;
    const struct audit_filter *filter;
    print_line *print;
    struct buf out;
    uint64_t n_bad; /* lines that are no records */
    struct audit_place last;
    char last_hash[DIGEST_HEX];
};

static void listing_release(struct listing *listing)
{
    audit_reader_close(listing->reader);
    buf_release(&listing->out);
}

static int flush(struct listing *listing, struct err *err)
{
    if (listing->out.len > 0 &&
        fd_write_all(STDOUT_FILENO, listing->out.data, listing->out.len) < 0)
        return err_sys(err, ERR_HOST, "cannot write to standard output");
    listing->out.len = 0;
    return 0;
}

static int list_line(struct listing *listing, const struct audit_raw *raw, struct err *err)
{
    struct audit_line line;

    if (!raw->is_whole)
        return 0; /* a writer was killed: it was never acknowledged */
    if (raw->is_long || !audit_line_scan(raw->text, raw->len, &line)) {
        listing->n_bad++;
        return 0;
    }
    listing->last.seq = line.seq;
    memcpy(listing->last_hash, line.field[FIELD_HASH].text, AUDIT_HASH_HEX);
    if (!audit_filter_matches(listing->filter, &line))
        return 0;
    if (listing->print(raw, &line, &listing->out) < 0)
        return err_no_memory(err);
    return listing->out.len >= CHUNK_BYTES ? flush(listing, err) : 0;
}

/* All that is there. */
static int list_records(struct listing *listing, struct err *err)
{
    struct audit_raw raw;
    int rc;

    while ((rc = audit_reader_next(listing->reader, &raw, err)) > 0)
        if (list_line(listing, &raw, err) < 0)
            return -1;
    return rc < 0 ? -1 : flush(listing, err);
}

/* The exit status, with a line on stderr if the log was damaged. */
static int end_listing(const struct listing *listing)
{
    char text[128];

    if (listing->n_bad == 0)
        return 0;
    (void) snprintf(text, sizeof(text), /* fits */
                    "%llu lines are no records and were left out: see 'wasp audit verify'",
                    (unsigned long long) listing->n_bad);
    wasp_say(STDERR_FILENO, text);
    return EXIT_FINDINGS;
}

static int open_listing(const struct call *call, const struct syntax *syntax,
                        struct audit_options *options, struct listing *listing, struct err *err)
{
    const char *state_dir;

    listing->out = (struct buf) BUF_INIT(CHUNK_BYTES + 16 * AUDIT_MAX_RECORD);
    listing->filter = &options->filter;
    if (options_parse(syntax, call->words, options, call->arena, err) < 0 ||
        read_state_dir(call->arena, &state_dir, err) < 0)
        return -1;
    return audit_reader_open(state_dir, &listing->reader, err);
}

/* ---- show ------------------------------------------------------------------------------------ */

static const struct option show_rows[] = {
    {"--follow", NULL, "go on with what is added, until a signal", .kind = OPTION_FLAG,
     .at = offsetof(struct audit_options, follow)},
    {"--json", NULL, "print the records as they are, one JSON object a line", .kind = OPTION_FLAG,
     .at = offsetof(struct audit_options, json)},
};

static const struct syntax show_syntax = {
    .verb = "audit show",
    .options = show_rows,
    .n_options = ARRAY_SIZE(show_rows),
    .shared = filters,
};

static int follow(struct listing *listing, struct err *err)
{
    while (audit_reader_wait(listing->reader, STDOUT_FILENO))
        if (audit_reader_look(listing->reader, err) < 0 || list_records(listing, err) < 0)
            return -1;
    return 0;
}

static int show(const struct call *call)
{
    struct audit_options options = {.follow = false};
    _cleanup_(listing_release) struct listing listing = {.reader = NULL};
    struct err err;
    int rc = open_listing(call, &show_syntax, &options, &listing, &err);

    listing.print = options.json ? print_json : print_text;
    if (rc == 0)
        rc = list_records(&listing, &err);
    if (rc == 0 && options.follow)
        rc = follow(&listing, &err);
    return rc < 0 ? page_fail(&err) : end_listing(&listing);
}

static const struct verb verb_show = {
    .syntax = &show_syntax,
    .summary = "print the audit log's records",
    .about =
        "Prints a line for each record, the oldest first: time, number, event and what else it "
        "says; digests are cut to 12 digits. With --json the records as they are ('wasp "
        "schema audit'). Changes and makes nothing. It does not check the chain: that is "
        "'audit verify'. Exit status 1 if lines of the log are no records.",
    .main = show,
};

/* ---- verify ---------------------------------------------------------------------------------- */

static int take_anchor(void *target, struct arena *arena, const char *word, struct err *err)
{
    struct audit_options *options = target;

    (void) arena; /* it has room of its own */
    if (!audit_anchor_parse(word, &options->anchor)) {
        (void) err_set(err, ERR_USAGE, "--head takes SEQ:HASH, not '%s'", word); /* -1, as below */
        return err_hint(err, "'wasp audit export --head' prints one");
    }
    options->has_anchor = true;
    return 0;
}

static const struct option verify_rows[] = {
    {"--json", NULL, "print it as JSON", .kind = OPTION_FLAG,
     .at = offsetof(struct audit_options, json)},
    {"--head", "SEQ:HASH", "a head that was kept elsewhere: the log must hold it",
     .kind = OPTION_TAKE, .take = take_anchor},
};

static const struct syntax verify_syntax = {
    .verb = "audit verify",
    .options = verify_rows,
    .n_options = ARRAY_SIZE(verify_rows),
};

static int run_verify(const struct call *call, struct audit_options *options,
                      struct audit_told *told, struct audit_verdict *ret_verdict, struct err *err)
{
    const char *state_dir;

    if (options_parse(&verify_syntax, call->words, options, call->arena, err) < 0 ||
        read_state_dir(call->arena, &state_dir, err) < 0)
        return -1;
    audit_told_init(told, options->json);
    return audit_verify(state_dir, options->has_anchor ? &options->anchor : NULL, audit_told_hear,
                        told, ret_verdict, err);
}

static int verify(const struct call *call)
{
    _cleanup_(audit_told_release) struct audit_told told = {.json = false};
    _cleanup_(page_release) struct page page = PAGE_INIT;
    struct audit_options options = {.has_anchor = false};
    struct audit_verdict verdict;
    struct err err;

    if (run_verify(call, &options, &told, &verdict, &err) < 0)
        return page_fail(&err);
    page.text.max = AUDIT_TOLD_MAX_BYTES;
    page.failed = audit_told_finish(&told, &verdict, &page.text) < 0;
    int failed = page_print(&page);
    return failed ? failed : verdict.findings > 0 ? EXIT_FINDINGS : 0;
}

static const struct verb verb_verify = {
    .syntax = &verify_syntax,
    .summary = "prove that the audit log is what wasp wrote",
    .about =
        "Reads all of the log: each record must be as it was written and follow the one before, "
        "and the last must be the one that the head names. Prints each finding with file, line "
        "and number; a note is worth knowing, but nothing is wrong. Who can write both log and "
        "head can rewrite both: keep what 'audit export --head' prints elsewhere, and give it "
        "as --head. Exit status: 0 if there is no finding, 1 if there is.",
    .main = verify,
};

/* ---- export ---------------------------------------------------------------------------------- */

static const struct option export_rows[] = {
    {"--format", "jsonl|ocsf", "the records as they are (the default), or events as OCSF has them",
     .kind = OPTION_TEXT, .at = offsetof(struct audit_options, format), .choices = formats},
    {"--head", NULL, "print nothing but the head, as SEQ:HASH", .kind = OPTION_FLAG,
     .at = offsetof(struct audit_options, head_only)},
    {"--quiet", NULL, "do not tell the head on stderr", .kind = OPTION_FLAG,
     .at = offsetof(struct audit_options, quiet)},
};

static const struct syntax export_syntax = {
    .verb = "audit export",
    .options = export_rows,
    .n_options = ARRAY_SIZE(export_rows),
    .shared = filters,
};

/* What to keep elsewhere. */
static int print_head(const struct audit_reader *reader)
{
    _cleanup_(page_release) struct page page = PAGE_INIT;
    char hex[DIGEST_HEX];
    struct err err;

    if (reader->head_state != HEAD_GOOD || reader->head.seq == 0) {
        (void) err_set(&err, ERR_HOST, "there is no head to print"); /* always -1 */
        (void) err_hint(&err, "see 'wasp audit verify'");
        return page_fail(&err);
    }
    digest_hex(&reader->head.hash, hex);
    page_add(&page, "%llu:%s\n", (unsigned long long) reader->head.seq, hex);
    return page_print(&page);
}

static void say_head(const struct listing *listing)
{
    char text[128];

    (void) snprintf(text, sizeof(text), "the audit log's head is %llu:%s", /* fits */
                    (unsigned long long) listing->last.seq, listing->last_hash);
    if (listing->last.seq > 0)
        wasp_say(STDERR_FILENO, text);
}

static int export(const struct call *call)
{
    struct audit_options options = {.format = NULL};
    _cleanup_(listing_release) struct listing listing = {.reader = NULL};
    struct err err;
    int rc = open_listing(call, &export_syntax, &options, &listing, &err);

    if (rc == 0 && options.head_only)
        return print_head(listing.reader);
    bool is_ocsf = options.format && strcmp(options.format, "ocsf") == 0;
    listing.print = is_ocsf ? print_ocsf : print_json;
    if (rc == 0)
        rc = list_records(&listing, &err);
    if (rc < 0)
        return page_fail(&err);
    if (!options.quiet)
        say_head(&listing);
    return end_listing(&listing);
}

static const struct verb verb_export = {
    .syntax = &export_syntax,
    .summary = "print the audit log for other systems",
    .about =
        "Prints one JSON object a line: the records as they are ('wasp schema audit'), or "
        "events of OCSF 1.3.0 (class API Activity) that hold the record as raw_data. The head, "
        "with which 'audit verify --head' proves the log later, goes to stderr. Exit status 1 "
        "if lines of the log are no records.",
    .main = export,
};

static const struct verb *const verbs[] = {&verb_show, &verb_verify, &verb_export, NULL};

static const struct syntax syntax = {.verb = "audit"};

const struct verb verb_audit = {
    .syntax = &syntax,
    .summary = "see, verify or export the log of what was asked, decided and done",
    .verbs = verbs,
};
