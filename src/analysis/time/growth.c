/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary.h"
#include "base/cleanup.h"

#define PAIRS (GROWTH_WINDOWS * (GROWTH_WINDOWS - 1) / 2)
/* A floor has to rise in so large a part of all pairs of windows, less those in which it falls. */
#define TAU_LEAST 0.6
/* One window of this many has to begin with more than the one before it: what came two or three
 * times has no trend. */
#define RISES_PART 3u
/* What it rises by has to be this many times what it strays. */
#define STRAY_FACTOR 4.0
/* … and such a part of what is there, and of the program's peak. */
#define OWN_PART 0.02
#define PEAK_PART 0.001
/* Stacks that grow by less than this, or a hundredth of the peak, are no threads that never end.
 */
#define STACKS_LEAST (1u << 20)
/* Of the line's slope the last windows have to have so much. */
#define LATE_PART 0.25
#define LATE_WINDOWS 5u
/* Less than that of the highest is left: it was a burst. */
#define BURST_PART 0.25
/* And no more of the windows had half of the highest. */
#define BURST_WINDOWS 4u
/* So much of the last floor was there in the second window: it was there from the start. */
#define STARTUP_PART 0.9
/* No more than so much: it rose. */
#define ROSE_PART 0.7

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double growth_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The median of the slopes between any two of the windows from `first` on, a window being 1. */
static double slope_of(const uint64_t *floors, size_t first, double *ret_tau)
{
	double slopes[PAIRS];
	size_t count = 0, ups = 0, downs = 0;
	for (size_t i = first; i < GROWTH_WINDOWS; i++)
		for (size_t j = i + 1; j < GROWTH_WINDOWS; j++) {
			double difference = (double)floors[j] - (double)floors[i];
			ups += difference > 0;
			downs += difference < 0;
			slopes[count++] = difference / (double)(j - i);
		}
	if (ret_tau)
		*ret_tau = count ? ((double)ups - (double)downs) / (double)count : 0;
	return growth_median(slopes, count);
}

/* How far the floors are from the line, in the middle. */
static double stray_of(const uint64_t *floors, size_t first, double slope)
{
	double levels[GROWTH_WINDOWS], strays[GROWTH_WINDOWS];
	size_t count = 0;
	for (size_t i = first; i < GROWTH_WINDOWS; i++)
		levels[count++] = (double)floors[i] - slope * (double)(i - first);
	double level = growth_median(levels, count);
	count = 0;
	for (size_t i = first; i < GROWTH_WINDOWS; i++)
		strays[count++] = fabs((double)floors[i] - level - slope * (double)(i - first));
	return growth_median(strays, count);
}

/* What is live stays so until the next moment: a window has at least the moment before it. */
static void put_floors(
	const uint64_t *times_ns, const uint64_t *bytes, size_t count, struct growth_row *ret)
{
	uint64_t start = times_ns[0], span = times_ns[count - 1] - start;
	size_t i = 0;
	for (size_t window = 0; window < GROWTH_WINDOWS; window++) {
		uint64_t end =
			start + (uint64_t)((double)span * (double)(window + 1) / GROWTH_WINDOWS);
		uint64_t floor = i ? bytes[i - 1] : bytes[0], top = floor;
		bool is_last = window + 1 == GROWTH_WINDOWS;
		for (; i < count && (is_last || times_ns[i] < end); i++) {
			if (bytes[i] < floor)
				floor = bytes[i];
			if (bytes[i] > top)
				top = bytes[i];
		}
		ret->floors[window] = floor;
		ret->tops[window] = top;
		if (top > ret->highest)
			ret->highest = top;
	}
}

static bool keeps_growing(const struct growth_row *row, size_t first, double slope, double tau)
{
	double growth = slope * (double)(GROWTH_WINDOWS - 1 - first);
	double late = slope_of(row->floors, GROWTH_WINDOWS - LATE_WINDOWS, NULL);
	/* What grows ever more slowly levels off, though the median of its slopes is low too. */
	double mean = ((double)row->floors[GROWTH_WINDOWS - 1] - (double)row->floors[first]) /
		      (double)(GROWTH_WINDOWS - 1 - first);
	size_t rises = 0, windows = GROWTH_WINDOWS - 1 - first;
	for (size_t i = first + 1; i < GROWTH_WINDOWS; i++)
		rises += row->floors[i] > row->floors[i - 1];
	return tau >= TAU_LEAST && growth > 0 && rises * RISES_PART >= windows &&
	       growth >= STRAY_FACTOR * stray_of(row->floors, first, slope) &&
	       growth >= OWN_PART * (double)row->floors[GROWTH_WINDOWS - 1] &&
	       late >= LATE_PART * slope && late >= LATE_PART * mean;
}

static bool is_short(const struct growth_row *row)
{
	unsigned high = 0;
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		high += row->tops[i] >= row->highest / 2;
	return high <= BURST_WINDOWS;
}

/* Whether what has risen to half of the last floor stays there: what goes up and down may end high.
 */
static bool growth_stays(const struct growth_row *row)
{
	uint64_t half = row->floors[GROWTH_WINDOWS - 1] / 2;
	size_t i = 0;
	while (i < GROWTH_WINDOWS && row->floors[i] < half)
		i++;
	while (i < GROWTH_WINDOWS && row->floors[i] >= half)
		i++;
	return i == GROWTH_WINDOWS;
}

void growth_evaluate(
	const uint64_t *times_ns, const uint64_t *bytes, size_t count, struct growth_row *ret)
{
	ret->verdict = GROWTH_NONE;
	memset(ret->floors, 0, sizeof(ret->floors));
	memset(ret->tops, 0, sizeof(ret->tops));
	ret->highest = 0;
	if (count < GROWTH_WINDOWS)
		return;
	put_floors(times_ns, bytes, count, ret);
	ret->live_bytes = bytes[count - 1];
	size_t first = 0;
	while (first + 1 < GROWTH_WINDOWS && !ret->floors[first])
		first++;
	/* What came first in the window before is a part of the rise. */
	first -= first > 0;
	double tau, slope = slope_of(ret->floors, first, &tau);
	double window_s = (double)(times_ns[count - 1] - times_ns[0]) / 1e9 / GROWTH_WINDOWS;
	uint64_t last = ret->floors[GROWTH_WINDOWS - 1];
	ret->grown_bytes = (int64_t)(slope * (double)(GROWTH_WINDOWS - 1 - first));
	/* A line through what rose by leaps may rise by more than there is. */
	if (ret->grown_bytes > (int64_t)ret->live_bytes)
		ret->grown_bytes = (int64_t)ret->live_bytes;
	ret->bytes_per_s = window_s > 0 ? slope / window_s : 0;
	if (!ret->highest)
		return;
	if (GROWTH_WINDOWS - first > LATE_WINDOWS && keeps_growing(ret, first, slope, tau))
		ret->verdict = GROWTH_LEAK;
	else if ((double)last < BURST_PART * (double)ret->highest)
		ret->verdict = is_short(ret) ? GROWTH_BURST : GROWTH_STEADY;
	else if ((double)ret->floors[1] <= ROSE_PART * (double)last && growth_stays(ret))
		ret->verdict = GROWTH_CACHE;
	else if ((double)ret->highest <= (double)last / STARTUP_PART)
		ret->verdict = GROWTH_STARTUP;
	else
		ret->verdict = GROWTH_STEADY;
}

void growth_init(struct growth *growth)
{
	*growth = (struct growth){.stacks.verdict = GROWTH_NONE};
	growth_rows_init(&growth->rows);
	growth_rows_init(&growth->suspects);
	text_init(&growth->verdict);
}

void growth_deinit(struct growth *growth)
{
	growth_rows_deinit(&growth->rows);
	growth_rows_deinit(&growth->suspects);
	text_deinit(&growth->verdict);
}

/* A moment that is judged: what was live at that of the series held then too. */
struct judged_moment {
	uint64_t time_ns;
	size_t of_series;
};
DEFINE_VEC(judged_moments, struct judged_moment)

/* All series as a table: bytes of each row at each moment. */
struct table {
	struct judged_moments moments;
	uint64_t *bytes; /* [row × moments + moment] */
	uint64_t *times;
	uint64_t *blocks,
		*end_bytes; /* [row]: at the last moment judged; when the recording ends */
	uint64_t *together; /* [moment]: of all rows of a place */
};

static void table_deinit(struct table *table)
{
	judged_moments_deinit(&table->moments);
	free(table->bytes);
	free(table->times);
	free(table->blocks);
	free(table->end_bytes);
	free(table->together);
}

/*
 * Chooses what is judged: all before the tail, in which are the end and what is freed there. Idle
 * time counts as much as any other: where the series has no moment for long because nothing
 * happened, what was live stays.
 */
static struct error *choose_moments(
	const struct model *model, unsigned tail_percent, struct judged_moments *ret)
{
	size_t count;
	const struct series_row *series = model_series(model, &count);
	if (!count)
		return NULL;
	uint64_t first = series[0].time_ns, last = series[count - 1].time_ns;
	uint64_t until = last - (last - first) / 100 * tail_percent;
	bool whole = model_recording(model)->series_is_whole;
	uint64_t most_apart = (until - first) / GROWTH_MOMENTS + 1;
	for (size_t i = 0; i < count && series[i].time_ns <= until; i++) {
		uint64_t next = i + 1 < count && series[i + 1].time_ns < until
					? series[i + 1].time_ns
					: until;
		uint64_t at = series[i].time_ns;
		do {
			if (!judged_moments_push(ret, (struct judged_moment){at, i}))
				return error_no_memory();
			at += most_apart;
		} while (whole && at < next);
	}
	bool is_later = ret->len && ret->data[ret->len - 1].time_ns < until;
	size_t latest = ret->len ? ret->data[ret->len - 1].of_series : 0;
	if (whole && is_later && !judged_moments_push(ret, (struct judged_moment){until, latest}))
		return error_no_memory();
	return NULL;
}

static struct error *fill_table(
	const struct model *model, const uint32_t *row_of_site, size_t rows, struct table *table)
{
	size_t count, sites_count;
	const struct series_row *series = model_series(model, &count);
	const struct series_site *sites = model_series_sites(model, &sites_count);
	size_t moments = table->moments.len;
	table->bytes = calloc(rows * moments + 1, sizeof(*table->bytes));
	table->times = calloc(moments + 1, sizeof(*table->times));
	table->blocks = calloc(rows + 1, sizeof(*table->blocks));
	table->end_bytes = calloc(rows + 1, sizeof(*table->end_bytes));
	table->together = calloc(moments + 1, sizeof(*table->together));
	if (!table->bytes || !table->times || !table->blocks || !table->end_bytes ||
		!table->together)
		return error_no_memory();
	for (size_t i = 0; i <= moments; i++) {
		bool is_end = i == moments;
		const struct series_row *at =
			&series[is_end ? count - 1 : table->moments.data[i].of_series];
		if (!is_end)
			table->times[i] = table->moments.data[i].time_ns;
		for (size_t n = 0; count && n < at->site_count; n++) {
			const struct series_site *site = &sites[at->first_site + n];
			uint32_t row = row_of_site[site->site.value];
			if (row == ROWS_NONE)
				continue;
			if (is_end)
				table->end_bytes[row] += site->live_bytes;
			else
				table->bytes[row * moments + i] += site->live_bytes;
			if (i + 1 == moments)
				table->blocks[row] += site->live_blocks;
		}
	}
	return NULL;
}

static int growth_compare_rows(const void *left, const void *right)
{
	const struct growth_row *a = left, *b = right;
	bool suspect_a = a->verdict == GROWTH_LEAK, suspect_b = b->verdict == GROWTH_LEAK;
	if (suspect_a != suspect_b)
		return suspect_a ? -1 : 1;
	int64_t x = suspect_a ? a->grown_bytes : (int64_t)a->live_bytes;
	int64_t y = suspect_a ? b->grown_bytes : (int64_t)b->live_bytes;
	if (x != y)
		return x > y ? -1 : 1;
	if (a->highest != b->highest)
		return a->highest > b->highest ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

bool growth_was_freed(const struct growth_row *row)
{
	return row->verdict == GROWTH_LEAK && row->end_bytes < row->live_bytes / 2;
}

void growth_describe_suspect(const struct growth_row *row, uint64_t until_ns, struct text *text)
{
	if (row->row->place)
		summary_add_place(text, row->row->place);
	else
		text_add(text, "An unnamed allocation site");
	bool freed = growth_was_freed(row);
	text_add(text, freed ? " grew while it ran: by " : " keeps growing: by ");
	text_add_bytes(text, (uint64_t)row->grown_bytes);
	if (row->bytes_per_s >= 1) {
		text_add(text, ", ");
		text_add_bytes(text, (uint64_t)row->bytes_per_s);
		text_add(text, " a second");
	}
	text_add(text, ", to ");
	text_add_bytes(text, row->live_bytes);
	text_add(text, " after ");
	text_add_duration_ns(text, until_ns);
	if (freed)
		text_add(text, "; it was freed before exit, so a leak check finds nothing");
	text_add(text, ".\n");
}

#define SUSPECTS_NAMED 3u

/* What the stacks of all threads take together is judged like a place. */
static struct error *describe_stacks(
	const struct model *model, const struct table *table, struct growth *growth)
{
	size_t count;
	const struct series_row *series = model_series(model, &count);
	_cleanup_free_ uint64_t *bytes = calloc(growth->moments + 1, sizeof(*bytes));
	if (!bytes)
		return error_no_memory();
	for (size_t i = 0; i < growth->moments; i++)
		bytes[i] = series[table->moments.data[i].of_series].stack_bytes;
	growth_evaluate(table->times, bytes, growth->moments, &growth->stacks);
	uint64_t least = model_totals(model)->peak_bytes / 100;
	if (least < STACKS_LEAST)
		least = STACKS_LEAST;
	if (growth->stacks.verdict == GROWTH_LEAK && growth->stacks.grown_bytes < (int64_t)least)
		growth->stacks.verdict = GROWTH_STEADY;
	if (growth->stacks.verdict != GROWTH_LEAK)
		return NULL;
	text_add(&growth->verdict, "Thread stacks keep growing: by ");
	text_add_bytes(&growth->verdict, (uint64_t)growth->stacks.grown_bytes);
	text_add(&growth->verdict, ", to ");
	text_add_bytes(&growth->verdict, growth->stacks.live_bytes);
	text_add(&growth->verdict, ".\n");
	return NULL;
}

static void growth_describe(struct growth *growth, bool chosen)
{
	struct text *text = &growth->verdict;
	size_t suspects = growth->suspects.len;
	for (size_t i = 0; i < suspects && i < SUSPECTS_NAMED; i++)
		growth_describe_suspect(&growth->suspects.data[i], growth->until_ns, text);
	if (suspects > SUSPECTS_NAMED)
		text_printf(text, "%zu more %s growing.\n", suspects - SUSPECTS_NAMED,
			suspects - SUSPECTS_NAMED == 1 ? "allocation site keeps"
						       : "allocation sites keep");
	if (growth->moments < GROWTH_WINDOWS)
		text_add(
			text, "There are too few data points to distinguish growth from chance.\n");
	else if (!suspects)
		text_printf(text, "No allocation site%s keeps growing.\n",
			chosen ? " among those shown" : "");
}

/* Sets ret[site] to the place that it is in. */
static struct error *find_places(const struct model *model, struct resolver *resolver,
	const struct growth_places *places, uint32_t **ret)
{
	struct error *error = rows_of_sites(model, resolver, places->all, ret);
	size_t count;
	model_sites(model, &count);
	for (size_t i = 0; !error && places->shown_of && i < count; i++)
		if ((*ret)[i] != ROWS_NONE)
			(*ret)[i] = places->shown_of[(*ret)[i]];
	return error;
}

/* The places that have something live at any moment: of others nothing can be said, and with very
 * many places their part of the table would be most of it. */
struct judged_places {
	uint32_t *row; /* of each, ascending */
	size_t count;
};

/* Sets ret, and turns rows of sites to numbers of judged places. */
static struct error *choose_places(
	const struct model *model, size_t rows, uint32_t *row_of_site, struct judged_places *ret)
{
	size_t count, sites;
	const struct series_site *series = model_series_sites(model, &count);
	_cleanup_free_ uint32_t *number = malloc((rows + 1) * sizeof(*number));
	if (!number)
		return error_no_memory();
	memset(number, 0xff, (rows + 1) * sizeof(*number));
	for (size_t i = 0; i < count; i++)
		if (row_of_site[series[i].site.value] != ROWS_NONE)
			number[row_of_site[series[i].site.value]] = 0;
	for (size_t i = 0; i < rows; i++)
		if (number[i] != ROWS_NONE)
			number[i] = (uint32_t)ret->count++;
	ret->row = malloc((ret->count + 1) * sizeof(*ret->row));
	if (!ret->row)
		return error_no_memory();
	for (size_t i = 0; i < rows; i++)
		if (number[i] != ROWS_NONE)
			ret->row[number[i]] = (uint32_t)i;
	model_sites(model, &sites);
	for (size_t i = 0; i < sites; i++)
		if (row_of_site[i] != ROWS_NONE)
			row_of_site[i] = number[row_of_site[i]];
	return NULL;
}

static void judged_places_deinit(struct judged_places *judged)
{
	free(judged->row);
}

/* A judged row and the place that it blames. */
struct placed {
	uint32_t place;
	uint32_t number; /* among those that are judged */
	const struct row *row;
};

/* Blames none, or is a library's: a place by itself. */
#define NO_PLACE UINT32_MAX

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The rows that are judged, those of one place next to each other; the caller frees them. */
static struct placed *place_rows(const struct rows *rows, const struct judged_places *judged)
{
	struct placed *placed = malloc((judged->count + 1) * sizeof(*placed));
	for (size_t i = 0; placed && i < judged->count; i++) {
		const struct row *row = &rows->rows.data[judged->row[i]];
		bool named = row->place && !row->library;
		placed[i] = (struct placed){named ? row->place->place : NO_PLACE, (uint32_t)i, row};
	}
	if (placed && judged->count)
		qsort(placed, judged->count, sizeof(*placed), compare_placed);
	return placed;
}

/* Sets the verdict of a series; of blocks and bytes at the end all is set already. */
static void evaluate_series(
	const struct table *table, const uint64_t *bytes, uint64_t peak, struct growth_row *row)
{
	growth_evaluate(table->times, bytes, table->moments.len, row);
	if (row->verdict == GROWTH_LEAK && (double)row->grown_bytes < PEAK_PART * (double)peak)
		row->verdict = GROWTH_STEADY;
}

/* Judges the rows of one place, each by itself and all together. */
static struct error *evaluate_place(const struct table *table, const struct placed *members,
	size_t count, uint64_t peak, struct growth *ret)
{
	struct growth_row best = {.verdict = GROWTH_NONE}, all = {.row = members->row};
	size_t moments = table->moments.len;
	memset(table->together, 0, moments * sizeof(*table->together));
	for (size_t i = 0; i < count; i++) {
		const uint64_t *bytes = table->bytes + members[i].number * moments;
		struct growth_row row = {.row = members[i].row,
			.live_blocks = table->blocks[members[i].number],
			.end_bytes = table->end_bytes[members[i].number]};
		evaluate_series(table, bytes, peak, &row);
		if (row.verdict != GROWTH_NONE && !growth_rows_push(&ret->rows, row))
			return error_no_memory();
		if (moments >= GROWTH_WINDOWS && !row.highest && !row.live_blocks) {
			ret->later_places++;
			ret->later_bytes += row.end_bytes;
		}
		if (row.verdict == GROWTH_LEAK &&
			(best.verdict != GROWTH_LEAK || row.grown_bytes > best.grown_bytes))
			best = row;
		all.live_blocks += row.live_blocks;
		all.end_bytes += row.end_bytes;
		for (size_t k = 0; k < moments; k++)
			table->together[k] += bytes[k];
	}
	evaluate_series(table, table->together, peak, &all);
	const struct growth_row *suspect = all.verdict == GROWTH_LEAK ? &all : &best;
	if (suspect->verdict == GROWTH_LEAK && !growth_rows_push(&ret->suspects, *suspect))
		return error_no_memory();
	return NULL;
}

static void sort_rows(struct growth_rows *rows)
{
	if (rows->len)
		qsort(rows->data, rows->len, sizeof(*rows->data), growth_compare_rows);
}

static struct error *evaluate_all(const struct table *table, const struct rows *rows,
	const struct judged_places *judged, uint64_t peak, struct growth *ret)
{
	_cleanup_free_ struct placed *placed = place_rows(rows, judged);
	struct error *error = placed ? NULL : error_no_memory();
	for (size_t i = 0, end; !error && i < judged->count; i = end) {
		for (end = i + 1; end < judged->count && placed[i].place != NO_PLACE &&
				  placed[end].place == placed[i].place;)
			end++;
		error = evaluate_place(table, &placed[i], end - i, peak, ret);
	}
	sort_rows(&ret->rows);
	sort_rows(&ret->suspects);
	return error;
}

struct error *growth_build(const struct model *model, struct resolver *resolver,
	const struct growth_places *places, unsigned tail_percent, struct growth *ret)
{
	const struct rows *rows = places->shown;
	_cleanup_free_ uint32_t *row_of_site = NULL;
	_cleanup_(table_deinit) struct table table = {.times = NULL};
	_cleanup_(judged_places_deinit) struct judged_places judged = {.row = NULL};
	judged_moments_init(&table.moments);
	struct error *error = choose_moments(model, tail_percent, &table.moments);
	if (!error)
		error = find_places(model, resolver, places, &row_of_site);
	if (!error)
		error = choose_places(model, rows->rows.len, row_of_site, &judged);
	if (!error)
		error = fill_table(model, row_of_site, judged.count, &table);
	if (error)
		return error;
	size_t moments = table.moments.len;
	ret->moments = moments;
	ret->from_ns = table.times[0];
	ret->until_ns = moments ? table.times[moments - 1] : table.times[0];
	error = evaluate_all(&table, rows, &judged, model_totals(model)->peak_bytes, ret);
	if (error)
		return error;
	growth_describe(ret, places->chosen);
	if (!places->chosen)
		error = describe_stacks(model, &table, ret);
	if (error)
		return error;
	return ret->verdict.failed ? error_no_memory() : NULL;
}

void growth_describe_later(const struct growth *growth, unsigned tail_percent, struct text *text)
{
	bool is_one = growth->later_places == 1;
	/* Of what is gone by the end there is nothing to say. */
	if (!growth->later_bytes)
		return;
	text_add_counted(text, growth->later_places, "allocation site that first appeared",
		"allocation sites that first appeared");
	text_printf(text, " in the last %u%% of the time, with ", tail_percent);
	text_add_bytes(text, growth->later_bytes);
	text_printf(text, " at the end, %s not assessed (--tail 0 covers the whole time).\n",
		is_one ? "is" : "are");
}

const char *growth_verdict_name(enum growth_verdict verdict)
{
	static const char *const names[GROWTH_VERDICTS] = {
		[GROWTH_LEAK] = "leak-suspect",
		[GROWTH_CACHE] = "cache",
		[GROWTH_BURST] = "burst",
		[GROWTH_STARTUP] = "start-up",
		[GROWTH_STEADY] = "steady",
		[GROWTH_NONE] = "unknown",
	};
	return names[verdict];
}

const char *growth_verdict_text(enum growth_verdict verdict)
{
	static const char *const texts[GROWTH_VERDICTS] = {
		[GROWTH_LEAK] = "leak suspect: keeps growing",
		[GROWTH_CACHE] = "cache: grew, and has levelled off",
		[GROWTH_BURST] = "burst: came and went",
		[GROWTH_STARTUP] = "start-up: there from the beginning",
		[GROWTH_STEADY] = "steady: goes up and down",
		[GROWTH_NONE] = "unknown",
	};
	return texts[verdict];
}

const char *growth_row_text(const struct growth_row *row)
{
	return growth_was_freed(row) ? "grew while it ran, freed at the end"
				     : growth_verdict_text(row->verdict);
}
