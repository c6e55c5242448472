/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which block holds pointers to which others. */
#ifndef SEARCH_GRAPH_H
#define SEARCH_GRAPH_H

#include "base/error.h"
#include "search/memory.h"
#include "search/space.h"
#include "search/told.h"

/* A pointer's target: the block's number, and whether it points into its interior. */
#define GRAPH_INTERIOR (1u << 31)
#define GRAPH_BLOCK(edge) ((edge) & ~GRAPH_INTERIOR)

#define GRAPH_MARKED 256u

/* Of so many blocks the first edge of the first one is kept, and how far behind it those of the
 * others are. */
#define GRAPH_ROW 64u
#define GRAPH_FAR UINT16_MAX

/* How far the interior pointer `edge` points into its block. */
struct graph_interior {
	uint32_t edge;
	uint32_t offset; /* UINT32_MAX: so far or further */
};
DEFINE_VEC(graph_interiors, struct graph_interior)

/* A word of a root that points to a block. */
struct graph_root {
	uint64_t address; /* of the word; number of the register */
	uint32_t edge;
	uint32_t root;
	uint32_t offset;
	bool is_faint; /* it is no holder of the block (search/faint.h) */
};
DEFINE_VEC(graph_roots, struct graph_root)

struct graph {
	const struct space *space;
	const struct search_memory *memory;
	unsigned alignment;
	uint64_t beside_bytes; /* as in search_options */
	/* Whether a block may be an array of operator new[]; NULL: none. For several threads. */
	bool (*is_array)(const void *context, uint32_t block);
	const void *is_array_context;
	/* First edges: of each row; of each block, and one more at the end, how many are between.
	 * GRAPH_FAR: all of its row stand in `far`, from the row's number there on. */
	struct space_u32 rows;
	struct space_u16 heads;
	struct space_u32 far;
	struct space_u32 edges;
	/* Two threads read a large heap, each its part of the blocks: the first one's edges end
	 * before those of the block `split` begin. 0: there is one part. */
	uint32_t split, split_end;
	uint64_t edge_count;
	struct graph_interiors interiors; /* ascending by edge */
	/* Of every GRAPH_MARKED-th edge: how many interiors are of those before it. */
	struct space_u32 interior_marks;
	struct graph_roots roots;
	bool has_faint;         /* these were looked for: */
	struct space_u32 faint; /* edges that are none of their targets' holders; ascending */
	uint64_t *texts; /* bit set of blocks whose edges to starts may be faint, too; NULL: none */
	uint64_t root_bytes, unread_bytes;
};

void graph_init(struct graph *graph, const struct space *space, const struct search_memory *memory,
	unsigned alignment);
void graph_deinit(struct graph *graph);

/* Reads all blocks, once. */
struct error *graph_read_blocks(struct graph *graph) must_check_;

/* Whether the words of all blocks were told: of the first ones, and of those behind. */
bool graph_can_take_told(
	const struct graph *graph, const struct told *told, const struct told *behind);
/* In place of graph_read_blocks(): takes over the memory of the first one's words. */
struct error *graph_take_told(
	struct graph *graph, struct told *told, const struct told *behind) must_check_;

/* Where the block's edges begin. */
static inline uint32_t graph_edges(const struct graph *graph, uint32_t block)
{
	uint32_t row = graph->rows.data[block / GRAPH_ROW];
	uint16_t head = graph->heads.data[block];
	return head < GRAPH_FAR ? row + head : graph->far.data[row + block % GRAPH_ROW];
}

/* Where they end. */
static inline uint32_t graph_edges_end(const struct graph *graph, uint32_t block)
{
	return block + 1 == graph->split ? graph->split_end : graph_edges(graph, block + 1);
}

/* Asks the processor for what graph_edges() looks at. */
static inline void graph_prefetch(const struct graph *graph, uint32_t block)
{
	prefetch(&graph->rows.data[block / GRAPH_ROW]);
	prefetch(&graph->heads.data[block]);
}

/* Reads a range of memory, number `root`. */
struct error *graph_read_root(
	struct graph *graph, uint64_t start, uint64_t end, uint32_t root) must_check_;
/* Looks at words that are no memory. */
struct error *graph_take_values(
	struct graph *graph, const uint64_t *values, size_t count, uint32_t root) must_check_;

/* Lets the edges of words that begin `bytes` or further into a block lead to the block itself.
 * Blocks whose memory has changed since may keep some. */
void graph_cut(struct graph *graph, uint32_t block, uint64_t bytes);

/* How far an edge points into its block. */
uint32_t graph_offset(const struct graph *graph, uint32_t edge_number);

/* Whether an edge is none of its target's holders, but for leaks (search/faint.h). */
bool graph_is_faint(const struct graph *graph, uint32_t edge_number);
/* Whether any edge of a block to starts may be. */
static inline bool graph_is_text(const struct graph *graph, uint32_t block)
{
	return graph->texts && graph->texts[block / 64] >> block % 64 & 1;
}
/* Of graph->faint the index of the first that is not below an edge. */
size_t graph_faint_from(const struct graph *graph, uint32_t edge_number);

/* Where in a block of `size` bytes the first word stands that is `value`; 0: nowhere. */
uint64_t graph_word_offset(
	const struct graph *graph, uint64_t block, uint64_t size, uint64_t value);

#endif
