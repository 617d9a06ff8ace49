/*
 * doctor: a checkup in words and as JSON (`wasp.doctor/1`), and what it means for whoever asked.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "run/probe.h"

/*
 * 0: modules and programs run with full walls. 1: something is missing for that, but there is a way
 * to run something. 125: there is none.
 */
int doctor_exit_status(const struct checkup *checkup);
/* One object; json_finish is the caller's. */
void doctor_write_json(const struct checkup *checkup, struct json_writer *json);
/* Problems first, each with what to do; then the rest; then what can be used. 0, or -1. */
int doctor_write_text(const struct checkup *checkup, struct buf *text);
