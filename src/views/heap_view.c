/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_view.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/alone.h"
#include "heap/limits.h"
#include "heap/unread.h"
#include "views/heap_joined_view.h"
#include "views/heap_notes.h"
#include "views/heap_type_table.h"
#include "views/heuristics.h"
#include "views/json_parts.h"
#include "views/leaks_view.h"

#define SUMMARY_ROWS 15u
#define TABLE_ROWS 40u
#define DAMAGE_ROWS 10u

static void add_sum(struct text *out, uint64_t bytes, uint64_t blocks)
{
	text_add_bytes(out, bytes);
	text_add(out, " in ");
	text_add_count(out, blocks);
	text_add(out, blocks == 1 ? " block" : " blocks");
}

static void text_types(const struct heap_type **types, size_t count, size_t limit, struct text *out)
{
	text_add(out, "\n     BYTES      BLOCKS  KIND         TYPE\n");
	for (size_t i = 0; i < count && i < limit; i++) {
		_cleanup_(text_deinit) struct text cell;
		text_init(&cell);
		text_add_bytes(&cell, types[i]->bytes);
		text_printf(out, "%10s", cell.data);
		text_clear(&cell);
		text_add_count(&cell, types[i]->blocks);
		text_printf(out, "  %10s  %-11s  ", cell.data, heap_type_kind_name(types[i]->kind));
		text_add_shown(out, types[i]->name, 200);
		if (types[i]->alike) {
			text_add(out, " (");
			text_add_count(out, types[i]->alike);
			text_add(out, " by look alone)");
		}
		text_add_char(out, '\n');
	}
	if (count > limit)
		text_printf(out, "… and %zu more types (--limit)\n", count - limit);
}

static void text_makers(const struct survey *s, struct text *out)
{
	uint64_t bytes[HEAP_MAKERS] = {0};
	const char *comma = "";
	for (size_t i = 0; i < s->heap.areas.len; i++)
		bytes[s->heap.areas.data[i].maker] +=
			s->heap.areas.data[i].end - s->heap.areas.data[i].start;
	text_add(out, "allocators  ");
	for (unsigned i = 0; i < HEAP_MAKERS; i++) {
		if (!bytes[i])
			continue;
		text_printf(out, "%s%s ", comma, heap_maker_name((enum heap_maker)i));
		text_add_bytes(out, bytes[i]);
		comma = ", ";
	}
	text_add(out, *comma ? "\n" : "none was found\n");
}

/* Whether no block is another allocator's than Go's. */
static bool all_is_collected(const struct survey *s)
{
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	return blocks && blocks == s->totals.blocks[BLOCK_USED];
}

static void text_leaks(const struct survey *s, const struct heap_alone *alone, struct text *out)
{
	static const char *const words[SEARCH_KINDS] = {
		"definitely lost", "indirectly lost", "possibly lost", "still reachable"};
	const struct search_totals *totals = search_totals(s->search);
	for (unsigned i = 0; i < SEARCH_KINDS && !all_is_collected(s); i++) {
		text_printf(out, "%-17s", words[i]);
		add_sum(out, totals->bytes[i], totals->blocks[i]);
		if (i == SEARCH_DEFINITE && alone->blocks.len) {
			text_add(out, ", of these without any pointer ");
			add_sum(out, alone->bytes, alone->blocks.len);
		}
		if (i == SEARCH_REACHABLE)
			heuristics_add_sums(out, totals);
		text_add_char(out, '\n');
	}
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	if (!blocks)
		return;
	text_add(out, "not judged       ");
	add_sum(out, bytes, blocks);
	text_add(out, ", which Go's collector owns\n");
}

static void text_damage(const struct survey *s, struct text *out)
{
	const struct heap_damage_vec *damage = &s->heap.damage;
	for (size_t i = 0; i < damage->len && i < DAMAGE_ROWS; i++) {
		heap_damage_describe(&damage->data[i], out);
		text_add_char(out, '\n');
	}
	if (damage->len > DAMAGE_ROWS)
		text_printf(out, "… and %zu more places with damage\n", damage->len - DAMAGE_ROWS);
}

static void text_in_use(const struct survey *s, struct text *out)
{
	const struct search_totals *leaks = search_totals(s->search);
	uint64_t lost = leaks->bytes[SEARCH_DEFINITE] + leaks->bytes[SEARCH_INDIRECT];
	add_sum(out, s->totals.bytes[BLOCK_USED], s->totals.blocks[BLOCK_USED]);
	text_add(out, " in use; ");
	if (lost) {
		add_sum(out, lost, leaks->blocks[SEARCH_DEFINITE] + leaks->blocks[SEARCH_INDIRECT]);
		text_add(out, " of that lost: nothing points there any more");
	} else if (leaks->bytes[SEARCH_POSSIBLE]) {
		text_add(out, "nothing of that is definitely lost, ");
		add_sum(out, leaks->bytes[SEARCH_POSSIBLE], leaks->blocks[SEARCH_POSSIBLE]);
		text_add(out, " possibly: only pointers into the middle are left");
	} else if (!all_is_collected(s)) {
		text_add(out, "nothing of that is lost");
	}
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	if (all_is_collected(s)) {
		text_add(out, "leaks are not judged: Go's collector owns all of it");
	} else if (blocks) {
		text_add(out, "; leaks are not judged of ");
		add_sum(out, bytes, blocks);
		text_add(out, ", which Go's collector owns");
	}
	text_add(out, ".\n");
}

static void text_owner(const struct core_owner *owner, struct text *out)
{
	const char *words = *owner->command ? owner->command : owner->name;
	if (!*words)
		return;
	text_add(out, "It ran as: ");
	text_add_shown(out, words, 100);
	if (owner->pid > 0)
		text_printf(out, " (process %d)", (int)owner->pid);
	text_add_char(out, '\n');
}

static void text_verdict(const struct heap_page *page, struct text *out)
{
	const struct survey *s = page->survey;
	text_add_shown(out, page->name, 500);
	text_add(out, ": ");
	struct heap_unread unread = heap_unread_find(s);
	if (s->heap.areas.len) {
		text_in_use(s, out);
	} else if (unread.largest) {
		heap_unread_describe(s, &unread, out);
		text_add(out, ".\n");
	} else {
		text_printf(out, "%s.\n", heap_absence(&s->heap));
	}
	text_owner(&s->heap.space->owner, out);
	int signal = s->heap.space->threads.len ? s->heap.space->threads.data[0].signal : 0;
	if (signal && !page->pause_ns)
		text_printf(out, "The program died of SIG%s in thread %d.\n",
			sigabbrev_np(signal) ? sigabbrev_np(signal) : "?",
			(int)s->heap.space->threads.data[0].tid);
	if (s->heap.areas.len && s->heap.space->core.missing_bytes)
		text_add(out, "The core is cut off: what only missing memory points to counts as "
			      "lost.\n");
	if (page->pause_ns) {
		text_add(out, "The process stood still for ");
		text_add_duration_ns(out, page->pause_ns);
		text_add(out, ".\n");
	}
}

static void text_sums(const struct survey *s, struct text *out)
{
	const struct survey_totals *t = &s->totals;
	text_add(out, "\nin use           ");
	add_sum(out, t->bytes[BLOCK_USED], t->blocks[BLOCK_USED]);
	text_add(out, "\nfree             ");
	add_sum(out, t->bytes[BLOCK_FREE] + t->bytes[BLOCK_CACHED],
		t->blocks[BLOCK_FREE] + t->blocks[BLOCK_CACHED]);
	if (t->blocks[BLOCK_CACHED]) {
		text_add(out, ", of these kept at hand ");
		add_sum(out, t->bytes[BLOCK_CACHED], t->blocks[BLOCK_CACHED]);
	}
	text_add_char(out, '\n');
}

/* What was reached that makes this partial. */
static void text_limits(const struct survey *s, struct text *out)
{
	for (enum survey_limit limit = 0; limit < SURVEY_LIMITS; limit++) {
		if (survey_has_reached(s, limit))
			text_printf(out, "Partial: %s.\n", survey_limit_words(limit));
	}
}

/* What was seen of each allocator. */
static void put_seen(struct json *json, const struct survey *s)
{
	json_key(json, "seen");
	json_array_begin(json);
	for (enum heap_maker maker = 0; maker < HEAP_MAKERS; maker++) {
		_cleanup_(text_deinit) struct text seen;
		text_init(&seen);
		if (!heap_unread_seen(s, maker, &seen))
			continue;
		json_object_begin(json);
		json_put_string(json, "allocator", heap_maker_name(maker));
		json_put_string(json, "found", seen.failed ? "no memory" : seen.data);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_unread(struct json *json, const struct survey *s, const struct heap_unread *unread)
{
	json_key(json, "totals");
	json_null(json);
	json_key(json, "unread");
	json_object_begin(json);
	json_put_u64(json, "bytes", unread->bytes);
	json_put_u64(json, "mappings", unread->mappings);
	json_put_hexadecimal(json, "largest", unread->largest->start, true);
	json_put_u64(json, "largest_bytes", unread->largest_bytes);
	put_seen(json, s);
	json_object_end(json);
}

static void put_totals(struct json *json, const struct survey_totals *t)
{
	json_key(json, "totals");
	json_object_begin(json);
	json_put_u64(json, "used_blocks", t->blocks[BLOCK_USED]);
	json_put_u64(json, "used_bytes", t->bytes[BLOCK_USED]);
	json_put_u64(json, "free_blocks", t->blocks[BLOCK_FREE] + t->blocks[BLOCK_CACHED]);
	json_put_u64(json, "free_bytes", t->bytes[BLOCK_FREE] + t->bytes[BLOCK_CACHED]);
	json_put_u64(json, "cached_blocks", t->blocks[BLOCK_CACHED]);
	json_put_u64(json, "cached_bytes", t->bytes[BLOCK_CACHED]);
	json_object_end(json);
}

static void put_types(struct json *json, const struct heap_type **types, size_t count, size_t limit)
{
	json_key(json, "types");
	json_array_begin(json);
	for (size_t i = 0; i < count && i < limit; i++) {
		json_object_begin(json);
		json_put_string(json, "name", types[i]->name);
		json_put_string(json, "kind", heap_type_kind_name(types[i]->kind));
		json_put_u64(json, "blocks", types[i]->blocks);
		json_put_u64(json, "bytes", types[i]->bytes);
		if (types[i]->kind == HEAP_TYPE_INFERRED)
			json_put_u64(json, "look_alike", types[i]->alike);
		json_object_end(json);
	}
	json_array_end(json);
}

/* Of the unknown types: what their blocks have in common. */
static void put_groups(struct json *json, const struct survey *s, const struct heap_type **types,
	size_t count, size_t limit)
{
	json_key(json, "groups");
	json_array_begin(json);
	for (size_t i = 0, put = 0; i < count && put < limit; i++) {
		if (types[i]->kind != HEAP_TYPE_GROUP)
			continue;
		const struct heap_class *class = &s->classes.classes.data[types[i]->class];
		json_object_begin(json);
		json_put_string(json, "name", types[i]->name);
		json_put_u64(json, "size", class->key.size);
		json_key(json, "pointers");
		json_array_begin(json);
		const struct heap_repeat *repeat = &types[i]->repeat;
		uint64_t pointers = repeat->words ? repeat->pointers : class->key.pointers;
		for (unsigned k = 0; k < CLASS_WORDS; k++) {
			if (pointers >> k & 1)
				json_u64(json, 8ull * k);
		}
		json_array_end(json);
		json_put_u64(json, "every", 8ull * repeat->words);
		json_put_hexadecimal(json, "example", class->example, true);
		json_put_u64(json, "blocks", types[i]->blocks);
		json_put_u64(json, "bytes", types[i]->bytes);
		json_object_end(json);
		put++;
	}
	json_array_end(json);
}

static void put_source(struct json *json, const struct heap_page *page)
{
	const struct core_owner *owner = &page->survey->heap.space->owner;
	json_key(json, "source");
	json_object_begin(json);
	json_put_string(json, "kind", page->survey->heap.space->is_live ? "process" : "core");
	json_put_string(json, "name", page->name);
	json_put_u64(json, "pid", owner->pid > 0 ? (uint64_t)owner->pid : 0);
	json_put_string(json, "command", *owner->command ? owner->command : owner->name);
	json_put_u64(json, "threads", page->survey->heap.space->threads.len);
	json_put_u64(json, "pause_ns", page->pause_ns);
	json_object_end(json);
}

static struct error *write_json(const struct heap_page *page, const struct type_table *table,
	const struct heap_alone *alone, const struct sink *sink)
{
	struct json json;
	struct error *error = NULL;
	size_t limit = page->rows->count_only              ? 0
		       : page->limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT
							   : page->limit;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.heap/1");
	put_source(&json, page);
	heap_joined_put(page, &json);
	struct heap_unread unread = heap_unread_find(page->survey);
	if (unread.largest)
		put_unread(&json, page->survey, &unread);
	else
		put_totals(&json, &page->survey->totals);
	heap_limits_put(&json, page->survey);
	if (!alone && heap_page_is_choosy(page)) {
		heap_matched_put(&json, table->blocks, table->bytes);
		json_put_u64(&json, "matched_types", table->count);
	}
	put_types(&json, table->types, table->count, limit);
	put_groups(&json, page->survey, table->types, table->count, limit);
	heap_damage_put(&json, page->survey);
	if (alone) {
		json_key(&json, "alone");
		json_object_begin(&json);
		json_put_u64(&json, "blocks", alone->blocks.len);
		json_put_u64(&json, "bytes", alone->bytes);
		json_object_end(&json);
		uint64_t blocks, bytes;
		go_types_sum(page->survey, &blocks, &bytes);
		if (blocks) {
			json_key(&json, "not_judged");
			json_object_begin(&json);
			json_put_u64(&json, "blocks", blocks);
			json_put_u64(&json, "bytes", bytes);
			json_object_end(&json);
		}
		error = leaks_view_put(page->model, &json);
	}
	json_object_end(&json);
	json_finish(&json);
	return error;
}

static struct error *write_text(const struct heap_page *page, const struct type_table *table,
	const struct heap_alone *alone, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	size_t rows = alone ? SUMMARY_ROWS : TABLE_ROWS;
	if (alone) {
		text_verdict(page, &out);
		heap_joined_text(page, &out);
		if (page->survey->heap.areas.len || !heap_unread_find(page->survey).largest) {
			text_sums(page->survey, &out);
			text_leaks(page->survey, alone, &out);
		}
		text_makers(page->survey, &out);
		text_damage(page->survey, &out);
	}
	if (!page->rows->count_only)
		text_types(table->types, table->count,
			page->limit == VIEW_DEFAULT_LIMIT ? rows : page->limit, &out);
	if (!alone && heap_page_is_choosy(page)) {
		text_add_counted(&out, table->count, "type: ", "types: ");
		heap_matched_text(&out, table->blocks, table->bytes);
	}
	text_limits(page->survey, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static struct error *write_page(const struct heap_page *page, bool whole, const struct sink *sink)
{
	_cleanup_(type_table_deinit) struct type_table table;
	struct error *error = type_table_make(page, &table);
	_cleanup_(heap_alone_deinit) struct heap_alone alone = {.bytes = 0};
	if (!error && whole)
		error = heap_alone_find(page->survey, &alone);
	if (error)
		return error;
	return page->json ? write_json(page, &table, whole ? &alone : NULL, sink)
			  : write_text(page, &table, whole ? &alone : NULL, sink);
}

struct error *heap_summary_write(const struct heap_page *page, const struct sink *sink)
{
	return write_page(page, true, sink);
}

struct error *heap_types_write(const struct heap_page *page, const struct sink *sink)
{
	return write_page(page, false, sink);
}
