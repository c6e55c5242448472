/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which block holds pointers to which others. */
#ifndef SEARCH_GRAPH_H
#define SEARCH_GRAPH_H

#include "base/error.h"
#include "search/impl/candidate_words.h"
#include "search/memory.h"
#include "search/space.h"

/* A pointer's target: the block's number, and whether it points into its interior. */
#define GRAPH_INTERIOR (1u << 31)
#define GRAPH_BLOCK(edge) ((edge) & ~GRAPH_INTERIOR)

#define GRAPH_MARKED 256u

/* Blocks in a row. Of a row the first block's first edge is kept in full; of the other blocks the
 * distance from it. */
#define GRAPH_ROW 64u
#define GRAPH_FAR UINT16_MAX

/* How far the interior pointer `edge` points into its block. */
struct graph_interior {
	uint32_t edge;
	uint32_t offset; /* in bytes; UINT32_MAX: that or more */
};
DEFINE_VEC(graph_interiors, struct graph_interior)

/* A word of a root that points to a block. */
struct graph_root {
	uint64_t address; /* of the word; number of the register */
	uint32_t edge;
	uint32_t root;
	uint32_t offset;
	bool is_false_pointer; /* it is no holder of the block (search/false_pointers.h) */
};
DEFINE_VEC(graph_roots, struct graph_root)

/* Which block points to which others, as sparse rows of edges. */
struct graph {
	const struct space *space;
	const struct search_memory *memory;
	unsigned alignment;
	uint64_t beside_bytes; /* as in search_options */
	/* Whether a block may be an array of operator new[]; NULL: none. Called by two threads. */
	bool (*is_array)(const void *context, uint32_t block);
	const void *is_array_context;
	/* First edges. `rows` has the first edge of each row, `heads` of each block (and one more
	 * at the end) the distance from it. If that is GRAPH_FAR, `far` has the first edges of the
	 * row's blocks, from the index in `rows` on. */
	struct space_u32 rows;
	struct space_u16 heads;
	struct space_u32 far;
	struct space_u32 edges;
	/* Of a heap that two threads read: the first block of the second part, and the number after
	 * the last edge of the first part. 0: there is one part. */
	uint32_t split, split_end;
	uint64_t edge_count;
	struct graph_interiors interiors; /* ascending by edge */
	/* Of every GRAPH_MARKED-th edge: how many interior pointers come before it. */
	struct space_u32 interior_marks;
	struct graph_roots roots;
	bool has_false_pointers;      /* these were looked for: */
	struct space_u32 false_edges; /* edges that are none of their targets' holders; ascending */
	uint64_t *texts; /* bit set of blocks whose edges to starts may be false, too; NULL: none */
	uint64_t root_bytes, unread_bytes;
};

void graph_init(struct graph *graph, const struct space *space, const struct search_memory *memory,
	unsigned alignment);
void graph_deinit(struct graph *graph);

/* Reads all blocks of graph->space and makes their edges; called once. */
struct error *graph_read_blocks(struct graph *graph) must_check_;

/* Returns whether the words of all blocks were noted: `candidates` has those of the first blocks,
 * `after` those of the others. */
bool graph_can_use_candidates(const struct graph *graph, const struct candidate_words *candidates,
	const struct candidate_words *after);
/* Makes the edges from candidate words, in place of graph_read_blocks(). The graph takes over the
 * memory of the first one's words. */
struct error *graph_use_candidates(struct graph *graph, struct candidate_words *candidates,
	const struct candidate_words *after) must_check_;

/* Returns the number of a block's first edge. */
static inline uint32_t graph_edges(const struct graph *graph, uint32_t block)
{
	uint32_t row = graph->rows.data[block / GRAPH_ROW];
	uint16_t head = graph->heads.data[block];
	return head < GRAPH_FAR ? row + head : graph->far.data[row + block % GRAPH_ROW];
}

/* Returns the number after a block's last edge. */
static inline uint32_t graph_edges_end(const struct graph *graph, uint32_t block)
{
	return block + 1 == graph->split ? graph->split_end : graph_edges(graph, block + 1);
}

/* Prefetches what graph_edges() reads. */
static inline void graph_prefetch(const struct graph *graph, uint32_t block)
{
	prefetch(&graph->rows.data[block / GRAPH_ROW]);
	prefetch(&graph->heads.data[block]);
}

/* Returns where the interior pointer `edge_number` is in graph->interiors if those around it are
 * evenly distributed. */
static inline size_t graph_interior_guess(const struct graph *graph, uint32_t edge_number)
{
	const uint32_t *marks = graph->interior_marks.data + edge_number / GRAPH_MARKED;
	return marks[0] + edge_number % GRAPH_MARKED * (marks[1] - marks[0]) / GRAPH_MARKED;
}

/* Reads the memory [start, end) as root number `root`. */
struct error *graph_read_root(
	struct graph *graph, uint64_t start, uint64_t end, uint32_t root) must_check_;
/* Takes `count` register values as root number `root`. */
struct error *graph_read_values(
	struct graph *graph, const uint64_t *values, size_t count, uint32_t root) must_check_;

/* Redirects the edges of words that stand `bytes` bytes or further into a block to the block
 * itself. If the block's memory changed since it was read, some edges may be kept. */
void graph_ignore_tail(struct graph *graph, uint32_t block, uint64_t bytes);

/* Returns how many bytes an edge points into its target. */
uint32_t graph_offset(const struct graph *graph, uint32_t edge_number);

/* Returns whether an edge does not count as a holder of its target; for leaks it still does
 * (search/false_pointers.h). */
bool graph_is_false_pointer(const struct graph *graph, uint32_t edge_number);
/* Returns whether a block's edges to starts may be false pointers, too. */
static inline bool graph_is_text(const struct graph *graph, uint32_t block)
{
	return graph->texts && graph->texts[block / 64] >> block % 64 & 1;
}
/* Returns the index in graph->false_edges of the first that is not below an edge. */
size_t graph_false_from(const struct graph *graph, uint32_t edge_number);

/* Returns the offset of the first word of a block (`size` bytes at address `block`) that is
 * `value`; 0 if there is none. */
uint64_t graph_word_offset(
	const struct graph *graph, uint64_t block, uint64_t size, uint64_t value);

#endif
