/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See verdict.h. Sentences are a table: each either has something to say of this model, or nothing.
 * Shares are given of one place (innermost frame of the program's own code), since that is what one
 * mends; the lists below the verdict have the stacks.
 */
#include "analysis/verdict.h"

#include <ctype.h>
#include <inttypes.h>

#include "analysis/library_own.h"
#include "analysis/metric.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

static const char *plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* Whole percents; what is not all is never called 100%, what is not nothing never 0%. */
static void add_share(struct text *text, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	if (part < whole && percent > 99)
		text_add(text, "more than 99%");
	else if (part > 0 && percent < 1)
		text_add(text, "less than 1%");
	else
		text_printf(text, "%.0f%%", percent);
}

struct place_sum {
	uint64_t sum;
	const struct shown_frame *frame;
};

static inline uint64_t place_hash(uint32_t place)
{
	return hash_u64(place);
}

static inline bool place_equal(uint32_t a, uint32_t b)
{
	return a == b;
}

DEFINE_MAP(place_map, uint32_t, struct place_sum, place_hash, place_equal)

/* The place with the most of a metric, the first one of equals; frame NULL if there is none. What
 * libraries keep for themselves has no place that anybody could mend. */
static struct error *find_top_place(
	const struct rows *rows, enum metric metric, struct place_sum *ret)
{
	_cleanup_(place_map_deinit) struct place_map places;
	place_map_init(&places);
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		uint64_t value = metric_of_site(metric, &row->sums);
		if (!row->place || row->library || value == 0)
			continue;
		struct place_sum *place = place_map_insert(&places, row->place->place, NULL);
		if (!place)
			return error_no_memory();
		place->sum += value;
		place->frame = row->place;
	}
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		const struct place_sum *place =
			row->place ? place_map_find(&places, row->place->place) : NULL;
		if (place && place->sum > ret->sum)
			*ret = *place;
	}
	return NULL;
}

/* ", all of it from one place: foo (foo.c:12)" or ", 40% of it from one place: …" */
static struct error *add_top_place(const struct rows *rows, enum metric metric, uint64_t total,
	const char *it, struct text *text)
{
	struct place_sum top = {0};
	struct error *error = find_top_place(rows, metric, &top);
	if (error)
		return error;
	if (!top.frame)
		return NULL;
	text_add(text, ", ");
	if (top.sum == total)
		text_add(text, "all");
	else
		add_share(text, top.sum, total);
	text_printf(text, " of %s from one place: ", it);
	summary_add_place(text, top.frame);
	return NULL;
}

/* What sentences are made from. */
struct facts {
	const struct target *target;
	const struct recording *recording;
	const struct totals *totals;
	const struct rows *rows;
	const struct inherited *inherited;
	const struct leak_sum *leaks;       /* by class; NULL: no search, or an attempt alone */
	struct totals left;                 /* the totals without what libraries keep */
	struct site own;                    /* what they keep */
	const struct program_error *errors; /* that a checker found */
	size_t error_count;
};

static struct error *say_nothing_allocated(const struct facts *facts, struct text *text)
{
	if (facts->totals->allocations != 0 || facts->recording->range.part ||
		!metric_is_known(METRIC_ALLOCATIONS, facts->recording))
		return NULL;
	if (!facts->recording->complete && !facts->recording->events &&
		!facts->recording->own_malloc && !facts->recording->not_attached)
		text_add(text,
			"Nothing is known of what the program allocated: no event of it can be "
			"read.\n");
	else if (facts->recording->own_malloc || facts->recording->sample_bytes ||
		 facts->recording->not_attached || !facts->recording->complete)
		text_add(text, "No allocation was seen.\n");
	else
		text_add(text, "The program allocated nothing.\n");
	return NULL;
}

/* "3 MiB in 5 blocks were live then; 1 MiB in 2 blocks of these were allocated in the range, …" */
static struct error *say_live_then(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	bool from_start = !facts->recording->range.from_step;
	bool counted = metric_is_known(METRIC_LIVE_BLOCKS, facts->recording);
	text_add_bytes(text, totals->live_bytes);
	if (counted) {
		text_add(text, " in ");
		text_add_counted(text, totals->live_blocks, "block", "blocks");
	}
	text_printf(
		text, " %s live then", plural(counted ? totals->live_blocks : 2, "was", "were"));
	if (!from_start) {
		text_add(text, "; of these ");
		text_add_bytes(text, totals->kept_bytes);
		text_add(text, " in ");
		text_add_counted(text, totals->kept_blocks, "block", "blocks");
		text_printf(text, " %s allocated in the range",
			plural(totals->kept_blocks, "was", "were"));
	}
	enum metric metric = from_start ? METRIC_LIVE_BYTES : METRIC_KEPT_BYTES;
	uint64_t total = metric_of_totals(metric, totals);
	struct error *error = total ? add_top_place(facts->rows, metric, total, "it", text) : NULL;
	text_add(text, ".\n");
	return error;
}

/* "4.00 KiB in 1 block" */
static void add_amount(struct text *text, uint64_t bytes, uint64_t blocks)
{
	text_add_bytes(text, bytes);
	text_add(text, " in ");
	text_add_counted(text, blocks, "block", "blocks");
}

/* Whether what libraries keep is told apart: figures at the end of a whole recording. */
static bool tells_own(const struct facts *facts)
{
	return facts->own.live_blocks && !facts->recording->range.part &&
	       !facts->recording->snapshot && metric_is_known(METRIC_LIVE_BLOCKS, facts->recording);
}

/* None of the program's own blocks was left. */
static void say_nothing_left(const struct facts *facts, struct text *text)
{
	const struct recording *recording = facts->recording;
	text_add(text, recording->blocks         ? "None of these blocks was left"
		       : recording->sample_bytes ? "No block that was sampled was left"
		       : recording->complete
			       ? "Nothing was left: every block was freed"
			       : "Nothing was left where the recording ends: every block was "
				 "freed");
	if (tells_own(facts)) {
		text_add(text, ", but for ");
		add_amount(text, facts->own.live_bytes, facts->own.live_blocks);
		text_add(text, " that libraries keep for themselves (report --view libraries)");
	}
	text_add(text, ".\n");
}

static struct error *say_never_freed(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	if (!metric_is_known(METRIC_LIVE_BYTES, facts->recording))
		return NULL;
	if (facts->recording->range.part || facts->recording->snapshot)
		return say_live_then(facts, text);
	if (totals->allocations == 0 && metric_is_known(METRIC_ALLOCATIONS, facts->recording))
		return NULL;
	totals = &facts->left;
	if (totals->live_blocks == 0) {
		say_nothing_left(facts, text);
		return NULL;
	}
	add_amount(text, totals->live_bytes, totals->live_blocks);
	if (!facts->recording->complete)
		text_printf(text, " %s live where the recording ends",
			plural(totals->live_blocks, "was", "were"));
	else if (facts->target->exit_kind == EXIT_KIND_SIGNAL)
		text_printf(text, " %s live when the program was killed",
			plural(totals->live_blocks, "was", "were"));
	else
		text_printf(text, " %s never freed", plural(totals->live_blocks, "was", "were"));
	enum metric metric = totals->live_bytes ? METRIC_LIVE_BYTES : METRIC_LIVE_BLOCKS;
	struct error *error =
		add_top_place(facts->rows, metric, metric_of_totals(metric, totals), "it", text);
	text_add(text, ".\n");
	return error;
}

/* What became of the blocks that were never freed, where somebody searched. */
static struct error *say_leaks(const struct facts *facts, struct text *text)
{
	static const char *const words[] = {
		[LEAK_CLASS_DEFINITE] = "definitely lost",
		[LEAK_CLASS_INDIRECT] = "lost with them",
		[LEAK_CLASS_POSSIBLE] = "possibly lost",
		[LEAK_CLASS_REACHABLE] = "still reachable",
		[LEAK_CLASS_SUPPRESSED] = "suppressed",
	};
	const char *before = "of these, ";
	for (unsigned i = 0; facts->leaks && i < ARRAY_SIZE(words); i++) {
		const struct leak_sum *sum = &facts->leaks[i];
		if (!sum->blocks)
			continue;
		text_add(text, before);
		add_amount(text, sum->bytes, sum->blocks);
		text_printf(text, " %s %s", plural(sum->blocks, "is", "are"), words[i]);
		before = ", ";
	}
	if (before[0] == ',')
		text_add(text, " ('heapwise leaks' tells which).\n");
	return NULL;
}

/* "Libraries keep 75.0 KiB in 2 more blocks for themselves (report --view libraries)." */
static struct error *say_libraries(const struct facts *facts, struct text *text)
{
	if (!tells_own(facts) || !facts->left.live_blocks)
		return NULL;
	text_add(text, "Libraries keep ");
	text_add_bytes(text, facts->own.live_bytes);
	text_add(text, " in ");
	text_add_counted(text, facts->own.live_blocks, "more block", "more blocks");
	text_add(text, " for themselves (report --view libraries).\n");
	return NULL;
}

static struct error *say_peak(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	if (totals->peak_bytes == 0)
		return NULL;
	bool merged = facts->recording->merged;
	text_add(text, merged ? "Peaks, each at its own moment, are together " : "Peak ");
	text_add_bytes(text, totals->peak_bytes);
	if (!merged && !(facts->recording->unknown & UNKNOWN_TIMES)) {
		text_add(text, " after ");
		text_add_duration_ns(text, totals->peak_time_ns);
	}
	struct error *error = NULL;
	if (facts->own.peak_bytes == totals->peak_bytes)
		text_add(text, ", all of it what libraries keep for themselves");
	else
		error = add_top_place(
			facts->rows, METRIC_PEAK_BYTES, totals->peak_bytes, "it", text);
	text_add(text, ".\n");
	return error;
}

/* Churn is worth a sentence from a tenth of all allocations on. */
static struct error *say_temporary(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	if (totals->temporary == 0 || totals->temporary < totals->allocations / 10)
		return NULL;
	add_share(text, totals->temporary, totals->allocations);
	text_add(text, " of the allocations were temporary (freed before the next one by the same "
		       "thread)");
	struct error *error =
		add_top_place(facts->rows, METRIC_TEMPORARY, totals->temporary, "these", text);
	text_add(text, ".\n");
	return error;
}

static struct error *say_failed(const struct facts *facts, struct text *text)
{
	if (facts->totals->failed) {
		text_add_counted(text, facts->totals->failed, "allocation", "allocations");
		text_add(text, " failed.\n");
	}
	return NULL;
}

static struct error *say_mismatched(const struct facts *facts, struct text *text)
{
	uint64_t count = facts->recording->mismatched_frees;
	if (count && !facts->error_count) { /* else they are among the errors */
		text_add_counted(text, count, "block", "blocks");
		text_printf(text,
			" %s freed by a function that does not match the allocating one.\n",
			plural(count, "was", "were"));
	}
	return NULL;
}

/* "It began with at most 6 blocks of 30 KiB that its parent had allocated; 5 of them were freed
 * here." */
static struct error *say_inherited(const struct facts *facts, struct text *text)
{
	const struct inherited *inherited = facts->inherited;
	uint64_t freed = facts->recording->inherited_frees;
	if (!inherited->from || !inherited->blocks)
		return NULL;
	text_add(text, "It began with ");
	text_add(text, inherited->at_most ? "at most " : "");
	text_add_counted(text, inherited->blocks, "block", "blocks");
	text_add(text, " of ");
	text_add_bytes(text, inherited->bytes);
	text_add(text, inherited->generations > 1 ? " that its forebears had allocated; "
						  : " that its parent had allocated; ");
	if (freed)
		text_add_count(text, freed);
	text_printf(text, "%s of them %s freed here.\n", freed ? "" : "none",
		plural(freed ? freed : 1, "was", "were"));
	return NULL;
}

/* Bytes of an error's own sentence. */
#define ERROR_WORDS_MOST 200u

/* "5 errors were found, 12 times in all, the first: free() of … (report --view errors)." */
static struct error *say_errors(const struct facts *facts, struct text *text)
{
	uint64_t times = 0;
	for (size_t i = 0; i < facts->error_count; i++)
		times += facts->errors[i].count;
	if (!facts->error_count)
		return NULL;
	text_add_counted(text, facts->error_count, "error", "errors");
	text_printf(text, " %s found", plural(facts->error_count, "was", "were"));
	if (times > facts->error_count) {
		text_add(text, ", ");
		text_add_counted(text, times, "time", "times");
		text_add(text, " in all");
	}
	if (*facts->errors->what) {
		text_add(text, facts->error_count > 1 ? ", the first: " : ": ");
		text_add_shown(text, facts->errors->what, ERROR_WORDS_MOST);
	}
	text_add(text, " (report --view errors).\n");
	return NULL;
}

/* "It has 12 marks (report --view marks)." */
static struct error *say_marks(const struct facts *facts, struct text *text)
{
	uint64_t count = facts->recording->marks;
	if (count) {
		text_add(text, "It has ");
		text_add_counted(text, count, "mark", "marks");
		text_add(text, " (report --view marks).\n");
	}
	return NULL;
}

static struct error *(*const verdict_sentences[])(const struct facts *, struct text *) = {
	say_nothing_allocated,
	say_never_freed,
	say_leaks,
	say_libraries,
	say_errors,
	say_peak,
	say_temporary,
	say_failed,
	say_mismatched,
	say_inherited,
	say_marks,
};

struct error *verdict_add(const struct model *model, const struct rows *rows,
	const struct leak_sum leaks[LEAK_CLASSES], struct text *text)
{
	struct facts facts = {
		.target = model_target(model),
		.recording = model_recording(model),
		.totals = model_totals(model),
		.rows = rows,
		.inherited = model_inherited(model),
		.leaks = leaks,
		.left = library_own_left(model_totals(model), rows),
	};
	library_own_sum(rows, &facts.own);
	facts.errors = model_errors(model, &facts.error_count);
	for (size_t i = 0; i < ARRAY_SIZE(verdict_sentences); i++) {
		size_t start = text->len;
		struct error *error = verdict_sentences[i](&facts, text);
		if (error)
			return error;
		/* A share in words may begin one. */
		if (start < text->len)
			text->data[start] = (char)toupper(text->data[start]);
	}
	return NULL;
}
