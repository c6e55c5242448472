/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See summary.h. Sentences are a table: each either has something to say of this model, or nothing.
 * Shares are given of one place (innermost frame of the program's own code), since that is what one
 * mends; the lists below the verdict have the stacks.
 */
#include "analysis/summary.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/merge.h"
#include "analysis/unrecorded.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

static const struct list_info {
	const char *name;
	enum metric metric;
} lists[] = {
	[SUMMARY_NEVER_FREED] = {"never_freed", METRIC_LIVE_BYTES},
	[SUMMARY_PEAK] = {"peak", METRIC_PEAK_BYTES},
	[SUMMARY_CALLS] = {"calls", METRIC_ALLOCATIONS},
	[SUMMARY_TEMPORARY] = {"temporary", METRIC_TEMPORARY},
};
static_assert(ARRAY_SIZE(lists) == SUMMARY_LISTS, "each list has a row");

enum metric summary_metric(const struct range *range, enum summary_list list)
{
	if (list == SUMMARY_NEVER_FREED && range->from_step)
		return METRIC_KEPT_BYTES;
	return lists[list].metric;
}

const char *summary_list_name(enum summary_list list)
{
	return lists[list].name;
}

void summary_init(struct summary *summary)
{
	text_init(&summary->verdict);
	for (int i = 0; i < SUMMARY_LISTS; i++)
		row_list_init(&summary->lists[i]);
	rows_init(&summary->calls);
	rows_init(&summary->temporary);
}

void summary_deinit(struct summary *summary)
{
	text_deinit(&summary->verdict);
	for (int i = 0; i < SUMMARY_LISTS; i++)
		row_list_deinit(&summary->lists[i]);
	rows_deinit(&summary->calls);
	rows_deinit(&summary->temporary);
}

void summary_add_ending(struct text *text, const struct target *target)
{
	switch (target->exit_kind) {
	case EXIT_KIND_STATUS:
		text_printf(text, "ended with status %d", target->exit_value);
		return;
	case EXIT_KIND_SIGNAL: {
		const char *name = sigabbrev_np(target->exit_value);
		text_printf(text, "was killed by signal %d", target->exit_value);
		if (name)
			text_printf(text, " (SIG%s)", name);
		return;
	}
	case EXIT_KIND_EXEC:
		text_add(text, "went on as another program (exec)");
		return;
	case EXIT_KIND_RUNNING:
		text_add(text, "is running");
		return;
	case EXIT_KIND_UNKNOWN:
		text_add(text, "ended in a way that was not recorded");
		return;
	}
}

void summary_add_place(struct text *text, const struct shown_frame *frame)
{
	shown_frame_add_shown(text, frame);
	bool line = frame->file, module = !line && frame->module && frame->function;
	if (!line && !module)
		return;
	text_add(text, " (");
	if (line)
		shown_frame_add_line(text, frame);
	else
		text_add_shown(text, frame->module, SIZE_MAX);
	text_add(text, ")");
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* "1 block", "1,204 blocks" */
static void add_counted(struct text *text, uint64_t count, const char *one, const char *many)
{
	text_add_count(text, count);
	text_printf(text, " %s", plural(count, one, many));
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

/* The place with the most of a metric, the first one of equals; frame NULL if there is none. */
static struct error *find_top_place(
	const struct rows *rows, enum metric metric, struct place_sum *ret)
{
	_cleanup_(place_map_deinit) struct place_map places;
	place_map_init(&places);
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		uint64_t value = metric_of_site(metric, &row->sums);
		if (!row->place || value == 0)
			continue;
		struct place_sum *place = place_map_insert(&places, row->place->place, NULL);
		if (!place)
			return error_no_memory();
		place->sum += value;
		place->frame = row->place;
	}
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct shown_frame *frame = rows->rows.data[i].place;
		const struct place_sum *place =
			frame ? place_map_find(&places, frame->place) : NULL;
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
	const struct leak_search *leaks;    /* NULL: no search, or an attempt alone */
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
		add_counted(text, totals->live_blocks, "block", "blocks");
	}
	text_printf(
		text, " %s live then", plural(counted ? totals->live_blocks : 2, "was", "were"));
	if (!from_start) {
		text_add(text, "; of these ");
		text_add_bytes(text, totals->kept_bytes);
		text_add(text, " in ");
		add_counted(text, totals->kept_blocks, "block", "blocks");
		text_printf(text, " %s allocated in the range",
			plural(totals->kept_blocks, "was", "were"));
	}
	enum metric metric = from_start ? METRIC_LIVE_BYTES : METRIC_KEPT_BYTES;
	uint64_t total = metric_of_totals(metric, totals);
	struct error *error = total ? add_top_place(facts->rows, metric, total, "it", text) : NULL;
	text_add(text, ".\n");
	return error;
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
	if (totals->live_blocks == 0 && facts->recording->blocks) {
		text_add(text, "None of these blocks was left.\n");
		return NULL;
	}
	if (totals->live_blocks == 0 && facts->recording->sample_bytes) {
		text_add(text, "No block that was sampled was left.\n");
		return NULL;
	}
	if (totals->live_blocks == 0) {
		text_add(text, facts->recording->complete
				       ? "Nothing was left: every block was freed.\n"
				       : "Nothing was left where the recording ends: every block "
					 "was freed.\n");
		return NULL;
	}
	text_add_bytes(text, totals->live_bytes);
	text_add(text, " in ");
	add_counted(text, totals->live_blocks, "block", "blocks");
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
	static const char *const words[LEAK_KINDS] = {
		[LEAK_DEFINITE] = "definitely lost",
		[LEAK_INDIRECT] = "lost with them",
		[LEAK_POSSIBLE] = "possibly lost",
		[LEAK_REACHABLE] = "still reachable",
	};
	const char *before = "of these, ";
	for (unsigned kind = 0; facts->leaks && kind < LEAK_KINDS; kind++) {
		if (!facts->leaks->blocks[kind])
			continue;
		text_add(text, before);
		text_add_bytes(text, facts->leaks->bytes[kind]);
		text_add(text, " in ");
		add_counted(text, facts->leaks->blocks[kind], "block", "blocks");
		text_printf(text, " %s %s", plural(facts->leaks->blocks[kind], "is", "are"),
			words[kind]);
		before = ", ";
	}
	if (before[0] == ',')
		text_add(text, " ('heapwise leaks' tells which).\n");
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
	struct error *error =
		add_top_place(facts->rows, METRIC_PEAK_BYTES, totals->peak_bytes, "it", text);
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
		add_counted(text, facts->totals->failed, "allocation", "allocations");
		text_add(text, " failed.\n");
	}
	return NULL;
}

static struct error *say_mismatched(const struct facts *facts, struct text *text)
{
	uint64_t count = facts->recording->mismatched_frees;
	if (count) {
		add_counted(text, count, "block", "blocks");
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
	add_counted(text, inherited->blocks, "block", "blocks");
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

/* "5 errors were found, 12 times in all (report --view errors)." */
static struct error *say_errors(const struct facts *facts, struct text *text)
{
	uint64_t times = 0;
	for (size_t i = 0; i < facts->error_count; i++)
		times += facts->errors[i].count;
	if (!facts->error_count)
		return NULL;
	add_counted(text, facts->error_count, "error", "errors");
	text_printf(text, " %s found", plural(facts->error_count, "was", "were"));
	if (times > facts->error_count) {
		text_add(text, ", ");
		add_counted(text, times, "time", "times");
		text_add(text, " in all");
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
		add_counted(text, count, "mark", "marks");
		text_add(text, " (report --view marks).\n");
	}
	return NULL;
}

static struct error *(*const verdict_sentences[])(const struct facts *, struct text *) = {
	say_nothing_allocated,
	say_never_freed,
	say_leaks,
	say_errors,
	say_peak,
	say_temporary,
	say_failed,
	say_mismatched,
	say_inherited,
	say_marks,
};

static const char *const lost_words[LOST_REASONS] = {
	[LOST_STALLED] = "because the recorder stood still for more than a second",
	[LOST_IN_HANDLER] = "in signal handlers, which must not wait for the recorder",
	[LOST_SAMPLED] = "because a sample found no room and does not wait for it",
	[LOST_HELD] = "because another thread stopped in the middle of an event",
	[LOST_REALLOC_FAILED] = "with sampled blocks whose realloc failed",
	[LOST_SAMPLER] = "because the table of sampled blocks was full or in use",
	[LOST_OWNERLESS] = "of threads that the recorder could not tell or number",
	[LOST_DAMAGED] = "at least where the program wrote over the recorder's memory",
	[LOST_NO_MEMORY] = "because the recorder had no memory for more blocks or stacks",
};

/* "5 events lost, 3 because … and 2 in …: counts are …" */
static void add_lost(struct text *text, const struct recording *recording)
{
	unsigned causes = 0, said = 0;
	for (unsigned why = 0; why < LOST_REASONS; why++)
		causes += recording->lost[why] != 0;
	if (!recording->lost_events)
		return;
	add_counted(text, recording->lost_events, "event", "events");
	text_add(text, " lost");
	for (unsigned why = 0; why < LOST_REASONS; why++) {
		if (!recording->lost[why])
			continue;
		text_add(text, !said++ ? causes > 1 ? ", " : " " : said == causes ? " and " : ", ");
		if (causes > 1) {
			text_add_count(text, recording->lost[why]);
			text_add(text, " ");
		}
		text_add(text, lost_words[why]);
	}
	text_add(text, ": counts are too low, and blocks whose free was lost look never freed.\n");
}

/* Counters of the recording that are usually 0, and what it means when one is not. */
static const struct caveat {
	size_t member;
	const char *one, *many, *text;
} caveats[] = {
	{offsetof(struct recording, repairs), "place", "places",
		" repaired where allocation and free of an address did not alternate.\n"},
	{offsetof(struct recording, unknown_frees), "free", "frees",
		" of blocks whose allocation was not recorded.\n"},
	{offsetof(struct recording, inherited_frees), "free", "frees",
		" of blocks that it had from the process that it was forked from.\n"},
	{offsetof(struct recording, stacks_full), "event", "events",
		" without a stack: the table of stacks was full.\n"},
};

/* Waiting that a person would notice. */
#define NOTICEABLE_WAIT_NS 100000000u

void summary_add_notes(
	const struct model *model, const struct resolver *resolver, struct text *text)
{
	const struct target *target = model_target(model);
	const struct recording *recording = model_recording(model);
	if (target->exit_kind == EXIT_KIND_SIGNAL || target->exit_kind == EXIT_KIND_EXEC) {
		text_add(text, "The program ");
		summary_add_ending(text, target);
		text_add(text, ".\n");
	}
	if (!recording->complete)
		text_add(text, recording->types
				       ? "The core is incomplete: figures are of what is there.\n"
				       : "The recording is incomplete: figures hold up to where it "
					 "ends.\n");
	size_t count;
	const char *const *damage = model_damage(model, &count);
	for (size_t i = 0; i < count; i++)
		text_printf(text, "%s\n", damage[i]);
	if (recording->remark)
		text_printf(text, "%s\n", recording->remark);
	add_lost(text, recording);
	for (size_t i = 0; i < ARRAY_SIZE(caveats); i++) {
		uint64_t value;
		memcpy(&value, (const char *)recording + caveats[i].member, sizeof(value));
		if (value == 0)
			continue;
		add_counted(text, value, caveats[i].one, caveats[i].many);
		text_add(text, caveats[i].text);
	}
	unrecorded_add_sentences(model, text);
	if (model_inherited(model)->problem)
		text_printf(text, "%s\n", model_inherited(model)->problem);
	if (recording->sample_bytes) {
		text_add(text, "Sampled, about one block in ");
		text_add_count(text, recording->sample_bytes);
		text_add(text,
			" bytes: figures are estimates, the true ones lie within the ranges given "
			"in 19 of 20 recordings.");
		text_add(text, strcmp(recording->source, "recording") == 0
				       ? " Temporary allocations and what would fit on the stack "
					 "are not known.\n"
				       : "\n");
	}
	if (recording->dropped_steps && recording->kept_steps) {
		text_add(text, "Single events are kept from ");
		text_add_duration_ns(text, recording->kept_from_ns);
		text_add(text, " to ");
		text_add_duration_ns(text, recording->kept_until_ns);
		text_add(text, " only; all figures here are of the whole time.\n");
	}
	if (recording->malloc_in_front)
		text_add(text,
			"A library that is loaded before the recorder's (LD_PRELOAD) defines "
			"malloc. Calls of that one are not seen. Put libheapwise-rt.so first: "
			"LD_PRELOAD=…/libheapwise-rt.so:LIBRARY, or use 'heapwise run'.\n");
	else if (recording->own_malloc)
		text_add(text,
			"The executable defines malloc itself. Calls of that one are not seen: "
			"nothing loaded later can stand in front of it. Link the program with a "
			"shared malloc library instead, or with libc's.\n");
	if (recording->loaded_apart)
		text_add(text,
			"The program loads libraries so that they find libc's malloc themselves "
			"(RTLD_DEEPBIND, dlmopen): what these allocate and free is not seen. A "
			"block "
			"that they free for others looks never freed, until its address comes "
			"again.\n");
	if (recording->sandboxed)
		text_add(text,
			"The program forbade itself system calls or the processor's clock "
			"(seccomp, "
			"prctl). Recording goes on without them; children that it forks after "
			"that are not recorded until they execute a program.\n");
	if (recording->not_attached)
		text_add(text,
			"The recorder found no room inside the program, or left it what little "
			"there was: is there a limit of less than 80 MiB (ulimit -v)?\n");
	if (recording->longest_wait_ns >= NOTICEABLE_WAIT_NS) {
		text_add(text, "A thread of the program waited up to ");
		text_add_duration_ns(text, recording->longest_wait_ns);
		text_add(text, " for the recorder.\n");
	}
	resolver_notes(resolver, text);
}

static struct error *build_lists(
	const struct range *range, const struct rows *rows, struct summary *summary)
{
	const struct {
		enum summary_list list;
		struct rows *merged; /* NULL: as they are */
		enum metric filter;
	} plan[] = {
		{SUMMARY_NEVER_FREED, NULL,
			range->from_step ? METRIC_KEPT_BLOCKS : METRIC_LIVE_BLOCKS},
		{SUMMARY_PEAK, NULL, METRIC_PEAK_BLOCKS},
		{SUMMARY_CALLS, &summary->calls, METRIC_ALLOCATIONS},
		{SUMMARY_TEMPORARY, &summary->temporary, METRIC_TEMPORARY},
	};
	for (size_t i = 0; i < ARRAY_SIZE(plan); i++) {
		enum metric metric = summary_metric(range, plan[i].list);
		const struct rows *from = rows;
		struct error *error = NULL;
		if (plan[i].merged) {
			error = rows_merge(rows, metric, plan[i].merged);
			from = plan[i].merged;
		}
		if (!error)
			error = rows_select(
				from, plan[i].filter, metric, &summary->lists[plan[i].list]);
		if (error)
			return error;
	}
	return NULL;
}

struct error *summary_build(const struct model *model, const struct rows *rows, struct summary *ret)
{
	struct facts facts = {model_target(model), model_recording(model), model_totals(model),
		rows, model_inherited(model), model_leak_search(model), NULL, 0};
	facts.errors = model_errors(model, &facts.error_count);
	if (facts.leaks && facts.leaks->way == LEAK_WAY_NONE)
		facts.leaks = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(verdict_sentences); i++) {
		size_t start = ret->verdict.len;
		struct error *error = verdict_sentences[i](&facts, &ret->verdict);
		if (error)
			return error;
		/* A share in words may begin one. */
		if (start < ret->verdict.len)
			ret->verdict.data[start] = (char)toupper(ret->verdict.data[start]);
	}
	struct error *error = build_lists(&facts.recording->range, rows, ret);
	if (error)
		return error;
	return ret->verdict.failed ? error_no_memory() : NULL;
}
