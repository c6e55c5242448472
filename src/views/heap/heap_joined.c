/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/heap/heap_joined_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

static void add_blocks(struct text *out, uint64_t blocks, uint64_t bytes)
{
	text_printf(out, "%s%s%s)", FMT_COUNT(blocks), blocks == 1 ? " block (" : " blocks (",
		FMT_BYTES(bytes));
}

void heap_joined_text(const struct heap_page *page, struct text *out)
{
	const struct joined *j = page->joined;
	if (!j)
		return;
	text_add(out, "Joined with ");
	text_add_shown(out, j->name, 500);
	text_add(out, ": ");
	add_blocks(out, j->known, j->known_bytes);
	text_add(out, " have their call stacks");
	if (j->unknown) {
		text_printf(out, "; %s of %s%s", FMT_COUNT(j->unknown),
			FMT_COUNT(j->unknown + j->known),
			j->sampled ? " are not in its sample"
				   : " are not in it: allocated before recording began, by "
				     "an allocator of the program's own, or since it ended");
		if (j->misfits)
			text_printf(out,
				" (at %" PRIu64 " of their addresses it has a block of "
				"another size)",
				j->misfits);
	}
	if (j->missing) {
		text_add(out, "; ");
		add_blocks(out, j->missing, j->missing_bytes);
		text_add(out, j->missing == 1 ? " that it has is" : " that it has are");
		text_add(out, " not in use here");
	}
	text_add(out, ".\n");
}

static const struct column joined_columns[] = {WORD_AS("file", joined, name, "the recording"),
	FLAG_OF(joined, sampled, "it has a sample of the blocks"),
	COUNT_AS("known_blocks", joined, known, "blocks in use that it knows"),
	BYTES_OF(joined, known_bytes, "in these"),
	COUNT_AS("unknown_blocks", joined, unknown, "blocks in use that it does not know"),
	BYTES_OF(joined, unknown_bytes, "in these"),
	COUNT_OF(joined, misfits,
		"of the unknown ones those at whose address it has a block of another size"),
	COUNT_AS("missing_blocks", joined, missing,
		"blocks that it has as live and that are not in use"),
	BYTES_OF(joined, missing_bytes, "in these"), COLUMNS_END};

const struct table_type heap_joined_type = {.name = "recording",
	.says = "the recording that the heap is joined with, or null",
	.columns = joined_columns};

void heap_joined_answer(const struct heap_page *page, struct answer *answer)
{
	const struct table record = {
		&heap_joined_type, page->joined, page->joined != NULL, .limit = 1};
	answer_record(answer, &record);
}

/* The thread that allocated it; 0: not known. */
static uint32_t thread_of(const struct joined *joined, const struct live_block *block)
{
	size_t count;
	const struct thread *threads = model_threads(joined->recording, &count);
	return block->thread.value < count ? threads[block->thread.value].tid : 0;
}

/* NULL: the recording has no such site. */
static const struct site *site_at(const struct joined *joined, uint32_t number)
{
	size_t count;
	const struct site *sites = model_sites(joined->recording, &count);
	return number < count ? &sites[number] : NULL;
}

/* "allocated by malloc of 40 bytes in thread 12, at", and the stack; or that this is not known.
 * Nothing without a recording. */
static struct error *add_allocation(
	const struct heap_page *page, uint64_t address, uint64_t size, struct text *out)
{
	const struct joined *j = page->joined;
	if (!j)
		return NULL;
	const struct live_block *block = joined_find(j, address, size);
	const struct site *site = block ? site_at(j, block->site.value) : NULL;
	if (!site) {
		text_add(out, "  where it was allocated is not in the recording\n");
		return NULL;
	}
	text_printf(out, "  allocated by %s of %" PRIu64 " bytes", alloc_kind_name(site->kind),
		block->size);
	if (thread_of(j, block))
		text_printf(out, " in thread %" PRIu32, thread_of(j, block));
	text_add(out, ", at\n");
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct frame_vec frames = {.data = NULL};
	struct error *error = resolver_create(j->recording, false, &resolver);
	if (!error)
		error = resolver_stack(resolver, site->stack, site->kind, &frames);
	if (!error)
		text_stack(frames.data, frames.len, false, out);
	if (!error && !frames.len)
		text_add(out, TEXT_FRAME_INDENT "(no stack was recorded)\n");
	frame_vec_deinit(&frames);
	return error;
}

struct error *heap_site_frames(const struct heap_page *page, struct resolver *resolver,
	uint32_t site, const char **ret_function, struct frame_vec *frames)
{
	const struct site *of = site_at(page->joined, site);
	*ret_function = of ? alloc_kind_name(of->kind) : NULL;
	return of ? resolver_stack(resolver, of->stack, of->kind, frames) : NULL;
}

/* What a recording knows of one block. */
struct allocation {
	const struct heap_page *page;
	const struct live_block *block; /* NULL: nothing */
	const char *function;
	struct frame_rows frames;
};

enum { SITE, THREAD, FUNCTION, STACK };
static const struct column allocated_columns[] = {
	[SITE] = {"site", COLUMN_INTEGER, .says = "its number in the recording"},
	[THREAD] = {"thread", COLUMN_INTEGER, .optional = true,
		.says = "that allocated it, where that is known"},
	[FUNCTION] = {"function", COLUMN_TEXT, .says = "that was called: `malloc`…"},
	[STACK] = {"stack", COLUMN_TABLE, .says = "innermost frame first", .nested = &frame_type},
	COLUMNS_END};

static void allocated_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct allocation *of = context;
	uint32_t thread = thread_of(of->page->joined, of->block);
	(void)row;
	ret->number = column == SITE ? of->block->site.value : thread;
	ret->text = of->function;
	if (column == STACK)
		ret->nested = frame_rows_table(&of->frames);
	else if (column == THREAD && !thread)
		ret->state = CELL_ABSENT;
}

static const struct table_type allocated_type = {
	.columns = allocated_columns, .cell = allocated_cell};

static const struct column allocation_columns[] = {
	{"requested", COLUMN_INTEGER, UNIT_BYTES,
		.says = "with a recording that knows the block: what was asked for; or null"},
	{"allocated", COLUMN_RECORD, .says = "likewise: where; or null", .nested = &allocated_type},
	COLUMNS_END};

static void allocation_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct allocation *of = context;
	(void)row;
	ret->state = of->block ? CELL_KNOWN : CELL_UNKNOWN;
	if (column == 0 && of->block)
		ret->number = of->block->size;
	ret->nested = (struct table){&allocated_type, of, 1, .limit = 1};
}

const struct table_type heap_allocation_type = {
	.columns = allocation_columns, .cell = allocation_cell};

struct error *heap_allocation_answer(
	const struct heap_page *page, uint64_t address, uint64_t size, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct allocation of = {.page = page};
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct frame_vec frames = {.data = NULL};
	struct error *error = NULL;
	if (prose)
		return add_allocation(page, address, size, prose);
	of.block = page->joined ? joined_find(page->joined, address, size) : NULL;
	if (of.block)
		error = resolver_create(page->joined->recording, false, &resolver);
	if (of.block && !error)
		error = heap_site_frames(
			page, resolver, of.block->site.value, &of.function, &frames);
	if (!error && !frame_rows_fill(&of.frames, frames.data, frames.len, false))
		error = error_no_memory();
	if (!error)
		answer_record_of(answer, &heap_allocation_type, &of);
	frame_rows_deinit(&of.frames);
	frame_vec_deinit(&frames);
	return error;
}
