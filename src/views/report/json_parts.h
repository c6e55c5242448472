/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the JSON forms share: members by name, and the parts that are alike in all of them. */
#ifndef VIEWS_JSON_PARTS_H
#define VIEWS_JSON_PARTS_H

#include "analysis/filter.h"
#include "analysis/rows.h"
#include "analysis/unrecorded.h"
#include "base/json.h"
#include "base/text.h"
#include "model/model.h"

void json_put_u64(struct json *json, const char *key, uint64_t value);
void json_put_bool(struct json *json, const char *key, bool value);
/* NULL gives null. */
void json_put_string(struct json *json, const char *key, const char *value);
/* A string, "0x…"; null if it is not known. */
void json_put_hexadecimal(struct json *json, const char *key, uint64_t value, bool known);
/* An array of the lines of a text. */
void json_put_lines(struct json *json, const char *key, const struct text *text);

/* A uint64_t in a struct, by its member's name. */
struct json_member {
	const char *name;
	size_t offset;
};
/* The same; where a figure is 0 it is not known: null. */
void json_put_known_members(
	struct json *json, const struct json_member *members, size_t count, const void *base);
void json_put_members(
	struct json *json, const struct json_member *members, size_t count, const void *base);

/* "target": {…}, "recording": {…} */
void json_put_target(struct json *json, const struct target *target);
/* unrecorded: programs without a recording; NULL leaves them out. */
void json_put_recording(
	struct json *json, const struct model *model, const struct unrecorded_groups *unrecorded);

/* "filter": as options of a command line; null without one (or NULL). */
void json_put_filter(struct json *json, const struct filter *filter);

/* "stack": […], each frame with what text makes of it; `own_doing` as of row_is_own_doing(). */
void json_put_frames(
	struct json *json, const struct shown_frame *const *frames, size_t depth, bool own_doing);

#endif
