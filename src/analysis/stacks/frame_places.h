/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for shown frames that read the same: function, file, line, module, inlined or not. */
#ifndef ANALYSIS_FRAME_PLACES_H
#define ANALYSIS_FRAME_PLACES_H

#include "analysis/stacks/shown_frame.h"
#include "base/error.h"
#include "base/map.h"

/* Strings are never NULL here, so that they compare plainly; no function: "", identified by
 * address. */
struct place_key {
	const char *function, *file, *module;
	uint64_t address;
	uint32_t line;
	bool inlined;
	enum frame_kind kind;
};

uint64_t place_key_hash(struct place_key key);
bool place_key_equal(struct place_key a, struct place_key b);

DEFINE_MAP(place_map, struct place_key, uint32_t, place_key_hash, place_key_equal)

/* Sets the frame's `place`: the number of all that read like it, from 0 on. Its strings are kept.
 */
struct error *frame_places_add(struct place_map *places, struct shown_frame *frame) must_check_;

#endif
