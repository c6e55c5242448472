/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `watch --json` writes: one document, with an interval at a time (docs/schema/watch-1.md). */
#ifndef CLI_WATCH_JSON_H
#define CLI_WATCH_JSON_H

#include "base/json.h"
#include "cli/watch/watch_text.h"

/* Writes the beginning of the document. */
void watch_json_begin(struct json *json, const struct watch *watch, uint64_t pid,
	const struct watch_shown *shown);

/* Adds an interval, after watch_look(), and notes it in `before`. */
struct error *watch_json_add(struct json *json, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown, struct watch_before *before,
	uint64_t wall_seconds) must_check_;

/* Writes the objects of a frame: one for each function, if some are inlined. */
void watch_json_frame(
	struct json *json, const struct watch_modules *modules, const struct watch_frame *frame);

/* Ends the document. Returns false if it could not be written. */
bool watch_json_end(struct json *json);

#endif
