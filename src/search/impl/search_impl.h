/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a search share; private to this room. */
#ifndef SEARCH_SEARCH_IMPL_H
#define SEARCH_SEARCH_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "search/graph.h"
#include "search/heuristics.h"
#include "search/impl/candidate_words.h"
#include "search/search.h"
#include "search/sites.h"

DEFINE_VEC(search_group_vec, struct search_group)
DEFINE_VEC(search_record_vec, struct search_record)

struct group_key {
	uint32_t parent, root, site;
	uint64_t root_address;
};
static inline uint64_t group_hash(struct group_key k)
{
	return hash_u64(((uint64_t)k.parent << 32 | k.site) + hash_u64(k.root_address + k.root));
}
static inline bool group_equal(struct group_key a, struct group_key b)
{
	return a.parent == b.parent && a.root == b.root && a.site == b.site &&
	       a.root_address == b.root_address;
}
DEFINE_MAP(group_map, struct group_key, uint32_t, group_hash, group_equal)

/* A cached answer: the group of blocks of `site` that the group `parent` holds. */
struct recent_group {
	uint32_t parent, site, group;
};
#define GROUPS_RECENT 64u

/* A block that was reached by an interior pointer that a heuristic explains. When marking has
 * ended, the list has those that nothing else holds, ascending. */
struct explained {
	uint32_t block;
	enum search_heuristic by;
};
DEFINE_VEC(explained_vec, struct explained)

struct search {
	struct search_options options;
	bool (*counts)(void *context, uint64_t address); /* see counting.h; NULL: all do */
	void *counts_context;
	struct space space;
	struct sites sites; /* of each block */
	uint32_t *leaders;  /* of each indirect block its leader, or another one on the way to it;
			     * NULL: all blocks are held */
	uint64_t *reached;  /* bit set of blocks: small enough to stay near the processor */
	struct candidate_words candidates,
		candidates_after; /* words, as blocks are added; of those that were appended */
	struct graph graph;
	struct heuristics heuristics;
	struct space_u32
		queue; /* blocks that were reached and whose pointers were not followed yet */
	struct explained_vec explained;
	struct search_group_vec group_list;
	struct group_map group_map;
	struct recent_group recent[GROUPS_RECENT];
	struct search_record_vec records;
	struct search_totals totals;
};

static inline bool search_is_reached(const struct search *s, uint32_t block)
{
	return s->reached[block / 64] >> block % 64 & 1;
}

/* A pointer that is followed: from a block's word, or a root's. */
struct link {
	uint32_t edge;   /* as in the graph */
	uint32_t offset; /* how far it points into its block */
	uint32_t holder; /* SPACE_NONE: a root's */
	uint32_t holder_group;
	const struct graph_root *root;
};

/* Gives the group of a block that is reached by `link`. Returns false if there is no memory. */
bool search_group_of(struct search *s, const struct link *link, uint32_t block, uint32_t *ret);

/* Sorts the blocks that roots hold into reachable and possible ones. Returns false if there is no
 * memory. */
bool search_mark(struct search *s);

/* Returns whether an edge of an unreachable block holds its target; interior pointers may not
 * (options.starts_only). */
bool search_holds(const struct search *s, uint32_t edge_number);

/* Sorts the other blocks into definite and indirect ones. Returns false if there is no memory. */
bool search_find_leaders(struct search *s);
/* Returns the definite block that an indirect one counts with. */
uint32_t search_leader_of(struct search *s, uint32_t block);

/* Sums up all blocks into records and totals. Returns false if there is no memory. */
bool search_count(struct search *s);

#endif
