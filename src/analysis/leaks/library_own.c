/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/library_own.h"

#include <string.h>

#include "analysis/evidence.h"
#include "analysis/leaks.h"
#include "analysis/leaks/suppress_stack.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/known.h"

struct error *library_own_table(struct suppressions **ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_built_in_text(&text, SUPPRESS_LIBRARY_OWN);
	if (text.failed)
		return error_no_memory();
	struct error *error = suppressions_create(ret);
	return error ? error : suppressions_parse(*ret, "built-in", text.data, text.len);
}

/* The frames after the allocation function, which the resolver shows on demand. */
static size_t first_frame(const struct row *row)
{
	const struct shown_frame *innermost = row->depth ? row->frames[0] : NULL;
	return innermost && innermost->function && !innermost->module && !innermost->address;
}

/* Of libstdc++ in a program (-static-libstdc++): what sets its reserve for exceptions up. */
static bool is_reserve(const struct shown_frame *frame)
{
	return frame->raw_name && !strcmp(frame->raw_name, "_GLOBAL__sub_I_eh_alloc.cc");
}

/* Of a malloc that is in for libc's: what it allocates itself as it is loaded is the loader's
 * to ask for. Its frames may be hidden already. */
static struct row_key without_allocator(const struct row_key *stack)
{
	struct row_key ret = *stack;
	while (ret.depth && ret.frames[0]->of_malloc) {
		ret.frames++;
		ret.depth--;
	}
	return ret;
}

/*
 * What a malloc that is in for libc's makes with C++'s operators as it is loaded or as the program
 * ends: the loader called it, without any other caller. Neither the loader nor libc have such
 * operators.
 */
static bool is_of_allocator(const struct row_key *stack)
{
	bool any = false;
	if (stack->kind < KIND_NEW || stack->kind > KIND_NEW_ARRAY_ALIGNED_NOTHROW)
		return false;
	for (size_t i = 0; i < stack->depth; i++) {
		const struct shown_frame *frame = stack->frames[i];
		if (frame->mark != MARK_NONE)
			continue;
		if (!frame->module)
			return false;
		if (!strncmp(frame->module, "ld-", 3))
			return any;
		if (frame->of_malloc)
			any = true;
		else if (!frame->is_system)
			return false;
	}
	return false;
}

/* How many of the innermost frames are the system's own. */
static size_t own_frames(const struct row_key *stack)
{
	size_t count = 0;
	while (count < stack->depth &&
		(stack->frames[count]->mark == MARK_GUESSED || stack->frames[count]->is_system))
		count++;
	return count;
}

/* Sets ret_id to an entry that holds for the stack, whatever a search found its blocks to be. */
static struct error *match_kinds(struct suppressions *table,
	const struct suppress_frame_vec *frames, unsigned kinds, uint32_t *ret_id)
{
	static const enum suppress_kind names[LEAK_KINDS] = {
		[LEAK_DEFINITE] = SUPPRESS_DEFINITE,
		[LEAK_INDIRECT] = SUPPRESS_INDIRECT,
		[LEAK_POSSIBLE] = SUPPRESS_POSSIBLE,
		[LEAK_REACHABLE] = SUPPRESS_REACHABLE,
	};
	struct error *error = NULL;
	for (unsigned kind = 0; kind < LEAK_KINDS && !error; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		error = suppressions_match(table, frames->data, frames->len, names[kind], ret_id);
		if (*ret_id == SUPPRESS_NONE)
			break;
	}
	return error;
}

/* Names what only debug files name, with them and without. */
static void name_inner(struct resolver *resolver, const struct row_key *stack, size_t count,
	struct suppress_frame_vec *frames)
{
	size_t after = 0;
	for (size_t i = 0; i < count; i++)
		after += stack->frames[i]->mark == MARK_NONE;
	for (size_t i = 0, at = frames->len - after; i < count && at < frames->len; i++) {
		if (stack->frames[i]->mark != MARK_NONE)
			continue;
		struct suppress_frame *frame = &frames->data[at++];
		if (!frame->function)
			frame->function = resolver_inner_name(resolver, stack->frames[i]);
	}
}

struct error *library_own_name(struct suppressions *table, struct resolver *resolver,
	const struct row_key *key, unsigned kinds, const char **ret)
{
	static const char reserve[] = "exception-pool", allocator[] = "allocator";
	const struct row_key bare = without_allocator(key), *stack = &bare;
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	*ret = NULL;
	/* No search: all may be reachable. */
	unsigned searched = kinds ? kinds : 1u << LEAK_REACHABLE;
	size_t count = own_frames(stack);
	if (searched == 1u << LEAK_REACHABLE && is_of_allocator(stack)) {
		*ret = allocator;
		return NULL;
	}
	if (!count && stack->depth && is_reserve(stack->frames[0]) &&
		searched == 1u << LEAK_REACHABLE)
		*ret = reserve;
	if (!count)
		return NULL;
	uint32_t id = SUPPRESS_NONE;
	struct error *error = suppress_shown_stack(stack->frames, count, stack->kind, &frames);
	if (error)
		return error;
	name_inner(resolver, stack, count, &frames);
	error = match_kinds(table, &frames, searched, &id);
	if (!error && id != SUPPRESS_NONE)
		*ret = suppressions_get(table, id)->name;
	return error;
}

static struct error *mark_row(struct rows *rows, struct suppressions *table,
	struct resolver *resolver, uint64_t recordings, struct row *row)
{
	size_t first = first_frame(row);
	const struct row_key stack = {row->frames + first, row->depth - first, row->sums->kind};
	const char *name = NULL;
	struct error *error = library_own_name(table, resolver, &stack, row->leak_kinds, &name);
	if (error || !name)
		return error;
	const char *copy = arena_strdup(&rows->arena, name);
	if (!copy)
		return error_no_memory();
	row->beyond_library = !suppress_built_in_is_bounded(
		name, row->sums->live_blocks, row->sums->live_bytes, recordings);
	row->library = row->beyond_library ? NULL : copy;
	return NULL;
}

/* The table's word, of each row by itself. */
static struct error *mark_by_table(
	struct resolver *resolver, uint64_t recordings, struct rows *rows)
{
	_cleanup_(suppressions_cleanup) struct suppressions *table = NULL;
	struct error *error = library_own_table(&table);
	for (size_t i = 0; i < rows->rows.len && !error; i++)
		error = mark_row(rows, table, resolver, recordings, &rows->rows.data[i]);
	return error;
}

/* The word of a search, of each site; a row is a library's if all of its sites are that left
 * something. */
static struct error *take_leaks(
	const struct model *model, const struct leaks *leaks, struct rows *rows)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	_cleanup_free_ bool *seen = calloc(rows->rows.len + 1, sizeof(*seen));
	if (!seen)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		uint32_t number = rows->row_of_site[i], stack = leaks->stack_of_site[i];
		if (number == ROWS_NONE || !sites[i].live_blocks || !stack)
			continue;
		struct row *row = &rows->rows.data[number];
		const char *library = leaks->stacks.data[stack - 1].library;
		if (seen[number] && (!library || !row->library)) {
			row->library = NULL;
			continue;
		}
		seen[number] = true;
		row->beyond_library &= !library;
		row->library = library ? arena_strdup(&rows->arena, library) : NULL;
		if (library && !row->library)
			return error_no_memory();
	}
	return NULL;
}

static struct error *mark_by_search(
	const struct model *model, struct resolver *beside, struct rows *rows)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	_cleanup_(leaks_deinit) struct leaks leaks;
	leaks_init(&leaks);
	struct error *error = resolver_create_beside(model, beside, &resolver);
	if (error)
		return error;
	resolver_add_aliases(resolver);
	const struct leaks_options how = {.separate_libraries = true};
	error = leaks_build(model, resolver, &how, &leaks);
	return error ? error : take_leaks(model, &leaks, rows);
}

struct error *library_own_mark(const struct model *model, struct resolver *resolver,
	uint64_t recordings, struct rows *rows)
{
	const struct leak_search *search = model_leak_search(model);
	struct error *error = mark_by_table(resolver, recordings, rows);
	bool at_end = search && search->way != LEAK_WAY_NONE && !evidence_search_is_early(model);
	return error || !at_end || !rows->row_of_site ? error
						      : mark_by_search(model, resolver, rows);
}

void library_own_note(const struct rows *rows, struct text *out)
{
	struct site more = {0};
	for (size_t i = 0; i < rows->rows.len; i++)
		if (rows->rows.data[i].beyond_library)
			site_add(&more, rows->rows.data[i].sums);
	if (!more.live_blocks)
		return;
	text_add_bytes(out, more.live_bytes);
	text_add(out, " in ");
	text_add_counted(out, more.live_blocks, "block", "blocks");
	text_printf(out,
		" that libraries got for themselves %s as the program's: one stack has more of "
		"them than a library normally keeps (docs/quantities.md).\n",
		more.live_blocks == 1 ? "counts" : "count");
}

bool library_own_counts(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return recording->range.part || recording->snapshot;
}

void library_own_forget(struct rows *rows)
{
	for (size_t i = 0; i < rows->rows.len; i++) {
		rows->rows.data[i].library = NULL;
		rows->rows.data[i].beyond_library = false;
	}
}

void library_own_sum(const struct rows *rows, struct site *ret)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		if (rows->rows.data[i].library)
			site_add(ret, rows->rows.data[i].sums);
}

struct totals library_own_left(const struct totals *totals, const struct rows *rows)
{
	struct site own = {0};
	struct totals left = *totals;
	library_own_sum(rows, &own);
	left.live_blocks -= min(own.live_blocks, left.live_blocks);
	left.live_bytes -= min(own.live_bytes, left.live_bytes);
	left.kept_blocks -= min(own.kept_blocks, left.kept_blocks);
	left.kept_bytes -= min(own.kept_bytes, left.kept_bytes);
	left.spread.live_blocks = max(left.spread.live_blocks - own.spread.live_blocks, 0.0);
	left.spread.live_bytes = max(left.spread.live_bytes - own.spread.live_bytes, 0.0);
	left.spread.live_blocks_more =
		max(left.spread.live_blocks_more - own.spread.live_blocks_more, 0.0);
	left.spread.live_bytes_more =
		max(left.spread.live_bytes_more - own.spread.live_bytes_more, 0.0);
	return left;
}

const char *library_own_reason(const char *library)
{
	return suppress_built_in_reason(library);
}
