/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/mappings.h"

#include "format/kinds.h"

#include <string.h>

#define ADDRESS_MAX (1ull << 56)

_Static_assert(HPW_MAPPING_MMAP + HW_MAP_KINDS == HPW_MAPPING_KINDS &&
		       HPW_MAPPING_MMAP + HW_MAP_THREAD == HPW_MAPPING_THREAD_STACK,
	"one for one");
_Static_assert((int)HPW_MAPPING_FILE == HW_MAP_FILE && (int)HPW_MAPPING_SHARED == HW_MAP_SHARED &&
		       (int)HPW_MAPPING_RESERVED == HW_MAP_RESERVED,
	"one for one");

void mappings_init(struct mappings *mappings)
{
	*mappings = (struct mappings){.written = 0};
	mapping_row_vec_init(&mappings->rows);
	mapping_info_vec_init(&mappings->infos);
	interval_map_init(&mappings->live);
	buf_init(&mappings->kept);
}

void mappings_deinit(struct mappings *mappings)
{
	mapping_row_vec_deinit(&mappings->rows);
	mapping_info_vec_deinit(&mappings->infos);
	interval_map_deinit(&mappings->live);
	buf_deinit(&mappings->kept);
}

static void on_lost_piece(void *context, uint32_t owner, uint64_t bytes)
{
	(void)owner;
	struct mappings *m = context;
	m->mapped_bytes -= bytes;
}

/* Brings the map up to date; without memory for that, there is no row either. */
static void put_row(struct mappings *m, const struct mapping_row *row)
{
	uint64_t number = m->written + m->rows.len, start = row->page * HPW_MAPPING_PAGE_BYTES,
		 bytes = row->pages * HPW_MAPPING_PAGE_BYTES;
	if (number >= HPW_MAPPINGS_MAX || !mapping_row_vec_reserve(&m->rows, m->rows.len + 1) ||
		!mapping_info_vec_reserve(&m->infos, number + 1)) {
		m->lost++;
		return;
	}
	bool maps = row->what >= HPW_MAPPING_MMAP;
	bool ok = maps ? interval_map_set(&m->live, start, start + bytes,
				 mapping_owner(number, row->what), on_lost_piece, m)
		       : interval_map_remove(&m->live, start, start + bytes, on_lost_piece, m);
	if (!ok) {
		m->lost++;
		return;
	}
	m->rows.data[m->rows.len++] = *row;
	m->infos.data[m->infos.len++] =
		(struct mapping_info){.stack = row->stack, .flags = row->flags};
	if (maps)
		m->mapped_bytes += bytes;
	if (m->mapped_bytes > m->peak_bytes)
		m->peak_bytes = m->mapped_bytes;
}

/* Libc unmaps stacks of ended threads as a whole, which no call says. Where something new lies over
 * a part of one, the rest of it is gone as well. (A program that maps something amid a stack that
 * is in use, by MAP_FIXED, is not known.) */
static void end_stacks_below(struct mappings *m, uint64_t start, uint64_t end, uint64_t stamp)
{
	const struct owned_range *range;
	for (uint64_t at = start; (range = interval_map_from(&m->live, at));) {
		const struct owned_range old = *range; /* rows change the map */
		if (old.start >= end)
			return;
		at = old.end;
		if (mapping_owner_what(old.owner) != HPW_MAPPING_THREAD_STACK)
			continue;
		if (old.start < start)
			mappings_gone(m, old.start, start, stamp);
		if (old.end > end)
			mappings_gone(m, end, old.end, stamp);
	}
}

bool mappings_add(
	struct mappings *mappings, uint32_t thread, const struct merge_mapping *mapping, bool own)
{
	const struct merge_mapping *m = mapping;
	if (m->address >= ADDRESS_MAX || m->bytes > ADDRESS_MAX - m->address || !m->bytes ||
		(m->address | m->bytes) % HPW_MAPPING_PAGE_BYTES ||
		(m->maps && (m->kind >= HW_MAP_KINDS || m->flags > HW_MAP_FLAGS)))
		return false;
	const struct mapping_row row = {.stamp = m->stamp,
		.page = m->address / HPW_MAPPING_PAGE_BYTES,
		.pages = m->bytes / HPW_MAPPING_PAGE_BYTES,
		.thread = thread == MERGE_NO_THREAD ? 0 : thread + 1,
		.stack = m->maps ? m->stack : 0,
		.what = (uint8_t)(m->maps ? HPW_MAPPING_MMAP + m->kind : HPW_MAPPING_UNMAPPED),
		.flags = m->maps ? (uint8_t)(m->flags | (own ? HPW_MAPPING_ALLOCATOR : 0u)) : 0};
	if (m->maps)
		end_stacks_below(mappings, m->address, m->address + m->bytes, m->stamp);
	put_row(mappings, &row);
	return true;
}

void mappings_gone(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t stamp)
{
	const struct mapping_row row = {.stamp = stamp,
		.page = start / HPW_MAPPING_PAGE_BYTES,
		.pages = (end - start) / HPW_MAPPING_PAGE_BYTES,
		.what = HPW_MAPPING_GONE};
	put_row(mappings, &row);
}

void mappings_keep(struct mappings *mappings, const struct buf *payload)
{
	uint64_t bytes = payload->len;
	buf_bytes(&mappings->kept, &bytes, sizeof(bytes));
	buf_bytes(&mappings->kept, payload->data, payload->len);
}

const uint8_t *mappings_kept(const struct mappings *mappings, size_t *at, size_t *ret_bytes)
{
	const struct buf *kept = &mappings->kept;
	uint64_t bytes;
	if (kept->failed || *at >= kept->len)
		return NULL;
	memcpy(&bytes, kept->data + *at, sizeof(bytes));
	const uint8_t *chunk = kept->data + *at + sizeof(bytes);
	*at += sizeof(bytes) + bytes;
	*ret_bytes = bytes;
	return chunk;
}
