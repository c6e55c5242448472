/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison in words. One sentence for each total, what grew most first; then renames. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "analysis/stacks/top_place.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"

#define RENAMES_NAMED 5u
#define PLACES_NAMED 3u

/* What a total is called at the beginning of a sentence. */
static const char *const subjects[] = {
	[METRIC_ALLOCATIONS] = "The number of allocations",
	[METRIC_ALLOCATED_BYTES] = "Total allocated memory",
	[METRIC_LIVE_BYTES] = "Live memory",
	[METRIC_LIVE_BLOCKS] = "The number of live blocks",
	[METRIC_KEPT_BYTES] = "Memory allocated in the range and still live",
	[METRIC_KEPT_BLOCKS] = "The number of blocks allocated in the range and still live",
	[METRIC_PEAK_BYTES] = "The peak",
	[METRIC_PEAK_BLOCKS] = "The number of blocks at the peak",
	[METRIC_TEMPORARY] = "The number of temporary allocations",
	[METRIC_FAILED] = "The number of failed allocations",
};
static_assert(ARRAY_SIZE(subjects) == METRICS, "each metric has a subject");

static const char *subject_of(const struct diff *diff, enum metric metric)
{
	if (diff->options.scope != DIFF_INHERITED)
		return subjects[metric];
	return metric == METRIC_LIVE_BYTES ? "Memory inherited at the fork"
					   : "The number of blocks inherited at the fork";
}

static bool is_sampled(const struct diff *diff, int side)
{
	return model_recording(diff->sides[side].model)->sample_bytes;
}

const char *diff_row_word(const struct diff *diff, size_t count)
{
	bool types = model_recording(diff->sides[0].model)->types &&
		     model_recording(diff->sides[1].model)->types;
	if (types)
		return count == 1 ? "type" : "types";
	return count == 1 ? "allocation site" : "allocation sites";
}

/* Adds a side's value; of a sample "about". */
static void add_side(
	const struct diff *diff, int side, enum metric metric, uint64_t value, struct text *out)
{
	text_add(out, value && is_sampled(diff, side) ? "about " : "");
	diff_add_value(out, metric, value);
}

static void add_percent(struct text *out, const struct diff_figure *figure)
{
	if (!figure->base)
		return;
	double percent = 100.0 * (double)figure->change / (double)figure->base;
	text_printf(out, percent < 10 && percent > -10 ? " (%+.1f%%)" : " (%+.0f%%)", percent);
}

/* ", between +2 MiB and +4 MiB": where the true change of an estimate is. */
static void add_change_range(enum metric metric, const struct diff_figure *figure, struct text *out)
{
	if (!figure->estimated)
		return;
	text_add(out, ", between ");
	diff_add_change(out, metric, figure->low);
	text_add(out, " and ");
	diff_add_change(out, metric, figure->high);
	text_add(out, figure->by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES ")" : "");
}

/* "Live memory grew by 3 MiB: from 12 MiB to 15 MiB (+25%)." */
static void describe_total(const struct diff *diff, enum metric metric, struct text *out)
{
	struct diff_figure figure;
	diff_of_program(diff, metric, &figure);
	uint64_t change = figure.change < 0 ? -(uint64_t)figure.change : (uint64_t)figure.change;
	text_add(out, subject_of(diff, metric));
	if (!diff_knows(diff, metric)) {
		text_printf(out, " is unknown for %s", diff_ignorant(diff));
	} else if (!figure.change) {
		text_add(out, " is the same: ");
		add_side(diff, 1, metric, figure.value, out);
	} else if (figure.within_error) {
		text_add(out, " differs by no more than the sampling error: ");
		add_side(diff, 0, metric, figure.base, out);
		text_add(out, " and ");
		add_side(diff, 1, metric, figure.value, out);
	} else if (!diff_is_news(metric, &figure)) {
		text_add(out, " is about the same: ");
		diff_add_value(out, metric, figure.value);
		text_add(out, ", ");
		diff_add_change(out, metric, figure.change);
	} else {
		text_add(out, figure.change > 0 ? " grew by " : " shrank by ");
		text_add(out, figure.estimated ? "about " : "");
		diff_add_value(out, metric, change);
		text_add(out, ": from ");
		add_side(diff, 0, metric, figure.base, out);
		text_add(out, " to ");
		add_side(diff, 1, metric, figure.value, out);
		add_percent(out, &figure);
		add_change_range(metric, &figure, out);
	}
	text_add(out, ".\n");
}

/* "Thread stacks grew by 8 MiB, more than the heap: from 24 KiB to 8.02 MiB; most in
 * worker, +8 MiB." */
static void describe_stacks(const struct diff *diff, struct text *out)
{
	const struct stack_sizes *stacks = &diff->stacks;
	int64_t change = (int64_t)(stacks->newer - stacks->older);
	struct diff_figure heap;
	diff_of_totals(diff, METRIC_LIVE_BYTES, &heap);
	if (!stack_sizes_known(stacks) || change <= (int64_t)DIFF_STACKS_LEAST ||
		change <= heap.change)
		return;
	text_add(out, "Thread stacks grew by ");
	text_add_bytes(out, (uint64_t)change);
	text_add(out, ", more than the heap: from ");
	text_add_bytes(out, stacks->older);
	text_add(out, " to ");
	text_add_bytes(out, stacks->newer);
	const struct thread_pair *most = stacks->rows.len > 1 ? stacks->rows.data : NULL;
	if (most && most->newer && stack_size_change(most) > 0) {
		text_add(out, "; most in ");
		stack_size_add_name(most, out);
		text_add(out, ", ");
		diff_add_change(out, METRIC_LIVE_BYTES, stack_size_change(most));
	}
	text_add(out, ".\n");
}

struct place_change {
	int64_t change;
	const struct shown_frame *frame;
	uint32_t first; /* row, for the order of equals */
};

/* Places that a sentence would call the same are one in it: where code went to another library,
 * each is a row, and what it grew by is what both changed by together. */
static inline uint64_t place_hash(const struct shown_frame *place)
{
	if (!place->function)
		return hash_u64(place->place);
	uint64_t hash = hash_bytes(place->function, strlen(place->function));
	return place->file ? hash ^ hash_u64(hash_bytes(place->file, strlen(place->file))) : hash;
}

static inline bool place_equal(const struct shown_frame *a, const struct shown_frame *b)
{
	if (!a->function || !b->function || !a->file || !b->file)
		return a->place == b->place;
	return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

DEFINE_MAP(place_map, const struct shown_frame *, struct place_change, place_hash, place_equal)

static bool is_more(const struct place_change *a, const struct place_change *b)
{
	return a->change != b->change ? a->change > b->change : a->first < b->first;
}

/* What of a comparison grew: the places with most, largest first, and all together. */
struct growing_places {
	struct place_change top[PLACES_NAMED];
	size_t shown, all;
	int64_t change; /* of all */
};

static void pick_top(const struct place_map *places, struct growing_places *ret)
{
	struct place_change *top = ret->top;
	size_t count = 0;
	const struct place_change *place;
	for (uint32_t at = 0; (place = place_map_next(places, &at, NULL));) {
		if (place->change <= 0)
			continue;
		ret->all++;
		ret->change += place->change;
		size_t to = count < PLACES_NAMED ? count++ : PLACES_NAMED;
		for (; to > 0 && is_more(place, &top[to - 1]); to--)
			if (to < PLACES_NAMED)
				top[to] = top[to - 1];
		if (to < PLACES_NAMED)
			top[to] = *place;
	}
	ret->shown = count;
}

/* "What grew most", and of how many places where the first has a small part of the growth. */
static void add_grew_most(const struct diff *diff, const struct growing_places *growing,
	enum metric metric, struct text *out)
{
	text_add(
		out, metric == METRIC_PEAK_BYTES ? "Largest growth at the peak" : "Largest growth");
	if (growing->top->change < growing->change / (int64_t)TOP_PLACE_PARTS) {
		text_add(out, " among ");
		text_add_count(out, growing->all);
		text_printf(out, " growing %s", diff_row_word(diff, growing->all));
	}
	text_add(out, ": ");
}

/* "Largest growth: parse (conf.c:12), +3 MiB; main (app.c:40), +12 KiB." */
static struct error *describe_top(const struct diff *diff, enum metric metric, struct text *out)
{
	bool live = metric_is_of_live(metric);
	struct diff_figure total;
	diff_of_program(diff, metric, &total);
	/* Of very many places some differ by chance: where all together do not, none is named. */
	if (total.within_error)
		return NULL;
	_cleanup_(place_map_deinit) struct place_map places;
	place_map_init(&places);
	for (uint32_t i = 0; i < diff->rows.rows.len; i++) {
		const struct row *row = &diff->rows.rows.data[i];
		struct diff_figure figure;
		diff_of_row(diff, row, metric, &figure);
		if (!row->place || !figure.change || figure.within_error || (live && row->library))
			continue;
		bool is_new;
		struct place_change *place = place_map_insert(&places, row->place, &is_new);
		if (!place)
			return error_no_memory();
		if (is_new)
			*place = (struct place_change){.frame = row->place, .first = i};
		place->change += figure.change;
	}
	struct growing_places growing = {.all = 0};
	pick_top(&places, &growing);
	for (size_t i = 0; i < growing.shown; i++) {
		if (i)
			text_add(out, "; ");
		else
			add_grew_most(diff, &growing, metric, out);
		summary_add_place(out, growing.top[i].frame);
		text_add(out, ", ");
		text_add(out, is_sampled(diff, 0) || is_sampled(diff, 1) ? "about " : "");
		diff_add_change(out, metric, growing.top[i].change);
	}
	text_add(out, growing.shown ? ".\n" : "");
	return out->failed ? error_no_memory() : NULL;
}

/* How many rows of a list differ by more than the error. */
static size_t count_certain(const struct diff *diff, enum diff_status status)
{
	size_t count = 0;
	for (size_t i = 0; i < diff->lists[status].len; i++) {
		struct diff_figure figure;
		diff_of_row(diff, diff->lists[status].data[i], diff->options.metric, &figure);
		count += !figure.within_error;
	}
	return count;
}

static void diff_words_add_rows(
	const struct diff *diff, struct text *out, size_t count, const char *word, bool *any)
{
	if (!count)
		return;
	const char *rows = diff_row_word(diff, 0);
	if (*any)
		text_add(out, ", ");
	else
		text_printf(out, "%c%s: ", rows[0] - 'a' + 'A', rows + 1);
	text_add_count(out, count);
	text_printf(out, " %s", word);
	*any = true;
}

/* "Allocation sites: 2 new, 1 grew, 1 gone." */
static void describe_counts(const struct diff *diff, struct text *out)
{
	static const char *const words[DIFF_SAME] = {
		[DIFF_NEW] = "new",
		[DIFF_GROWN] = "grew",
		[DIFF_SHRUNK] = "shrank",
		[DIFF_GONE] = "gone",
	};
	size_t certain[DIFF_SAME], unsure = 0;
	for (int i = 0; i < DIFF_SAME; i++) {
		certain[i] = count_certain(diff, (enum diff_status)i);
		unsure += diff->lists[i].len - certain[i];
	}
	bool any = false;
	if (!certain[DIFF_NEW] && !certain[DIFF_GROWN] &&
		(certain[DIFF_SHRUNK] || certain[DIFF_GONE] || unsure))
		text_add(out, "Nothing grew.\n");
	for (int i = 0; i < DIFF_SAME; i++)
		diff_words_add_rows(diff, out, certain[i], words[i], &any);
	diff_words_add_rows(diff, out, unsure, "within the error", &any);
	if (any)
		text_add(out, ".\n");
	else
		text_printf(out, "Nothing changed: %s is the same %s each %s.\n",
			metric_name(diff->options.metric),
			diff_row_word(diff, 1)[0] == 't' ? "for" : "at", diff_row_word(diff, 1));
}

static void describe_renames(const struct diff *diff, struct text *out)
{
	const struct rename_vec *renames = &diff->match->renames;
	for (size_t i = 0; i < renames->len && i < RENAMES_NAMED; i++) {
		const struct rename *rename = &renames->data[i];
		const char *from = rename->from->file, *to = rename->to->file;
		if (rename->moved) {
			const char *a = from ? strrchr(from, '/') : NULL;
			const char *b = to ? strrchr(to, '/') : NULL;
			text_printf(out, "moved: %s: %s → %s\n", rename->to->function,
				a ? a + 1 : from, b ? b + 1 : to);
		} else {
			text_printf(out, "renamed: %s → %s\n", rename->from->function,
				rename->to->function);
		}
	}
	if (renames->len > RENAMES_NAMED) {
		text_add(out, "and ");
		text_add_count(out, renames->len - RENAMES_NAMED);
		text_add(out, " more renamed or moved functions\n");
	}
}

static void note_differences(const struct diff *diff, struct text *out)
{
	const struct model *older = diff->sides[0].model, *newer = diff->sides[1].model;
	const struct recording *a = model_recording(older), *b = model_recording(newer);
	const char *x = path_last_part(model_target(older)->exe);
	const char *y = path_last_part(model_target(newer)->exe);
	if (x[0] && y[0] && strcmp(x, y) != 0)
		text_printf(out, "The recordings are of different programs: %s and %s.\n", x, y);
	if (!a->sample_bytes != !b->sample_bytes)
		text_printf(out, "The %s recording is a sample, the other is exact.\n",
			a->sample_bytes ? "older" : "newer");
	if (diff->options.normalize)
		text_add(out, "The older figures are scaled to the newer totals.\n");
	bool estimates = a->sample_bytes || b->sample_bytes;
	if (estimates)
		text_add(out, "Figures are estimates; a change is called within the error where "
			      "the ranges overlap.\n");
}

static uint64_t diff_words_size_of(const struct diff_figure *figure)
{
	return figure->change < 0 ? -(uint64_t)figure->change : (uint64_t)figure->change;
}

/* The total that comes first: usually the one that was asked for, but the peak where that is what
 * changed more. Work that came without memory has its sentences further down. */
static enum metric lead_of(const struct diff *diff)
{
	enum metric metric = diff->options.metric;
	struct diff_figure live, peak;
	if (metric != METRIC_LIVE_BYTES || diff->options.scope != DIFF_STACKS ||
		!diff_knows(diff, METRIC_PEAK_BYTES))
		return metric;
	diff_of_program(diff, METRIC_LIVE_BYTES, &live);
	diff_of_program(diff, METRIC_PEAK_BYTES, &peak);
	bool more = !diff_is_news(METRIC_LIVE_BYTES, &live) ||
		    diff_words_size_of(&peak) > diff_words_size_of(&live);
	return more && diff_is_news(METRIC_PEAK_BYTES, &peak) ? METRIC_PEAK_BYTES : metric;
}

static struct error *describe_lead(const struct diff *diff, enum metric lead, struct text *out)
{
	describe_total(diff, lead, out);
	return describe_top(diff, lead, out);
}

static void note_kept(const struct diff *diff, struct text *out)
{
	if (diff->libraries_unknown)
		text_add(out, "What libraries keep for themselves is counted in both files, "
			      "because the files do not identify it in the same way.\n");
	if (!diff->kept_older.live_blocks && !diff->kept_newer.live_blocks)
		return;
	text_add(out, "Live memory excludes what libraries keep for themselves: ");
	text_add_bytes(out, diff->kept_older.live_bytes);
	text_add(out, " before, ");
	text_add_bytes(out, diff->kept_newer.live_bytes);
	text_add(out, " now (--count-libraries counts it).\n");
}

/* What a log has one frame of, another file has a whole stack of. */
static void note_callers(const struct diff *diff, struct text *out)
{
	bool of_older = !strcmp(model_recording(diff->sides[0].model)->source, "mtrace");
	bool of_newer = !strcmp(model_recording(diff->sides[1].model)->source, "mtrace");
	if (of_older != of_newer)
		text_printf(out,
			"The %s file is an mtrace log, which has only one caller of each call: its "
			"allocation sites cannot be matched with the whole stacks of the other "
			"file.\n",
			of_newer ? "newer" : "older");
}

struct error *diff_describe(struct diff *diff)
{
	static const enum metric others[] = {
		METRIC_LIVE_BYTES, METRIC_PEAK_BYTES, METRIC_ALLOCATIONS, METRIC_TEMPORARY};
	struct text *out = &diff->verdict;
	enum metric metric = diff->options.metric;
	enum metric lead = lead_of(diff);
	describe_stacks(diff, out);
	struct error *error = lead != metric ? describe_lead(diff, lead, out) : NULL;
	if (error)
		return error;
	describe_total(diff, metric, &diff->total);
	text_add_n(out, diff->total.data ? diff->total.data : "", diff->total.len);
	bool known = diff_knows(diff, metric);
	error = known ? describe_top(diff, metric, &diff->top) : NULL;
	if (error)
		return error;
	text_add_n(out, diff->top.data ? diff->top.data : "", diff->top.len);
	if (known)
		describe_counts(diff, out);
	bool inherited = diff->options.scope == DIFF_INHERITED;
	for (size_t i = 0; !inherited && i < ARRAY_SIZE(others); i++)
		if (others[i] != metric && others[i] != lead && diff_knows(diff, others[i]))
			describe_total(diff, others[i], out);
	describe_renames(diff, &diff->renamed);
	text_add_n(out, diff->renamed.data ? diff->renamed.data : "", diff->renamed.len);
	note_differences(diff, &diff->notes);
	note_kept(diff, &diff->notes);
	note_callers(diff, &diff->notes);
	error = match_note_unnamed(diff->match, &diff->notes);
	if (error)
		return error;
	return out->failed || diff->total.failed || diff->renamed.failed || diff->notes.failed
		       ? error_no_memory()
		       : NULL;
}
