/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads memory in ascending order, by large reads, and hands it out in pieces of whole words. What
 * is asked for and can't be read counts as zero, and its bytes are counted. */
#ifndef SEARCH_SCAN_READER_H
#define SEARCH_SCAN_READER_H

#include "search/memory.h"

#define SCAN_WINDOW_BYTES (1u << 20)

struct scan_reader {
	const struct search_memory *memory; /* borrowed */
	unsigned step;                      /* words begin at multiples of it, in bytes */
	uint8_t *window;
	uint64_t start, end;   /* addresses of what is in the window */
	uint64_t unread_bytes; /* bytes asked for that could not be read so far */
};

/* A piece of memory with the next words. */
struct scan_piece {
	uint64_t address; /* of the first word */
	const uint8_t *bytes;
	size_t len;
};

/* Opens a reader of `memory` (borrowed). Returns false if there is no memory. */
bool scan_open(const struct search_memory *memory, unsigned step, struct scan_reader *ret);
void scan_close(struct scan_reader *reader);

/* Called only by scan_next(): fills the window from *at on. Memory that was never touched is
 * skipped, and *at moved past it. Returns false if no whole word is left. */
bool scan_fill(struct scan_reader *reader, uint64_t *at, uint64_t end, uint64_t readable);

/*
 * Gives the next whole words of [*address, end) and moves *address past them. The window may be
 * filled up to `readable`, which may lie beyond `end`: what follows will be asked for next. Returns
 * false if no words are left. The piece is valid until the next call.
 */
static inline bool scan_next(struct scan_reader *reader, uint64_t *address, uint64_t end,
	uint64_t readable, struct scan_piece *ret)
{
	const struct scan_reader *s = reader;
	uint64_t at = (*address + s->step - 1) & ~(uint64_t)(s->step - 1);
	if (at + 8 > end ||
		((at < s->start || at + 8 > s->end) && !scan_fill(reader, &at, end, readable)))
		return false;
	uint64_t stop = end < s->end ? end : s->end;
	*ret = (struct scan_piece){at, s->window + (at - s->start), (size_t)(stop - at)};
	/* The address of the first word that does not fit whole. */
	*address = at + (stop - at - 8) / s->step * s->step + s->step;
	return true;
}

#endif
