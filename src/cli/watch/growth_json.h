/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `watch --growth --json` writes: one document, with an interval at a time
 * (docs/schema/growth-1.md). */
#ifndef CLI_GROWTH_JSON_H
#define CLI_GROWTH_JSON_H

#include "base/json.h"
#include "cli/watch/growth_text.h"

/* Writes the beginning of the document; watch_json_end() ends it. */
void growth_json_begin(struct json *json, uint64_t pid);

/* Adds an interval, after growth_look(), and notes it in `before`. */
struct error *growth_json_add(struct json *json, const struct growth *growth,
	struct watch_names *names, uint64_t top, struct growth_before *before,
	uint64_t wall_seconds) must_check_;

#endif
