/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to inferred*.c. */
#ifndef HEAP_INFERRED_FIND_H
#define HEAP_INFERRED_FIND_H

#include "heap/blocks/page_cache.h"
#include "heap/blocks/window.h"
#include "heap/inferred.h"
#include "heap/inferred/inferred_alike.h"
#include "heap/types/slots.h"
#include "search/graph.h"

/* Of a class with this many blocks of one type all others that hold no other opinion are of it,
 * too.
 */
#define SETTLED_BLOCKS 4096u
#define FACTS_RECENT 64u

/* What is known of a type of debug information. */
struct fact {
	struct slot_vec slots;
	/* Which of them the first words are of: of those that were asked for, bits. */
	uint64_t words_known;
	const struct slot *words[SHAPE_WORDS];
	struct word_map map;
	uint64_t size;
	uint32_t align;   /* what its declaration asks for; 0: nothing */
	bool has_choices; /* of some of its slots numbers say whether they are there, or how much */
	/* Of an array without an end at its end (`T x[]`) the elements, if these may have pointers,
	 * and where they begin; TYPE_VOID: it has none. */
	uint32_t open;
	uint64_t open_at;
	uint32_t single, array; /* the heap's types for it; HEAP_TYPE_NONE: not made yet */
	uint32_t
		part; /* of Rust's containers the heap's type for their memory; or HEAP_TYPE_NONE */
	bool part_fails;
	uint32_t counted; /* how elements are laid out after their number; TYPE_VOID: not asked */
	bool single_fails, array_fails;
	/* What was found for the last block, of its class: the next one's is mostly the same. */
	uint32_t last_class, last_found;
	bool last_is_more; /* it may be something that begins with the type, too */
	/* Of the last part of a container that was to be of the type: whether it can be, and the
	 * heap's types for it as one and as several; HEAP_TYPE_NONE: not asked for yet, or it has
	 * none. */
	uint32_t last_part;
	bool last_part_can, last_is_larger, last_part_is_node, part_is_known[2];
	uint32_t last_part_type[2];
	struct alike_rules rules; /* of blocks that only look so */
	uint16_t witnesses;
	bool has_rules;
	/* Larger types that begin with it, of at most `enclosing_most` bytes. */
	uint64_t enclosing_most;
	struct space_u32 enclosing;
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

/* Blocks whose pointers are to be followed. */
DEFINE_VEC(inferred_works, uint32_t)

/* How it is known what a block is. */
enum inferred_basis {
	BASIS_DECLARED, /* members lead there, from a variable or an object */
	BASIS_SETTLED,  /* it looks like very many that are declared: if it is held, it is one */
	BASIS_LOOKS,    /* it looks like some that are */
};

/* A block of which only the beginning is known: a type. */
struct inferred_beginning {
	uint32_t block, type;
	enum inferred_basis basis;
};
DEFINE_VEC(beginnings, struct inferred_beginning)

/* Elements of which only the addresses are known: `count` of a type, one after another. */
struct inferred_range {
	uint64_t address, count;
	/* 0; or of Rust's hash tables the address of the bytes that say which elements are there,
	 * that of the last one first: the others are passed over. */
	uint64_t tags;
	uint32_t type;
	enum inferred_basis basis;
};
DEFINE_VEC(inferred_ranges, struct inferred_range)

/* Tables of functions of Rust's, by their addresses. */
#define TRAITS_RECENT 64u

struct inferring {
	struct heap_scan *scan;
	struct types *types;
	struct search *search;
	const struct graph *graph;
	struct fact_map facts;
	struct inferred_works work;
	uint32_t *of_shape; /* the type that blocks of a class were found to have */
	uint32_t *claims;   /* this many blocks of a class were found to be of a type */
	uint32_t *alike;    /* what the rest of a class may be; HEAP_TYPE_NONE */
	/* Of whole classes or families it is known since, or blocks were left. */
	bool has_settled;
	/* Facts that were asked for lately, by the last bits of their types. */
	struct {
		uint32_t type;
		struct fact *fact;
	} recent[FACTS_RECENT];
	uint8_t *buffer;      /* for elements of arrays; NULL: none was needed so far */
	uint64_t *is_mixed;   /* bit set of classes: several types */
	uint64_t *is_settled; /* bit set of classes: very many blocks are declared, of one type */
	uint8_t *looked_at;   /* of each class: */
#define NOT_LOOKED_AT 0
#define LOOKING_AT 1
#define LOOKED_AT 2
	uint64_t *is_done; /* bit set of blocks: were followed */
	uint64_t *is_left; /* bit set of blocks: are to be followed, but not by a read each */
	uint64_t reads;    /* that may be made before blocks are walked in order */
	enum inferred_basis basis;      /* of what is found now */
	struct window window;           /* of what looks alike */
	struct page_cache pages;        /* of blocks that pointers lead to */
	struct inferred_subset *subset; /* NULL: all are wanted */
	struct inferred_pools *pools;   /* inferred_pools.h */
	struct inferred_arrays *arrays; /* inferred_arrays.h */
	bool has_modules;               /* all whose types count are known */
	struct beginnings beginnings;   /* whose pointers are to be followed */
	struct inferred_ranges ranges;  /* elements whose pointers are to be followed */
	struct {
		uint64_t address; /* 0: none */
		uint32_t type;
	} traits[TRAITS_RECENT];
	uint64_t *is_begun; /* bit set of blocks: were among them */
	bool loose;         /* an allocator may give more than glibc does */
	bool failed;
};

static inline void inferred_set_bit(uint64_t *set, uint32_t number)
{
	set[number / 64] |= 1ull << number % 64;
}
static inline bool inferred_bit(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

/* Finds the number of the module for types; false: it has none, or they are not read. */
bool inferred_know_module(
	struct inferring *inferring, const struct address_module *module, uint32_t *ret_number);
/* As above, for an offset in a block of a type, which may have more than one element.
 */
const struct slot *inferred_slot_in(
	struct inferring *inferring, const struct fact *fact, bool is_array, uint64_t offset);
/* Seeds: what thread-local variables hold, and what variables on stacks do. */
void inferred_take_thread_locals(struct inferring *inferring);
void inferred_take_stacks(struct inferring *inferring);
/* Seeds, too: what std::function and std::any hold. */
void inferred_take_held(struct inferring *inferring);

void inferred_free_facts(struct inferring *inferring);
/* NULL: no memory. */
struct fact *inferred_find_fact(struct inferring *inferring, uint32_t type);
/* As above, cached, for types that are asked for often. */
static inline struct fact *inferred_fact(struct inferring *inferring, uint32_t type)
{
	size_t slot = type % FACTS_RECENT;
	struct fact *fact = inferring->recent[slot].fact;
	return fact && inferring->recent[slot].type == type ? fact
							    : inferred_find_fact(inferring, type);
}

/* How a block's type is known, and so what follows from it. */
enum inferred_basis inferred_basis_of(const struct inferring *inferring, uint32_t block);
/* From now on a block is of a type of the heap's. */
void inferred_assign_block(struct inferring *inferring, uint32_t block, uint32_t type);
/* Returns whether a type of the heap's is an array, and what it is one of may be only the beginning
 * of the block: a header, or what was put first into it. Arrays of bytes are pools if anything lies
 * in them (inferred_pools.h), and are not asked for it. */
bool inferred_may_be_chunk(const struct inferring *inferring, uint32_t block, uint32_t type);
/* A block of which nothing was known, or not whether it is one or several, is of a type of the
 * heap's: what it points to is followed later. */
void inferred_assign_array(struct inferring *inferring, uint32_t block, uint32_t type);
/* A pointer that is declared to point to `type`, plain, points to the start of a block. Returns
 * whether that was news. */
bool inferred_claim(struct inferring *inferring, uint32_t block, uint32_t type);
/* As above, for a pointer to an offset in a block: of `new T[n]` it may be to the first element. */
bool inferred_claim_counted(
	struct inferring *inferring, uint32_t block, uint64_t header, uint32_t type);
/* Returns the heap's type for such arrays, the first element at the address `example`;
 * HEAP_TYPE_NONE: it has none. */
uint32_t inferred_counted_type(
	struct inferring *inferring, uint32_t type, uint64_t header, uint64_t example);
/* A word at an address that a slot says what it leads to: the start of a block, or what is as good;
 * also of what says itself how many elements are there (rust.h). */
void inferred_claim_slot(
	struct inferring *inferring, const struct slot *slot, uint64_t word, uint64_t address);
/* As above, for containers of Rust (inferred_rust.c). */
void inferred_claim_container(
	struct inferring *inferring, const struct slot *slot, uint64_t word, uint64_t address);
/* Returns whether an allocator returns a block of that size for a request of `wanted` bytes. */
bool inferred_is_close(const struct inferring *inferring, uint64_t wanted, uint64_t usable);
/* As above, for an object of a type, which may require an alignment. */
bool inferred_is_close_to(
	const struct inferring *inferring, const struct fact *fact, uint64_t usable);
/* Returns the type of the heap's that a block of unknown type is, if it is one of `type`;
 * HEAP_TYPE_NONE: it can't be. */
uint32_t inferred_type_for(struct inferring *inferring, uint32_t block, uint32_t type);
/* What is known of a class by one of its blocks fits a block that looks so. */
bool inferred_fits(struct inferring *inferring, uint32_t type, uint32_t class);
/* Returns whether blocks of a class can be one of a type, plain, each. */
bool inferred_looks_like(struct inferring *inferring, uint32_t type, uint32_t class);
/* Returns whether blocks of a class that may be of a type, plain, may as well be of one that begins
 * with it. */
bool inferred_may_be_more(struct inferring *inferring, uint32_t type, uint32_t class);
/* Returns whether at an address there is an enumeration's or a bool's value that a type, plain,
 * can't have there; unless blocks that are declared to be of it have such. */
bool inferred_breaks_values(struct inferring *inferring, uint64_t address, uint32_t layout);
/* Returns whether bytes have no such value of a type's, plain, that begin with it. */
bool inferred_keeps_values(
	struct inferring *inferring, uint32_t layout, const uint8_t *bytes, size_t len);
/* Returns whether words (bit i: the i-th) of a class's block at an address are pointers or NULL, as
 * far as they can be read. */
bool inferred_can_be_pointers(const struct inferring *inferring, const struct heap_shape *class,
	uint64_t address, uint64_t words);
/* Returns whether a block of that size with these pointers can be one of a type, plain. */
bool inferred_is_single(
	struct inferring *inferring, uint32_t type, uint64_t usable, uint64_t pointers);
/* Returns whether a part of a container that is known without its elements can be of that type. */
bool inferred_can_be_part(const struct inferring *inferring, uint32_t known, uint32_t type);
/* Returns whether a type has an object of the class that is `known` as its first member, or as that
 * one's: the larger candidate that begins with the object's vtable is it. */
bool inferred_is_larger(const struct inferring *inferring, uint32_t known, uint32_t type);
/* Names objects that are smaller than their blocks by what they are the beginning of
 * (inferred_larger.c). */
struct in_order;
void inferred_take_larger(struct inferring *inferring, struct in_order *in_order);
/* Returns whether a class of blocks can be one of a type, plain. */
bool inferred_fits_layout(struct inferring *inferring, uint32_t layout, uint32_t class);
/* Returns the heap's type for one of a type, plain, as the one at the address `example` is;
 * HEAP_TYPE_NONE: it has none. */
uint32_t inferred_single_type(struct inferring *inferring, uint32_t type, uint64_t example);
/* As above, for an array of them that begins there, possibly of one element. */
uint32_t inferred_array_type(struct inferring *inferring, uint32_t type, uint64_t example);
/* Adds what blocks of a type, plain, are called. */
void inferred_add_name(
	struct inferring *inferring, uint32_t type, bool is_array, struct text *name);
/* Returns the heap's type of that name and layout; HEAP_TYPE_NONE: another one is called so. */
uint32_t inferred_add_type(struct inferring *inferring, enum heap_type_kind kind, const char *name,
	uint32_t layout, bool is_array);
/* Returns whether a part is the table of a deque's blocks. */
bool inferred_is_deque_table(const struct heap_type *part);
/* Follows that; of words that are not in use only those lead anywhere that lead to such blocks. */
void inferred_follow_deque(struct inferring *inferring, uint32_t block, const struct fact *fact);
/* Later follows the pointers of a block of a type of the heap's. */
void inferred_push(struct inferring *inferring, uint32_t block, uint32_t type);
/* As above, for one that begins with a type, plain. */
void inferred_push_beginning(struct inferring *inferring, uint32_t block, uint32_t type);
/* For callers that go through all blocks in order. */
struct in_order {
	struct window window;
	struct space_walk walk;
};
/* Follows the pointers of a block at once; of in_order->walk it is the block, if that is not NULL.
 */
void inferred_follow(struct inferring *inferring, uint32_t block, struct in_order *in_order);
void inferred_follow_all(struct inferring *inferring);
/* Returns whether something is left that it had no reads for. */
bool inferred_has_work(const struct inferring *inferring);
/* The slots of a type, without those of the last one. */
void inferred_find_slots(struct inferring *inferring, uint32_t type, struct slot_vec *ret);
/* Each word of an object that is no NULL and declared to be a pointer, and where it is. */
typedef void inferred_take_word(
	struct inferring *inferring, const struct slot *slot, uint64_t word, uint64_t address);
void inferred_each_word(struct inferring *inferring, uint64_t address, const struct slot_vec *slots,
	inferred_take_word *take);

#endif
