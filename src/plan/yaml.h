/*
 * yaml: a document in restricted YAML: what JSON can say, with comments and without brackets. The
 * only file that knows libyaml.
 *
 * Refused: anchors, aliases, tags, directives, merge keys, keys that are no strings or are there
 * twice, more than one document, NUL, and whatever json_parse refuses of depth and size. A plain
 * scalar is true, false, null, an integer as JSON writes it, or a string; what another reader of
 * YAML takes for something else (yes, off, ~, Null, 0x1f, 1_000, 1.5, 12:30, 2024-01-01, nothing at
 * all) must be quoted.
 */
#pragma once

#include "plan/document.h"

/* As document_parse_json. */
int document_parse_yaml(const char *text, size_t len, struct problems *problems,
                        struct node *ret_document);
