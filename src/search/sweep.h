/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through memory in order, by large reads. What can't be read is zero, and counted. */
#ifndef SEARCH_SWEEP_H
#define SEARCH_SWEEP_H

#include "search/memory.h"

#define SWEEP_WINDOW_BYTES (1u << 20)

struct sweep {
	const struct search_memory *memory; /* borrowed */
	unsigned step;                      /* words begin at multiples of it */
	uint8_t *window;
	uint64_t start, end; /* what is in the window */
	uint64_t unread_bytes;
};

/* Some of the words that are gone through. */
struct sweep_piece {
	uint64_t address; /* of the first one */
	const uint8_t *bytes;
	size_t len;
};

/* False: no memory. */
bool sweep_open(const struct search_memory *memory, unsigned step, struct sweep *ret);
void sweep_close(struct sweep *sweep);

/* The second half of sweep_next(): lets the window begin at *at, or behind what was never touched.
 * False: no whole word is left. */
bool sweep_fill(struct sweep *sweep, uint64_t *at, uint64_t end, uint64_t readable);

/*
 * The next whole words of [*address, end); `readable` is how far it is worth reading on. *address
 * goes on to what comes after them. False: that was all. They stay until the next call.
 */
static inline bool sweep_next(struct sweep *sweep, uint64_t *address, uint64_t end,
	uint64_t readable, struct sweep_piece *ret)
{
	const struct sweep *s = sweep;
	uint64_t at = (*address + s->step - 1) & ~(uint64_t)(s->step - 1);
	if (at + 8 > end ||
		((at < s->start || at + 8 > s->end) && !sweep_fill(sweep, &at, end, readable)))
		return false;
	uint64_t stop = end < s->end ? end : s->end;
	*ret = (struct sweep_piece){at, s->window + (at - s->start), (size_t)(stop - at)};
	/* The next word that does not fit whole, at its own alignment. */
	*address = at + (stop - at - 8) / s->step * s->step + s->step;
	return true;
}

#endif
