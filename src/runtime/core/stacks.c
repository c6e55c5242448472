/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the shared nodes and lines only.
 *
 * The child of a node that came first is named in the node itself: most nodes have no other, and
 * one that was just added lies beside its parent, so that new stacks are written to memory in a
 * row, with hardly a cache miss. All others are found by an entry of a *line*, a cache line of
 * eight, each with a tag of 32 bits, so that hardly any node is read that is not the right one.
 * There are several tables of lines, because small programs should touch only the few pages of the
 * first. The number of the parent says in which table a search begins, and with that hardly a line
 * overflows: there are eight entries for each parent that begins there, and a tree has less than
 * one child a parent. (The tables before would have to be searched in vain for all that is new in a
 * large tree.)
 *
 * If the line in one table is full, the search goes on with the line in the next; in the last
 * table, with the next line. Entries of a line are filled from the first on, and none ever changes.
 * So what was full stays full, two threads that add the same child always meet on the same word,
 * and the loser of the compare-and-swap looks at what is there now. A thread that is interrupted or
 * killed anywhere leaves a node that nobody finds, which FORMAT.md allows for. (A table that is
 * replaced by a larger one would need readers to follow the move: not worth it for a set that only
 * grows.)
 */
#include "runtime/core/stacks.h"

#include "runtime/core/sys.h"

/* A few nodes stay for the mark that says "the table is full". */
#define NODES_KEPT 64
/* Further lines of the last table; after them the table counts as full, which reports say. Tables
 * are never so full that lines have this many full ones after them, but for those of a process that
 * has made its tables smaller. */
#define LINES_AFTER_MOST 256u

static const struct lines_table {
	uint32_t first; /* among `lines`, or among `lines_more` from table HW_TABLES on */
	uint32_t count; /* a power of two */
} tables[HW_TABLES + HW_TABLES_MORE] = {
	{0, 1u << 8},
	{1u << 8, 1u << 11},
	{(1u << 8) + (1u << 11), 1u << 14},
	{(1u << 8) + (1u << 11) + (1u << 14), 1u << 17},
	{0, 1u << 19},
	{1u << 19, 1u << 21},
};

/* The table in which children of `parent` are looked for first: 0 below 2^8, 1 below 2^11, … */
static inline unsigned table_first(uint32_t parent)
{
	unsigned bits = 31 - (unsigned)__builtin_clz(parent | 0x80);
	unsigned table = (bits + 1 - 8 + 2) / 3;
	return table < HW_TABLES + HW_TABLES_MORE ? table : HW_TABLES + HW_TABLES_MORE - 1;
}

/* The upper half is a tag, of the lower half as many bits as needed say which line. */
static inline uint64_t hash_node(uint32_t parent, uint64_t frame)
{
	uint64_t h = frame + parent * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* The search for one child. */
struct search {
	const struct rt_stacks *stacks;
	uint64_t frame, hash;
	uint32_t parent;
	uint32_t made; /* a node for it that is in no line yet, or 0 */
	unsigned table, last_table;
	uint32_t after; /* lines of the last table that were full */
};

static __attribute__((noinline)) bool more_lines_open(struct hw_shm *shm)
{
	uint32_t state = HW_LINES_UNUSED;
	return __atomic_compare_exchange_n(&shm->lines_more, &state, HW_LINES_USED, false,
		       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       state == HW_LINES_USED;
}

/* Whether the tables from HW_TABLES on may be used; they are from now on, if so. */
static inline bool may_use_more(const struct rt_stacks *stacks)
{
	return rt_likely(__atomic_load_n(&stacks->shm->lines_more, __ATOMIC_RELAXED) ==
			 HW_LINES_USED) ||
	       more_lines_open(stacks->shm);
}

bool rt_stacks_close_more(const struct rt_stacks *stacks)
{
	uint32_t state = HW_LINES_UNUSED;
	return __atomic_compare_exchange_n(&stacks->shm->lines_more, &state, HW_LINES_CLOSED, false,
		       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       state == HW_LINES_CLOSED;
}

/* The line at which the search is. */
static inline struct hw_line *search_line(const struct search *s)
{
	const struct lines_table *table = &tables[s->table];
	struct hw_line *lines = s->table < HW_TABLES ? s->stacks->lines : s->stacks->lines_more;
	return &lines[table->first + (((uint32_t)s->hash + s->after) & (table->count - 1))];
}

static inline void search_begin(struct search *s)
{
	s->table = table_first(s->parent);
	s->last_table = HW_TABLES + HW_TABLES_MORE - 1;
	if (rt_unlikely(s->table >= HW_TABLES) && !may_use_more(s->stacks))
		s->table = s->last_table = HW_TABLES - 1;
}

/* The line was full. Returns false if there is no other. */
static inline bool search_next(struct search *s)
{
	if (s->table == s->last_table)
		return ++s->after < LINES_AFTER_MOST;
	if (s->table == HW_TABLES - 1 && !may_use_more(s->stacks)) {
		s->last_table = s->table;
		return ++s->after < LINES_AFTER_MOST;
	}
	s->table++;
	return true;
}

static inline bool is_node(const struct search *s, uint32_t id)
{
	const struct hw_node *node = &s->stacks->nodes[id];
	return rt_likely(node->frame == s->frame && node->parent == s->parent);
}

#define CHILD_MASK ((1u << HW_NODE_BITS) - 1)

/* The first child's word for node `id`. */
static inline uint32_t child_word(const struct search *s, uint32_t id)
{
	return (uint32_t)(s->hash >> 32) << HW_NODE_BITS | id;
}

/* Returns the node if a first child's word names it, else 0. */
static inline uint32_t child_find(const struct search *s, uint32_t word)
{
	uint32_t id = word & CHILD_MASK;
	return word == child_word(s, id) && is_node(s, id) ? id : 0;
}

/* Returns the node in the search's line, from entry *at on; or 0: *at is the first empty entry, or
 * HW_LINE_WIDTH. */
static inline uint32_t line_find(const struct search *s, const struct hw_line *line, unsigned *at)
{
	uint32_t tag = (uint32_t)(s->hash >> 32);
	for (; *at < HW_LINE_WIDTH; (*at)++) {
		uint64_t entry = __atomic_load_n(&line->entries[*at], __ATOMIC_ACQUIRE);
		if (!entry)
			return 0;
		if ((uint32_t)(entry >> 32) != tag)
			continue;
		if (is_node(s, (uint32_t)entry))
			return (uint32_t)entry;
	}
	return 0;
}

/* Returns the number of a new node for the search, 0 if there is no room. */
static uint32_t node_make(const struct search *s)
{
	const struct rt_stacks *stacks = s->stacks;
	uint32_t limit = stacks->nodes_max - 1;
	if (s->frame >= HW_MARK_FRAMES)
		limit -= NODES_KEPT;
	if (__atomic_load_n(&stacks->shm->nodes, __ATOMIC_RELAXED) >= limit)
		return 0;
	/* In this order: the table may become smaller meanwhile (rt_memory_shrink()). */
	uint32_t id = __atomic_fetch_add(&stacks->shm->nodes, 1, __ATOMIC_SEQ_CST);
	if (id >= __atomic_load_n(&stacks->nodes_max, __ATOMIC_SEQ_CST) - 1)
		return 0;
	struct hw_node *node = &stacks->nodes[id];
	node->frame = s->frame;
	node->parent = s->parent;
	return id;
}

/* A number that is never used: FORMAT.md allows for gaps. */
static void node_discard(const struct search *s)
{
	struct hw_node *node = &s->stacks->nodes[s->made];
	node->frame = 0;
	node->parent = 0;
}

static __attribute__((noinline)) uint32_t table_full(const struct search *s)
{
	const struct hw_node *parent = &s->stacks->nodes[s->parent];
	if (s->parent && parent->frame == HW_MARK_TABLE_FULL)
		return s->parent; /* counted where it began */
	__atomic_fetch_add(&s->stacks->shm->stacks_full, 1, __ATOMIC_RELAXED);
	return s->frame == HW_MARK_TABLE_FULL
		       ? s->parent
		       : rt_stacks_child(s->stacks, s->parent, HW_MARK_TABLE_FULL);
}

/* The search goes on at an empty entry of a line: there it adds its node, unless another thread
 * adds it there or further on. */
static uint32_t line_add(struct search *s, struct hw_line *line, unsigned at)
{
	while (line) {
		uint32_t id = line_find(s, line, &at);
		if (id) {
			node_discard(s);
			return id;
		}
		uint64_t seen = 0, entry = s->hash >> 32 << 32 | s->made;
		if (at == HW_LINE_WIDTH) {
			at = 0;
			line = search_next(s) ? search_line(s) : NULL;
		} else if (__atomic_compare_exchange_n(&line->entries[at], &seen, entry, false,
				   __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
			return s->made;
		}
	}
	node_discard(s);
	return table_full(s);
}

static __attribute__((noinline)) uint32_t search_add(
	struct search *s, struct hw_line *line, unsigned at)
{
	s->made = node_make(s);
	return s->made ? line_add(s, line, at) : table_full(s);
}

/* The parent has no child yet. Both ways of adding publish the node to other threads; the collector
 * learns of it through a ring's head. */
static __attribute__((noinline)) uint32_t child_add(struct search *s, uint32_t *first)
{
	s->made = node_make(s);
	if (!s->made)
		return table_full(s);
	uint32_t seen = 0;
	if (__atomic_compare_exchange_n(first, &seen, child_word(s, s->made), false,
		    __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		return s->made;
	uint32_t id = child_find(s, seen);
	if (id) {
		node_discard(s);
		return id;
	}
	search_begin(s);
	return line_add(s, search_line(s), 0);
}

uint32_t rt_stacks_child(const struct rt_stacks *stacks, uint32_t parent, uint64_t frame)
{
	struct search s = {.stacks = stacks,
		.frame = frame,
		.hash = hash_node(parent, frame),
		.parent = parent};
	uint32_t *first = &stacks->nodes[parent].child;
	uint32_t word = __atomic_load_n(first, __ATOMIC_ACQUIRE);
	if (!word)
		return child_add(&s, first);
	uint32_t id = child_find(&s, word);
	if (id)
		return id;
	search_begin(&s);
	do {
		struct hw_line *line = search_line(&s);
		unsigned at = 0;
		id = line_find(&s, line, &at);
		if (rt_likely(id))
			return id;
		if (at < HW_LINE_WIDTH)
			return search_add(&s, line, at);
	} while (search_next(&s));
	return table_full(&s);
}
