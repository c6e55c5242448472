/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a search for leaks comes to, in sentences. */
#include <inttypes.h>
#include <string.h>

#include "analysis/leaks.h"
#include "base/util.h"

/* "1 block (24 B) is", "1,204 blocks (3.4 KiB) are" */
static void add_blocks(
	struct text *text, const struct leak_sum *sum, const char *one, const char *many)
{
	text_add_count(text, sum->blocks);
	text_add(text, sum->blocks == 1 ? " block (" : " blocks (");
	text_add_bytes(text, sum->bytes);
	text_printf(text, ") %s", sum->blocks == 1 ? one : many);
}

static void add_places(struct text *text, uint64_t rows)
{
	text_add(text, ", from ");
	text_add_count(text, rows);
	text_add(text, rows == 1 ? " place" : " places");
}

static void say_lost(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *definite = &leaks->sums[LEAK_CLASS_DEFINITE],
			      *indirect = &leaks->sums[LEAK_CLASS_INDIRECT];
	if (!definite->blocks) {
		if (leaks->evidence.more)
			text_printf(text, "Nothing that was searched is definitely lost, but %s.\n",
				leaks->evidence.more);
		else
			text_add(text, "Nothing is definitely lost.\n");
	} else {
		add_blocks(text, definite, "is definitely lost", "are definitely lost");
		add_places(text, definite->rows);
	}
	if (!indirect->blocks) {
		text_add(text, definite->blocks ? ".\n" : "");
		return;
	}
	text_add(text, definite->blocks ? "; " : "");
	add_blocks(text, indirect, "is", "are");
	text_add(text, definite->blocks ? " lost with them, held by nothing else.\n"
					: " lost with blocks that are suppressed.\n");
}

static void say_others(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *possible = &leaks->sums[LEAK_CLASS_POSSIBLE],
			      *reachable = &leaks->sums[LEAK_CLASS_REACHABLE];
	if (possible->blocks) {
		add_blocks(text, possible, "is possibly lost", "are possibly lost");
		add_places(text, possible->rows);
		text_add(text, ": only pointers into the middle are left.\n");
	}
	if (reachable->blocks) {
		add_blocks(text, reachable, "is still reachable", "are still reachable");
		add_places(text, reachable->rows);
		text_add(text, ".\n");
	}
	const struct leak_sum *suppressed = &leaks->sums[LEAK_CLASS_SUPPRESSED];
	if (suppressed->blocks) {
		add_blocks(text, suppressed, "is suppressed.\n", "are suppressed.\n");
	}
}

/* "stdio buffers, C++ exceptions" */
static void say_libraries(const struct leaks *leaks, struct text *text)
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

static void say_unsearched(const struct leaks *leaks, struct text *text)
{
	const struct leak_sum *left = &leaks->sums[LEAK_CLASS_NEVER_FREED];
	const struct recording *recording = model_recording(leaks->model);
	if (!left->blocks && (recording->own_malloc || recording->not_attached)) {
		text_add(text, recording->not_attached
				       ? "Not searched: the recorder got no memory inside the "
					 "program, so nothing was seen.\n"
				       : "Not searched: the program's allocator was not seen, so "
					 "nothing is known of leaks.\n");
		return;
	}
	if (!left->blocks && evidence_is_cut_short(leaks->model)) {
		text_add(text, "Nothing was live when the program was killed. What it would have "
			       "left at an end of its own is not known.\n");
		return;
	}
	if (!left->blocks) {
		text_add(text, model_totals(leaks->model)->allocations
				       ? "Every block was freed.\n"
				       : "No allocation was recorded.\n");
		return;
	}
	add_blocks(text, left, "was never freed", "were never freed");
	add_places(text, left->rows);
	text_add(text, ".\nOnly that is known: ");
	if (leaks->search) {
		text_add(text, "there was no search for leaks");
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
		text_add(text,
			"the process went on as another program (exec), which took its "
			"memory away before anybody searched it; what it had then is no leak "
			"by that alone.\n");
	else if (ended == EXIT_KIND_SIGNAL)
		text_add(text, "the program was killed, and its memory was gone before anybody "
			       "searched it. --leak-check-on-death searches at a fatal signal.\n");
	else
		text_add(text, "nobody searched the program's memory for what still holds them. "
			       "'heapwise run --leak-check=full PROGRAM' does.\n");
}

void leaks_verdict(const struct leaks *leaks, struct text *ret)
{
	if (!leaks->searched) {
		say_unsearched(leaks, ret);
		return;
	}
	uint64_t blocks = 0;
	for (unsigned i = 0; i < LEAK_CLASSES; i++)
		blocks += leaks->sums[i].blocks;
	if (!blocks && model_recording(leaks->model)->no_heap) {
		text_add(ret,
			"Nothing is known of leaks: there is no heap in it that could be read.\n");
		return;
	}
	if (model_recording(leaks->model)->all_collected) {
		text_add(ret,
			"Leaks are not judged: Go's collector owns all blocks, and frees what "
			"nothing points to.\n");
		return;
	}
	if (!blocks && model_recording(leaks->model)->own_malloc) {
		text_add(ret, "Nothing is left of the blocks that were seen; the program's own "
			      "allocator was not seen.\n");
		return;
	}
	if (!blocks) {
		if (leaks->search && leaks->search->selected)
			text_add(ret, "It shows no leaks.\n");
		else if (leaks->evidence.more)
			text_printf(ret, "Of the blocks that are known none is left, but %s.\n",
				leaks->evidence.more);
		else
			text_add(ret, "All blocks were freed: no leaks are possible.\n");
		return;
	}
	say_lost(leaks, ret);
	say_others(leaks, ret);
	say_libraries(leaks, ret);
	uint64_t collected = model_recording(leaks->model)->collected_blocks;
	if (collected)
		text_printf(ret, "Not judged: %llu blocks, which Go's collector owns.\n",
			(unsigned long long)collected);
}

const char *leak_moment_words(enum leak_moment moment)
{
	static const char *const moments[] = {
		[LEAK_AT_EXIT] = "at exit, after all exit handlers and destructors",
		[LEAK_AT_MAIN_END] = "when main had ended, before exit handlers and destructors",
		[LEAK_ON_DEMAND] = "while the program ran",
		[LEAK_ON_DEATH] = "at the fatal signal",
		[LEAK_BY_PROGRAM] = "when the program asked for it",
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
		return "it would have lacked memory that fork leaves out";
	case LEAK_UNCOPIED_CONFINED:
		return "no thread of it could be made to fork";
	default:
		words = strerrordesc_np((int)search->uncopied);
		return words ? words : "its fork failed";
	}
}

static void say_moment(const struct leak_search *search, struct text *text)
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
	text_add(text, "; the program was held for ");
	text_add_duration_ns(text, search->pause_ns);
	text_add(text, ".\n");
	if (search->uncopied)
		text_printf(text, "It was held all the while: no copy of it could be made (%s).\n",
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

void leaks_circumstances(const struct leaks *leaks, struct text *ret)
{
	const struct leak_search *search = leaks->search;
	if (!leaks->searched)
		return;
	say_moment(search, ret);
	if (search->way == LEAK_WAY_UNSTOPPED && search->threads > 1)
		text_add(ret, "Other threads could not be stopped and went on meanwhile: what they "
			      "moved may have been missed, and what only their registers held "
			      "counts as lost.\n");
	else if (search->way != LEAK_WAY_UNSTOPPED && search->threads_missed)
		text_printf(ret,
			"%" PRIu64 " of %" PRIu64 " threads could not be stopped: their "
			"registers were not searched.\n",
			search->threads_missed, search->threads);
	if (search->unread_bytes) {
		text_add_bytes(ret, search->unread_bytes);
		text_add(ret, " could not be read: what only they hold counts as lost.\n");
	}
	if (search->partial)
		text_add(ret, "Not all blocks are known, so the rest of the heap was taken to hold "
			      "what it points to: leaks may be missed, none is false.\n");
	if (leak_ways_are_partial(leaks->model))
		text_add(ret, "Partial: so many words hold blocks that further ones are told "
			      "together where they stand in one page (4 KiB): a few of the blocks "
			      "\"held by\" one variable may be held by its neighbour.\n");
	if (search->uncleared)
		text_add(ret, "Memory was not cleared as it was given out: words that earlier uses "
			      "have left in it may hold blocks, so leaks may be missed, none is "
			      "false. 'heapwise run --leak-check' clears it.\n");
	if (model_recording(leaks->model)->sample_bytes)
		text_add(ret, "The recording is sampled: only the blocks it has were searched for, "
			      "and figures are theirs alone.\n");
	if (search->problem) {
		text_add(ret, "The search: ");
		add_clause(ret, search->problem);
		text_add(ret, ".\n");
	}
}
