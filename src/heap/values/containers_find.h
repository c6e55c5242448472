/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of containers and strings of C++ libraries (libstdc++ and libc++), found without debug
 * information. Such a block may contain anything, so what decides are the references to it: a
 * container object is some words that must agree with each other and with the sizes of the blocks
 * they point to, and its nodes with their number and with each other. What does not agree stays
 * unnamed.
 *
 * Private to containers*.c: what they share while they look for containers.
 */
#ifndef HEAP_CONTAINERS_FIND_H
#define HEAP_CONTAINERS_FIND_H

#include <string.h>

#include "base/map.h"
#include "heap/heap.h"
#include "heap/heap_scan.h"
#include "heap/scan/names.h"
#include "heap/scan/roots.h"
#include "heap/types/types.h"
#include "search/graph.h"

enum container_part {
	PART_STRING,
	PART_COW_STRING,
	PART_COW_STRING_16,
	PART_COW_STRING_32,
	PART_VECTOR,
	PART_LIST,
	PART_TREE,
	PART_HASH,
	PART_BUCKETS,
	PART_DEQUE_MAP,
	PART_DEQUE_BLOCK,
	CONTAINER_PARTS
};

/* Words that a container may be: at most this many before and after the one that is looked at. */
#define PLACE_BEFORE ((size_t)6)
#define PLACE_AFTER ((size_t)10)

/* A word that points to where blocks are, with what is around it; words[0] is it. */
struct container_place {
	const uint64_t *words;
	size_t before, after; /* how many there are; of `after` the word itself is the first */
	uint64_t address;
	uint32_t holder; /* the block that it is in; SPACE_NONE: outside of blocks */
	uint64_t offset; /* in it */
	bool is_stack;   /* what is there may be stale */
};

/* Of finding.tails: what is in the block must read as text, too. */
#define TAIL_TEXT 0x8000u

/* Of code: what it manages, a number in struct held's codes; UINT32_MAX: nothing. */
static inline bool held_same(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(held_map, uint64_t, uint32_t, hash_u64, held_same)
#define MANAGERS_RECENT 256u

struct container_search {
	const struct heap *heap;
	struct heap_names *names;
	struct search *search;
	const struct graph *graph;
	struct heap_types *types;
	uint32_t part_types[CONTAINER_PARTS];
	uint32_t blocks;
	bool loose;              /* an allocator may give more than glibc does */
	bool is_late;            /* all but vectors on stacks is known */
	struct space_u32 nodes;  /* of the container that is looked at */
	struct space_u32 owners; /* of trees: from which node each was reached */
	/* How far before its end the string in a block must end, and TAIL_TEXT; or 0. Looked at
	 * afterwards, if until then nothing surer says what the block is. */
	uint16_t *tails;
	struct held_map managers;
	struct {
		uint64_t address;
		uint32_t code;
	} recent[MANAGERS_RECENT];
	uint64_t steps; /* that may still be taken without success */
	struct error *error;
};

/* What a place is the beginning of. False: of nothing of that kind. */
bool find_list(struct container_search *f, const struct container_place *place);
bool find_tree(struct container_search *f, const struct container_place *place);
bool find_tree_of_libcxx(struct container_search *f, const struct container_place *place);
bool find_hash(struct container_search *f, const struct container_place *place);
bool find_deque(struct container_search *f, const struct container_place *place);
bool find_deque_of_libcxx(struct container_search *f, const struct container_place *place);
bool find_string(struct container_search *f, const struct container_place *place);
bool find_string_of_libcxx(struct container_search *f, const struct container_place *place);
bool find_vector(struct container_search *f, const struct container_place *place);
/* Words that lead into blocks: a string of libstdc++ before C++11 (containers_cow.c); what a
 * resource of std::pmr keeps of its memory (containers_chunks.c). */
bool find_cow_string(struct container_search *f, const struct container_place *place);
bool find_chunks(struct container_search *f, const struct container_place *place);

/* A number of bytes or elements is not larger. */
#define COUNT_MOST (1ull << 40)
/* Returns whether a word is neither a number nor the address of a block: it may be that of code. */
static inline bool find_is_outside(const struct container_search *f, uint64_t word)
{
	const struct space *space = f->graph->space;
	return word > COUNT_MOST && word - space->low >= space->high - space->low;
}
/* Of a std::any of libc++ this many words may be its content; of libstdc++'s one. */
#define FIND_INSIDE_WORDS ((size_t)3)
/* Returns whether a std::any whose content is in itself may begin before a place. */
static inline bool find_may_be_inside(
	const struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	return (place->before > 1 && find_is_outside(f, w[-2])) ||
	       (place->before > 2 && find_is_outside(f, w[-3]));
}
/* Notes that a place is the pointer of a std::function or a std::any to its content, or
 * one of the words of a content that lies in the std::any. */
void find_held(struct container_search *f, const struct container_place *place);

/* Returns the block that begins at an address; SPACE_NONE: none does. */
static inline uint32_t block_of(const struct container_search *f, uint64_t address)
{
	uint64_t offset = 0;
	uint32_t block = search_block_at(f->search, address, &offset);
	return offset ? SPACE_NONE : block;
}

static inline uint64_t size_of(const struct container_search *f, uint32_t block)
{
	return space_size(f->graph->space, block);
}

/* The block has no type yet; that it may be a string's does not count. */
bool find_is_free(const struct container_search *f, uint32_t block);
/* As above; but the memory may also contain objects. */
bool find_is_room(const struct container_search *f, uint32_t block);
/* Returns whether an allocator returns a block of that size for a request of `wanted` bytes. */
bool find_fits(const struct container_search *f, uint64_t wanted, uint32_t block);
/* Returns whether two blocks may be nodes of one container. */
static inline bool find_alike(const struct container_search *f, uint32_t a, uint32_t b)
{
	uint64_t x = size_of(f, a), y = size_of(f, b);
	return (x > y ? x - y : y - x) <= 16;
}
/* Returns whether the beginning of a block, rounded up to words, reads as text of this many bytes:
 * printable ASCII, white space or UTF-8 (the last character may be cut off), and no word of it a
 * pointer. */
bool find_is_text(const struct container_search *f, const uint8_t *bytes, size_t len);
/* Of a string this many bytes are looked at. */
#define TEXT_LOOKED_AT 256u
static inline size_t find_text_room(uint64_t len)
{
	return len < TEXT_LOOKED_AT ? (size_t)(len + 7) & ~(size_t)7 : TEXT_LOOKED_AT;
}
void find_assign(struct container_search *f, uint32_t block, enum container_part part);
/* f->nodes are all nodes of one container. */
void find_assign_nodes(struct container_search *f, enum container_part part);

#endif
