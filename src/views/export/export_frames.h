/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writers of stacks share: numbers for frames, in the order in which they are met, and their
 * names. Remarks on stacks are frames as well, unless a writer leaves them out.
 */
#ifndef VIEWS_EXPORT_FRAMES_H
#define VIEWS_EXPORT_FRAMES_H

#include "analysis/profile.h"
#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"

static inline uint64_t export_place_hash(uint32_t place)
{
	return hash_u64(place);
}

static inline bool export_place_equal(uint32_t a, uint32_t b)
{
	return a == b;
}

DEFINE_MAP(export_places, uint32_t, uint32_t, export_place_hash, export_place_equal)

/* Frames that read the same are one. All 0: none. */
struct export_frames {
	struct export_places numbers;
	struct frame_vec list; /* by number, from 0 */
};

void export_frames_deinit(struct export_frames *frames);
struct error *export_frames_number(
	struct export_frames *frames, const struct shown_frame *frame, uint32_t *ret) must_check_;

/* Whether it is the allocation function itself, which is there if all frames are shown. */
bool export_is_called(const struct row *row, const struct shown_frame *frame);

/* What stands where a row has no frames. */
#define EXPORT_NO_STACK "(no stack)"

/* Adds its function or what is known instead, or the remark. */
void export_add_name(struct text *text, const struct shown_frame *frame);
/* A JSON string of that, of a text that is used again. */
struct error *export_json_name(
	struct json *json, struct text *text, const struct shown_frame *frame) must_check_;

/* Adds the command line, its words with spaces between them. */
void export_add_command(struct text *text, const struct model *model);

#endif
