/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the graph of words that were told when blocks were added. No block has more edges than
 * words, so edges are put where words were. */
#include <stdlib.h>

#include "search/parts.h"

/* From so many words on a second thread is worth it. */
#define BESIDE_WORDS (1u << 16)

static bool take_words(struct graph_part *part)
{
	struct batch *batch = part->batch;
	struct told_walk *walk = &part->told;
	for (uint32_t block = batch->block; block < batch->block_end; block++) {
		size_t word = walk->word, end = word + told_walk_next(walk);
		for (; word < end; word++) {
			if (!batch_take(batch, told_word(walk->told, word), block))
				return false;
		}
	}
	return batch_finish(batch);
}

/* What one thread was told two can look up. */
static void split(struct graph *graph, struct graph_part parts[2])
{
	const struct told *told = parts[0].told.told;
	struct told_walk walk = {told, 0, 0, 0};
	while (walk.block < told->counts.len && walk.word < told->codes.len / 2)
		told_walk_next(&walk);
	if (told->codes.len < BESIDE_WORDS || walk.block == told->counts.len)
		return;
	parts[1].told = walk;
	graph_parts_split(graph, parts, walk.block, walk.word);
}

static bool take(struct graph *graph, const struct told *told, const struct told *behind)
{
	struct graph_part parts[2];
	bool ok = graph_parts_open(graph, parts);
	if (ok) {
		parts[0].batch->edges = graph->edges;
		parts[0].batch->is_lent = true;
		parts[0].told.told = told;
		parts[1].told.told = behind;
		if (behind->counts.len)
			graph_parts_split(
				graph, parts, (uint32_t)told->counts.len, told->codes.cap);
		else
			split(graph, parts);
		ok = graph_parts_run(graph, parts, take_words);
	}
	graph_parts_close(parts);
	return ok;
}

bool graph_can_take_told(
	const struct graph *graph, const struct told *told, const struct told *behind)
{
	uint32_t count = space_count(graph->space), after = (uint32_t)behind->counts.len;
	return graph->alignment == 8 && count > after && told_is_good(told, count - after) &&
	       (!after || told_is_good(behind, after));
}

struct error *graph_take_told(struct graph *graph, struct told *told, const struct told *behind)
{
	graph->edges = (struct space_u32){told->codes.data, 0, 2 * told->codes.cap};
	bool ok = take(graph, told, behind);
	graph->unread_bytes += told->rest.unread_bytes + behind->rest.unread_bytes;
	/* The graph's from now on. */
	told->codes = (struct space_u32){NULL, 0, 0};
	return ok ? NULL : error_no_memory();
}
