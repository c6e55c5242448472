/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See verdict.h. Sentences are a table: each either has something to say of this model, or nothing.
 * Shares are given of one place (innermost frame of the program's own code), since that is what one
 * mends; the lists below the verdict have the stacks.
 */
#include "analysis/verdicts/verdict.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/evidence.h"
#include "analysis/interval.h"
#include "analysis/library_own.h"
#include "analysis/metric.h"
#include "analysis/notable.h"
#include "analysis/stacks/top_place.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/util.h"

static const char *verdict_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* What sentences are made from. */
struct facts {
	const struct target *target;
	const struct recording *recording;
	const struct totals *totals;
	const struct summary *summary;
	const struct inherited *inherited;
	const struct lifetimes *lives;
	const struct leak_sum *leaks;       /* by class; NULL: no search, or an attempt alone */
	struct totals left;                 /* the totals without what libraries keep */
	struct site own;                    /* what they keep */
	const struct program_error *errors; /* that a checker found */
	size_t error_count;
	const struct leak_search
		*early; /* the search, if the program went on after it; else NULL */
	/* Of what was left only what the user asked to see is known; some kinds they did not. */
	bool selected, hidden;
};

/* ", all of it from one allocation site: foo (foo.c:12)": what the list has first, so that both
 * agree. */
static void add_top_place(const struct facts *facts, enum summary_list list, enum metric metric,
	uint64_t total, const char *it, struct text *text)
{
	top_place_add(&facts->summary->lists[list], metric, total, it, facts->target->exe, text);
}

/* What libraries keep at the peak is in no list: said where it is more than the list's first has.
 */
static void add_libraries_share(const struct facts *facts, struct text *text)
{
	const struct row *top =
		top_place_find(&facts->summary->lists[SUMMARY_PEAK], METRIC_PEAK_BYTES);
	uint64_t own = facts->own.peak_bytes;
	if (own <= (top ? metric_of_site(METRIC_PEAK_BYTES, top->sums) : 0))
		return;
	text_add(text, "; libraries keep ");
	top_place_add_share(text, own, facts->totals->peak_bytes);
	text_add(text, " of it for themselves");
}

static void describe_nothing_allocated(const struct facts *facts, struct text *text)
{
	if (facts->totals->allocations != 0 || facts->recording->range.part ||
		!metric_is_known(METRIC_ALLOCATIONS, facts->recording))
		return;
	if (facts->recording->blocks)
		text_printf(text, "No block matches: only blocks %s count.\n",
			facts->recording->blocks);
	else if (!facts->recording->complete && !facts->recording->events &&
		 !facts->recording->own_malloc && !facts->recording->not_attached)
		text_add(text, "It is unknown what the program allocated: none of its events can "
			       "be read.\n");
	else if (facts->recording->own_malloc || facts->recording->sample_bytes ||
		 facts->recording->not_attached || !facts->recording->complete)
		text_add(text, "No allocation was seen.\n");
	else
		text_printf(text, "The program %s nothing.\n",
			facts->recording->what == RECORDED_MAPPINGS ? "mapped" : "allocated");
}

/* What a figure counts. */
static const struct counted_words {
	const char *one, *more, *freed;
} counted_words[] = {
	[RECORDED_HEAP] = {"block", "blocks", "freed"},
	[RECORDED_MAPPINGS] = {"mapping", "mappings", "unmapped"},
	[RECORDED_BOTH] = {"block or mapping", "blocks and mappings", "freed or unmapped"},
};

static const struct counted_words *words_of(const struct facts *facts)
{
	return &counted_words[facts->recording->what];
}

/* "5 blocks" */
static void add_counted(const struct facts *facts, uint64_t count, struct text *text)
{
	text_add_counted(text, count, words_of(facts)->one, words_of(facts)->more);
}

/* "about ", before a figure of a sample. */
static void add_about(const struct facts *facts, struct text *text)
{
	if (facts->recording->sample_bytes)
		text_add(text, "about ");
}

/* " (306 KiB to 1.07 MiB)", after bytes that are estimated. */
static void verdict_add_range(const struct facts *facts, enum metric metric,
	const struct totals *totals, struct text *text)
{
	struct interval range;
	if (!interval_of_totals(facts->recording, metric, totals, &range))
		return;
	text_add(text, " (");
	text_add_bytes(text, range.low);
	text_add(text, " to ");
	text_add_bytes(text, range.high);
	text_add(text, ")");
}

/* "3 MiB in 5 blocks were live then; 1 MiB in 2 blocks of these were allocated in the range, …" */
static void describe_live_then(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	bool from_start = !facts->recording->range.from_step;
	bool counted = metric_is_known(METRIC_LIVE_BLOCKS, facts->recording);
	add_about(facts, text);
	text_add_bytes(text, totals->live_bytes);
	if (counted) {
		text_add(text, " in ");
		add_counted(facts, totals->live_blocks, text);
	}
	text_printf(text, " %s live then",
		verdict_plural(counted ? totals->live_blocks : 2, "was", "were"));
	if (!from_start) {
		text_add(text, "; of these ");
		text_add_bytes(text, totals->kept_bytes);
		text_add(text, " in ");
		add_counted(facts, totals->kept_blocks, text);
		text_printf(text, " %s %s in the range",
			verdict_plural(totals->kept_blocks, "was", "were"),
			facts->recording->what == RECORDED_MAPPINGS ? "mapped" : "allocated");
	}
	enum metric metric = from_start ? METRIC_LIVE_BYTES : METRIC_KEPT_BYTES;
	uint64_t total = metric_of_totals(metric, totals);
	if (total)
		add_top_place(facts, SUMMARY_NEVER_FREED, metric, total, "it", text);
	text_add(text, ".\n");
}

/* "4.00 KiB in 1 block" */
static void add_amount(
	const struct facts *facts, struct text *text, uint64_t bytes, uint64_t blocks)
{
	text_add_bytes(text, bytes);
	text_add(text, " in ");
	add_counted(facts, blocks, text);
}

/* Whether memory that libraries keep is counted separately: figures at the end of a whole
 * recording. */
static bool separates_own(const struct facts *facts)
{
	return facts->own.live_blocks && !facts->recording->range.part &&
	       !facts->recording->snapshot && metric_is_known(METRIC_LIVE_BLOCKS, facts->recording);
}

/* None of the program's own blocks was left. */
static void describe_nothing_left(const struct facts *facts, struct text *text)
{
	const struct recording *recording = facts->recording;
	if (facts->selected) {
		text_add(text, "The file shows no leaks of the kinds that were selected; other "
			       "kinds are not in it.\n");
		return;
	}
	text_add(text, recording->blocks         ? "None of these blocks was live at the end"
		       : recording->sample_bytes ? "No sampled block was live at the end"
		       : recording->what == RECORDED_MAPPINGS
			       ? "Nothing was mapped any more at the end"
		       : recording->what == RECORDED_BOTH
			       ? "Nothing was allocated or mapped any more at the end"
		       : recording->lost_events ? "No block that was seen was live at the end"
		       : recording->complete    ? "No leaks: every block was freed"
						: "No block was live at the end of the recording");
	if (separates_own(facts)) {
		text_add(text, ", except ");
		add_amount(facts, text, facts->own.live_bytes, facts->own.live_blocks);
		text_add(text, " that libraries keep for themselves (report --view libraries)");
	}
	text_add(text, ".\n");
}

static void describe_never_freed(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	if (!metric_is_known(METRIC_LIVE_BYTES, facts->recording))
		return;
	if (facts->recording->range.part || facts->recording->snapshot) {
		describe_live_then(facts, text);
		return;
	}
	if (totals->allocations == 0 && metric_is_known(METRIC_ALLOCATIONS, facts->recording))
		return;
	totals = &facts->left;
	bool counted = metric_is_known(METRIC_LIVE_BLOCKS, facts->recording);
	uint64_t count = counted ? totals->live_blocks : 2; /* for the verb */
	if (count == 0) {
		describe_nothing_left(facts, text);
		return;
	}
	text_add(text, facts->hidden ? "at least " : "");
	add_about(facts, text);
	if (counted)
		add_amount(facts, text, totals->live_bytes, totals->live_blocks);
	else
		text_add_bytes(text, totals->live_bytes);
	verdict_add_range(facts, METRIC_LIVE_BYTES, totals, text);
	if (!facts->recording->complete)
		text_printf(text, " %s live at the end of the recording",
			verdict_plural(count, "was", "were"));
	else if (facts->target->exit_kind == EXIT_KIND_SIGNAL)
		text_printf(text, " %s live when the program was killed",
			verdict_plural(count, "was", "were"));
	else
		text_printf(text, " %s never %s", verdict_plural(count, "was", "were"),
			words_of(facts)->freed);
	enum metric metric = totals->live_bytes ? METRIC_LIVE_BYTES : METRIC_LIVE_BLOCKS;
	uint64_t total = metric_of_totals(metric, totals);
	if (total)
		add_top_place(facts, SUMMARY_NEVER_FREED, metric, total, "it", text);
	text_add(text, ".\n");
}

/* "A search while the program ran, after 1.5 s, found of what was live then " */
static void add_early(const struct leak_search *search, struct text *text)
{
	text_printf(text, "a leak search %s, after ", leak_moment_words(search->moment));
	text_add_duration_ns(text, search->time_ns);
	text_add(text, ", found among the blocks live then: ");
}

/* What became of the blocks that were never freed, if there was a search. */
static void describe_leaks(const struct facts *facts, struct text *text)
{
	static const char *const words[] = {
		[LEAK_CLASS_DEFINITE] = "definitely lost",
		[LEAK_CLASS_INDIRECT] = "indirectly lost",
		[LEAK_CLASS_POSSIBLE] = "possibly lost",
		[LEAK_CLASS_REACHABLE] = "still reachable",
		[LEAK_CLASS_SUPPRESSED] = "suppressed",
	};
	const char *before = NULL;
	for (unsigned i = 0; facts->leaks && i < ARRAY_SIZE(words); i++) {
		const struct leak_sum *sum = &facts->leaks[i];
		if (!sum->blocks)
			continue;
		if (!before && facts->early)
			add_early(facts->early, text);
		else
			text_add(text, before ? before
				       : facts->recording->sample_bytes
					       ? "of the sampled blocks only, "
					       : "of these, ");
		add_amount(facts, text, sum->bytes, sum->blocks);
		text_printf(text, " %s %s",
			facts->early ? verdict_plural(sum->blocks, "was", "were")
				     : verdict_plural(sum->blocks, "is", "are"),
			words[i]);
		before = ", ";
	}
	if (before)
		text_add(text, " (list them with 'heapwise leaks').\n");
}

/* "Libraries keep 75.0 KiB in 2 more blocks for themselves (report --view libraries)." */
static void describe_libraries(const struct facts *facts, struct text *text)
{
	if (!separates_own(facts) || !facts->left.live_blocks)
		return;
	text_add(text, "Libraries keep ");
	text_add_bytes(text, facts->own.live_bytes);
	text_add(text, " in ");
	text_add_counted(text, facts->own.live_blocks, "more block", "more blocks");
	text_add(text, " for themselves (report --view libraries).\n");
}

static void describe_peak(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	if (totals->peak_bytes == 0)
		return;
	bool merged = facts->recording->merged;
	text_add(text,
		merged ? "The recordings' peaks, reached at different times, add up to " : "Peak ");
	add_about(facts, text);
	text_add_bytes(text, totals->peak_bytes);
	verdict_add_range(facts, METRIC_PEAK_BYTES, totals, text);
	/* Nothing is live at 0: that of a file whose time stamps begin after its peak is not known.
	 */
	if (!merged && !(facts->recording->unknown & UNKNOWN_TIMES) && totals->peak_time_ns) {
		text_add(text, " after ");
		text_add_duration_ns(text, totals->peak_time_ns);
	}
	if (facts->own.peak_bytes == totals->peak_bytes)
		text_add(text, ", all of it kept by libraries for their own use");
	else {
		add_top_place(
			facts, SUMMARY_PEAK, METRIC_PEAK_BYTES, totals->peak_bytes, "it", text);
		add_libraries_share(facts, text);
	}
	text_add(text, ".\n");
}

/* Places that keep growing, whether they are freed at the end or not. */
static void describe_growth(const struct facts *facts, struct text *text)
{
	if (facts->summary->has_growth)
		notable_describe_growth(facts->totals, &facts->summary->growth, text);
}

/* Programs that bring a heap of their own, which does not come through malloc. */
static const struct own_heap {
	const char *program; /* what the name of its file begins with */
	const char *words;
} own_heaps[] = {
	{"python", "Python's own allocator (PYTHONMALLOC=malloc sends it all through malloc)"},
	{"pypy", "PyPy's own heap"},
	{"node", "V8's heap (node --heap-prof shows it)"},
	{"chrom", "V8's heap and PartitionAlloc"},
	{"java", "the JVM's heap (jcmd PID GC.heap_info shows it)"},
	{"ruby", "Ruby's heap of objects (ObjectSpace shows it)"},
	{"php", "PHP's own allocator (USE_ZEND_ALLOC=0 sends it through malloc)"},
};

/* NULL: the program is none of these. */
static const char *own_heap_of(const struct target *target)
{
	const char *slash = strrchr(target->exe, '/');
	const char *name = slash ? slash + 1 : target->exe;
	for (size_t i = 0; i < ARRAY_SIZE(own_heaps); i++)
		if (strncmp(name, own_heaps[i].program, strlen(own_heaps[i].program)) == 0)
			return own_heaps[i].words;
	return NULL;
}

/* Less than that is code, stacks and what each process has. */
#define RESIDENT_UNEXPLAINED_BYTES (UINT64_C(16) << 20)

/* "The process's resident memory peaked at 58 MiB; at most 4.24 MiB of that was allocated with
 * malloc at a time. …" */
static void describe_resident(const struct facts *facts, struct text *text)
{
	const struct recording *recording = facts->recording;
	uint64_t resident = recording->resident_peak_bytes, peak = facts->totals->peak_bytes;
	if (recording->range.part || recording->merged || recording->blocks ||
		recording->what != RECORDED_HEAP || resident < RESIDENT_UNEXPLAINED_BYTES ||
		resident / 2 < peak || !metric_is_known(METRIC_PEAK_BYTES, recording))
		return;
	/* With Python's objects its allocator's blocks are in these figures. */
	bool objects = recording->python_objects;
	const char *own = objects ? NULL : own_heap_of(facts->target);
	text_add(text, "The process's resident memory peaked at ");
	text_add_bytes(text, resident);
	text_add(text, "; at most ");
	text_add_bytes(text, peak);
	text_printf(text,
		" of that was allocated with malloc%s at a time. The rest is code, stacks, mapped "
		"memory, free memory inside %s",
		objects ? " and by Python" : "",
		objects ? "malloc and Python's allocator" : "malloc");
	text_printf(text, own ? ", and %s.\n" : ".\n", own);
}

static void describe_reallocs(const struct facts *facts, struct text *text)
{
	if (facts->summary->has_reallocs)
		notable_describe_reallocs(&facts->summary->reallocs, text);
}

/*
 * "600,003 allocations of 40.8 MiB were made for a peak of 864 KiB, 99% of them from one allocation
 * site: …; 97% of the blocks lived for at most 100 allocations."
 */
static void describe_churn(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	const enum metric metrics[] = {
		METRIC_ALLOCATIONS, METRIC_ALLOCATED_BYTES, METRIC_PEAK_BYTES};
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		if (!metric_is_known(metrics[i], facts->recording))
			return;
	if (facts->recording->range.part || facts->recording->merged || !notable_churn(totals))
		return;
	add_about(facts, text);
	bool maps = facts->recording->what == RECORDED_MAPPINGS;
	text_add_count(text, totals->allocations);
	text_add(text, maps ? " calls that map " : " allocations of ");
	text_add_bytes(text, totals->allocated_bytes);
	text_add(text, " were made for a peak of ");
	text_add_bytes(text, totals->peak_bytes);
	add_top_place(facts, SUMMARY_CALLS, METRIC_ALLOCATIONS, totals->allocations, "them", text);
	uint64_t brief = notable_short_lived(facts->lives);
	if (facts->lives->known && brief) {
		text_add(text, "; ");
		top_place_add_share(text, brief, totals->allocations);
		text_printf(text, " of the blocks lived for at most %u allocations",
			NOTABLE_SHORT_OTHERS);
	}
	text_add(text, ".\n");
}

/* Churn is worth a sentence from a tenth of all allocations on. */
static void describe_temporary(const struct facts *facts, struct text *text)
{
	const struct totals *totals = facts->totals;
	/* Of samples, and of sums with one among them, it is not known. */
	if (totals->temporary == 0 || totals->temporary < totals->allocations / 10 ||
		facts->recording->sample_bytes)
		return;
	top_place_add_share(text, totals->temporary, totals->allocations);
	text_add(text, " of the allocations were temporary (freed ");
	summary_add_temporary_rule(text, facts->recording);
	text_add(text, ")");
	add_top_place(facts, SUMMARY_TEMPORARY, METRIC_TEMPORARY, totals->temporary, "these", text);
	text_add(text, ".\n");
}

static void describe_failed(const struct facts *facts, struct text *text)
{
	if (facts->totals->failed) {
		text_add_counted(text, facts->totals->failed, "allocation", "allocations");
		text_add(text, " failed.\n");
	}
}

static void describe_mismatched(const struct facts *facts, struct text *text)
{
	uint64_t count = facts->recording->mismatched_frees;
	if (count && !facts->error_count) { /* else they are among the errors */
		text_add_counted(text, count, "block", "blocks");
		text_printf(text,
			" %s freed by a function that does not match its allocation function.\n",
			verdict_plural(count, "was", "were"));
	}
}

/* "It inherited at most 6 blocks of 30 KiB from its parent; 5 of them were freed here." */
static void describe_inherited(const struct facts *facts, struct text *text)
{
	const struct inherited *inherited = facts->inherited;
	uint64_t freed = facts->recording->inherited_frees;
	if (!inherited->from || !inherited->blocks)
		return;
	text_add(text, "It inherited ");
	bool counted = inherited_is_counted(inherited);
	text_add(text, inherited->at_most && !counted ? "at most " : "");
	text_add_counted(text, inherited_left(inherited), "block", "blocks");
	text_add(text, inherited->at_most && counted ? " of at most " : " of ");
	text_add_bytes(text, inherited->bytes);
	text_add(text, inherited->generations > 1 ? " from its ancestors; " : " from its parent; ");
	if (freed)
		text_add_count(text, freed);
	text_printf(text, "%s of them %s freed here.\n", freed ? "" : "none",
		verdict_plural(freed ? freed : 1, "was", "were"));
}

/* Bytes of an error's own sentence. */
#define ERROR_WORDS_MOST 200u

/* "5 errors were found, 12 times in all, the first: free() of … (report --view errors)." */
static void describe_errors(const struct facts *facts, struct text *text)
{
	uint64_t times = 0;
	for (size_t i = 0; i < facts->error_count; i++)
		times += facts->errors[i].count;
	if (facts->recording->only_errors)
		text_printf(text, "Only errors were recorded, no allocations (heapwise check)%s.\n",
			facts->error_count ? "" : ": view errors says what was looked at");
	if (!facts->error_count)
		return;
	text_add_counted(text, facts->error_count, "error", "errors");
	text_printf(text, " %s found", verdict_plural(facts->error_count, "was", "were"));
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
}

/* "The recording has 12 marks (report --view marks)." */
static void describe_marks(const struct facts *facts, struct text *text)
{
	uint64_t count = facts->recording->marks;
	if (count) {
		text_add(text, "The recording has ");
		text_add_counted(text, count, "mark", "marks");
		/* Marks are events: where these were not kept live memory at that time is unknown.
		 */
		bool can_be_shown = !facts->recording->dropped_steps;
		text_add(text, can_be_shown ? " (report --view marks).\n" : ".\n");
	}
}

static const struct verdict_sentence {
	void (*add)(const struct facts *facts, struct text *text);
	bool begins_with_words; /* not with a name, which has its own first letter */
} verdict_sentences[] = {
	{describe_nothing_allocated, true},
	{describe_never_freed, true},
	{describe_leaks, true},
	{describe_libraries, true},
	{describe_errors, true},
	{describe_growth, false},
	{describe_peak, true},
	{describe_resident, true},
	{describe_reallocs, false},
	{describe_churn, true},
	{describe_temporary, true},
	{describe_failed, true},
	{describe_mismatched, true},
	{describe_inherited, true},
	{describe_marks, true},
};

struct error *verdict_add(const struct model *model, const struct rows *rows,
	const struct summary *summary, struct text *text)
{
	struct facts facts = {
		.target = model_target(model),
		.recording = model_recording(model),
		.totals = model_totals(model),
		.summary = summary,
		.inherited = model_inherited(model),
		.lives = model_lifetimes(model),
		.leaks = summary->searched ? summary->leaks : NULL,
		.early = evidence_search_is_early(model) ? model_leak_search(model) : NULL,
		.left = library_own_left(model_totals(model), rows),
	};
	const struct leak_search *search = model_leak_search(model);
	facts.selected = search && search->selected;
	facts.hidden = facts.selected && search->shown != (1u << LEAK_KINDS) - 1;
	library_own_sum(rows, &facts.own);
	facts.errors = model_errors(model, &facts.error_count);
	for (size_t i = 0; i < ARRAY_SIZE(verdict_sentences); i++) {
		size_t start = text->len;
		verdict_sentences[i].add(&facts, text);
		if (verdict_sentences[i].begins_with_words && start < text->len && !text->failed)
			text->data[start] = (char)toupper(text->data[start]);
	}
	return text->failed ? error_no_memory() : NULL;
}
