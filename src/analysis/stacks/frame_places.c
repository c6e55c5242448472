/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See frame_places.h. */
#include "analysis/stacks/frame_places.h"

#include <string.h>

#include "base/hash.h"

uint64_t place_key_hash(struct place_key key)
{
	uint64_t hash = hash_bytes(key.function, strlen(key.function));
	hash = hash_u64(hash ^ hash_bytes(key.file, strlen(key.file)));
	hash = hash_u64(hash ^ hash_bytes(key.module, strlen(key.module)));
	hash = hash_u64(hash ^ key.address ^ ((uint64_t)key.line << 1 | key.inlined) << 20);
	return hash_u64(hash ^ (uint64_t)key.kind);
}

bool place_key_equal(struct place_key a, struct place_key b)
{
	return a.line == b.line && a.inlined == b.inlined && a.address == b.address &&
	       a.kind == b.kind && strcmp(a.function, b.function) == 0 &&
	       strcmp(a.file, b.file) == 0 && strcmp(a.module, b.module) == 0;
}

struct error *frame_places_add(struct place_map *places, struct shown_frame *frame)
{
	struct place_key key = {
		.function = frame->function ? frame->function : "",
		.file = frame->file ? frame->file : "",
		.module = frame->module_path ? frame->module_path : "",
		.address = frame->function                     ? 0
			   : frame->module && !frame->unplaced ? frame->offset
							       : frame->address,
		.line = frame->line,
		.inlined = frame->inlined,
		.kind = frame->kind,
	};
	if (frame->mark != MARK_NONE)
		key.line = (uint32_t)frame->mark;
	bool is_new;
	uint32_t next = (uint32_t)places->len;
	uint32_t *place = place_map_insert(places, key, &is_new);
	if (!place)
		return error_no_memory();
	if (is_new)
		*place = next;
	frame->place = *place;
	return NULL;
}
