/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the JSON documents of all kinds of watching have alike: members, stacks, and the document
 * around its intervals. */
#ifndef CLI_WATCH_MEMBERS_H
#define CLI_WATCH_MEMBERS_H

#include "base/json.h"
#include "cli/watch/watch_names.h"

/* Write a member of an object. A string that is NULL is left out. */
void member_u64(struct json *json, const char *key, uint64_t value);
void member_i64(struct json *json, const char *key, int64_t value);
void member_bool(struct json *json, const char *key, bool value);
void member_string(struct json *json, const char *key, const char *value);

/* Writes "frames": one object for each function, several for a frame into which functions were
 * inlined. `modules` NULL: they are the kernel's. */
struct error *member_frames(struct json *json, struct watch_names *names,
	const struct watch_modules *modules, const uint64_t *frames, unsigned count) must_check_;

/* Begin a document, and after its other members its array of intervals. */
void watch_json_head(struct json *json, const char *schema);
void watch_json_intervals(struct json *json);
/* Ends the document. Returns false if it could not be written. */
bool watch_json_end(struct json *json);

#endif
