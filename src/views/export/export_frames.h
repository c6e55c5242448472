/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by writers of stacks: numbers of frames, in the order of their first use, and their names.
 * Remarks on stacks are frames as well, unless a writer omits them.
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

/* Frames with equal names are one. Zero-initialised: empty. */
struct export_frames {
	struct export_places numbers;
	struct frame_vec list; /* by number, from 0 */
};

void export_frames_deinit(struct export_frames *frames);
/* Adds a frame if it is new; *ret: its number. */
struct error *export_frames_number(
	struct export_frames *frames, const struct shown_frame *frame, uint32_t *ret) must_check_;

/* Whether `frame` is the allocation function itself, which stacks with all frames contain. */
bool export_is_called(const struct row *row, const struct shown_frame *frame);

/* Returns the return address of a frame in texts whose names are asked for separately: its own; of
 * code without any (Python's) one in no file, by its function and file, the same at any time. */
uint64_t export_served_address(const struct shown_frame *frame);

/* Replaces the frames of a row without any. */
#define EXPORT_NO_STACK "(no stack)"

/* Adds the function of a frame, else its address or file, or the remark. */
void export_add_name(struct text *text, const struct shown_frame *frame);
/* Adds that name as a JSON string; `text` is scratch space of the caller. */
struct error *export_json_name(
	struct json *json, struct text *text, const struct shown_frame *frame) must_check_;

/* Adds the command line, its words with spaces between them. */
void export_add_command(struct text *text, const struct model *model);

#endif
