/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/util.h"

void diff_init(struct diff *diff)
{
	*diff = (struct diff){.match = NULL};
	rows_init(&diff->rows);
	stack_sizes_init(&diff->stacks);
	text_init(&diff->verdict);
	text_init(&diff->top);
	text_init(&diff->total);
	text_init(&diff->renamed);
	text_init(&diff->notes);
}

void diff_deinit(struct diff *diff)
{
	match_destroy(diff->match);
	rows_deinit(&diff->rows);
	stack_sizes_deinit(&diff->stacks);
	for (int i = 0; i < DIFF_STATUSES; i++)
		row_list_deinit(&diff->lists[i]);
	row_list_deinit(&diff->libraries);
	text_deinit(&diff->verdict);
	text_deinit(&diff->top);
	text_deinit(&diff->total);
	text_deinit(&diff->renamed);
	text_deinit(&diff->notes);
}

void diff_add_value(struct text *text, enum metric metric, uint64_t value)
{
	(metric_is_bytes(metric) ? text_add_bytes : text_add_count)(text, value);
}

void diff_add_change(struct text *text, enum metric metric, int64_t change)
{
	text_add(text, change > 0 ? "+" : change < 0 ? "-" : "±");
	diff_add_value(text, metric, change < 0 ? -(uint64_t)change : (uint64_t)change);
}

const char *diff_status_name(enum diff_status status)
{
	static const char *const names[DIFF_STATUSES] = {
		[DIFF_NEW] = "new",
		[DIFF_GROWN] = "grown",
		[DIFF_SHRUNK] = "shrunk",
		[DIFF_GONE] = "gone",
		[DIFF_SAME] = "same",
	};
	return names[status];
}

enum diff_status diff_status(const struct diff *diff, const struct row *row)
{
	uint64_t base = metric_of_site(diff->options.metric, row->base);
	uint64_t value = metric_of_site(diff->options.metric, row->sums);
	if (base == value)
		return DIFF_SAME;
	if (base == 0)
		return DIFF_NEW;
	if (value == 0)
		return DIFF_GONE;
	return value > base ? DIFF_GROWN : DIFF_SHRUNK;
}

struct change_range {
	int64_t low, high;
	bool overlap; /* of the ranges of both figures */
};

/*
 * The interval of a difference from those of its terms, without assuming that these are symmetric:
 * the method of variance estimates recovery (Zou and Donner, "Construction of confidence limits
 * about effect measures", 2008).
 */
static struct change_range compare_intervals(
	const struct diff_figure *figure, const struct interval pair[2])
{
	double a = (double)figure->base, b = (double)figure->value;
	double low = hypot(b - (double)pair[1].low, (double)pair[0].high - a);
	double high = hypot((double)pair[1].high - b, a - (double)pair[0].low);
	return (struct change_range){
		.low = (int64_t)floor(fmax(b - a - low, -9e18)),
		.high = (int64_t)ceil(fmin(b - a + high, 9e18)),
		.overlap = pair[0].low <= pair[1].high && pair[1].low <= pair[0].high,
	};
}

/* The ranges of the older figure and the newer one, and those for any sizes of blocks. */
struct change_ranges {
	struct interval pair[2], sure[2];
	bool estimated;
};

static void begin_ranges(struct change_ranges *ranges, const struct diff_figure *figure)
{
	*ranges = (struct change_ranges){.estimated = false};
	ranges->pair[0] = ranges->sure[0] = (struct interval){figure->base, figure->base, false};
	ranges->pair[1] = ranges->sure[1] = (struct interval){figure->value, figure->value, false};
}

static void take_ranges(const struct change_ranges *ranges, struct diff_figure *figure)
{
	if (!ranges->estimated)
		return;
	struct change_range range = compare_intervals(figure, ranges->pair);
	struct change_range sure = compare_intervals(figure, ranges->sure);
	figure->estimated = true;
	figure->low = range.low;
	figure->high = range.high;
	figure->by_mean_sizes = ranges->pair[0].by_mean_sizes || ranges->pair[1].by_mean_sizes;
	figure->sure_low = sure.low;
	figure->sure_high = sure.high;
	figure->within_error = sure.overlap;
}

bool diff_knows(const struct diff *diff, enum metric metric)
{
	return metric_is_known(metric, model_recording(diff->sides[0].model)) &&
	       metric_is_known(metric, model_recording(diff->sides[1].model));
}

const char *diff_ignorant(const struct diff *diff)
{
	return model_recording(diff->sides[0].model)->sample_bytes ||
			       model_recording(diff->sides[1].model)->sample_bytes
		       ? "a sample"
		       : "one of these files";
}

static void begin_figure(struct diff_figure *figure, uint64_t base, uint64_t value)
{
	*figure = (struct diff_figure){
		.base = base, .value = value, .change = (int64_t)(value - base)};
}

void diff_of_row(
	const struct diff *diff, const struct row *row, enum metric metric, struct diff_figure *ret)
{
	begin_figure(ret, metric_of_site(metric, row->base), metric_of_site(metric, row->sums));
	struct change_ranges ranges;
	begin_ranges(&ranges, ret);
	bool is_open = false;
	for (int i = 0; i < 2; i++) {
		const struct recording *recording = model_recording(diff->sides[i].model);
		is_open |= interval_is_open(recording, metric);
		const struct site *site = i ? row->sums : row->base;
		ranges.estimated |= interval_of_site(recording, metric, site, &ranges.pair[i]);
		interval_of_site_any_sizes(recording, metric, site, &ranges.sure[i]);
	}
	ranges.estimated &= !is_open;
	take_ranges(&ranges, ret);
	ret->within_error |= is_open && ret->change;
}

/* A total is one figure, not one of many rows of which some overlap by chance: its own range
 * decides, as it does for gates. */
static void evaluate_by_range(struct diff_figure *figure)
{
	figure->within_error = figure->estimated && figure->sure_low <= 0 && figure->sure_high >= 0;
}

void diff_of_totals(const struct diff *diff, enum metric metric, struct diff_figure *ret)
{
	const struct totals *totals[2] = {&diff->base, &diff->value};
	begin_figure(ret, metric_of_totals(metric, totals[0]), metric_of_totals(metric, totals[1]));
	struct change_ranges ranges;
	begin_ranges(&ranges, ret);
	for (int i = 0; i < 2; i++) {
		const struct recording *recording = model_recording(diff->sides[i].model);
		ranges.estimated |=
			interval_of_totals(recording, metric, totals[i], &ranges.pair[i]);
		interval_of_totals_any_sizes(recording, metric, totals[i], &ranges.sure[i]);
	}
	take_ranges(&ranges, ret);
	evaluate_by_range(ret);
}

void diff_of_program(const struct diff *diff, enum metric metric, struct diff_figure *ret)
{
	diff_of_totals(diff, metric, ret);
	if (!metric_is_of_live(metric))
		return;
	uint64_t older = min(metric_of_site(metric, &diff->kept_older), ret->base);
	uint64_t newer = min(metric_of_site(metric, &diff->kept_newer), ret->value);
	int64_t more = (int64_t)(newer - older);
	ret->base -= older;
	ret->value -= newer;
	ret->change -= more;
	ret->low -= more;
	ret->high -= more;
	ret->sure_low -= more;
	ret->sure_high -= more;
	/* Not by what was taken off as well. */
	evaluate_by_range(ret);
}

bool diff_is_news(enum metric metric, const struct diff_figure *figure)
{
	uint64_t change = figure->change < 0 ? -(uint64_t)figure->change : (uint64_t)figure->change;
	uint64_t least = metric_is_bytes(metric) ? DIFF_NEWS_BYTES : DIFF_NEWS_COUNT;
	uint64_t base = figure->base;
	return change && !figure->within_error && change >= base / (100 / DIFF_NEWS_PERCENT) &&
	       (change >= least || change >= base / (100 / DIFF_NEWS_SMALL_PERCENT));
}

/* Rows by the size of their changes, those within the error last, equals by their order. */
struct ranked {
	bool certain;
	uint64_t change;
	const struct row *row;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->certain != b->certain)
		return a->certain ? -1 : 1;
	if (a->change != b->change)
		return a->change > b->change ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static bool has_counts(const struct site *site)
{
	return site->allocations || site->failed || site->live_blocks || site->peak_blocks ||
	       site->allocated_bytes || site->live_bytes || site->peak_bytes;
}

static void diff_rank(const struct diff *diff, const struct row *row, struct ranked *ret)
{
	struct diff_figure figure;
	diff_of_row(diff, row, diff->options.metric, &figure);
	*ret = (struct ranked){!figure.within_error,
		figure.change < 0 ? -(uint64_t)figure.change : (uint64_t)figure.change, row};
}

static struct error *take_ranked(struct ranked *ranked, size_t count, struct row_list *ret)
{
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	if (!row_list_reserve(ret, count))
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		if (!row_list_push(ret, ranked[i].row))
			return error_no_memory();
	return NULL;
}

static bool has_any(const struct row *row, enum metric filter)
{
	if (filter == METRICS)
		return has_counts(row->sums) || has_counts(row->base);
	return metric_of_site(filter, row->sums) || metric_of_site(filter, row->base);
}

struct error *diff_select(
	const struct diff *diff, const struct rows *rows, enum metric filter, struct row_list *ret)
{
	_cleanup_free_ struct ranked *ranked = calloc(rows->rows.len + 1, sizeof(*ranked));
	size_t count = 0;
	if (!ranked)
		return error_no_memory();
	for (size_t i = 0; i < rows->rows.len; i++)
		if (has_any(&rows->rows.data[i], filter))
			diff_rank(diff, &rows->rows.data[i], &ranked[count++]);
	/* What did not change is within the error too. */
	for (size_t i = 0; i < count; i++)
		ranked[i].certain &= ranked[i].change != 0;
	return take_ranked(ranked, count, ret);
}

static struct error *make_list(struct diff *diff, enum diff_status status, struct ranked *ranked)
{
	size_t count = 0;
	for (size_t i = 0; i < diff->rows.rows.len; i++) {
		const struct row *row = &diff->rows.rows.data[i];
		if (diff_status(diff, row) != status ||
			(!has_counts(row->sums) && !has_counts(row->base)))
			continue;
		if (row->library && metric_is_of_live(diff->options.metric))
			continue;
		diff_rank(diff, row, &ranked[count++]);
		diff->sums[status] += row_value(row, diff->options.metric);
	}
	return take_ranked(ranked, count, &diff->lists[status]);
}

/* The rows that are in no list, for what is changed: of both, or of one. */
static struct error *list_libraries(struct diff *diff, struct ranked *ranked)
{
	size_t count = 0;
	for (size_t i = 0; i < diff->rows.rows.len; i++) {
		const struct row *row = &diff->rows.rows.data[i];
		if (row->library && metric_is_of_live(diff->options.metric) &&
			diff_status(diff, row) != DIFF_SAME)
			diff_rank(diff, row, &ranked[count++]);
	}
	return take_ranked(ranked, count, &diff->libraries);
}

static struct error *make_lists(struct diff *diff)
{
	_cleanup_free_ struct ranked *ranked = calloc(diff->rows.rows.len + 1, sizeof(*ranked));
	if (!ranked)
		return error_no_memory();
	for (int status = 0; status < DIFF_STATUSES; status++) {
		struct error *error = make_list(diff, (enum diff_status)status, ranked);
		if (error)
			return error;
	}
	return list_libraries(diff, ranked);
}

uint64_t diff_scaled(uint64_t value, uint64_t to, uint64_t from)
{
	return from ? (uint64_t)((long double)value * to / from + 0.5L) : value;
}

static void scale_spread(double *value, bool squared, uint64_t to, uint64_t from)
{
	double factor = from ? (double)to / (double)from : 1;
	*value *= squared ? factor * factor : factor;
}

/*
 * Each figure by the ratio of its own totals. Live figures are only the program's: what libraries
 * keep is no share of it, and stays what it is.
 */
static struct error *diff_normalize(struct diff *diff)
{
	struct row *rows = diff->rows.rows.data;
	for (size_t i = 0; i < diff->rows.rows.len; i++)
		if (!row_own_base(&rows[i], &diff->rows.arena))
			return error_no_memory();
	struct totals was = diff->base;
	const struct totals *is = &diff->value;
	const struct site none = {.allocations = 0};
#define SCALE(member, kept_was, kept_is, of_libraries)                                             \
	uint64_t from_##member = was.member - min(was.member, (kept_was).member);                  \
	uint64_t to_##member = is->member - min(is->member, (kept_is).member);                     \
	diff->base.member = diff_scaled(from_##member, to_##member, from_##member) +               \
			    min(was.member, (kept_was).member);                                    \
	for (size_t i = 0; i < diff->rows.rows.len; i++) {                                         \
		struct row *row = &diff->rows.rows.data[i];                                        \
		struct site *base = row_own_base(row, &diff->rows.arena);                          \
		if ((of_libraries) || !row->library)                                               \
			base->member = diff_scaled(base->member, to_##member, from_##member);      \
	}
#define SCALE_SPREAD(member, spread_member, squared, of_libraries)                                 \
	scale_spread(&diff->base.spread.spread_member, squared, to_##member, from_##member);       \
	for (size_t i = 0; i < diff->rows.rows.len; i++) {                                         \
		struct row *row = &diff->rows.rows.data[i];                                        \
		struct site *base = row_own_base(row, &diff->rows.arena);                          \
		if ((of_libraries) || !row->library)                                               \
			scale_spread(                                                              \
				&base->spread.spread_member, squared, to_##member, from_##member); \
	}
#define SCALE_ALL(member)                                                                          \
	SCALE(member, none, none, true)                                                            \
	SCALE_SPREAD(member, member, true, true)
#define SCALE_LIVE(member) SCALE(member, diff->kept_older, diff->kept_newer, false)
	SCALE_ALL(allocations)
	SCALE_SPREAD(allocations, allocations_more, false, true)
	SCALE_ALL(allocated_bytes)
	SCALE_SPREAD(allocated_bytes, allocated_bytes_more, false, true)
	SCALE_LIVE(live_blocks)
	SCALE_SPREAD(live_blocks, live_blocks, true, false)
	SCALE_SPREAD(live_blocks, live_blocks_more, false, false)
	SCALE_LIVE(live_bytes)
	SCALE_SPREAD(live_bytes, live_bytes, true, false)
	SCALE_SPREAD(live_bytes, live_bytes_more, false, false)
	SCALE_LIVE(kept_blocks)
	SCALE_LIVE(kept_bytes)
	SCALE_ALL(peak_blocks)
	SCALE_ALL(peak_bytes)
	SCALE(temporary, none, none, true)
	SCALE_ALL(failed)
#undef SCALE_LIVE
#undef SCALE_ALL
#undef SCALE_SPREAD
#undef SCALE
	return NULL;
}

static struct totals totals_of(const struct model *model, enum diff_scope scope)
{
	const struct inherited *inherited = model_inherited(model);
	if (scope == DIFF_INHERITED)
		return (struct totals){
			.live_blocks = inherited->blocks, .live_bytes = inherited->bytes};
	return *model_totals(model);
}

static void add_libraries(struct diff *diff, const struct rows *rows)
{
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		if (!row->library)
			continue;
		site_add(&diff->kept_older, row->base);
		site_add(&diff->kept_newer, row->sums);
	}
}

static void count_libraries(struct diff *diff)
{
	library_own_forget(&diff->rows);
	diff->kept_older = diff->kept_newer = (struct site){0};
}

/* A profile of another tool may lack the names by which what libraries keep is known, or be of a
 * moment, when nothing is: then it counts in both. */
static void compare_like_with_like(struct diff *diff)
{
	const char *older = model_recording(diff->sides[0].model)->source;
	const char *newer = model_recording(diff->sides[1].model)->source;
	if (strcmp(older, newer) == 0 ||
		(diff->kept_older.live_bytes == diff->kept_newer.live_bytes &&
			diff->kept_older.live_blocks == diff->kept_newer.live_blocks))
		return;
	diff->libraries_unknown = true;
	count_libraries(diff);
}

/* Of all rows, as the totals are, also where a filter left some of them. */
static struct error *sum_libraries(struct diff *diff)
{
	const struct diff_options *how = &diff->options;
	_cleanup_(match_cleanup) struct match *match = NULL;
	_cleanup_(rows_deinit) struct rows all;
	rows_init(&all);
	if (how->count_libraries || how->scope != DIFF_STACKS) {
		count_libraries(diff);
		return NULL;
	}
	if (!how->all[0]) {
		add_libraries(diff, &diff->rows);
		compare_like_with_like(diff);
		return NULL;
	}
	const struct match_side sides[] = {
		{diff->sides[0].model, how->all[0]}, {diff->sides[1].model, how->all[1]}};
	struct error *error = match_create(sides, 2, how->same_recording, &match);
	if (!error)
		error = match_rows(match, 1, &all);
	if (error)
		return error;
	add_libraries(diff, &all);
	compare_like_with_like(diff);
	return NULL;
}

/* What nobody asked for gives way to what both know. */
static struct error *choose_metric(struct diff *diff)
{
	struct diff_options *how = &diff->options;
	enum metric asked = how->metric;
	const struct recording *older = model_recording(diff->sides[0].model);
	const struct recording *newer = model_recording(diff->sides[1].model);
	const struct recording both = {.unknown = older->unknown | newer->unknown};
	if (how->metric_unasked && !diff_knows(diff, asked))
		how->metric = metric_or_known(asked, &both);
	if (how->metric == asked)
		return NULL;
	bool older_knows = metric_is_known(asked, older);
	bool either_knows = older_knows || metric_is_known(asked, newer);
	text_printf(&diff->notes, "%s is compared, since %s no %s; --metric chooses another.\n",
		metric_name(how->metric),
		!either_knows ? "both files contain"
		: older_knows ? "the newer file contains"
			      : "the older file contains",
		metric_name(asked));
	return diff->notes.failed ? error_no_memory() : NULL;
}

struct error *diff_build(const struct match_side *older, const struct match_side *newer,
	const struct diff_options *options, struct diff *ret)
{
	ret->options = *options;
	ret->sides[0] = *older;
	ret->sides[1] = *newer;
	ret->base = totals_of(older->model, options->scope);
	ret->value = totals_of(newer->model, options->scope);
	struct error *error = choose_metric(ret);
	if (!error)
		error = match_create(ret->sides, 2, options->same_recording, &ret->match);
	if (!error)
		error = match_rows(ret->match, 1, &ret->rows);
	if (!error)
		error = sum_libraries(ret);
	if (!error && options->normalize)
		error = diff_normalize(ret);
	if (!error && diff_knows(ret, ret->options.metric))
		error = make_lists(ret);
	if (!error)
		error = stack_sizes_build(
			older->model, newer->model, options->same_recording, &ret->stacks);
	return error ? error : diff_describe(ret);
}
