/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/sweep.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
/* From so many bytes on it is worth asking whether they were ever touched. */
#define UNTOUCHED_ASK (128u << 10)

bool sweep_open(const struct search_memory *memory, unsigned step, struct sweep *ret)
{
	*ret = (struct sweep){.memory = memory, .step = step, .window = malloc(SWEEP_WINDOW_BYTES)};
	return ret->window;
}

void sweep_close(struct sweep *sweep)
{
	free(sweep->window);
	sweep->window = NULL;
}

static void fetch(struct sweep *s, uint64_t address, size_t bytes)
{
	const struct search_memory *memory = s->memory;
	size_t got = 0;
	while (got < bytes) {
		size_t n =
			memory->read(memory->context, address + got, s->window + got, bytes - got);
		got += n < bytes - got ? n : bytes - got;
		if (got == bytes)
			break;
		size_t hole = PAGE_BYTES - (size_t)((address + got) % PAGE_BYTES);
		hole = hole < bytes - got ? hole : bytes - got;
		memset(s->window + got, 0, hole);
		s->unread_bytes += hole;
		got += hole;
	}
	s->start = address;
	s->end = address + bytes;
}

static size_t untouched(const struct sweep *s, uint64_t address, uint64_t end)
{
	const struct search_memory *memory = s->memory;
	if (!memory->untouched || end - address < UNTOUCHED_ASK)
		return 0;
	return memory->untouched(memory->context, address, (size_t)(end - address));
}

bool sweep_fill(struct sweep *sweep, uint64_t *at, uint64_t end, uint64_t readable)
{
	while (*at + 8 <= end) {
		size_t skip = untouched(sweep, *at, end);
		if (skip < PAGE_BYTES) {
			uint64_t left = (readable > end ? readable : end) - *at;
			fetch(sweep, *at,
				left < SWEEP_WINDOW_BYTES ? (size_t)left : SWEEP_WINDOW_BYTES);
			return true;
		}
		*at += skip & ~7ull;
	}
	return false;
}
