/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of a heap can still be reached, and from where: the kinds of leaks as Valgrind's
 * memcheck defines them (memcheck/mc_leakcheck.c), over any memory.
 *
 * A word points to a block's *start*, or into its *interior*, from its first byte to its last
 * requested one; a block of no bytes counts as one of one byte. Roots are words outside of blocks.
 *
 *   reachable  by start pointers alone, from a root on
 *   possible   also from a root on, with an interior pointer somewhere on each way
 *   definite   not from any root, and not from another lost block either
 *   indirect   only from lost blocks; it counts with one that is definite, the *leader*; of a ring
 *              that nothing else holds, the oldest leads
 *
 * An interior pointer that a heuristic explains counts as a start pointer. Where sizes are those
 * that an allocator gave, a heuristic has to fit one of those that can have been asked for.
 *
 * The heap is read once, in order, by large reads, or by the caller that finds its blocks. Which
 * block points to which is kept (4 bytes a pointer, 2 a block), so that marking never reads memory.
 * In addition a block costs 8 bytes and some bits, and an unreachable one up to 20 bytes more.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/error.h"
#include "search/impl/candidate_words.h"
#include "search/memory.h"
#include "search/space.h"

enum search_kind {
	SEARCH_DEFINITE = 0,
	SEARCH_INDIRECT,
	SEARCH_POSSIBLE,
	SEARCH_REACHABLE,
	SEARCH_KINDS
};

/* Interior pointers that are as good as start pointers; bits. Names as memcheck's
 * --leak-check-heuristics. */
enum search_heuristic {
	/* At 24, after length, capacity and reference count of libstdc++'s old std::string. */
	SEARCH_STDSTRING = 1,
	/* At 8, after a word that holds the size of the rest. */
	SEARCH_LENGTH64 = 2,
	/* At 8, after the number of elements of a new[] of a class with a destructor. */
	SEARCH_NEWARRAY = 4,
	/* At a vtable pointer of an object that begins with another one. */
	SEARCH_MULTIPLEINHERITANCE = 8,
	SEARCH_HEURISTICS_ALL = 15,
};
#define SEARCH_HEURISTIC_COUNT 4 /* bits */

/* A range of memory that holds pointers and is not of blocks, or registers of a thread. */
struct search_root {
	uint64_t start, end;    /* of memory; unused for registers */
	const uint64_t *values; /* registers; NULL: memory */
	size_t value_count;
	uint32_t tag; /* the caller's, given back */
};

/* How many of a block's bytes the program asked for, as far as that is known. */
struct search_requested {
	uint64_t least, most;
	uint64_t mostly; /* the least but for a few blocks: for what fits too easily */
};

/* What is known of a pointer into a block before heuristics read the block. */
enum search_chance {
	SEARCH_NO_CHANCE = 0, /* none explains it */
	SEARCH_CHANCE,        /* one may */
	SEARCH_SURE_BASE,     /* SEARCH_MULTIPLEINHERITANCE does */
};

struct search_options {
	unsigned alignment;            /* of words that are looked at: 1, 2, 4 or 8 */
	unsigned heuristics;           /* enum search_heuristic */
	bool starts_only;              /* interior pointers hold nothing: no block is possible */
	const struct search_map *maps; /* ascending; for SEARCH_MULTIPLEINHERITANCE */
	size_t map_count;
	/* Called before a heuristic looks at a block. Returns whether a heuristic can explain a
	 * pointer `into` bytes into the block, and may lower *asked to how many bytes the program
	 * requested; at the call that is the whole block. NULL: any heuristic can explain a
	 * pointer, and all of a block was requested. */
	enum search_chance (*may_explain)(
		void *context, uint32_t block, uint64_t into, struct search_requested *asked);
	void *may_explain_context;
	/* Returns a number that grows with the time at which the block at `address` was allocated.
	 * Of unreachable blocks that point to each other the oldest becomes the leader (the map
	 * rather than one of its nodes). NULL: the one with the lowest address does. */
	uint64_t (*age)(void *context, uint64_t address);
	void *age_context;
	/* Returns whether a pointer `into` bytes into a block of `site` is the one that its users
	 * keep (of a Python object: after the garbage collector's header). It then counts as a
	 * pointer to the start. NULL: never. */
	bool (*is_start)(void *context, uint32_t site, uint64_t into);
	void *is_start_context;
	/* Returns whether blocks of a site may be arrays of operator new[]. A pointer to the end of
	 * such a block of eight zero bytes points to an array without elements (new T[0] of a class
	 * with a destructor), and holds it. Called by several threads. NULL: never. */
	bool (*is_array)(void *context, uint32_t site);
	void *is_array_context;
	size_t words_fine;     /* 0: SEARCH_WORDS_MOST */
	size_t groups_most;    /* 0: SEARCH_GROUPS_MAX */
	uint64_t beside_bytes; /* bytes of blocks from which a second thread reads; 0: 2 MiB */
};

/*
 * What holds blocks, as a tree whose first level are roots. A group stands for all blocks of one
 * site that were first reached through the same group. Blocks that are reached through blocks of
 * their own group (a list) belong to that group.
 */
struct search_group {
	uint32_t parent;       /* group; SEARCH_NO_GROUP: held by a root */
	uint32_t root;         /* number of the root, of the whole way */
	uint64_t root_address; /* of the word there; number of the register */
	uint32_t site;         /* of the blocks */
	bool repeats;          /* blocks of this group hold others of it */
	bool together;         /* stands for all words in the same SEARCH_TOGETHER_BYTES bytes */
	uint64_t holder;       /* example: address of the block that holds; 0: a root does */
	uint64_t offset;       /* of the word in it */
	uint64_t block;        /* address of the example that is held */
	uint64_t into;         /* how many bytes into it the word points */
};
#define SEARCH_NO_GROUP UINT32_MAX
/* From this number of groups on, words of roots share a group per page. */
#define SEARCH_WORDS_MOST (1u << 15)
#define SEARCH_TOGETHER_BYTES 4096u
/* The most groups there can be. Of blocks beyond it is only known that they are held; they count as
 * the last group, which is marked. */
#define SEARCH_GROUPS_MAX (1u << 20)

/* Blocks of one site and kind, and group if they are held. */
struct search_record {
	uint32_t site;
	enum search_kind kind;
	uint32_t group; /* of reachable and possible ones; or SEARCH_NO_GROUP */
	uint64_t blocks, bytes;
	/* What is lost with the definite ones: the indirect ones that they lead. */
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t example; /* address of the largest block (of equal ones the first) */
	uint64_t example_size;
};

struct search;

/* Creates a search without blocks. The options are copied; options->maps is borrowed until the
 * search is destroyed. */
struct error *search_create(const struct search_options *options, struct search **ret) must_check_;
void search_destroy(struct search *search);

/* Makes room for `blocks` blocks in all. Optional; it saves moving tables while they grow. */
struct error *search_reserve(struct search *search, uint64_t blocks) must_check_;

/*
 * Lets search_note_block() note the words of blocks, so that search_read() need not read them
 * again. For callers that have the memory of blocks at hand; call it before blocks are added. Words
 * have to be at multiples of 8. All blocks, about `blocks` of them, will lie in `ranges`, which are
 * ascending. If that can't be done (ranges of more than 16 GiB), search_read() reads all blocks.
 * `memory` is borrowed until search_read() returns.
 */
void search_note_words(struct search *search, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks);
/* Does as search_note_words() for a search that will be appended to `first`. `search` has to be
 * destroyed before `first` is. */
void search_note_words_after(struct search *search, const struct search *first, uint64_t blocks);
/* Notes the words of the block that was added last, `size` bytes at `address`. `bytes` holds its
 * first `len` bytes, and `bits` describes the first WORD_BITS words of them. */
void search_note_block(struct search *search, uint64_t address, uint64_t size, const uint8_t *bytes,
	size_t len, const struct word_bits *bits);

/* Adds a block of `size` bytes. Blocks come by ascending address. Returns ERROR_INPUT if the block
 * overlaps the one before. */
struct error *search_add_block(
	struct search *search, uint64_t address, uint64_t size, uint32_t site) must_check_;

/* Moves all blocks of `after` to `search`. `after` was not read yet, and its blocks lie after
 * those of `search`. Blocks of site i get the site sites[i]. The caller still destroys `after`. */
struct error *search_append(
	struct search *search, struct search *after, const uint32_t *sites) must_check_;

/*
 * Reads all blocks and the roots, then sorts the blocks into kinds. Called once, after all blocks
 * were added. Memory that cannot be read holds no pointers; it is counted in
 * search_totals.unread_bytes.
 */
struct error *search_run(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count) must_check_;

/* search_run() in two steps, for callers that look at the graph, or set sites, before blocks are
 * sorted and counted. */
struct error *search_read(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count) must_check_;
struct error *search_classify(struct search *search) must_check_;

/* Blocks are numbered from 0 on, ascending by address. */
uint32_t search_block_count(const struct search *search);
uint64_t search_block_address(const struct search *search, uint32_t block);
uint64_t search_block_size(const struct search *search, uint32_t block);
uint32_t search_block_site(const struct search *search, uint32_t block);
/* Prefetches the site of a block. */
void search_prefetch_block(const struct search *search, uint32_t block);
/* Returns the site that a block was added with, whatever was set since. Valid before
 * search_classify(), and within it for the block that may_explain() is called for. */
uint32_t search_block_first_site(const struct search *search, uint32_t block);
/* Sets the site of a block; between search_read() and search_classify(). A failure is kept for
 * search_check_sites() and search_classify(). */
void search_block_set_site(struct search *search, uint32_t block, uint32_t site);
/* Returns ERROR_ENVIRONMENT if there was no memory for a site that was set. For callers that read
 * sites before search_classify(), which checks this itself. */
struct error *search_check_sites(const struct search *search) must_check_;
/*
 * Lets the words of a block from `bytes` bytes on hold nothing, between search_read() and
 * search_classify(). Memory that the program did not request may contain what an earlier owner
 * left. In the graph such a pointer leads to its own block from then on.
 */
void search_ignore_tail(struct search *search, uint32_t block, uint64_t bytes);
/* Lets all interior pointers hold nothing, except those for which options.is_start returns true.
 * Roots with such pointers are removed. */
void search_drop_interiors(struct search *search);
/* Returns the block that an address points into, and in *ret_offset how many bytes; SPACE_NONE if
 * there is no such block. */
uint32_t search_block_at(const struct search *search, uint64_t address, uint64_t *ret_offset);

/* Returns which blocks and roots point to which blocks; valid after search_read(). */
struct graph;
const struct graph *search_graph(const struct search *search);

enum search_kind search_kind(const struct search *search, uint32_t block);

/* Returns the heuristic that explains a pointer `into` bytes into a block, of which `asked` bytes
 * were requested; 0 if none does. Valid after search_read(). */
enum search_heuristic search_explain(const struct search *search, uint32_t block, uint64_t into,
	const struct search_requested *asked);
/* Returns the heuristic without which a block would not be reachable; 0 if there is none. */
enum search_heuristic search_heuristic_of(const struct search *search, uint32_t block);

/* Return the results, which live as long as the search; *ret_count is their number. There is one
 * record for each site, kind and group. */
const struct search_record *search_records(const struct search *search, size_t *ret_count);
const struct search_group *search_groups(const struct search *search, size_t *ret_count);

struct search_totals {
	uint64_t blocks[SEARCH_KINDS], bytes[SEARCH_KINDS];
	/* Of the reachable blocks those that are reachable by a heuristic alone; the index is the
	 * heuristic's bit number. */
	uint64_t heuristic_blocks[SEARCH_HEURISTIC_COUNT];
	uint64_t heuristic_bytes[SEARCH_HEURISTIC_COUNT];
	uint64_t pointers;     /* between blocks */
	uint64_t root_bytes;   /* that were read */
	uint64_t unread_bytes; /* of blocks and roots, that could not be read */
};
const struct search_totals *search_totals(const struct search *search);

#endif
