/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a word can be a pointer: asked of every word of a heap. */
#ifndef HEAP_MAPPED_H
#define HEAP_MAPPED_H

#include "base/error.h"
#include "process/address_space.h"

#define MAPPED_BITS 21u /* 2 MiB */
#define MAPPED_ADDRESS_BITS 48u

/* Which words count as pointers. */
enum pointer_rule {
	POINTERS_ALIGNED, /* multiples of 8 */
	POINTERS_TAGGED,  /* programs keep marks in their last three bits, too */
	POINTERS_START, /* multiples of 8; what leads into the middle of a block does not hold it */
	POINTER_RULES
};

struct mapped {
	const struct process_maps *maps;
	/* A bit for each 2 MiB that has a mapping: 16 MiB, of which a few pages are ever touched.
	 */
	uint64_t *pages;
	uint64_t marks; /* bits of a pointer that mean nothing where it points to; others are 0 */
	uint64_t start, end;               /* of the mapping that was hit last */
	uint64_t start_before, end_before; /* of the one before */
};

struct error *mapped_open(
	const struct process_maps *maps, enum pointer_rule rule, struct mapped *ret) must_check_;
void mapped_close(struct mapped *mapped);

/* The second half of mapped_has(). */
bool mapped_look_up(struct mapped *mapped, uint64_t word);

/* A pointer by the rule, and into a mapping. */
static inline bool mapped_has(struct mapped *mapped, uint64_t word)
{
	if (word & 7 & ~mapped->marks || word >> MAPPED_ADDRESS_BITS)
		return false;
	if (word - mapped->start < mapped->end - mapped->start ||
		word - mapped->start_before < mapped->end_before - mapped->start_before)
		return true;
	uint64_t page = word >> MAPPED_BITS;
	return mapped->pages[page / 64] >> page % 64 & 1 && mapped_look_up(mapped, word);
}

#endif
