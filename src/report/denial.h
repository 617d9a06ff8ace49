/*
 * denial: something that wasp saw and refused, as JSON: an element of the envelope's `denials`.
 */
#pragma once

#include "base/json.h"
#include "plan/tell.h"

/* Writes the object, with a hint for the rules that have a remedy. */
void denial_write(struct json_writer *json, const struct tell_denial *denial);
