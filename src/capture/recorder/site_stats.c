/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/site_stats.h"

#include "accounts/site_columns.h"
#include "capture/writer/columns.h"

#define VARINT_MOST 10ull

_Static_assert(
	SITE_STATS_ROWS *(uint64_t)SITE_COUNTERS_COUNT *VARINT_MOST + 4096 <= HPW_CHUNK_RAW_MAX,
	"they fit");

bool site_stats_put(struct buf *ret, const struct tally *tally, uint32_t first, uint32_t rows)
{
	struct columns c;
	uint32_t end = rows < tally->site_count - first ? first + rows : tally->site_count;
	columns_init(&c, HPW_SITE_COLUMNS);
	if (first)
		columns_add(&c, HPW_SITE_FIRST, first);
	else
		columns_leave(&c, HPW_SITE_FIRST);
	for (uint32_t i = first; i < end; i++)
		for (size_t column = 0; column < SITE_COUNTERS_COUNT; column++)
			columns_add(&c, site_columns[column].stored,
				site_column_stored(
					&site_columns[column], &tally->sites[i].counters));
	return columns_finish(&c, ret);
}
