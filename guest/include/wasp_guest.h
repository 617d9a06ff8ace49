/*
 * wasp_guest: what a guest can ask wasp for, besides WASI. One header, no library: include it.
 *
 * Import module `wasp` has one function for each capability, all alike:
 *
 *     i32 fs_read(i32 request, i32 len)     a piece of a file of the host's
 *     i32 fs_write(i32 request, i32 len)    a file of the host's, anew or longer
 *     i32 exec_run(i32 request, i32 len)    a program, in a cell of its own
 *     i32 answer(i32 to, i32 cap)           what the last of them answered
 *
 * The request is `len` bytes of JSON (UTF-8, at most 1 MiB) in the guest's memory. The call returns
 * when the answer is there, and says how many bytes it has (at most 1 MiB); wasp keeps them until
 * the next call. `answer` copies at most `cap` of them and says how many it copied. Less than 0 is
 * one of WASP_E… below, and there is no answer.
 *
 *     fs_read  {"path": "/abs", "offset": 0, "max_bytes": 65536, "encoding": "text" | "base64"}
 *              {"data": "…" | "base64": "…", "size": 10, "offset": 0, "eof": true}
 *     fs_write {"path": "/abs", "data": "…" | "base64": "…",
 *               "mode": "replace" | "append" | "create"}
 *              {"bytes": 10}
 *     exec_run {"argv": ["git", "status"], "stdin": "…", "timeout_ms": 1000, "cwd": "/abs"}
 *              {"exit_code": 0, "reason": "exited", "stdout": "…", "stderr": "…",
 *               "truncated": false, "execution_time_ms": 12}
 *
 * Paths are the host's. Only "path", "data" or "base64", and "argv" must be there; what has a
 * default is shown with it, and "mode" is "replace". A file that is not text comes as "base64".
 *
 * An answer that begins with {"error": says why not, and is no trap:
 *
 *     {"error": {"code": "denied", "message": "…", "hint": "…" | null}}
 *
 * code: capability (the run was not given it at all), denied (not this path or program), invalid
 * (the request), not_found, unreadable, exists, limit, host. The message is for people and models,
 * the hint says who could change it and how. To ask again in other words does not help.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WASP_IMPORT(function) __attribute__((import_module("wasp"), import_name(function)))

int32_t wasp_import_fs_read(const char *request, int32_t len) WASP_IMPORT("fs_read");
int32_t wasp_import_fs_write(const char *request, int32_t len) WASP_IMPORT("fs_write");
int32_t wasp_import_exec_run(const char *request, int32_t len) WASP_IMPORT("exec_run");
int32_t wasp_import_answer(char *to, int32_t cap) WASP_IMPORT("answer");

/* What a call returns where there is no answer: the numbers of WASI's errors, negative. */
#define WASP_EFAULT (-21)    /* the request, or the room for the answer, is not in memory */
#define WASP_EIO (-29)       /* the door is broken: wasp is ending the run */
#define WASP_ENOMEM (-48)    /* no memory outside the guest for the answer */
#define WASP_EOVERFLOW (-61) /* the request is longer than 1 MiB */

/* The answer of a call that returned `len`, as text that free() frees. NULL: there is none. */
static inline char *wasp_take_answer(int32_t len)
{
    char *text = len < 0 ? NULL : malloc((size_t) len + 1);

    if (text != NULL)
        text[wasp_import_answer(text, len)] = '\0';
    return text;
}

/* One call: JSON in, JSON out, which free() frees. NULL: no answer, or no memory for it. */
static inline char *wasp_fs_read(const char *request)
{
    return wasp_take_answer(wasp_import_fs_read(request, (int32_t) strlen(request)));
}

static inline char *wasp_fs_write(const char *request)
{
    return wasp_take_answer(wasp_import_fs_write(request, (int32_t) strlen(request)));
}

static inline char *wasp_exec_run(const char *request)
{
    return wasp_take_answer(wasp_import_exec_run(request, (int32_t) strlen(request)));
}

/* True if it was not done. Of no answer, too. */
static inline bool wasp_is_error(const char *answer)
{
    return answer == NULL || strncmp(answer, "{\"error\":", 9) == 0;
}

/* Text as a JSON string with its quotes, which free() frees; NULL: no memory. UTF-8 stays so. */
static inline char *wasp_quote(const char *text)
{
    char *quoted = malloc(6 * strlen(text) + 3);
    char *at = quoted;

    if (quoted == NULL)
        return NULL;
    *at++ = '"';
    for (; *text != '\0'; text++)
        if ((unsigned char) *text < 0x20)
            at += sprintf(at, "\\u%04x", (unsigned char) *text);
        else {
            if (*text == '"' || *text == '\\')
                *at++ = '\\';
            *at++ = *text;
        }
    *at++ = '"';
    *at = '\0';
    return quoted;
}
