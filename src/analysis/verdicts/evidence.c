/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/evidence.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "model/errors.h"

/* Figures that a reason is about: bits. */
enum figures {
	OF_COUNTS = 1, /* of calls and of what they allocated: they never shrink */
	OF_PEAK = 2,
	OF_LIVE = 4,
	OF_STACKS = 8, /* single stacks' parts of any of these */
	OF_ALL = OF_COUNTS | OF_PEAK | OF_LIVE,
};

static unsigned figures_of(enum metric metric)
{
	switch (metric) {
	case METRIC_LIVE_BYTES:
	case METRIC_LIVE_BLOCKS:
	case METRIC_KEPT_BYTES:
	case METRIC_KEPT_BLOCKS:
		return OF_LIVE;
	case METRIC_PEAK_BYTES:
	case METRIC_PEAK_BLOCKS:
		return OF_PEAK;
	default:
		return OF_COUNTS;
	}
}

/* Of recordings by `heapwise check`. */
#define ONLY_ERRORS "only errors were recorded, no allocations"

static bool is_not_attached(const struct model *model)
{
	return model_recording(model)->not_attached;
}

static bool has_malloc_in_front(const struct model *model)
{
	return model_recording(model)->malloc_in_front;
}

static bool has_own_malloc(const struct model *model)
{
	return model_recording(model)->own_malloc;
}

static bool has_no_heap(const struct model *model)
{
	return model_recording(model)->no_heap;
}

static bool is_unread_heap(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return recording->types && !recording->complete;
}

/* Of a part that is over before what is missing nothing is missing. */
static bool lacks_end(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return !recording->types && !recording->complete &&
	       (!recording->range.part || recording->range.to_step == UINT64_MAX);
}

static bool is_running(const struct model *model)
{
	return lacks_end(model) && model_target(model)->exit_kind == EXIT_KIND_RUNNING;
}

static bool went_on_unrecorded(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(model, &count);
	bool ends = !recording->range.part || recording->range.to_step == UINT64_MAX;
	for (size_t i = 0; i < count && ends; i++)
		if (programs[i].pid && programs[i].pid == model_target(model)->pid)
			return true;
	return false;
}

/* What a program had when it made way for another one is no end of the process. */
static bool went_on(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return model_target(model)->exit_kind == EXIT_KIND_EXEC && !recording->types &&
	       (!recording->range.part || recording->range.to_step == UINT64_MAX);
}

static bool went_on_recorded(const struct model *model)
{
	return went_on(model) && !model_recording(model)->watched;
}

/* The kernel's probes are for one program. */
static bool went_on_unwatched(const struct model *model)
{
	return went_on(model) && model_recording(model)->watched;
}

/* What was there then is neither what an orderly end leaves nor what it would have freed. */
static bool was_killed(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return model_target(model)->exit_kind == EXIT_KIND_SIGNAL && !recording->types &&
	       (!recording->range.part || recording->range.to_step == UINT64_MAX);
}

bool evidence_is_cut_short(const struct model *model)
{
	return was_killed(model);
}

/* Massif's snapshots: one in some time, none at the end. */
static bool is_of_snapshots(const struct model *model)
{
	return strcmp(model_recording(model)->source, "massif") == 0;
}

static bool is_loaded_apart(const struct model *model)
{
	return model_recording(model)->loaded_apart;
}

static bool was_stopped(const struct model *model)
{
	return model_recording(model)->stops > 0;
}

static bool has_ignored(const struct model *model)
{
	return model_recording(model)->ignores;
}

static bool is_dump(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return recording->dump && recording->snapshot && recording->complete;
}

static bool goes_on_after_change(const struct model *model)
{
	return model_recording(model)->mode_changes > 0;
}

static bool was_changed(const struct model *model)
{
	return model_recording(model)->changed_at_end;
}

static bool was_attached(const struct model *model)
{
	return model_recording(model)->attached_ns > 0;
}

/* What it had allocated before is not known. */
static bool lacks_older(const struct model *model)
{
	return was_attached(model) && !older_blocks_are_known(model_recording(model)->older);
}

/* It is, but for where that was. */
static bool has_older(const struct model *model)
{
	return was_attached(model) && older_blocks_are_known(model_recording(model)->older);
}

static bool was_detached(const struct model *model)
{
	return model_recording(model)->detached;
}

static bool has_lost_events(const struct model *model)
{
	return model_recording(model)->lost_events > 0;
}

/* Of kinds of leaks, and of memory that is held. */
static bool has_selected_leaks(const struct model *model)
{
	const struct leak_search *search = model_leak_search(model);
	const unsigned every = (1u << LEAK_KINDS) - 1;
	size_t suppressions;
	model_error_suppressions(model, &suppressions);
	return search && search->selected && (search->shown != every || suppressions);
}

static bool has_repairs(const struct model *model)
{
	return model_recording(model)->repairs > 0;
}

static bool is_full_of_stacks(const struct model *model)
{
	return model_recording(model)->stacks_full > 0;
}

static bool is_sum(const struct model *model)
{
	return model_recording(model)->merged > 0;
}

/* Why figures may be too low (`more`) or too high (`less`). The first reason of each counts: those
 * that take most come first. */
static const struct reason {
	bool (*holds)(const struct model *model);
	unsigned more, less;
	const char *text;
} reasons[] = {
	{is_not_attached, OF_ALL | OF_STACKS, 0,
		"the recorder could not see the program's allocations"},
	{has_malloc_in_front, OF_ALL | OF_STACKS, 0,
		"a library that is loaded before the recorder has its own malloc, which is not "
		"recorded"},
	{has_own_malloc, OF_ALL | OF_STACKS, 0,
		"the program has its own malloc, which is not recorded"},
	{has_no_heap, OF_ALL | OF_STACKS, 0, "no heap was found"},
	{is_unread_heap, OF_ALL | OF_STACKS, 0, "not all of the heap could be read"},
	{is_running, OF_ALL | OF_STACKS, OF_LIVE, "the program is still running"},
	{is_dump, OF_ALL | OF_STACKS, OF_LIVE, "it is a dump: the program went on after it"},
	{was_changed, OF_ALL | OF_STACKS, OF_LIVE,
		"its mode was changed: the program went on in another recording"},
	{was_detached, OF_ALL | OF_STACKS, OF_LIVE, "it was let go: the program went on after it"},
	{lacks_end, OF_ALL | OF_STACKS, OF_LIVE,
		"the recording is incomplete: it covers only the time up to its end"},
	{went_on_unrecorded, OF_ALL | OF_STACKS, 0,
		"the process executed another program, which was not recorded"},
	{went_on_recorded, OF_ALL, OF_LIVE,
		"the process executed another program (exec), which has its own recording: name "
		"that file"},
	{went_on_unwatched, OF_ALL, OF_LIVE,
		"the process executed another program (exec), which was not watched"},
	{was_killed, OF_LIVE, OF_LIVE,
		"the program was killed by a signal: with a normal exit it might have freed more"},
	{is_of_snapshots, OF_PEAK | OF_LIVE | OF_STACKS, OF_LIVE,
		"Massif takes no snapshot at exit or at every peak: what came after its last "
		"snapshot is not in the file"},
	{has_lost_events, OF_ALL | OF_STACKS, OF_PEAK | OF_LIVE, "events were lost"},
	{was_stopped, OF_ALL | OF_STACKS, 0,
		"recording was stopped for a time: what was allocated then is not in it"},
	{goes_on_after_change, OF_ALL | OF_STACKS, 0,
		"it begins with a change of the mode: what was allocated before is not in it"},
	{lacks_older, OF_ALL | OF_STACKS, 0,
		"the program was attached while it ran: what it had allocated before is not in it"},
	{has_older, OF_STACKS, 0,
		"the program was attached while it ran: what it had allocated before has no "
		"stacks"},
	{has_ignored, OF_ALL | OF_STACKS, 0, "the program had some allocations left out"},
	{is_loaded_apart, OF_ALL | OF_STACKS, OF_LIVE,
		"allocations and frees of libraries loaded with RTLD_DEEPBIND or dlmopen are not "
		"recorded"},
	{has_selected_leaks, OF_LIVE, 0,
		"the file contains only the leak kinds that were selected"},
	{has_repairs, 0, OF_PEAK | OF_LIVE, "the recorder missed some allocations or frees"},
	{is_full_of_stacks, OF_STACKS, OF_STACKS,
		"the table of stacks was full: some allocations have no stack"},
	{is_sum, 0, OF_PEAK, "it is a sum of peaks that were reached at different times"},
};

static void evidence_note(struct evidence *evidence, bool more, bool less, const char *text)
{
	if (more && !evidence->more)
		evidence->more = text;
	if (less && !evidence->less)
		evidence->less = text;
}

static struct evidence not_known(const char *why)
{
	return (struct evidence){.unknown = why, .more = why, .less = why};
}

/* Whether a reason is about where the recording ends: what a search has seen, it has seen. */
static bool is_of_end(const struct reason *reason)
{
	return reason->holds == is_running || reason->holds == is_dump ||
	       reason->holds == was_changed || reason->holds == was_detached ||
	       reason->holds == lacks_end || reason->holds == went_on_recorded ||
	       reason->holds == was_killed;
}

struct evidence evidence_of_metric(
	const struct model *model, enum metric metric, enum evidence_scope scope)
{
	const struct recording *recording = model_recording(model);
	if (recording->only_errors)
		return not_known(ONLY_ERRORS);
	if (!metric_is_known(metric, recording))
		return not_known(
			metric == METRIC_TEMPORARY && recording->sample_bytes
				? "a sample does not record which allocations are temporary"
				: "files of this format do not contain it");
	struct evidence evidence = {.unknown = NULL};
	unsigned figures = figures_of(metric);
	if (scope == EVIDENCE_OF_EACH_STACK)
		figures |= OF_STACKS;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if ((reasons[i].more | reasons[i].less) & figures && reasons[i].holds(model))
			evidence_note(&evidence, reasons[i].more & figures,
				reasons[i].less & figures, reasons[i].text);
	return evidence;
}

/* If every block was freed no search is needed. */
static bool is_all_freed(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	struct evidence left = evidence_of_metric(model, METRIC_LIVE_BLOCKS, EVIDENCE_OF_TOTAL);
	return !left.more && !recording->sample_bytes && !recording->range.part &&
	       !model_totals(model)->live_blocks;
}

static const char *why_unsearched(const struct model *model)
{
	const struct leak_search *search = model_leak_search(model);
	if (model_recording(model)->only_errors)
		return ONLY_ERRORS "; 'heapwise check --leak-check=full' searches too";
	if (model_recording(model)->no_heap)
		return "it contains no heap that could be searched";
	if (model_recording(model)->all_collected)
		return "Go's garbage collector owns all blocks, so they are not checked for leaks";
	if (!search && model_target(model)->exit_kind == EXIT_KIND_SIGNAL)
		return "the program was killed before it was searched for leaks";
	if (!search)
		return "no leak search was made: record with 'heapwise run --leak-check=full'";
	if (search->damaged)
		return "the results of the leak search can't be read";
	if (search->way == LEAK_WAY_NONE)
		return search->problem ? search->problem : "no leak search was made";
	return NULL;
}

/* Whether the kinds that are asked about are some that the search, or the file that shows it, has.
 */
static void note_search(struct evidence *evidence, const struct model *model, unsigned kinds)
{
	const struct recording *recording = model_recording(model);
	const struct leak_search *search = model_leak_search(model);
	bool lost = kinds & (1u << LEAK_DEFINITE | 1u << LEAK_INDIRECT | 1u << LEAK_POSSIBLE);
	bool held = kinds & 1u << LEAK_REACHABLE;
	if (search->way == LEAK_WAY_UNSTOPPED && search->threads > 1)
		evidence_note(evidence, true, true,
			"other threads could not be stopped for the search: blocks that only they "
			"reference may be reported as lost");
	else if (search->threads_missed)
		evidence_note(
			evidence, held, lost, "the registers of some threads were not searched");
	if (search->unread_bytes)
		evidence_note(evidence, held, lost,
			"some memory could not be read: blocks referenced only from there are "
			"reported as lost");
	if (search->problem)
		evidence_note(evidence, held, lost, search->problem);
	if (search->partial)
		evidence_note(
			evidence, true, held, "not all blocks are known: leaks may be missed");
	if (recording->sample_bytes)
		evidence_note(evidence, true, false,
			"the recording is sampled: only sampled blocks were searched for");
	if (search->selected && kinds & ~search->shown)
		evidence_note(evidence, true, false,
			recording->complete
				? "the file contains only the leak kinds that were selected"
				: "the file is incomplete: leaks may be missing");
}

bool evidence_search_is_early(const struct model *model)
{
	const struct leak_search *search = model_leak_search(model);
	return search && search->way != LEAK_WAY_NONE && !model_recording(model)->types &&
	       (search->moment == LEAK_ON_DEMAND || search->moment == LEAK_BY_PROGRAM);
}

struct evidence evidence_of_leaks(const struct model *model, unsigned kinds, bool at_end)
{
	const struct leak_search *search = model_leak_search(model);
	struct evidence evidence = {.unknown = why_unsearched(model)};
	if (evidence.unknown && is_all_freed(model))
		return (struct evidence){.unknown = NULL};
	if (evidence.unknown)
		return not_known(evidence.unknown);
	static const unsigned unseen = OF_LIVE | OF_STACKS;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].more & unseen && !is_of_end(&reasons[i]) &&
			reasons[i].holds != is_full_of_stacks &&
			reasons[i].holds != has_selected_leaks && reasons[i].holds(model))
			evidence_note(&evidence, true, reasons[i].holds == has_lost_events,
				reasons[i].text);
	}
	note_search(&evidence, model, kinds);
	if (at_end && search->moment == LEAK_ON_DEATH && evidence_is_cut_short(model))
		evidence_note(&evidence, false,
			kinds & (1u << LEAK_POSSIBLE | 1u << LEAK_REACHABLE),
			"the program was killed by a signal: what it would have freed on exit was "
			"still allocated");
	if (at_end && evidence_search_is_early(model))
		/* Blocks that nothing pointed to then could not be freed later. */
		evidence_note(&evidence, true, kinds & (1u << LEAK_POSSIBLE | 1u << LEAK_REACHABLE),
			search->moment == LEAK_ON_DEMAND
				? "the search was made while the program ran, not at exit"
				: "the search was made at the program's request, not at exit");
	return evidence;
}

unsigned evidence_sure_kinds(const struct model *model, unsigned kinds, bool at_end)
{
	unsigned ret = 0;
	for (unsigned kind = 0; kind < LEAK_KINDS; kind++) {
		unsigned bit = 1u << kind;
		if (kinds & bit && !evidence_of_leaks(model, bit, at_end).less)
			ret |= bit;
	}
	return ret;
}

/* Returns why errors may be missing in a recording of `heapwise check`; NULL: they are not. */
static const char *why_unchecked(const struct model *model, const struct check_coverage *coverage)
{
	if (has_malloc_in_front(model))
		return "errors were not looked for: a library that is loaded before heapwise's "
		       "has its own malloc; 'heapwise check --engine=valgrind' may know it";
	if (has_own_malloc(model))
		return "errors were not looked for: the program has its own malloc; 'heapwise "
		       "check --engine=valgrind' may know it";
	if (!coverage->is_there)
		return "errors were not looked for: the library of 'heapwise check' did not serve "
		       "the program";
	if (coverage->dropped || has_lost_events(model))
		return "reports of errors were lost";
	if (coverage->unserved)
		return "errors were not looked for, or not up to the process's end, in some of the "
		       "recordings";
	if (lacks_end(model))
		return "the recording is incomplete: errors may be missing";
	if (went_on_unrecorded(model))
		return "the process executed another program, which was not checked";
	return NULL;
}

const char *evidence_of_errors(const struct model *model)
{
	const struct check_coverage *coverage = model_check_coverage(model);
	if (coverage)
		return why_unchecked(model, coverage);
	const struct recording *recording = model_recording(model);
	size_t count;
	const struct program_error *errors = model_errors(model, &count);
	if (strcmp(recording->source, "recording"))
		return NULL;
	if (!errors)
		return recording->sample_bytes ? "a sample does not record invalid frees"
		       : has_lost_events(model)
			       ? "events were lost: invalid frees may be missing"
			       : "the recording does not contain whether all frees were valid";
	if (was_stopped(model))
		return "recording was stopped for a time: after that, frees of unknown blocks are "
		       "not checked";
	if (model_recording(model)->watched)
		return "the program was watched from the kernel, which does not see frees of what "
		       "is no block, nor by which function one is freed";
	if (was_attached(model))
		return "the program was attached while it ran: frees of blocks from before are not "
		       "checked";
	if (has_ignored(model))
		return "the program had some allocations left out: frees of unknown blocks are not "
		       "checked";
	if (count && has_lost_events(model))
		return "events were lost: an apparent double free may be the free of a new block";
	if (count && is_loaded_apart(model))
		return "allocations of libraries that were loaded apart are not recorded: an "
		       "apparently invalid free may be of one of their blocks";
	return NULL;
}

const char *evidence_of_checks(const struct model *model)
{
	size_t count, damage;
	const char *why = evidence_of_errors(model);
	if (why)
		return why;
	if (model_check_coverage(model))
		return NULL;
	if (!strcmp(model_recording(model)->source, "recording"))
		return "only frees were checked: 'heapwise check' looks for other errors, too";
	if (!model_errors(model, &count))
		return "the file does not contain which errors there were";
	model_damage(model, &damage);
	return damage ? "the file is cut off or damaged: errors may be missing" : NULL;
}

enum limit_state evidence_evaluate(
	const struct evidence *evidence, bool low_exceeds, bool high_exceeds, const char **ret_why)
{
	*ret_why = NULL;
	if (low_exceeds && !evidence->less)
		return LIMIT_EXCEEDED;
	if (!high_exceeds && !evidence->more)
		return LIMIT_KEPT;
	*ret_why = evidence->unknown ? evidence->unknown
		   : low_exceeds     ? evidence->less
		   : !high_exceeds   ? evidence->more
		   : evidence->more  ? evidence->more
				     : evidence->less;
	return LIMIT_UNDECIDED;
}
