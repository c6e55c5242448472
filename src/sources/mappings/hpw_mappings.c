/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/mappings/hpw_mappings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "format/hpw.h"
#include "sources/events/hpw_columns.h"

void hpw_mappings_deinit(struct hpw_mappings *mappings)
{
	hpw_mapping_rows_deinit(&mappings->rows);
}

bool hpw_mappings_takes(uint16_t type)
{
	return type == HPW_MAPPINGS;
}

/* The columns of a row, of which two are differences. */
static struct error *mapping_read(
	struct hpw_column *columns, uint64_t *stamp, uint64_t *page, struct hpw_mapping_row *ret)
{
	uint64_t values[HPW_MAPPING_COLUMNS];
	for (size_t k = 0; k < HPW_MAPPING_COLUMNS; k++) {
		struct error *error = hpw_column_next(&columns[k], &values[k]);
		if (error)
			return error;
	}
	*stamp += (uint64_t)zigzag_decode(values[HPW_MAPPING_STAMP]);
	*page += (uint64_t)zigzag_decode(values[HPW_MAPPING_PAGE]);
	uint64_t pages = values[HPW_MAPPING_PAGES];
	if (!pages || *page >= HPW_MAPPING_PAGES_MAX || pages > HPW_MAPPING_PAGES_MAX - *page)
		return error_create(
			ERROR_INPUT, "a mapping of %" PRIu64 " pages is out of range", pages);
	if (values[HPW_MAPPING_WHAT] >= HPW_MAPPING_KINDS)
		return error_create(ERROR_INPUT, "an unknown change of mappings, %" PRIu64,
			values[HPW_MAPPING_WHAT]);
	*ret = (struct hpw_mapping_row){.stamp = *stamp,
		.start = *page * HPW_MAPPING_PAGE_BYTES,
		.bytes = pages * HPW_MAPPING_PAGE_BYTES,
		.thread = values[HPW_MAPPING_THREAD] <= BUILD_THREADS_MAX
				  ? (uint32_t)values[HPW_MAPPING_THREAD]
				  : 0,
		.stack = values[HPW_MAPPING_STACK] < BUILD_STACKS_MAX
				 ? (uint32_t)values[HPW_MAPPING_STACK]
				 : 0,
		.what = (uint8_t)values[HPW_MAPPING_WHAT],
		.flags = values[HPW_MAPPING_FLAGS] & HPW_MAPPING_FLAG_BITS};
	return NULL;
}

struct error *hpw_mappings_decode(struct hpw_mappings *mappings, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_MAPPING_COLUMNS];
	size_t rows = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_MAPPING_COLUMNS);
	if (!error)
		error = hpw_columns_rows(
			columns, HPW_MAPPING_COLUMNS, (1u << HPW_MAPPING_COLUMNS) - 1, &rows);
	if (!error && rows > HPW_MAPPINGS_MAX - mappings->rows.len)
		error = error_create(
			ERROR_INPUT, "more than %u changes of mappings", HPW_MAPPINGS_MAX);
	if (!error && !hpw_mapping_rows_reserve(&mappings->rows, mappings->rows.len + rows))
		error = error_no_memory();
	uint64_t stamp = 0, page = 0;
	for (size_t i = 0; !error && i < rows; i++) {
		error = mapping_read(
			columns, &stamp, &page, &mappings->rows.data[mappings->rows.len]);
		mappings->rows.len += !error;
	}
	return error;
}

size_t hpw_mappings_until(const struct hpw_mappings *mappings, uint64_t stamp)
{
	size_t count = 0;
	while (count < mappings->rows.len && mappings->rows.data[count].stamp <= stamp)
		count++;
	return count;
}

struct error *hpw_mapped_init(struct hpw_mapped *mapped, const struct hpw_mappings *mappings,
	enum hpw_mappings_which which)
{
	*mapped = (struct hpw_mapped){.mappings = mappings, .which = which};
	interval_map_init(&mapped->live);
	mapped->left = calloc(mappings->rows.len + 1, sizeof(*mapped->left));
	return mapped->left ? NULL : error_no_memory();
}

void hpw_mapped_deinit(struct hpw_mapped *mapped)
{
	interval_map_deinit(&mapped->live);
	free(mapped->left);
	free(mapped->sites);
	free(mapped->ends_of_thread);
	*mapped = (struct hpw_mapped){.left = NULL};
}

static struct site_counters *site_of_row(struct hpw_mapped *mapped, size_t row)
{
	uint32_t site = mapped->mappings->rows.data[row].site;
	return mapped->sites ? &mapped->sites[site - mapped->first_site] : NULL;
}

static void lose_piece(void *context, uint32_t row, uint64_t bytes)
{
	struct hpw_mapped *m = context;
	struct site_counters *site = site_of_row(m, row);
	bool ends = !(m->left[row] -= bytes);
	m->live_bytes -= bytes;
	m->live_mappings -= ends;
	m->ended += ends;
	if (m->mappings->rows.data[row].flags & HPW_MAPPING_ALLOCATOR)
		m->allocator_bytes -= bytes;
	if (ends && m->ends_of_thread && m->current_thread && m->current_thread <= m->threads)
		m->ends_of_thread[m->current_thread - 1]++;
	if (!site)
		return;
	site->live_bytes -= bytes;
	site->live_blocks -= ends;
}

struct error *hpw_mapped_apply(struct hpw_mapped *mapped, size_t row, uint64_t *ret_bytes)
{
	struct hpw_mapped *m = mapped;
	const struct hpw_mapping_row *r = &m->mappings->rows.data[row];
	bool own = r->flags & HPW_MAPPING_ALLOCATOR;
	m->current_thread = r->thread;
	*ret_bytes = 0;
	if (!hpw_mapping_counts(r, m->which))
		return interval_map_remove(&m->live, r->start, r->start + r->bytes, lose_piece, m)
			       ? NULL
			       : error_no_memory();
	if (!interval_map_set(
		    &m->live, r->start, r->start + r->bytes, (uint32_t)row, lose_piece, m))
		return error_no_memory();
	struct site_counters *site = site_of_row(m, row);
	m->left[row] = r->bytes;
	m->live_bytes += r->bytes;
	m->live_mappings++;
	m->allocator_bytes += own ? r->bytes : 0;
	if (site) {
		site->live_bytes += r->bytes;
		site->live_blocks++;
	}
	*ret_bytes = r->bytes;
	return NULL;
}
