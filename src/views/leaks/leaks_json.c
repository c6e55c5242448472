/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "heapwise.leaks/1": docs/schema/leaks-1.md (change both together). */
#include "base/cleanup.h"
#include "base/util.h"
#include "views/leaks/leaks_page.h"
#include "views/report/json_parts.h"

/* Holders of one record, largest first; how many there are is said. */
#define HOLDS_SHOWN 16u

static void put_sum(struct json *json, const char *key, const struct leak_sum *sum)
{
	json_key(json, key);
	json_object_begin(json);
	json_put_u64(json, "blocks", sum->blocks);
	json_put_u64(json, "bytes", sum->bytes);
	json_put_u64(json, "records", sum->rows);
	json_object_end(json);
}

/* What was live when it was searched, which is what the classes are of; else at the end. */
static void put_left(struct json *json, const struct leaks *leaks)
{
	const struct totals *totals = model_totals(leaks->model);
	struct leak_sum left = {leaks->rows.len, totals->live_blocks, totals->live_bytes};
	if (leaks->searched) {
		left.blocks = left.bytes = 0;
		for (unsigned i = 0; i < LEAK_CLASS_NEVER_FREED; i++) {
			left.blocks += leaks->sums[i].blocks;
			left.bytes += leaks->sums[i].bytes;
		}
	}
	put_sum(json, leak_class_name(LEAK_CLASS_NEVER_FREED), &left);
}

/* "summary": each class; null where nobody searched but never_freed. */
static void put_summary(struct json *json, const struct leaks *leaks)
{
	json_key(json, "summary");
	json_object_begin(json);
	for (unsigned i = 0; i < LEAK_CLASS_NEVER_FREED; i++) {
		const char *name = leak_class_name((enum leak_class)i);
		if (leaks->searched)
			put_sum(json, name, &leaks->sums[i]);
		else
			json_put_string(json, name, NULL);
	}
	put_left(json, leaks);
	json_object_end(json);
}

/* "not_judged": what a garbage collector owns; null: it is not asked of anything but heaps that
 * were inspected. */
static void put_not_judged(struct json *json, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	json_key(json, "not_judged");
	if (!recording->is_heap) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_u64(json, "blocks", recording->collected_blocks);
	json_put_u64(json, "bytes", recording->collected_bytes);
	json_object_end(json);
}

static void put_heuristics(struct json *json, const struct leak_search *search)
{
	json_key(json, "heuristics");
	json_array_begin(json);
	for (unsigned i = 0; i < LEAK_HEURISTICS; i++)
		if (search->heuristics >> i & 1)
			json_string(json, leaks_heuristic_name(i));
	json_array_end(json);
	json_key(json, "reachable_by");
	json_object_begin(json);
	for (unsigned i = 0; i < LEAK_HEURISTICS; i++) {
		if (!(search->heuristics >> i & 1))
			continue;
		json_key(json, leaks_heuristic_name(i));
		json_object_begin(json);
		json_put_u64(json, "blocks", search->heuristic_blocks[i]);
		json_put_u64(json, "bytes", search->heuristic_bytes[i]);
		json_object_end(json);
	}
	json_object_end(json);
}

/* What the program had called until the search. */
static void put_until_then(struct json *json, const struct leak_search *search)
{
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {{"allocations", search->allocations}, {"frees", search->frees},
		{"allocated_bytes", search->allocated_bytes}};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_key(json, members[i].name);
		if (search->allocations)
			json_u64(json, members[i].value);
		else
			json_null(json);
	}
}

static void put_search(
	struct json *json, const struct model *model, const struct leak_search *search)
{
	static const char *const moments[] = {
		[LEAK_AT_EXIT] = "exit",
		[LEAK_AT_MAIN_END] = "main-end",
		[LEAK_ON_DEMAND] = "demand",
		[LEAK_ON_DEATH] = "death",
		[LEAK_BY_PROGRAM] = "program",
	};
	static const char *const ways[] = {
		[LEAK_WAY_NONE] = "none",
		[LEAK_WAY_HELD] = "held",
		[LEAK_WAY_SNAPSHOT] = "snapshot",
		[LEAK_WAY_UNSTOPPED] = "unstopped",
	};
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct leak_search, name)                                          \
	}
	static const struct json_member members[] = {
		MEMBER(time_ns),
		MEMBER(pause_ns),
		MEMBER(search_ns),
		MEMBER(threads),
		MEMBER(threads_missed),
		MEMBER(root_bytes),
		MEMBER(unread_bytes),
		MEMBER(pointers),
	};
#undef MEMBER
	json_key(json, "search");
	if (!search) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_string(json, "moment", moments[search->moment]);
	json_put_string(json, "way", ways[search->way]);
	/* Other tools don't say how they went about it. */
	bool own = search->search_ns || search->pause_ns || search->root_bytes;
	(own ? json_put_members : json_put_known_members)(
		json, members, ARRAY_SIZE(members), search);
	json_put_u64(json, "alignment", search->alignment);
	put_heuristics(json, search);
	put_until_then(json, search);
	json_put_bool(json, "partial", search->partial);
	json_put_bool(json, "partial_holders", leak_ways_are_partial(model));
	json_put_bool(json, "uncleared", search->uncleared);
	json_put_string(json, "uncopied", leak_uncopied_words(search));
	json_put_string(json, "problem", search->problem);
	json_object_end(json);
}

static void put_place(struct json *json, const char *file, uint32_t line)
{
	json_put_string(json, "file", file);
	json_key(json, "line");
	if (file && line)
		json_u64(json, line);
	else
		json_null(json);
}

static void put_holder(struct json *json, const struct leak_holder *holder)
{
	static const char *const places[] = {
		[LEAK_PLACE_DATA] = "data",
		[LEAK_PLACE_STACK] = "stack",
		[LEAK_PLACE_REGISTERS] = "register",
		[LEAK_PLACE_MAPPING] = "mapping",
		[LEAK_PLACE_REGION] = "region",
		[LEAK_PLACE_IGNORED] = "ignored",
	};
	bool data = holder->place == LEAK_PLACE_DATA;
	bool thread = holder->place == LEAK_PLACE_STACK || holder->place == LEAK_PLACE_REGISTERS;
	json_key(json, "root");
	json_object_begin(json);
	json_put_string(json, "place", places[holder->place]);
	const char *name = data ? holder->data.name : leak_holder_register(holder);
	if (holder->place == LEAK_PLACE_MAPPING && holder->name[0])
		name = holder->name;
	json_put_string(json, "name", name);
	json_put_string(json, "module", data ? holder->data.module : NULL);
	put_place(json, data ? holder->data.file : NULL, holder->data.line);
	json_key(json, "tid");
	if (thread)
		json_u64(json, holder->tid);
	else
		json_null(json);
	json_put_string(json, "thread", thread ? holder->thread_name : NULL);
	json_object_end(json);
}

static void put_step(struct json *json, const struct leaks *leaks, const struct leak_path *path)
{
	const struct shown_frame *place = leaks->stacks.data[path->stack].place;
	json_object_begin(json);
	json_put_u64(json, "offset", path->offset);
	json_put_u64(json, "into", path->into);
	json_put_u64(json, "words", path->words);
	json_put_u64(json, "blocks", path->blocks);
	json_put_u64(json, "bytes", path->bytes);
	json_put_bool(json, "chain", path->repeats);
	json_put_string(json, "function", place ? place->function : NULL);
	put_place(json, place ? place->file : NULL, place ? place->line : 0);
	json_object_end(json);
}

static struct error *put_hold(
	struct json *json, const struct leaks *leaks, const struct leak_hold *hold)
{
	const struct leak_path *all = leaks->paths.paths.data;
	uint32_t steps[LEAK_STEPS_MAX], skipped;
	size_t count = leak_path_steps(&leaks->paths, hold->path, steps, &skipped);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	leaks_add_path(leaks, hold->path, &text);
	if (text.failed)
		return error_no_memory();
	json_object_begin(json);
	json_put_u64(json, "blocks", hold->blocks);
	json_put_u64(json, "bytes", hold->bytes);
	json_put_string(json, "text", text.data);
	put_holder(json, &leaks->paths.holders.data[all[hold->path].holder]);
	json_key(json, "path");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		put_step(json, leaks, &all[steps[i]]);
	json_array_end(json);
	json_put_u64(json, "left_out", skipped);
	json_object_end(json);
	return NULL;
}

static struct error *put_holds(
	struct json *json, const struct leaks *leaks, const struct leak_row *row)
{
	json_put_u64(json, "held_by_total", row->hold_count);
	json_key(json, "held_by");
	json_array_begin(json);
	struct error *error = NULL;
	for (size_t i = 0; i < row->hold_count && i < HOLDS_SHOWN && !error; i++)
		error = put_hold(json, leaks, &leaks->holds.data[row->first_hold + i]);
	json_array_end(json);
	return error;
}

static void put_thread(struct json *json, const struct model *model, struct thread_id id)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	bool known = id.value < count;
	json_key(json, "tid");
	if (known)
		json_u64(json, threads[id.value].tid);
	else
		json_null(json);
	json_put_string(json, "thread", known ? threads[id.value].name : NULL);
}

/* "example": one block of the row; null if none is known. */
static void put_example(struct json *json, const struct leaks *leaks, const struct leak_row *row)
{
	json_key(json, "example");
	if (!row->example.address) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_hexadecimal(json, "address", row->example.address, true);
	json_put_u64(json, "size", row->example.size);
	put_thread(json, leaks->model, row->example.thread);
	bool dated = row->example_ns != LEAK_NO_TIME && row->example_ns <= leaks->search->time_ns;
	json_key(json, "age_ns");
	if (dated)
		json_u64(json, leaks->search->time_ns - row->example_ns);
	else
		json_null(json);
	json_object_end(json);
}

static void put_stack(struct json *json, const struct leak_stack *stack)
{
	json_put_string(json, "function", alloc_kind_name(stack->kind));
	json_put_bool(json, "truncated", stack->cut != MARK_NONE);
	json_put_bool(json, "guessed", stack->guessed);
	json_put_frames(json, stack->frames, stack->depth, false);
}

static struct error *put_row(
	struct json *json, const struct leaks_page *page, const struct leak_row *row)
{
	const struct leaks *leaks = &page->leaks;
	json_object_begin(json);
	bool never = row->class == LEAK_CLASS_NEVER_FREED;
	json_put_string(
		json, "kind", leak_class_name(never ? row->class : (enum leak_class)row->kind));
	json_put_u64(json, "blocks", row->blocks);
	json_put_u64(json, "bytes", row->bytes);
	json_put_u64(json, "indirect_blocks", row->indirect_blocks);
	json_put_u64(json, "indirect_bytes", row->indirect_bytes);
	json_put_u64(json, "retained_bytes", leak_row_retained(row));
	const struct suppression *suppression =
		row->suppression == SUPPRESS_NONE
			? NULL
			: suppressions_get(page->options->suppressions, row->suppression);
	json_put_string(json, "suppression", suppression ? suppression->name : NULL);
	json_put_string(json, "library", row->library);
	put_stack(json, leaks_stack(page, row));
	put_example(json, leaks, row);
	struct error *error = put_holds(json, leaks, row);
	if (!error && page->options->write_suppressions && row->class < LEAK_CLASS_SUPPRESSED) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		error = leaks_add_suppression(page, row, &text);
		json_put_string(json, "written_suppression", text.data);
	}
	json_object_end(json);
	return error;
}

static bool is_suppressed(const struct leaks_page *page, const struct leak_row *row)
{
	(void)page;
	return row->class == LEAK_CLASS_SUPPRESSED;
}

static bool is_library(const struct leaks_page *page, const struct leak_row *row)
{
	(void)page;
	return row->class == LEAK_CLASS_LIBRARY;
}

static struct error *put_rows(struct json *json, const struct leaks_page *page, const char *key,
	bool (*wanted)(const struct leaks_page *page, const struct leak_row *row))
{
	json_key(json, key);
	json_array_begin(json);
	struct error *error = NULL;
	size_t shown = 0;
	for (size_t i = 0; i < page->leaks.rows.len && shown < page->limit && !error; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!wanted(page, row))
			continue;
		error = put_row(json, page, row);
		shown++;
	}
	json_array_end(json);
	return error;
}

static void put_suppression(struct json *json, const struct suppression *suppression)
{
	json_object_begin(json);
	json_put_string(json, "name", suppression->name);
	json_put_string(json, "file", suppression->file);
	json_put_u64(json, "line", suppression->line);
	json_put_u64(json, "records", suppression->records);
	json_put_u64(json, "blocks", suppression->blocks);
	json_put_u64(json, "bytes", suppression->bytes);
	json_object_end(json);
}

/* Built-in entries that fit nothing are nobody's to delete. */
static void put_suppressions(struct json *json, const struct suppressions *set)
{
	json_key(json, "suppressions");
	json_object_begin(json);
	for (int used = 1; used >= 0; used--) {
		json_key(json, used ? "used" : "unused");
		json_array_begin(json);
		for (uint32_t i = 0; set && i < suppressions_count(set); i++) {
			const struct suppression *one = suppressions_get(set, i);
			if (used ? one->records > 0
				 : !one->records && one->origin == SUPPRESS_FROM_FILE)
				put_suppression(json, one);
		}
		json_array_end(json);
	}
	json_put_u64(json, "passed_over", set ? suppressions_passed_over(set) : 0);
	json_object_end(json);
}

struct error *leaks_put(struct json *json, const struct leaks_page *page)
{
	json_key(json, "leaks");
	json_object_begin(json);
	put_summary(json, &page->leaks);
	put_not_judged(json, page->leaks.model);
	put_search(json, page->leaks.model, page->leaks.search);
	json_put_u64(json, "errors", leaks_errors(page));
	if (page->options->errors_only)
		json_put_string(json, "decided", NULL);
	else
		json_put_bool(json, "decided", !page->doubt);
	json_put_string(json, "doubt",
		page->options->errors_only ? "leaks were not searched for" : page->doubt);
	struct error *error = NULL;
	if (page->options->detail == LEAKS_FULL) {
		error = put_rows(json, page, "records", leaks_shows);
		if (!error)
			error = put_rows(json, page, "suppressed", is_suppressed);
		if (!error)
			error = put_rows(json, page, "libraries", is_library);
	}
	put_suppressions(json, page->options->suppressions);
	json_object_end(json);
	return error;
}

struct error *leaks_json(const struct leaks_page *page, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.leaks/1");
	json_put_target(&json, model_target(page->model));
	json_put_recording(&json, page->model, NULL);
	json_put_lines(&json, "verdict", &page->verdict);
	json_put_lines(&json, "notes", &page->notes);
	struct error *error = leaks_put(&json, page);
	leaks_errors_put(page, &json);
	json_object_end(&json);
	json_finish(&json);
	return error;
}
