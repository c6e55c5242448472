/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a search for leaks comes to, in sentences. */
#include <inttypes.h>
#include <string.h>

#include "analysis/leaks.h"
#include "base/util.h"
#include "model/leak_rules.h"

/* "1 block (24 B) is", "1,204 blocks (3.4 KiB) are" */
static void add_blocks(
	struct text *text, const struct leak_sum *sum, const char *one, const char *many)
{
	text_add_count(text, sum->blocks);
	text_add(text, sum->blocks == 1 ? " block (" : " blocks (");
	text_add_bytes(text, sum->bytes);
	text_printf(text, ") %s", sum->blocks == 1 ? one : many);
}

/* Blocks that nobody recorded have types instead of allocation sites. */
static void add_places(const struct leaks *leaks, uint64_t rows, struct text *text)
{
	if (model_recording(leaks->model)->types) {
		text_add(text, ", of ");
		text_add_counted(text, rows, "type", "types");
	} else {
		text_add(text, ", from ");
		text_add_counted(text, rows, "allocation site", "allocation sites");
	}
}

static void describe_lost(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *definite = &leaks->sums[LEAK_CLASS_DEFINITE],
			      *indirect = &leaks->sums[LEAK_CLASS_INDIRECT];
	if (!definite->blocks) {
		if (leaks->evidence.more)
			text_printf(text, "No block was found to be definitely lost, but %s.\n",
				leaks->evidence.more);
		else
			text_add(text, "No block is definitely lost.\n");
	} else {
		add_blocks(text, definite, "is definitely lost", "are definitely lost");
		add_places(leaks, definite->rows, text);
	}
	if (!indirect->blocks) {
		text_add(text, definite->blocks ? ".\n" : "");
		return;
	}
	text_add(text, definite->blocks ? "; " : "");
	add_blocks(text, indirect, "is", "are");
	text_add(text, definite->blocks ? " indirectly lost (referenced only by them).\n"
					: " indirectly lost, referenced by suppressed blocks.\n");
}

static void describe_others(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *possible = &leaks->sums[LEAK_CLASS_POSSIBLE],
			      *reachable = &leaks->sums[LEAK_CLASS_REACHABLE];
	if (possible->blocks) {
		add_blocks(text, possible, "is possibly lost", "are possibly lost");
		add_places(leaks, possible->rows, text);
		text_add(text, ": only interior pointers were found.\n");
	}
	if (reachable->blocks) {
		add_blocks(text, reachable, "is still reachable", "are still reachable");
		add_places(leaks, reachable->rows, text);
		text_add(text, ".\n");
	}
	const struct leak_sum *suppressed = &leaks->sums[LEAK_CLASS_SUPPRESSED];
	if (suppressed->blocks) {
		add_blocks(text, suppressed, "is suppressed.\n", "are suppressed.\n");
	}
}

/* "stdio buffers, C++ exceptions" */
static void describe_libraries(const struct leaks *leaks, struct text *text)
{
	if (!leaks->sums[LEAK_CLASS_LIBRARY].blocks)
		return;
	add_blocks(text, &leaks->sums[LEAK_CLASS_LIBRARY], "is", "are");
	text_add(text, " kept by the C and C++ libraries for themselves: ");
	const char *before = NULL;
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		bool named = false;
		for (size_t k = 0; k < i && row->library; k++)
			named |= leaks->rows.data[k].library &&
				 !strcmp(leaks->rows.data[k].library, row->library);
		if (!row->library || named)
			continue;
		text_printf(text, "%s%s", before ? ", " : "", row->library);
		before = row->library;
	}
	text_add(text, ".\n");
}

/* A clause as it came, without a full stop. */
static void add_clause(struct text *text, const char *clause)
{
	size_t len = strlen(clause);
	text_add_n(text, clause, len && clause[len - 1] == '.' ? len - 1 : len);
}

/* What blocks are that were not freed: of a program that went on, or was killed, they need not be
 * left over. */
static const char *describe_left(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	return recording->snapshot    ? "live then"
	       : !recording->complete ? "live at the end of the recording"
	       : model_target(model)->exit_kind == EXIT_KIND_SIGNAL
		       ? "live when the program was killed"
		       : "never freed";
}

static void describe_unsearched(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *left = &leaks->sums[LEAK_CLASS_NEVER_FREED];
	const struct recording *recording = model_recording(leaks->model);
	if (!left->blocks && (recording->own_malloc || recording->not_attached)) {
		text_add(text, recording->not_attached
				       ? "Not searched: the recorder got no memory inside the "
					 "program, so nothing was recorded.\n"
				       : "Not searched: the program's own allocator was not "
					 "recorded, so leaks are unknown.\n");
		return;
	}
	if (!left->blocks && evidence_is_cut_short(leaks->model)) {
		text_add(text, "No block was live when the program was killed; what a normal exit "
			       "would have left is unknown.\n");
		return;
	}
	if (!left->blocks && recording->lost_events) {
		text_add(text, "No block that was seen was live at the end. Events were lost: of "
			       "other blocks that is unknown.\n");
		return;
	}
	if (!left->blocks) {
		text_add(text, model_totals(leaks->model)->allocations
				       ? "Every block was freed.\n"
				       : "No allocation was recorded.\n");
		return;
	}
	add_blocks(text, left, "was", "were");
	text_printf(text, " %s", describe_left(leaks->model));
	add_places(leaks, left->rows, text);
	text_add(text, ".\nAlso unknown: ");
	if (leaks->search) {
		text_add(text, "no leak search was made");
		if (leaks->search->problem) {
			text_add(text, " (");
			add_clause(text, leaks->search->problem);
			text_add(text, ")");
		}
		text_add(text, ".\n");
		return;
	}
	enum exit_kind ended = model_target(leaks->model)->exit_kind;
	if (ended == EXIT_KIND_EXEC)
		text_add(text, "the process executed another program (exec) before it was searched "
			       "for leaks; what was allocated then is not necessarily leaked.\n");
	else if (ended == EXIT_KIND_SIGNAL)
		text_add(text, "the program was killed before it was searched for leaks. "
			       "--leak-check-on-death searches at a fatal signal.\n");
	else
		text_add(text, "no leak search was made. Record with 'heapwise run "
			       "--leak-check=full PROGRAM'.\n");
}

void leaks_verdict(const struct leaks *leaks, struct text *ret)
{
	if (model_recording(leaks->model)->no_heap) {
		text_add(ret, "Leaks are unknown: no heap could be read.\n");
		return;
	}
	if (!leaks->searched) {
		describe_unsearched(leaks, ret);
		return;
	}
	uint64_t blocks = 0;
	for (unsigned i = 0; i < LEAK_CLASSES; i++)
		blocks += leaks->sums[i].blocks;
	if (model_recording(leaks->model)->all_collected) {
		text_add(ret, "Leaks are not reported: Go's garbage collector owns all blocks and "
			      "frees unreferenced ones.\n");
		return;
	}
	if (!blocks && model_recording(leaks->model)->own_malloc) {
		text_add(ret, "All recorded blocks were freed; the program's own allocator was not "
			      "recorded.\n");
		return;
	}
	if (!blocks) {
		if (leaks->search && leaks->search->selected)
			text_add(ret, "The file shows no leaks.\n");
		else if (leaks->evidence.more)
			text_printf(ret, "All known blocks were freed, but %s.\n",
				leaks->evidence.more);
		else
			text_add(ret, "All blocks were freed: no leaks are possible.\n");
		return;
	}
	describe_lost(leaks, ret);
	describe_others(leaks, ret);
	describe_libraries(leaks, ret);
	uint64_t collected = model_recording(leaks->model)->collected_blocks;
	if (collected)
		text_printf(ret, "Not checked: %llu blocks owned by Go's garbage collector.\n",
			(unsigned long long)collected);
}

const char *leak_moment_words(enum leak_moment moment)
{
	static const char *const moments[] = {
		[LEAK_AT_EXIT] = "at exit, after all exit handlers and destructors",
		[LEAK_AT_MAIN_END] = "after main returned, before exit handlers and destructors",
		[LEAK_ON_DEMAND] = "while the program ran",
		[LEAK_ON_DEATH] = "at the fatal signal",
		[LEAK_BY_PROGRAM] = "at the program's request",
	};
	return moments[moment];
}

const char *leak_uncopied_words(const struct leak_search *search)
{
	const char *words;
	switch (search->uncopied) {
	case 0:
		return NULL;
	case LEAK_UNCOPIED_LACKS:
		return "fork would not have copied all of it";
	case LEAK_UNCOPIED_CONFINED:
		return "no thread could be made to fork";
	default:
		words = strerrordesc_np((int)search->uncopied);
		return words ? words : "its fork failed";
	}
}

static void describe_moment(const struct leak_search *search, struct text *text)
{
	/* Other tools do not tell how long it took. */
	if (!search->search_ns && !search->pause_ns) {
		text_printf(text, "Searched %s.\n", leak_moment_words(search->moment));
		return;
	}
	text_printf(text, "Searched %s, in ", leak_moment_words(search->moment));
	text_add_duration_ns(text, search->search_ns);
	if (search->way == LEAK_WAY_SNAPSHOT)
		text_add(text, ", in a copy of its memory");
	text_add(text, "; the program was paused for ");
	text_add_duration_ns(text, search->pause_ns);
	text_add(text, ".\n");
	if (search->uncopied)
		text_printf(text,
			"It was paused during the whole search: its memory could not be copied "
			"(%s).\n",
			leak_uncopied_words(search));
}

bool leak_ways_are_partial(const struct model *model)
{
	size_t count;
	const struct leak_group *groups = model_leak_groups(model, &count);
	for (size_t i = 0; i < count; i++) {
		if (groups[i].together)
			return true;
	}
	return false;
}

/* What was searched by other rules than heapwise's own. */
static void describe_rules(const struct leak_search_rules *rules, struct text *ret)
{
	if (rules->since_start)
		text_add(ret, "Only blocks that were allocated since the check began can be lost "
			      "here; older ones that nothing references are in no figure.\n");
	if (rules->no_globals || rules->no_threads)
		text_printf(ret, "As HEAPCHECK wants it, references from %s%s%s did not count.\n",
			rules->no_globals ? "global data and the first thread's stack" : "",
			rules->no_globals && rules->no_threads ? " and " : "",
			rules->no_threads ? "registers and other threads' stacks" : "");
	if (rules->offset_limit)
		text_printf(ret,
			"Pointers %" PRIu64 " or more bytes into a block did not count "
			"(HEAP_CHECK_MAX_POINTER_OFFSET).\n",
			rules->offset_limit);
}

void leaks_circumstances(const struct leaks *leaks, struct text *ret)
{
	const struct leak_search *search = leaks->search;
	if (!leaks->searched)
		return;
	describe_moment(search, ret);
	if (search->way == LEAK_WAY_UNSTOPPED && search->threads > 1)
		text_add(ret, "Other threads could not be stopped and kept running: pointers that "
			      "they moved may have been missed, and blocks referenced only from "
			      "their registers count as lost.\n");
	else if (search->way != LEAK_WAY_UNSTOPPED && search->threads_missed)
		text_printf(ret,
			"%" PRIu64 " of %" PRIu64 " threads could not be stopped: their "
			"registers were not searched.\n",
			search->threads_missed, search->threads);
	if (search->unread_bytes) {
		text_add_bytes(ret, search->unread_bytes);
		text_add(ret,
			" could not be read: blocks referenced only from there count as lost.\n");
	}
	if (search->partial)
		text_add(ret, "Some blocks are unknown and were treated as roots: leaks may be "
			      "missed, but none is a false positive.\n");
	describe_rules(model_leak_rules(leaks->model), ret);
	if (leak_ways_are_partial(leaks->model))
		text_add(ret, "Partial: there are very many references, so some within one page (4 "
			      "KiB) were combined: a few of the blocks \"held by\" one variable "
			      "may be referenced by its neighbour.\n");
	if (search->uncleared)
		text_add(ret, "Memory was not cleared on allocation: stale pointers in it may "
			      "reference blocks, so leaks may be missed, but none is a false "
			      "positive. 'heapwise run --leak-check' clears it.\n");
	if (model_recording(leaks->model)->sample_bytes)
		text_add(ret, "The recording is sampled: only sampled blocks were searched for, "
			      "and figures cover only these.\n");
	if (search->problem) {
		text_add(ret, "The search: ");
		add_clause(ret, search->problem);
		text_add(ret, ".\n");
	}
}
