#include "run/protect.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "plan/protected.h"
#include "run/protect_walk.h"

static int64_t in_ns(const struct timespec *time)
{
    return (int64_t) time->tv_sec * (int64_t) NS_PER_S + time->tv_nsec;
}

uint8_t protect_root(int dir, const char *name, const char *const *unprotected)
{
    char link[32], path[PATH_MAX];

    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", dir); /* fits */
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    path[len > 0 ? len : 0] = '\0';
    return protected_root(len > 0 ? path : name, unprotected);
}

static struct protect_walk walk_of(const char *name, const struct protect_want *want)
{
    return (struct protect_walk){
        .name = name,
        .unprotected = want->unprotected,
        .max_entries = want->max_entries > 0 ? want->max_entries : PROTECT_MAX_ENTRIES,
    };
}

/* ---- before the run -------------------------------------------------------------------------- */

struct scan {
    const char *name;
    const struct protect_want *want;
    struct arena *arena;
    struct protect_pins *pins;
};

static const struct plan_pin *find_pin(const struct protect_pins *pins, uint32_t grant,
                                       const char *path, size_t len)
{
    for (size_t i = 0; i < pins->count; i++) {
        const struct plan_pin *pin = &pins->pins[i];
        if (pin->grant == grant && strncmp(pin->path, path, len) == 0 && pin->path[len] == '\0')
            return pin;
    }
    return NULL;
}

static struct protect_stamp stamp_of(const struct protect_entry *entry)
{
    struct stat st;

    if (fstatat(entry->dir, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return (struct protect_stamp){.ino = 0}; /* gone by now: if it comes back, it is another */
    return (struct protect_stamp){.ino = st.st_ino, .ctime_ns = in_ns(&st.st_ctim)};
}

static int make_room(struct scan *scan, struct err *err)
{
    struct protect_pins *pins = scan->pins;

    if (pins->pins != NULL)
        return 0;
    pins->pins = arena_array(scan->arena, PROTECT_MAX_PINS, sizeof(*pins->pins));
    pins->stamps = arena_array(scan->arena, PROTECT_MAX_PINS, sizeof(*pins->stamps));
    return pins->pins == NULL || pins->stamps == NULL ? err_no_memory(err) : 0;
}

static int add_pin(struct scan *scan, enum pin_kind kind, const char *path, size_t len,
                   struct err *err)
{
    struct protect_pins *pins = scan->pins;

    if (pins->count == PROTECT_MAX_PINS) {
        (void) err_set(err, ERR_DENIED,
                       "there are more than %d protected names in '%s', or directories that hold "
                       "them",
                       PROTECT_MAX_PINS, scan->name);
        return err_hint(err, "grant a smaller directory, grant it as ':overlay' or ':ro', or name "
                             "the most frequent ones with --unprotect");
    }
    if (make_room(scan, err) < 0)
        return -1;
    char *kept = arena_strndup(scan->arena, path, len);
    if (kept == NULL)
        return err_no_memory(err);
    pins->pins[pins->count++] =
        (struct plan_pin){.grant = scan->want->grant, .kind = kind, .path = kept};
    return 0;
}

/*
 * Each directory above a protected name: it could be moved away with the name in it, and a new one
 * be put in its place.
 */
static int add_places(struct scan *scan, const char *path, struct err *err)
{
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t len = (size_t) (slash - path);
        if (find_pin(scan->pins, scan->want->grant, path, len) == NULL &&
            add_pin(scan, PIN_PLACE, path, len, err) < 0)
            return -1;
    }
    return 0;
}

static int refuse_link(const struct scan *scan, const char *path, const char *rule, struct err *err)
{
    (void) err_set(err, ERR_DENIED,
                   "the protected name '%s' in '%s' is a symbolic link: what it leads to cannot be "
                   "protected",
                   path, scan->name);
    return err_hint(err,
                    "grant the directory as ':overlay' or ':ro', or allow changes with "
                    "--unprotect %s",
                    rule);
}

/* The rule for a name itself, not for what lies beneath it; NULL: none. */
static const char *rule_of(const struct protect_entry *entry)
{
    if (protected_at_rule(entry->above) != NULL)
        return NULL;
    return entry->type == DT_DIR ? protected_at_name(entry->at) : protected_at_move(entry->at);
}

/* ".git": as a directory it takes changes, as a file it does not. */
static bool is_place(const struct protect_entry *entry)
{
    return entry->type == DT_DIR && protected_at_rule(entry->at) == NULL;
}

static int scan_entry(void *data, const struct protect_entry *entry, struct err *err)
{
    struct scan *scan = data;
    const char *path = entry->path;
    const char *rule = scan->want->names ? rule_of(entry) : NULL;

    if (entry->type == DT_SOCK && scan->want->sockets)
        return add_pin(scan, PIN_MASK, path, strlen(path), err);
    if (rule == NULL)
        return 0;
    if (entry->type == DT_LNK && !scan->want->unheld)
        return refuse_link(scan, path, rule, err);
    enum pin_kind kind = is_place(entry) ? PIN_PLACE : PIN_READ_ONLY;
    if (add_places(scan, path, err) < 0 || add_pin(scan, kind, path, strlen(path), err) < 0)
        return -1;
    if (kind == PIN_READ_ONLY)
        scan->pins->stamps[scan->pins->count - 1] = stamp_of(entry);
    return 0;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    (void) clock_gettime(clock, &now); /* both are there since 2.6.32 */
    return in_ns(&now);
}

/*
 * Files are stamped with the time of the last tick, ten milliseconds ago at most. After the next
 * one all that was there is older, and all that the guest will do is not.
 */
static int64_t wait_for_tick(void)
{
    int64_t begin = clock_ns(CLOCK_REALTIME), now;

    while ((now = clock_ns(CLOCK_REALTIME_COARSE)) <= begin)
        (void) nanosleep(&(struct timespec){.tv_nsec = NS_PER_S / 1000}, NULL); /* again, if cut */
    return now;
}

int protect_scan(int dir, const char *name, const struct protect_want *want, struct arena *arena,
                 struct protect_pins *pins, struct err *err)
{
    struct scan scan = {.name = name, .want = want, .arena = arena, .pins = pins};
    struct protect_walk walk = walk_of(name, want);

    walk.visit = scan_entry;
    walk.data = &scan;
    walk.whole = want->sockets; /* that a directory is read-only keeps nobody from connecting */
    if (protect_walk(dir, protect_root(dir, name, want->unprotected), &walk, err) < 0)
        return -1;
    if (want->unheld && pins->since_ns == 0)
        pins->since_ns = wait_for_tick();
    return 0;
}

/* ---- after the run --------------------------------------------------------------------------- */

struct report {
    const struct protect_want *want;
    const struct protect_pins *pins;
    struct arena *arena;
    struct protect_found *found;
    size_t count, more;
};

static int add_found(struct report *report, const char *path, const char *rule, struct err *err)
{
    if (report->count == PROTECT_MAX_PINS) {
        report->more++;
        return 0;
    }
    if (report->found == NULL)
        report->found = arena_array(report->arena, PROTECT_MAX_PINS, sizeof(*report->found));
    char *kept = arena_strdup(report->arena, path);
    if (report->found == NULL || kept == NULL)
        return err_no_memory(err);
    report->found[report->count++] = (struct protect_found){.path = kept, .rule = rule};
    return 0;
}

static bool is_changed(const struct report *report, const struct protect_entry *entry,
                       const struct plan_pin *pin)
{
    const struct protect_stamp *before = &report->pins->stamps[pin - report->pins->pins];
    struct protect_stamp now = stamp_of(entry);

    return now.ino != 0 && (now.ino != before->ino || now.ctime_ns != before->ctime_ns);
}

static int report_entry(void *data, const struct protect_entry *entry, struct err *err)
{
    struct report *report = data;
    const char *path = entry->path, *rule = rule_of(entry);
    const char *beneath = protected_at_rule(entry->above);

    if (beneath != NULL) { /* only where nothing was held */
        bool is_new = stamp_of(entry).ctime_ns >= report->pins->since_ns;
        return is_new ? add_found(report, path, beneath, err) : 0;
    }
    if (rule == NULL)
        return 0;
    const struct plan_pin *pin = find_pin(report->pins, report->want->grant, path, strlen(path));
    if (pin == NULL || (!is_place(entry) && is_changed(report, entry, pin)))
        return add_found(report, path, rule, err);
    return 0;
}

int protect_report(int dir, const char *name, const struct protect_want *want,
                   const struct protect_pins *pins, struct arena *arena,
                   struct protect_found **ret_found, size_t *ret_count, size_t *ret_more,
                   struct err *err)
{
    struct report report = {.want = want, .pins = pins, .arena = arena};
    struct protect_walk walk = walk_of(name, want);

    walk.visit = report_entry;
    walk.data = &report;
    walk.whole = want->unheld;
    walk.must_see = true;
    int rc = protect_walk(dir, protect_root(dir, name, want->unprotected), &walk, err);
    *ret_found = report.found;
    *ret_count = report.count;
    *ret_more = report.more;
    return rc;
}
