/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of musl's mallocng (since 1.2.1), without symbols (src/malloc/mallocng: meta.h,
 * malloc.c, free.c, aligned_alloc.c, donate.c).
 *
 * Blocks lie in groups of up to 32 slots of one size. A group is a mapping of its own, or a slot of
 * a larger group, or a gap in a module's data that the dynamic linker has given away:
 *
 *     | about it, slots begun | slot 0 | slot 1 | …       the last 4 bytes before a slot: its
 * header
 *
 * What describes groups is apart, in areas of a page, which begin with a secret number. A group
 * and its description lead to each other. Slots are free by two masks in the description; a used
 * one's header says where in the slot the block begins, and what of it was not asked for: sizes are
 * those that were asked for.
 */
#ifndef HEAP_NG_MALLOC_H
#define HEAP_NG_MALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

#define NG_UNIT 16u
#define NG_HEADER 4u /* bytes of a slot's */
#define NG_AREA_BYTES 4096u
#define NG_AREA_SLOTS 101u /* descriptions in an area */

struct ng_group {
	uint64_t address, about;
	uint64_t bytes;  /* with all slots, and the rest of its mapping */
	uint64_t stride; /* from slot to slot */
	uint32_t free;   /* bit i: slot i is */
	uint32_t slots;
};
DEFINE_VEC(ng_groups, struct ng_group)

struct ng_malloc {
	const struct address_space *space;
	struct heap_addresses areas;    /* of descriptions: ascending once found */
	struct ng_groups groups;        /* ascending */
	struct heap_ranges metadata;    /* the areas of descriptions */
	struct heap_damage_vec *damage; /* borrowed */
};

/* The parts. */

/* Fills `areas`. */
struct error *ng_context_find(
	struct ng_malloc *ng, const struct heap_area_vec *claimed) must_check_;
/* Finds what a description says, if it is one of a group that leads back to it. False: it is not.
 */
bool ng_group_read(const struct address_space *space, uint64_t about, const uint64_t *words,
	struct ng_group *ret);
/* The words of a description. */
enum { NG_PREVIOUS, NG_NEXT, NG_GROUP, NG_MASKS, NG_BITS, NG_WORDS };
/* The words before an area's descriptions. */
enum { NG_CHECK, NG_AREA_NEXT, NG_COUNT, NG_AREA_HEAD };

#endif
