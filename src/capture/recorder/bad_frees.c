/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/bad_frees.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LATELY_BYTES (FREED_PLACES * sizeof(struct freed_place))

void bad_frees_init(struct bad_frees *frees, bool all, bool forked)
{
	*frees = (struct bad_frees){.all = all, .forked = forked};
	bad_free_vec_init(&frees->rows);
	bad_free_rows_init(&frees->places);
	open_free_vec_init(&frees->open);
	freed_map_init(&frees->freed);
	if (all)
		return;
	/* Not calloc: that would touch all of it once such a piece was freed before. */
	void *lately = mmap(NULL, LATELY_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	frees->lately = lately == MAP_FAILED ? NULL : lately;
}

void bad_frees_deinit(struct bad_frees *frees)
{
	bad_free_vec_deinit(&frees->rows);
	bad_free_rows_deinit(&frees->places);
	open_free_vec_deinit(&frees->open);
	freed_map_deinit(&frees->freed);
	if (frees->lately)
		munmap(frees->lately, LATELY_BYTES);
}

/* Equal rows differ only in their stamps, addresses and counts. */
static uint64_t key_of(const struct bad_free *row)
{
	struct bad_free key;
	memset(&key, 0, sizeof(key)); /* what lies between members, too */
	key.what = row->what;
	key.kind = row->kind;
	key.thread = row->thread;
	key.stack = row->stack;
	key.site = row->site;
	key.first_thread = row->first_thread;
	key.first_stack = row->first_stack;
	return hash_bytes(&key, sizeof(key));
}

/* Without memory, or room in the file, a row is left out; the counters have it. */
static void add_bad_free(struct bad_frees *frees, const struct bad_free *row)
{
	uint64_t key = key_of(row);
	uint32_t *place = bad_free_rows_find(&frees->places, key);
	if (place) {
		frees->rows.data[*place].count += row->count;
		return;
	}
	if (frees->written + frees->rows.len >= HPW_BAD_FREES_MAX)
		return;
	if (!bad_free_vec_push(&frees->rows, *row))
		return;
	place = bad_free_rows_insert(&frees->places, key, NULL);
	if (place)
		*place = (uint32_t)frees->rows.len - 1;
}

/* The thread's place; what was in it has come to its end. NULL: no memory. */
static struct open_free *open_of(struct bad_frees *frees, uint32_t thread)
{
	static const struct open_free none = {.row = {.what = 0}};
	while (frees->open.len <= thread)
		if (!open_free_vec_push(&frees->open, none))
			return NULL;
	struct open_free *open = &frees->open.data[thread];
	if (open->row.what)
		add_bad_free(frees, &open->row);
	*open = none;
	return open;
}

void bad_frees_note(struct bad_frees *frees, uint64_t address, uint32_t site, uint32_t thread,
	enum hw_free_kind kind)
{
	struct open_free *open = open_of(frees, thread);
	if (!open)
		return;
	open->place = (struct freed_place){.address = address, .site = site, .thread = thread};
	open->moving = kind == HW_FREE_REALLOC;
}

void bad_frees_unknown(struct bad_frees *frees, uint64_t address, uint32_t thread,
	enum hw_free_kind kind, uint64_t stamp)
{
	struct open_free *open = open_of(frees, thread);
	if (!open)
		return;
	struct bad_free row = {.stamp = stamp,
		.address = address,
		.count = 1,
		.what = HPW_BAD_FREE_UNKNOWN,
		.kind = kind,
		.thread = thread,
		.site = UINT32_MAX,
		.first_thread = FREED_BY_NONE};
	const struct freed_place *lately =
		frees->lately ? &frees->lately[(address >> 4) % FREED_PLACES] : NULL;
	const struct freed_from *before =
		frees->all ? freed_map_find(&frees->freed, address) : NULL;
	if (lately && lately->address == address && address) {
		row.what = HPW_BAD_FREE_TWICE;
		row.site = lately->site;
		row.first_thread = lately->thread;
	} else if (before) {
		row.what = HPW_BAD_FREE_TWICE;
		row.site = before->site;
		row.first_thread = before->thread;
		row.first_stack = before->stack;
	} else if (frees->forked) {
		/* It may be the parent's, unless the target thinks otherwise. */
		row.what = 0;
		open->place.address = frees->all ? 0 : address;
	}
	open->row = row;
	open->moving = kind == HW_FREE_REALLOC;
}

void bad_frees_mismatch(struct bad_frees *frees, uint64_t address, uint32_t site, uint32_t thread,
	enum hw_free_kind kind, uint64_t stamp)
{
	struct open_free *open = open_of(frees, thread);
	if (!open)
		return;
	open->place = (struct freed_place){.address = address, .site = site, .thread = thread};
	open->row = (struct bad_free){.stamp = stamp,
		.address = address,
		.count = 1,
		.what = HPW_BAD_FREE_MISMATCHED,
		.kind = kind,
		.thread = thread,
		.site = site,
		.first_thread = FREED_BY_NONE};
	open->moving = kind == HW_FREE_REALLOC;
}

/* With `all`: notes the free of the block, in case it is freed again. */
static void keep_stack(struct bad_frees *frees, const struct open_free *open, uint32_t stack)
{
	const struct freed_place *place = &open->place;
	const struct freed_from from = {
		.site = place->site, .thread = place->thread, .stack = stack};
	struct freed_from *kept = freed_map_insert(&frees->freed, place->address, NULL);
	if (kept)
		*kept = from;
}

void bad_frees_moved(struct bad_frees *frees, uint32_t thread, uint32_t stack)
{
	struct open_free *open = thread < frees->open.len ? &frees->open.data[thread] : NULL;
	if (!open || !open->moving)
		return;
	if (frees->all && open->place.address)
		keep_stack(frees, open, stack);
	open->row.stack = stack;
	(void)open_of(frees, thread);
}

void bad_frees_stack(struct bad_frees *frees, uint64_t address, uint32_t thread, uint32_t stack)
{
	if (thread >= frees->open.len)
		return;
	struct open_free *open = &frees->open.data[thread];
	if (frees->all && open->place.address == address && address) {
		keep_stack(frees, open, stack);
	} else if (!open->row.what && frees->forked && open->place.address == address && address) {
		open->row.what = HPW_BAD_FREE_UNKNOWN;
	}
	if (open->row.what && open->row.address == address)
		open->row.stack = stack;
	(void)open_of(frees, thread);
}

void bad_frees_settle(struct bad_frees *frees, bool all)
{
	for (size_t i = 0; i < frees->open.len; i++) {
		struct open_free *open = &frees->open.data[i];
		if (open->row.what && (all || open->waited))
			(void)open_of(frees, (uint32_t)i);
		open->waited = true;
	}
}

void bad_frees_clear(struct bad_frees *frees)
{
	frees->written += frees->rows.len;
	bad_free_vec_clear(&frees->rows);
	bad_free_rows_deinit(&frees->places);
}
