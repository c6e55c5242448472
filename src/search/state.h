/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a search share; for them alone. */
#ifndef SEARCH_STATE_H
#define SEARCH_STATE_H

#include "base/map.h"
#include "base/vec.h"
#include "search/graph.h"
#include "search/heuristics.h"
#include "search/search.h"
#include "search/sites.h"
#include "search/told.h"

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

/* The group of blocks of a site that a group holds. */
struct recent_group {
	uint32_t parent, site, group;
};
#define GROUPS_RECENT 64u

/* A block that was reached by an interior pointer that a heuristic explains; in the end those that
 * nothing else holds, ascending. */
struct explained {
	uint32_t block;
	enum search_heuristic by;
};
DEFINE_VEC(explained_vec, struct explained)

struct search {
	struct search_options options;
	struct space space;
	struct sites sites; /* of each block */
	uint32_t *leaders;  /* of each indirect block, some way up: who leads; NULL: none is lost */
	uint64_t *reached;  /* bit set of blocks: small enough to stay near the processor */
	struct told told, told_behind; /* words, as blocks are added; of those that were appended */
	struct graph graph;
	struct heuristics heuristics;
	struct space_u32 queue; /* blocks that were reached, and from which nobody went on yet */
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

/* The group of a block that is reached now. False: no memory. */
bool search_group_of(struct search *s, const struct link *link, uint32_t block, uint32_t *ret);

/* Sorts what is held from outside into reachable and possible blocks. False: no memory. */
bool search_mark(struct search *s);

/* Whether a pointer holds its block as far as lost ones go: interior ones may not. */
bool search_holds(const struct search *s, uint32_t edge_number);

/* Sorts the rest into definite and indirect ones. False: no memory. */
bool search_lead(struct search *s);
/* The definite block that an indirect one counts with. */
uint32_t search_leader_of(struct search *s, uint32_t block);

/* Sums up all blocks. False: no memory. */
bool search_count(struct search *s);

#endif
