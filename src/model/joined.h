/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a heap, as its memory shows them, beside those that a recording of the same process
 * has as live: what came of it. They are the same where address and size agree.
 */
#ifndef MODEL_JOINED_H
#define MODEL_JOINED_H

#include "model/model.h"

struct joined {
	const struct model *recording;   /* borrowed; sites and threads of `blocks` are its */
	const char *name;                /* its path; borrowed */
	const struct live_block *blocks; /* ascending by address; borrowed */
	size_t count;
	bool sampled;                    /* they are a sample: most blocks are not among them */
	uint64_t known, known_bytes;     /* in use, and in the recording; usable bytes */
	uint64_t unknown, unknown_bytes; /* in use, and not in the recording */
	uint64_t misfits;                /* of these: another block of it has the address */
	uint64_t missing, missing_bytes; /* of the recording, and not in use; requested bytes */
};

/* Whether a block of so many usable bytes can be what was asked for: allocators give whole classes,
 * up to a quarter more, or pages. */
static inline bool joined_fits(uint64_t requested, uint64_t usable)
{
	return requested <= usable && usable - requested <= requested / 2 + 8192;
}

/* What the recording has at an address, where a block of so many usable bytes is. NULL: nothing
 * that fits. */
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
