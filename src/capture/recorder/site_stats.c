/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/site_stats.h"

#include "capture/writer/columns.h"

#define COLUMNS 11ull
#define VARINT_MOST 10ull

_Static_assert(SITE_STATS_ROWS *COLUMNS *VARINT_MOST + 4096 <= HPW_CHUNK_RAW_MAX, "they fit");

bool site_stats_put(struct buf *ret, const struct tally *tally, uint32_t first, uint32_t rows)
{
	struct columns c;
	uint32_t end = rows < tally->site_count - first ? first + rows : tally->site_count;
	columns_init(&c, first ? COLUMNS + 1 : COLUMNS);
	if (first)
		columns_add(&c, COLUMNS, first);
	for (uint32_t i = first; i < end; i++) {
		const struct tally_site *s = &tally->sites[i];
		const uint64_t row[COLUMNS] = {s->allocations, s->allocated_bytes, s->live_blocks,
			s->live_bytes, s->peak_blocks, s->peak_bytes, s->temporary, s->same_frame,
			s->failed, s->allocations ? s->min_size : 0, s->max_size};
		for (unsigned column = 0; column < COLUMNS; column++)
			columns_add(&c, column, row[column]);
	}
	return columns_finish(&c, ret);
}
