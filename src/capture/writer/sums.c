/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/sums.h"

#include "accounts/site_columns.h"
#include "capture/writer/columns.h"
#include "capture/writer/footer.h"
#include "format/hpw.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(HPW_SUMS_COLUMNS <= COLUMNS_MAX, "there is room");

void sums_begin(struct sums *sums, struct tally *tally, struct encoder *encoder)
{
	sums->on = true;
	encoder->with_deaths = true;
	tally_part(tally);
}

void sums_deinit(struct sums *sums)
{
	free(sums->threads);
	*sums = (struct sums){.on = false};
}

void sums_end(struct sums *sums, struct tally *tally, struct encoder *encoder)
{
	if (!sums->on)
		return;
	sums_deinit(sums);
	encoder->with_deaths = false;
	block_chunks_deinit(&encoder->block_chunks);
	tally_parts_end(tally);
}

static void sums_put_head(const struct sums *sums, const struct tally *tally,
	const struct encoder *encoder, struct columns *c)
{
	const uint64_t head[HPW_SUMS_HEADS] = {
		[HPW_SUMS_FIRST_STEP] = encoder->first_step,
		[HPW_SUMS_STEPS] = encoder->steps,
		[HPW_SUMS_STAMP] = encoder->first_stamp,
		[HPW_SUMS_LIVE_BLOCKS] = sums->live_blocks,
		[HPW_SUMS_LIVE_BYTES] = sums->live_bytes,
		[HPW_SUMS_HIGHEST_BYTES] = tally->heap.highest_bytes,
		[HPW_SUMS_CALLS] = sums->calls - sums->calls_before,
		[HPW_SUMS_LOST] = tally->lost - sums->lost,
		[HPW_SUMS_UNKNOWN_FREES] = tally->unknown_frees - sums->unknown_frees,
		[HPW_SUMS_PADDING] = sums->live_padding,
		[HPW_SUMS_INSTRUCTIONS] = sums->instructions,
		[HPW_SUMS_MISMATCHED] = tally->mismatched - sums->mismatched,
	};
	for (unsigned i = 0; i < HPW_SUMS_HEADS; i++)
		columns_add(c, HPW_SUMS_HEAD, head[i]);
}

static int by_site(const void *a, const void *b)
{
	const struct tally_before *x = a, *y = b;
	return x->site < y->site ? -1 : x->site > y->site;
}

static void sums_put_sites(const struct tally *tally, struct columns *c)
{
	uint64_t last = 0;
	for (size_t i = 0; i < tally->before_count; i++) {
		const struct tally_before *b = &tally->before[i];
		struct site_counters part =
			site_counters_since(&tally->sites[b->site].counters, &b->counters);
		columns_add(c, HPW_SUMS_SITE, b->site - last);
		for (size_t column = 0; column < SITE_COUNTERS_COUNT; column++)
			if (site_columns[column].part != SITE_COLUMN_NONE)
				columns_add(c, site_columns[column].part,
					site_column_part(&site_columns[column], &part));
		last = b->site;
	}
}

static void sums_put_threads(const struct sums *sums, const struct tally *tally,
	const struct encoder *encoder, struct columns *c)
{
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		uint32_t thread = encoder->slots[s];
		const struct tally_thread *t = &tally->threads[thread];
		struct sums_thread b = {0};
		if (thread < sums->thread_capacity)
			b = sums->threads[thread];
		const uint64_t row[] = {thread, b.state, encoder->threads[thread]->first_allocation,
			t->allocations - b.allocations, t->allocated_bytes - b.allocated_bytes,
			t->frees - b.frees, t->temporary - b.temporary};
		for (unsigned column = 0; column < sizeof(row) / sizeof(row[0]); column++)
			columns_add(c, HPW_SUMS_THREAD + column, row[column]);
		columns_add(c, HPW_SUMS_THREAD_STACK, t->stack_bytes);
	}
}

static bool put_marks(const struct encoder *encoder, struct columns *c)
{
	const struct buf *rows[] = {&encoder->marks, &encoder->mark_stamps, &encoder->mark_blocks,
		&encoder->mark_bytes};
	bool ok = true;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_bytes(&c->column[HPW_SUMS_MARKS + i], rows[i]->data, rows[i]->len);
		ok = ok && !rows[i]->failed;
	}
	return ok;
}

bool sums_put(struct sums *sums, struct tally *tally, struct encoder *encoder, struct buf *ret)
{
	tally_settle_sizes(tally);
	if (!sums->on || tally->part_failed || encoder->block_chunks.given_up)
		return false;
	struct columns c;
	columns_init(&c, HPW_SUMS_COLUMNS);
	sums_put_head(sums, tally, encoder, &c);
	if (tally->before_count)
		qsort(tally->before, tally->before_count, sizeof(*tally->before), by_site);
	sums_put_sites(tally, &c);
	sums_put_threads(sums, tally, encoder, &c);
	bool ok = footer_sizes(&c, HPW_SUMS_SIZE, &tally->part_sizes);
	ok = put_marks(encoder, &c) && ok;
	return columns_finish(&c, ret) && ok;
}

bool sums_put_deaths(const struct sums *sums, struct encoder *encoder, struct buf *ret)
{
	size_t bytes = 0;
	if (!sums->on || encoder->block_chunks.given_up)
		return false;
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		const struct buf *rows = &encoder->threads[encoder->slots[s]]->deaths.rows;
		if (rows->failed)
			return false;
		bytes += rows->len;
	}
	if (!bytes)
		return true;
	buf_varint(ret, (uint64_t)encoder->slot_count + 1);
	struct buf head;
	buf_init(&head);
	buf_varint(&head, encoder->first_step);
	buf_varint(ret, 0);
	buf_varint(ret, head.len);
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		buf_varint(ret, s + 1ull);
		buf_varint(ret, encoder->threads[encoder->slots[s]]->deaths.rows.len);
	}
	buf_bytes(ret, head.data, head.len);
	bool ok = !head.failed;
	buf_deinit(&head);
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		const struct buf *rows = &encoder->threads[encoder->slots[s]]->deaths.rows;
		buf_bytes(ret, rows->data, rows->len);
	}
	return ok && !ret->failed;
}

/* The books of the threads that did something. */
static bool note_threads(
	struct sums *sums, const struct tally *tally, const struct encoder *encoder)
{
	if (tally->thread_count > sums->thread_capacity) {
		uint32_t capacity = tally->thread_count * 2;
		struct sums_thread *moved = realloc(sums->threads, capacity * sizeof(*moved));
		if (!moved)
			return false;
		memset(moved + sums->thread_capacity, 0,
			(capacity - sums->thread_capacity) * sizeof(*moved));
		sums->threads = moved;
		sums->thread_capacity = capacity;
	}
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		const struct tally_thread *t = &tally->threads[encoder->slots[s]];
		sums->threads[encoder->slots[s]] = (struct sums_thread){t->allocations,
			t->allocated_bytes, t->frees, t->temporary,
			(t->in_realloc ? HPW_SUMS_IN_REALLOC : 0u) |
				(t->fresh ? HPW_SUMS_FRESH : 0u)};
	}
	return true;
}

void sums_next(struct sums *sums, struct tally *tally, struct encoder *encoder)
{
	if (!sums->on)
		return;
	if (encoder->block_chunks.given_up || !note_threads(sums, tally, encoder)) {
		sums_end(sums, tally, encoder);
		return;
	}
	tally_part(tally);
	sums->live_blocks = tally->heap.live_blocks;
	sums->live_bytes = tally->heap.live_bytes;
	sums->live_padding = tally->heap.live_padding;
	sums->lost = tally->lost;
	sums->unknown_frees = tally->unknown_frees;
	sums->mismatched = tally->mismatched;
	sums->calls_before = sums->calls;
}
