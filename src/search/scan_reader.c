/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/impl/scan_reader.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
/* Bytes from which it is worth asking whether they were ever touched. */
#define UNTOUCHED_ASK (128u << 10)

bool scan_open(const struct search_memory *memory, unsigned step, struct scan_reader *ret)
{
	*ret = (struct scan_reader){
		.memory = memory, .step = step, .window = malloc(SCAN_WINDOW_BYTES)};
	return ret->window;
}

void scan_close(struct scan_reader *reader)
{
	free(reader->window);
	reader->window = NULL;
}

/*
 * Fills the window with `bytes` bytes, of which the first `asked` are asked for now. Between blocks
 * there may be memory that can't be read, such as the pages behind guarded blocks: where that
 * begins after what is asked for, the window ends, and nothing is lost.
 */
static void fill_window(struct scan_reader *s, uint64_t address, size_t bytes, size_t asked)
{
	const struct search_memory *memory = s->memory;
	size_t got = 0;
	while (got < asked) {
		size_t n =
			memory->read(memory->context, address + got, s->window + got, bytes - got);
		got += n < bytes - got ? n : bytes - got;
		if (n || got >= asked)
			continue;
		size_t hole = PAGE_BYTES - (size_t)((address + got) % PAGE_BYTES);
		hole = hole < asked - got ? hole : asked - got;
		memset(s->window + got, 0, hole);
		s->unread_bytes += hole;
		got += hole;
	}
	s->start = address;
	s->end = address + got;
}

static size_t window_size(uint64_t bytes)
{
	return bytes < SCAN_WINDOW_BYTES ? (size_t)bytes : SCAN_WINDOW_BYTES;
}

static size_t count_untouched(const struct scan_reader *s, uint64_t address, uint64_t end)
{
	const struct search_memory *memory = s->memory;
	if (!memory->untouched || end - address < UNTOUCHED_ASK)
		return 0;
	return memory->untouched(memory->context, address, (size_t)(end - address));
}

bool scan_fill(struct scan_reader *reader, uint64_t *at, uint64_t end, uint64_t readable)
{
	while (*at + 8 <= end) {
		size_t skip = count_untouched(reader, *at, end);
		if (skip < PAGE_BYTES) {
			fill_window(reader, *at,
				window_size((readable > end ? readable : end) - *at),
				window_size(end - *at));
			return true;
		}
		*at += skip & ~7ull;
	}
	return false;
}
