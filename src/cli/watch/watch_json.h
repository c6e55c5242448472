/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `watch --json` writes: one document, with an interval at a time (docs/schema/watch-1.md). */
#ifndef CLI_WATCH_JSON_H
#define CLI_WATCH_JSON_H

#include "base/json.h"
#include "cli/watch/watch_members.h"
#include "cli/watch/watch_text.h"

/* Writes the beginning of the document; watch_json_end() ends it. */
void watch_json_begin(struct json *json, const struct watch *watch, uint64_t pid,
	const struct watch_shown *shown);

/* Adds an interval, after watch_look(), and notes it in `before`. */
struct error *watch_json_add(struct json *json, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown, struct watch_before *before,
	uint64_t wall_seconds) must_check_;

#endif
