/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the graph from the words that were noted when blocks were added. No block has more edges
 * than words, so edges are put where words were. */
#include <stdlib.h>

#include "search/impl/parts.h"

/* Words from which a second thread is worth it. */
#define BESIDE_WORDS (1u << 16)

static bool look_up_words(struct graph_part *part)
{
	struct pointer_lookup *lookup = part->lookup;
	struct candidate_walk *walk = &part->candidates;
	for (uint32_t block = lookup->block; block < lookup->block_end; block++) {
		size_t word = walk->word, end = word + candidate_walk_next(walk);
		for (; word < end; word++) {
			if (!pointer_lookup_add(
				    lookup, candidate_word(walk->candidates, word), block))
				return false;
		}
	}
	return pointer_lookup_finish(lookup);
}

/* Lets two threads look up the words that one thread has noted, if there are enough of them. */
static void split_candidates(struct graph *graph, struct graph_part parts[2])
{
	const struct candidate_words *candidates = parts[0].candidates.candidates;
	struct candidate_walk walk = {candidates, 0, 0, 0};
	while (walk.block < candidates->counts.len && walk.word < candidates->codes.len / 2)
		candidate_walk_next(&walk);
	if (candidates->codes.len < BESIDE_WORDS || walk.block == candidates->counts.len)
		return;
	parts[1].candidates = walk;
	graph_parts_split(graph, parts, walk.block, walk.word);
}

static bool build_graph(struct graph *graph, const struct candidate_words *candidates,
	const struct candidate_words *after)
{
	struct graph_part parts[2];
	bool ok = graph_parts_open(graph, parts);
	if (ok) {
		parts[0].lookup->edges = graph->edges;
		parts[0].lookup->is_borrowed = true;
		parts[0].candidates.candidates = candidates;
		parts[1].candidates.candidates = after;
		if (after->counts.len)
			graph_parts_split(graph, parts, (uint32_t)candidates->counts.len,
				candidates->codes.cap);
		else
			split_candidates(graph, parts);
		ok = graph_parts_run(graph, parts, look_up_words);
	}
	graph_parts_close(parts);
	return ok;
}

bool graph_can_use_candidates(const struct graph *graph, const struct candidate_words *candidates,
	const struct candidate_words *after)
{
	uint32_t count = space_count(graph->space), after_count = (uint32_t)after->counts.len;
	return graph->alignment == 8 && count > after_count &&
	       candidate_words_are_complete(candidates, count - after_count) &&
	       (!after_count || candidate_words_are_complete(after, after_count));
}

struct error *graph_use_candidates(struct graph *graph, struct candidate_words *candidates,
	const struct candidate_words *after)
{
	graph->edges = (struct space_u32){candidates->codes.data, 0, 2 * candidates->codes.cap};
	bool ok = build_graph(graph, candidates, after);
	graph->unread_bytes += candidates->rest.unread_bytes + after->rest.unread_bytes;
	/* The memory belongs to the graph from now on. */
	candidates->codes = (struct space_u32){NULL, 0, 0};
	return ok ? NULL : error_no_memory();
}
