/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of inferred*.c alone. */
#ifndef HEAP_INFERRED_FIND_H
#define HEAP_INFERRED_FIND_H

#include "heap/inferred.h"
#include "heap/slots.h"
#include "search/graph.h"

/* Of a class with so many blocks of one type all others are of it, too. */
#define SETTLED_BLOCKS 4096u
/* A slot that brought no news so many times is passed over. */
#define IDLE_MOST 8192u
#define SLOTS_WATCHED 16u

/* What is known of a type of debug information. */
struct fact {
	struct slot_vec slots;
	struct word_map map;
	uint64_t size;
	uint32_t single, array; /* the heap's types for it; HEAP_TYPE_NONE: not made yet */
	bool single_fails, array_fails;
	/* What was found for the last block, of its class: the next one's is mostly the same. */
	uint32_t last_class, last_found;
	uint16_t idle[SLOTS_WATCHED]; /* of each slot: claims one after the other without news */
};

static inline bool fact_same(uint32_t a, uint32_t b)
{
	return a == b;
}
static inline uint64_t fact_hash(uint32_t key)
{
	return hash_u64(key);
}
DEFINE_MAP(fact_map, uint32_t, struct fact *, fact_hash, fact_same)

/* A block whose pointers are to be followed, and its class; HEAP_TYPE_NONE: unknown. */
struct inferred_work {
	uint32_t block, class;
};
DEFINE_VEC(inferred_works, struct inferred_work)

struct inferring {
	struct survey *survey;
	struct types *types;
	struct search *search;
	const struct graph *graph;
	struct fact_map facts;
	struct inferred_works work;
	uint32_t *of_class;       /* the type that blocks of a class were found to have */
	uint32_t *claims;         /* so many blocks of a class were found to be of a type */
	bool has_settled;         /* whole classes were named meanwhile */
	uint64_t *is_mixed;       /* bit set of classes: several types */
	uint64_t *is_done;        /* bit set of blocks: were followed */
	uint64_t reads, elements; /* that are left */
	bool loose;               /* an allocator may give more than glibc does */
	bool failed;
};

static inline bool inferred_bit(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

/* The number of the module for types; false: it has none, or they are not read. */
bool inferred_know_module(
	struct inferring *inferring, const struct address_module *module, uint32_t *ret_number);
/* The pointer at an offset; NULL: none that says anything. */
const struct slot *inferred_slot_at(const struct slot_vec *slots, uint64_t offset);
/* Seeds: what thread-local variables hold, and what variables on stacks do. */
void inferred_take_thread_locals(struct inferring *inferring);
void inferred_take_stacks(struct inferring *inferring);

void inferred_free_facts(struct inferring *inferring);
/* NULL: no memory. */
struct fact *inferred_fact(struct inferring *inferring, uint32_t type);

/* A pointer that is declared to point to `type`, plain, points to the start of a block. Returns
 * whether that was news. */
bool inferred_claim(struct inferring *inferring, uint32_t block, uint32_t type);
/* What is known of a class by one of its blocks fits a block that looks so. */
bool inferred_fits(struct inferring *inferring, uint32_t type, uint32_t class);
/* Whether a part of a container that is known without its elements can be of that type. */
bool inferred_can_be_part(const struct inferring *inferring, uint32_t known, uint32_t type);
/* Whether a part is the table of a deque's blocks. */
bool inferred_is_deque_table(const struct heap_type *part);
/* Follows that; of words that are not in use only those lead anywhere that lead to such blocks. */
void inferred_follow_deque(struct inferring *inferring, uint32_t block, const struct fact *fact);
/* Later follows the pointers of a block of a type of the heap's. */
void inferred_push(struct inferring *inferring, uint32_t block, uint32_t class, uint32_t type);
/* Follows the pointers of a block at once. */
void inferred_follow(struct inferring *inferring, uint32_t block, uint32_t class);
void inferred_follow_all(struct inferring *inferring);

#endif
