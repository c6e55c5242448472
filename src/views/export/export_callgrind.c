/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callgrind's format (Valgrind's manual, "Callgrind Format Specification"), for KCachegrind and
 * callgrind_annotate: what each function allocated itself, by line, and what it called.
 *
 * A reader takes a function's inclusive cost to be what its calls cost together. So that this is
 * right where functions call themselves, the second call of one in a stack is a function of its
 * own, "f'2", as --separate-recs of Callgrind has it; and so that it is right where stacks begin in
 * different functions, all of them are called by "(all)". Numbers stand for names, each of which is
 * written once: a name like "(1) x" would be taken for a number.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/grain.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

/* Of functions and files; 0: none yet. */
static inline uint64_t name_hash(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static inline bool name_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_MAP(name_numbers, const char *, uint32_t, name_hash, name_equal)

/* A function of a file, the `level`-th time that it stands in a stack. */
struct function_key {
	uint32_t spot, level;
};

static inline uint64_t function_key_hash(struct function_key key)
{
	return hash_u64((uint64_t)key.spot << 32 | key.level);
}

static inline bool function_key_equal(struct function_key a, struct function_key b)
{
	return a.spot == b.spot && a.level == b.level;
}

DEFINE_MAP(function_numbers, struct function_key, uint32_t, function_key_hash, function_key_equal)

/* What a line of a function allocated itself (callee NO_CALLEE), or by a call. */
struct cost_key {
	uint32_t function, callee, line;
};
#define NO_CALLEE UINT32_MAX

static inline uint64_t cost_key_hash(struct cost_key key)
{
	return hash_u64(((uint64_t)key.function << 32 | key.callee) ^ hash_u64(key.line));
}

static inline bool cost_key_equal(struct cost_key a, struct cost_key b)
{
	return a.function == b.function && a.callee == b.callee && a.line == b.line;
}

DEFINE_MAP(cost_numbers, struct cost_key, uint32_t, cost_key_hash, cost_key_equal)

struct cost {
	struct cost_key key;
	uint64_t figures[METRICS];
};

struct function {
	const struct spot *spot; /* NULL: "(all)" */
	uint32_t level;
};

DEFINE_VEC(cost_vec, struct cost)
DEFINE_VEC(function_vec, struct function)
DEFINE_VEC(level_vec, uint32_t)

struct callgrind {
	const struct exported *from;
	struct export_out out;
	struct spots *spots;
	struct function_numbers numbers;
	struct function_vec functions; /* number 0: "(all)" */
	struct cost_numbers cost_numbers;
	struct cost_vec costs;
	struct level_vec levels; /* of the stack at hand, by spot; 0 in between */
	struct name_numbers files, objects;
	bool *named; /* functions whose name is written */
	enum metric metrics[METRICS];
	size_t metric_count;
	uint64_t sums[METRICS];
	bool remarks;
};

static void callgrind_deinit(struct callgrind *at)
{
	export_out_deinit(&at->out);
	spots_destroy(at->spots);
	function_numbers_deinit(&at->numbers);
	function_vec_deinit(&at->functions);
	cost_numbers_deinit(&at->cost_numbers);
	cost_vec_deinit(&at->costs);
	level_vec_deinit(&at->levels);
	name_numbers_deinit(&at->files);
	name_numbers_deinit(&at->objects);
	free(at->named);
}

static void choose_metrics(struct callgrind *at)
{
	static const enum metric order[] = {METRIC_PEAK_BYTES, METRIC_LIVE_BYTES,
		METRIC_ALLOCATED_BYTES, METRIC_PEAK_BLOCKS, METRIC_LIVE_BLOCKS, METRIC_ALLOCATIONS,
		METRIC_TEMPORARY, METRIC_FAILED};
	const struct recording *recording = model_recording(at->from->profile->model);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (metric_is_known(order[i], recording) &&
			!(order[i] == METRIC_TEMPORARY && recording->sample_bytes))
			at->metrics[at->metric_count++] = order[i];
}

static struct error *function_number(
	struct callgrind *at, const struct spot *spot, uint32_t level, uint32_t *ret)
{
	bool is_new;
	struct function_key key = {.spot = spot->id, .level = level};
	uint32_t *number = function_numbers_insert(&at->numbers, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		struct function function = {.spot = spot, .level = level};
		*number = (uint32_t)at->functions.len;
		if (!function_vec_push(&at->functions, function))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

static struct error *add_cost(struct callgrind *at, struct cost_key key, const struct site *sums)
{
	bool is_new;
	uint32_t *number = cost_numbers_insert(&at->cost_numbers, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		struct cost cost = {.key = key};
		*number = (uint32_t)at->costs.len;
		if (!cost_vec_push(&at->costs, cost))
			return error_no_memory();
	}
	struct cost *cost = &at->costs.data[*number];
	for (size_t i = 0; i < at->metric_count; i++)
		cost->figures[i] += metric_of_site(at->metrics[i], sums);
	return NULL;
}

/* How often the function stands in the stack so far. */
static struct error *count_level(struct callgrind *at, const struct spot *spot, uint32_t *ret)
{
	while (at->levels.len <= spot->id)
		if (!level_vec_push(&at->levels, 0))
			return error_no_memory();
	*ret = ++at->levels.data[spot->id];
	return NULL;
}

static struct error *forget_levels(struct callgrind *at, const struct row *row)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < row->depth; i++) {
		const struct spot *spot;
		error = spots_find(at->spots, row->frames[i], &spot);
		if (!error && spot && spot->id < at->levels.len)
			at->levels.data[spot->id] = 0;
	}
	return error;
}

static struct error *export_callgrind_add_row(struct callgrind *at, const struct row *row)
{
	struct cost_key key = {.function = 0, .callee = NO_CALLEE};
	struct error *error = NULL;
	for (size_t i = row->depth; !error && i > 0; i--) {
		const struct shown_frame *frame = row->frames[i - 1];
		const struct spot *spot;
		uint32_t level = 1;
		error = spots_find(at->spots, frame, &spot);
		if (error)
			return error;
		if (!spot) {
			at->remarks = true;
			continue;
		}
		error = count_level(at, spot, &level);
		if (!error)
			error = function_number(at, spot, level, &key.callee);
		if (!error)
			error = add_cost(at, key, row->sums);
		key = (struct cost_key){
			.function = key.callee, .callee = NO_CALLEE, .line = frame->line};
	}
	if (!error)
		error = add_cost(at, key, row->sums);
	for (size_t i = 0; i < at->metric_count; i++)
		at->sums[i] += metric_of_site(at->metrics[i], row->sums);
	return error ? error : forget_levels(at, row);
}

static int compare_costs(const void *left, const void *right)
{
	const struct cost_key *a = &((const struct cost *)left)->key;
	const struct cost_key *b = &((const struct cost *)right)->key;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	/* Its own costs first: NO_CALLEE + 1 is 0. */
	if (a->callee != b->callee)
		return a->callee + 1 < b->callee + 1 ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* "fl=(1) app.c", later "fl=(1)". */
static struct error *add_named(
	struct text *out, struct name_numbers *numbers, const char *what, const char *name)
{
	bool is_new;
	uint32_t *number = name_numbers_insert(numbers, name, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new)
		*number = numbers->len;
	text_printf(out, "%s=(%" PRIu32 ")", what, *number);
	if (is_new) {
		text_add_char(out, ' ');
		text_add_plain(out, name);
	}
	text_add_char(out, '\n');
	return NULL;
}

static void export_callgrind_add_function(struct callgrind *at, const char *what, uint32_t number)
{
	const struct function *function = &at->functions.data[number];
	struct text *out = &at->out.text;
	text_printf(out, "%s=(%" PRIu32 ")", what, number + 1);
	if (!at->named[number]) {
		text_add_char(out, ' ');
		text_add_plain(out, function->spot ? function->spot->name : "(all)");
		if (function->level > 1)
			text_printf(out, "'%" PRIu32, function->level);
	}
	text_add_char(out, '\n');
	at->named[number] = true;
}

static struct error *export_callgrind_add_names(struct callgrind *at, uint32_t number, bool called)
{
	const struct spot *spot = at->functions.data[number].spot;
	const char *file = spot && spot->frame->file ? spot->frame->file : "???";
	const char *object = spot && spot->frame->module_path ? spot->frame->module_path : "???";
	struct text *out = &at->out.text;
	struct error *error = add_named(out, &at->objects, called ? "cob" : "ob", object);
	if (!error)
		error = add_named(out, &at->files, called ? "cfi" : "fl", file);
	if (!error)
		export_callgrind_add_function(at, called ? "cfn" : "fn", number);
	return error;
}

static void export_callgrind_add_figures(
	const struct callgrind *at, struct text *out, const uint64_t *figures)
{
	for (size_t i = 0; i < at->metric_count; i++)
		text_printf(out, " %" PRIu64, figures[i]);
	text_add_char(out, '\n');
}

/* How often something was called is not known; how often that led to an allocation is. */
static uint64_t calls_of(const struct callgrind *at, const struct cost *cost)
{
	for (size_t i = 0; i < at->metric_count; i++)
		if (at->metrics[i] == METRIC_ALLOCATIONS && cost->figures[i])
			return cost->figures[i];
	return 1;
}

static struct error *add_costs(struct callgrind *at)
{
	struct text *out = &at->out.text;
	uint32_t function = NO_CALLEE;
	struct error *error = NULL;
	for (size_t i = 0; !error && !at->out.stopped && i < at->costs.len; i++) {
		const struct cost *cost = &at->costs.data[i];
		if (cost->key.function != function) {
			text_add_char(out, '\n');
			error = export_callgrind_add_names(at, cost->key.function, false);
		}
		function = cost->key.function;
		if (!error && cost->key.callee != NO_CALLEE) {
			error = export_callgrind_add_names(at, cost->key.callee, true);
			text_printf(out, "calls=%" PRIu64 " 0\n", calls_of(at, cost));
		}
		text_printf(out, "%" PRIu32, cost->key.line);
		export_callgrind_add_figures(at, out, cost->figures);
		if (!error)
			error = export_out_flush(&at->out);
	}
	return error;
}

static void export_callgrind_add_head(struct callgrind *at)
{
	struct text *out = &at->out.text;
	text_printf(out,
		"# callgrind format\nversion: 1\ncreator: heapwise\npid: %" PRIu32 "\ncmd: ",
		model_target(at->from->profile->model)->pid);
	export_add_command(out, at->from->profile->model);
	text_add(out, "\npart: 1\n\npositions: line\n");
	for (size_t i = 0; i < at->metric_count; i++)
		text_printf(out, "event: %s : %s\n", metric_name(at->metrics[i]),
			metric_title(at->metrics[i]));
	text_add(out, "events:");
	for (size_t i = 0; i < at->metric_count; i++)
		text_printf(out, " %s", metric_name(at->metrics[i]));
	text_add(out, "\nsummary:");
	export_callgrind_add_figures(at, out, at->sums);
}

static struct error *export_callgrind_gather(struct callgrind *at)
{
	const struct row_vec *rows = &profile_rows(at->from->profile)->rows;
	struct error *error = spots_create(GRAIN_FUNCTIONS, &at->spots);
	const struct function all = {.spot = NULL};
	if (!error && !function_vec_push(&at->functions, all))
		error = error_no_memory();
	for (size_t i = 0; !error && i < rows->len; i++)
		error = export_callgrind_add_row(at, &rows->data[i]);
	if (error)
		return error;
	if (at->costs.len)
		qsort(at->costs.data, at->costs.len, sizeof(*at->costs.data), compare_costs);
	at->named = calloc(at->functions.len, sizeof(*at->named));
	return at->named ? NULL : error_no_memory();
}

struct error *export_callgrind(const struct exported *from, const struct sink *sink)
{
	_cleanup_(callgrind_deinit) struct callgrind at = {.from = from};
	export_out_init(&at.out, sink);
	choose_metrics(&at);
	struct error *error = export_callgrind_gather(&at);
	if (error)
		return error;
	export_callgrind_add_head(&at);
	error = add_costs(&at);
	text_add(&at.out.text, "\ntotals:");
	export_callgrind_add_figures(&at, &at.out.text, at.sums);
	if (!error)
		error = export_out_end(&at.out);
	if (error)
		return error;
	text_add(from->lost, "Callgrind's format contains calls between functions, not whole "
			     "stacks. Call counts are numbers of allocations.\n");
	export_omit(from, "Callgrind files", EXPORT_MOMENTS | EXPORT_THREADS | EXPORT_KINDS);
	if (at.remarks)
		text_add(from->lost, EXPORT_REMARKS_LOST);
	return NULL;
}
