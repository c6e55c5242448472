/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_search.h"
#include "capture/leaks/leak_heaps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/writer/columns.h"
#include "format/leak_rules.h"
#include "search/counting.h"

#define BEAT_BYTES (32u << 20)

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The process's memory, and a sign of life while it is read. */
struct reading {
	struct process_memory memory;
	uint32_t *heartbeat;
	uint64_t bytes;
};

static void advance_heartbeat(struct reading *r)
{
	__atomic_fetch_add(r->heartbeat, 1, __ATOMIC_RELAXED);
}

static size_t read_memory(void *context, uint64_t address, void *ret, size_t bytes)
{
	struct reading *r = context;
	uint64_t before = __atomic_fetch_add(&r->bytes, bytes + 64, __ATOMIC_RELAXED);
	if (before / BEAT_BYTES != (before + bytes + 64) / BEAT_BYTES)
		advance_heartbeat(r);
	return process_memory_read(&r->memory, address, ret, bytes);
}

static size_t count_untouched_bytes(void *context, uint64_t address, size_t bytes)
{
	struct reading *r = context;
	return process_memory_untouched(&r->memory, address, bytes);
}

/*
 * Blocks come by ascending address. A program that reports blocks of its own allocators has them in
 * blocks of malloc or of another such allocator: what contains others is not searched, and is no
 * leak, as in memcheck.
 */
struct block_filter {
	bool drops;             /* the program reports blocks */
	struct live_entry last; /* to be added, unless the next one lies in it */
	bool has_last;
};

static struct error *add_last(struct search *search, struct block_filter *filter)
{
	const struct live_entry *last = &filter->last;
	bool has = filter->has_last;
	filter->has_last = false;
	return has ? search_add_block(search, last->address, last->size, last->site) : NULL;
}

static struct error *add_block(
	struct search *search, struct block_filter *filter, const struct live_entry *block)
{
	if (!filter->drops)
		return search_add_block(search, block->address, block->size, block->site);
	struct error *error = NULL;
	if (filter->has_last && block->address - filter->last.address >= filter->last.size)
		error = add_last(search, filter);
	filter->last = *block;
	filter->has_last = true;
	return error;
}

static struct error *add_blocks(
	struct search *search, const struct leak_target *place, struct reading *reading)
{
	const struct live_table *live = place->live;
	struct block_filter filter = {.drops = place->shm && place->shm->notes & HW_NOTE_BLOCKS};
	struct live_walk walk;
	size_t room = (size_t)4 * LIVE_WALK_ROOM;
	_cleanup_free_ struct live_entry *blocks = calloc(room, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(live, &walk))
		return error_no_memory();
	struct error *error = search_reserve(search, live->blocks);
	for (size_t n; !error && (n = live_table_walk_next(&walk, blocks, room));) {
		for (size_t i = 0; !error && i < n; i++)
			error = add_block(search, &filter, &blocks[i]);
		advance_heartbeat(reading);
	}
	live_table_walk_end(&walk);
	return error ? error : add_last(search, &filter);
}

/* The ordinal of a block among those of its thread: threads are assumed to have allocated side by
 * side. */
static uint64_t age_of(void *context, uint64_t address)
{
	struct live_entry block;
	return live_table_find(context, address, &block) ? block.number << 16 | block.thread
							 : UINT64_MAX;
}

static bool is_array(void *context, uint32_t site)
{
	const struct tally *tally = context;
	enum hw_alloc_kind kind = tally->sites[site].kind;
	return kind == HW_NEW_ARRAY || kind == HW_NEW_ARRAY_NOTHROW;
}

/* Python's Include/internal/pycore_gc.h: PyGC_Head; pycore_object.h: _PyType_PreHeaderSize(). */
#define PYTHON_HEADER_BYTES 16u
/* Objects/dictobject.c, 3.11 and 3.12: new_values() puts up to so many bytes before the values; of
 * objects that have no dict yet, 3.12 marks the pointer by one less. */
#define PYTHON_VALUES_PREFIX_BYTES 48u

/* Pointers to objects of CPython lead to after what stands before them in their blocks: the garbage
 * collector's header, and before that from 3.11 on attributes and weak references (2 words). */
static bool is_start(void *context, uint32_t site, uint64_t into)
{
	const struct tally *tally = context;
	enum hw_alloc_kind kind = tally->sites[site].kind;
	if (kind == HW_PYTHON_OBJ)
		return into == PYTHON_HEADER_BYTES || into == 2ul * PYTHON_HEADER_BYTES;
	return kind == HW_PYTHON_MEM && into <= PYTHON_VALUES_PREFIX_BYTES && (into + 1) % 8 <= 1;
}

/* A block and the moment that it counts from on. */
struct counting {
	const struct live_table *live;
	const struct check_start *since;
};

static bool is_since(void *context, uint64_t address)
{
	const struct counting *counting = context;
	struct live_entry block;
	return !live_table_find(counting->live, address, &block) ||
	       check_start_precedes(counting->since, block.thread, block.number);
}

static struct error *run_search(const struct leak_search_request *asked,
	const struct leak_roots *roots, struct reading *reading, struct search **ret)
{
	struct counting counting = {asked->place.live, asked->since};
	const struct search_options options = {
		.alignment = asked->check.alignment ? asked->check.alignment : 8,
		.heuristics = asked->check.heuristics,
		.is_array = is_array,
		.is_array_context = (void *)asked->place.tally,
		.is_start = asked->place.shm && asked->place.shm->notes & HW_NOTE_PYTHON ? is_start
											 : NULL,
		.is_start_context = (void *)asked->place.tally,
		.maps = roots->maps.data,
		.map_count = roots->maps.len,
		.age = age_of,
		.age_context = (void *)asked->place.live};
	const struct search_memory memory = {reading, read_memory, count_untouched_bytes};
	_cleanup_free_ struct search_root *list =
		calloc(roots->roots.len + 1, sizeof(struct search_root));
	struct error *error = list ? search_create(&options, ret) : error_no_memory();
	for (size_t i = 0; !error && i < roots->roots.len; i++) {
		const struct searched_root *root = &roots->roots.data[i];
		list[i] = (struct search_root){.start = root->start, .end = root->end};
		if (root->many) {
			list[i].values = root->many->data;
			list[i].value_count = root->many->len;
		} else if (root->value_count) {
			list[i].values = root->values;
			list[i].value_count = root->value_count;
		}
	}
	if (!error)
		error = add_blocks(*ret, &asked->place, reading);
	if (!error)
		error = search_read(*ret, &memory, list, roots->roots.len);
	if (!error && asked->since)
		search_set_counting(*ret, is_since, &counting);
	if (!error && asked->check.rules.offset_limit)
		search_drop_far_interiors(*ret, asked->check.rules.offset_limit - 1);
	return error ? error : search_classify(*ret);
}

static void put_pair(struct buf *buf, uint64_t key, uint64_t value)
{
	buf_varint(buf, key);
	buf_varint(buf, value);
}

static enum hpw_leak_way way_of(const struct paused_target *target)
{
	if (target->is_unstopped)
		return HPW_LEAK_UNSTOPPED;
	return target->is_snapshot ? HPW_LEAK_SNAPSHOT : HPW_LEAK_HELD;
}

/* What the program had called by that moment. */
static void put_until_then(const struct tally *tally, struct buf *ret)
{
	uint64_t allocations = 0, frees = 0, bytes = 0;
	for (uint32_t i = 0; i < tally->thread_count; i++) {
		allocations += tally->threads[i].allocations;
		frees += tally->threads[i].frees;
		bytes += tally->threads[i].allocated_bytes;
	}
	put_pair(ret, HPW_LEAK_ALLOCATIONS, allocations);
	put_pair(ret, HPW_LEAK_FREES, frees);
	put_pair(ret, HPW_LEAK_ALLOCATED_BYTES, bytes);
}

/*
 * Whether nothing is held by memory in which blocks may lie that are not known: then no leak is
 * missed for want of them. Data of modules, stacks and registers have none.
 */
static bool is_held_for_sure(const struct search *search, const struct leak_roots *roots)
{
	size_t count, group_count;
	const struct search_record *records = search_records(search, &count);
	const struct search_group *groups = search_groups(search, &group_count);
	for (size_t i = 0; i < count; i++) {
		const struct search_record *record = &records[i];
		if (record->kind != SEARCH_REACHABLE && record->kind != SEARCH_POSSIBLE)
			continue;
		if (record->group >= group_count ||
			roots->roots.data[groups[record->group].root].place ==
				HPW_LEAK_ROOT_MAPPING)
			return false;
	}
	return true;
}

static uint64_t search_rules(const struct leak_search_request *asked)
{
	const struct leak_rules *rules = &asked->check.rules;
	return (asked->since ? HPW_LEAK_RULE_SINCE : 0u) |
	       (rules->no_globals ? HPW_LEAK_RULE_NO_GLOBALS : 0u) |
	       (rules->no_threads ? HPW_LEAK_RULE_NO_THREADS : 0u);
}

static uint64_t search_notes(const struct leak_target *place, const struct search *search,
	const struct leak_roots *roots)
{
	bool partial = place->is_partial && (place->is_sampled || !is_held_for_sure(search, roots));
	return (partial ? HPW_LEAK_NOTE_PARTIAL : 0u) |
	       (place->shm->clears ? HPW_LEAK_NOTE_CLEARED : 0u);
}

static void put_problem(struct buf *ret, const char *problem)
{
	put_pair(ret, HPW_LEAK_PROBLEM, strlen(problem));
	buf_bytes(ret, problem, strlen(problem));
}

/* What the search lacks. is_unread: the program's own suppressions or options could not be kept. */
static void put_lacking(const struct lsan_annotations *annotations, bool is_unread, struct buf *ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (annotations->roots_missed)
		text_printf(&text,
			"the program registered %" PRIu64 " more root regions than are searched "
			"(%zu): blocks referenced only from there count as lost",
			annotations->roots_missed, annotations->roots.len);
	if (is_unread)
		text_printf(&text,
			"%sthe program's own suppressions or options for LeakSanitizer were not "
			"read, since they are longer than %u bytes or unreadable: leaks may be "
			"reported that they suppress",
			text.len ? "; " : "", HPW_LSAN_STRING_MAX);
	if (text.len)
		put_problem(ret, text.data);
	ret->failed |= text.failed;
}

static void put_search(const struct leak_search_request *asked, const struct search *search,
	const struct leak_roots *roots, bool is_unread, struct buf *ret)
{
	const struct paused_target *target = asked->place.target;
	const struct search_totals *totals = search_totals(search);
	uint64_t missed = 0, search_ns = now_ns() - asked->since_ns;
	for (size_t i = 0; i < target->threads.len; i++)
		missed += !target->threads.data[i].stopped;
	const uint64_t pairs[][2] = {{HPW_LEAK_MOMENT, asked->moment}, {HPW_LEAK_TSC, asked->tsc},
		{HPW_LEAK_WAY, way_of(target)},
		{HPW_LEAK_PAUSE_NS, target->pause_ns ? target->pause_ns : search_ns},
		{HPW_LEAK_SEARCH_NS, search_ns},
		{HPW_LEAK_ALIGNMENT, asked->check.alignment ? asked->check.alignment : 8},
		{HPW_LEAK_HEURISTICS, asked->check.heuristics},
		{HPW_LEAK_NOTES, search_notes(&asked->place, search, roots)},
		{HPW_LEAK_RULES, search_rules(asked)},
		{HPW_LEAK_TOO_FAR, asked->check.rules.offset_limit},
		{HPW_LEAK_THREADS, target->threads.len}, {HPW_LEAK_THREADS_MISSED, missed},
		{HPW_LEAK_ROOT_BYTES, totals->root_bytes},
		{HPW_LEAK_UNREAD_BYTES, totals->unread_bytes},
		{HPW_LEAK_POINTERS, totals->pointers}, {HPW_LEAK_UNCOPIED, target->uncopied}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		put_pair(ret, pairs[i][0], pairs[i][1]);
	put_until_then(asked->place.tally, ret);
	/* Both number kinds and heuristics alike. */
	for (unsigned i = 0; i < SEARCH_KINDS; i++) {
		put_pair(ret, HPW_LEAK_BLOCKS + i, totals->blocks[i]);
		put_pair(ret, HPW_LEAK_BYTES + i, totals->bytes[i]);
	}
	for (unsigned i = 0; i < SEARCH_HEURISTIC_COUNT; i++) {
		put_pair(ret, HPW_LEAK_HEURISTIC_BLOCKS + i, totals->heuristic_blocks[i]);
		put_pair(ret, HPW_LEAK_HEURISTIC_BYTES + i, totals->heuristic_bytes[i]);
	}
	put_lacking(asked->place.annotations, is_unread, ret);
}

_Static_assert((int)SEARCH_DEFINITE == (int)HPW_LEAK_DEFINITE &&
		       (int)SEARCH_INDIRECT == (int)HPW_LEAK_INDIRECT &&
		       (int)SEARCH_POSSIBLE == (int)HPW_LEAK_POSSIBLE &&
		       (int)SEARCH_REACHABLE == (int)HPW_LEAK_REACHABLE,
	"kinds");
_Static_assert(SEARCH_HEURISTIC_COUNT == HPW_LEAK_HEURISTIC_COUNT, "heuristics");

static bool put_roots(const struct leak_roots *roots, const uint32_t *numbers, struct buf *ret)
{
	struct columns c;
	columns_init(&c, 7);
	for (size_t i = 0; i < roots->roots.len; i++) {
		const struct searched_root *root = &roots->roots.data[i];
		if (!numbers[i])
			continue;
		const uint64_t row[] = {root->place, root->start, root->end - root->start,
			(uint64_t)root->tid, root->module, strlen(root->name)};
		for (unsigned column = 0; column < 6; column++)
			columns_add(&c, column, row[column]);
		buf_bytes(&c.column[6], root->name, strlen(root->name));
	}
	return columns_finish(&c, ret);
}

/* Numbers the roots that hold something from 1 on. */
static void number_roots(
	const struct search_group *groups, size_t count, uint32_t *numbers, size_t root_count)
{
	for (size_t i = 0; i < count; i++)
		numbers[groups[i].root] = 1;
	uint32_t next = 0;
	for (size_t i = 0; i < root_count; i++)
		numbers[i] = numbers[i] ? ++next : 0;
}

/* Of a word that stands for one in memory, that one's. */
static uint64_t root_address(const struct leak_roots *roots, const struct search_group *g)
{
	const struct searched_root *root = &roots->roots.data[g->root];
	bool stands_for = (root->value_count && root->place != HPW_LEAK_ROOT_REGISTERS) ||
			  (root->many && root->place != HPW_LEAK_ROOT_IGNORED);
	return stands_for ? root->start : g->root_address;
}

static bool put_groups(const struct search_group *groups, size_t count,
	const struct leak_roots *roots, const uint32_t *numbers, struct buf *ret)
{
	struct columns c;
	columns_init(&c, 9);
	for (size_t i = 0; i < count; i++) {
		const struct search_group *g = &groups[i];
		const uint64_t row[] = {g->parent == SEARCH_NO_GROUP ? 0 : i - g->parent,
			numbers[g->root] - 1, root_address(roots, g), g->site,
			g->repeats | (uint64_t)g->together << 1, g->holder, g->offset, g->block,
			g->into};
		for (unsigned column = 0; column < 9; column++)
			columns_add(&c, column, row[column]);
	}
	return columns_finish(&c, ret);
}

static bool put_records(
	const struct leak_search_request *asked, const struct search *search, struct buf *ret)
{
	size_t count;
	const struct search_record *records = search_records(search, &count);
	struct columns c;
	columns_init(&c, 11);
	for (size_t i = 0; i < count; i++) {
		const struct search_record *r = &records[i];
		struct live_entry block = {.address = r->example};
		live_table_find(asked->place.live, r->example, &block);
		const uint64_t row[] = {r->site, r->kind,
			r->group == SEARCH_NO_GROUP ? 0 : r->group + 1ull, r->blocks, r->bytes,
			r->indirect_blocks, r->indirect_bytes, r->example, r->example_size,
			block.thread, block.number};
		for (unsigned column = 0; column < 11; column++)
			columns_add(&c, column, row[column]);
	}
	return columns_finish(&c, ret);
}

/* The program's own words. Returns false if some of them are too long, or can't be read. */
static bool put_lsan_strings(const struct leak_target *place, struct buf *ret)
{
	bool all = true;
	for (uint32_t i = 0; i < HW_LSAN_TEXTS; i++) {
		struct hw_span span = place->shm->lsan_texts[i];
		uint64_t bytes = span.end - span.start;
		if (span.end <= span.start)
			continue;
		_cleanup_free_ uint8_t *text = bytes <= HPW_LSAN_STRING_MAX ? malloc(bytes) : NULL;
		if (!text || process_memory_read(place->memory, span.start, text, bytes) != bytes) {
			all = false;
			continue;
		}
		put_pair(ret, i == HW_LSAN_OPTIONS ? HPW_LEAK_OPTIONS : HPW_LEAK_SUPPRESSIONS,
			bytes);
		buf_bytes(ret, text, bytes);
	}
	return all;
}

static struct error *put_all(const struct leak_search_request *asked, const struct search *search,
	const struct leak_roots *roots, struct leak_chunk *ret)
{
	size_t count;
	const struct search_group *groups = search_groups(search, &count);
	_cleanup_free_ uint32_t *numbers = calloc(roots->roots.len + 1, sizeof(*numbers));
	if (!numbers)
		return error_no_memory();
	number_roots(groups, count, numbers, roots->roots.len);
	bool is_unread = !put_lsan_strings(&asked->place, &ret[4].payload);
	put_search(asked, search, roots, is_unread, &ret[0].payload);
	if (ret[0].payload.failed || !put_roots(roots, numbers, &ret[1].payload) ||
		!put_groups(groups, count, roots, numbers, &ret[2].payload) ||
		!put_records(asked, search, &ret[3].payload))
		return error_no_memory();
	return ret[4].payload.failed ? error_no_memory() : NULL;
}

static void chunks_init(struct leak_chunk *chunks)
{
	static const enum hpw_chunk_type types[LEAK_CHUNKS] = {HPW_LEAK_SEARCH, HPW_LEAK_ROOTS,
		HPW_LEAK_GROUPS, HPW_LEAK_RECORDS, HPW_LSAN_STRINGS};
	for (unsigned i = 0; i < LEAK_CHUNKS; i++) {
		chunks[i].type = types[i];
		buf_init(&chunks[i].payload);
	}
}

struct error *leak_search(
	const struct leak_search_request *asked, struct leak_chunk ret[static LEAK_CHUNKS])
{
	struct leak_search_request now = *asked;
	struct reading reading = {.heartbeat = asked->heartbeat};
	struct leak_roots roots;
	struct search *search = NULL;
	chunks_init(ret);
	struct error *error = process_memory_open(asked->place.target->process,
		asked->place.target->owner, &asked->place.target->maps, &reading.memory);
	if (error)
		return error;
	now.place.memory = &reading.memory;
	now.place.no_globals = asked->check.rules.no_globals;
	now.place.no_threads = asked->check.rules.no_threads;
	error = leak_roots_find(&now.place, &roots);
	if (!error) {
		error = run_search(&now, &roots, &reading, &search);
		if (!error)
			error = put_all(&now, search, &roots, ret);
		if (!error && asked->place.target->is_waiting &&
			!paused_target_still_waits(asked->place.target, asked->place.shm))
			error = error_create(
				ERROR_ENVIRONMENT, "the process went on, or ended, meanwhile");
		search_destroy(search);
		leak_roots_deinit(&roots);
	}
	process_memory_close(&reading.memory);
	return error;
}

bool leak_search_failed(
	enum hpw_leak_moment moment, uint64_t tsc, const char *problem, struct leak_chunk *ret)
{
	ret->type = HPW_LEAK_SEARCH;
	buf_init(&ret->payload);
	put_pair(&ret->payload, HPW_LEAK_MOMENT, moment);
	put_pair(&ret->payload, HPW_LEAK_TSC, tsc);
	put_pair(&ret->payload, HPW_LEAK_WAY, HPW_LEAK_NONE);
	put_problem(&ret->payload, problem);
	return !ret->payload.failed;
}
