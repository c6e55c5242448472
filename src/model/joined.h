/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result of comparing a heap's blocks, as found in memory, with the live blocks in a recording
 * of the same process. Blocks are the same if address and size agree.
 */
#ifndef MODEL_JOINED_H
#define MODEL_JOINED_H

#include "model/model.h"

struct joined {
	const struct model *recording;   /* borrowed; has the sites and threads of `blocks` */
	const char *name;                /* its path; borrowed */
	const struct live_block *blocks; /* ascending by address; borrowed */
	size_t count;
	bool sampled;                    /* they are a sample: most blocks are not among them */
	uint64_t known, known_bytes;     /* in use, and in the recording; usable bytes */
	uint64_t unknown, unknown_bytes; /* in use, and not in the recording */
	uint64_t misfits;                /* of these: another block of it has the address */
	uint64_t missing, missing_bytes; /* of the recording, and not in use; requested bytes */
};

/* Returns whether a block of `usable` bytes may be that of a request: allocators round up to
 * classes, by up to a quarter, or to pages. */
static inline bool joined_fits(uint64_t requested, uint64_t usable)
{
	return requested <= usable && usable - requested <= requested / 2 + 8192;
}

/* Returns the recorded block at an address at which the heap has a block of `usable` bytes; NULL if
 * there is none that fits. */
static inline const struct live_block *joined_find(
	const struct joined *joined, uint64_t address, uint64_t usable)
{
	size_t from = 0, to = joined->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (joined->blocks[middle].address < address)
			from = middle + 1;
		else
			to = middle;
	}
	const struct live_block *found = &joined->blocks[from];
	return from < joined->count && found->address == address && joined_fits(found->size, usable)
		       ? found
		       : NULL;
}

#endif
