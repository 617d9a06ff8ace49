/*
 * tap: what a unit test says, as TAP on stdout.
 *
 *     ok(units_parse_size("64k", …) == 0, "a size takes the suffix %s", "k");
 *     skip("no user namespaces here");
 *     return done();
 *
 * A sentence is one that would be false if the code broke. Each line is flushed at once, so that a
 * crash or a fork neither loses nor repeats one.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* The one state a test program has; each program includes this header once. */
static struct {
    int count;
    int failed;
} tap;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool holds, const char *file,
                                                                 int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("%sok %d - ", holds ? "" : "not ", ++tap.count);
    (void) vprintf(format, args);
    va_end(args);
    printf("\n");
    if (!holds) {
        tap.failed++;
        printf("# at %s:%d\n", file, line);
    }
    (void) fflush(stdout); /* a stdout that is gone leaves nobody to tell */
    return holds;
}

__attribute__((format(printf, 1, 2), unused)) static void tap_skip(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("ok %d # SKIP ", ++tap.count);
    (void) vprintf(format, args);
    va_end(args);
    printf("\n");
    (void) fflush(stdout); /* as above */
}

__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap.count);
    if (tap.failed > 0)
        printf("# %d of %d failed\n", tap.failed, tap.count);
    return fflush(stdout) != 0 || tap.failed > 0;
}

/* True if it held, so that what follows from it can be left out. */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define skip(...) tap_skip(__VA_ARGS__)
/* The program's exit status: `return done();` */
#define done() tap_done()
