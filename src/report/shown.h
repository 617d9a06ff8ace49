/*
 * shown: text from outside (paths, arguments, messages) as a string of an answer, with what looks
 * like a key and what is registered as a secret taken out.
 */
#pragma once

#include "base/json.h"
#include "base/redact.h"

/* Need not be UTF-8. secrets may be NULL. */
void shown_put(struct json_writer *json, const char *text, size_t len,
               const struct secrets *secrets);
