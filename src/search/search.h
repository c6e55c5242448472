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
 * The heap is read once, in order, by large reads, or by who finds its blocks; what points where is
 * kept (4 bytes a pointer, 2 a block), so that marking never reads memory. Beside it a block costs
 * 8 bytes, and some bits; a lost one up to 20 more.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/error.h"
#include "search/memory.h"
#include "search/space.h"
#include "search/told.h"

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
	/* At 24, behind length, capacity and reference count of libstdc++'s old std::string. */
	SEARCH_STDSTRING = 1,
	/* At 8, behind a word that holds the size of the rest. */
	SEARCH_LENGTH64 = 2,
	/* At 8, behind the number of elements of a new[] of what has destructors. */
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
struct search_asked {
	uint64_t least, most;
	uint64_t mostly; /* the least but for a few blocks: for what fits too easily */
};

struct search_options {
	unsigned alignment;            /* of words that are looked at: 1, 2, 4 or 8 */
	unsigned heuristics;           /* enum search_heuristic */
	bool starts_only;              /* interior pointers hold nothing: no block is possible */
	const struct search_map *maps; /* ascending; for SEARCH_MULTIPLEINHERITANCE */
	size_t map_count;
	/* Asked before a heuristic looks at a block: whether one can explain a pointer so far into
	 * it, and how much was asked for; *asked says that it was all of the block. NULL: any can,
	 * and so it is. */
	bool (*may_explain)(
		void *context, uint32_t block, uint64_t into, struct search_asked *asked);
	void *may_explain_context;
	/* How old a block is, or NULL: of two the one with the smaller number was there first. Of
	 * blocks that hold each other the oldest leads: the map rather than one of its nodes.
	 * Without it the first in memory. */
	uint64_t (*age)(void *context, uint64_t address);
	void *age_context;
	/* Whether a pointer so far into a block of a site is what its holders have of it (of an
	 * object of Python's, behind what the garbage collector knows of it): then it is as good as
	 * one to its start. NULL: never. */
	bool (*is_start)(void *context, uint32_t site, uint64_t into);
	void *is_start_context;
	/* Whether blocks of a site may be arrays of operator new[]. A pointer behind such a block
	 * of eight bytes that are 0 points to an array without elements (new T[0] of a class with a
	 * destructor), and holds it. Asked by several threads. NULL: never. */
	bool (*is_array)(void *context, uint32_t site);
	void *is_array_context;
	size_t words_fine;     /* 0: SEARCH_WORDS_MOST */
	size_t groups_most;    /* 0: SEARCH_GROUPS_MAX */
	uint64_t beside_bytes; /* of blocks, from which on a second thread reads; 0: 2 MiB */
};

/*
 * Who holds blocks: a tree whose first level are roots. A group stands for all blocks of one site
 * that were first reached through the same group; what is reached through itself again (a list) is
 * of the same group.
 */
struct search_group {
	uint32_t parent;       /* group; SEARCH_NO_GROUP: held by a root */
	uint32_t root;         /* number of the root, of the whole way */
	uint64_t root_address; /* of the word there; number of the register */
	uint32_t site;         /* of the blocks */
	bool repeats;          /* blocks of this group hold others of it */
	bool together;   /* further words near this one count as it: of SEARCH_TOGETHER_BYTES */
	uint64_t holder; /* example: address of the block that holds; 0: a root does */
	uint64_t offset; /* of the word in it */
	uint64_t block;  /* address of the example that is held */
	uint64_t into;   /* the word points so far into it */
};
#define SEARCH_NO_GROUP UINT32_MAX
/* With so many groups further words of roots are told together, by pages. */
#define SEARCH_WORDS_MOST (1u << 15)
#define SEARCH_TOGETHER_BYTES 4096u
/* Further ways are not told apart: of such blocks it is only known that they are held. The last
 * group is marked as one that others count as. */
#define SEARCH_GROUPS_MAX (1u << 20)

/* Blocks of one site and kind, and group if they are held. */
struct search_record {
	uint32_t site;
	enum search_kind kind;
	uint32_t group; /* of reachable and possible ones; or SEARCH_NO_GROUP */
	uint64_t blocks, bytes;
	/* What is lost with the definite ones: the indirect ones that they lead. */
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t example; /* address of one, the largest (of equals the first) */
	uint64_t example_size;
};

struct search;

/* The options are copied; the maps are borrowed. */
struct error *search_create(const struct search_options *options, struct search **ret) must_check_;
void search_destroy(struct search *search);

/* Makes room for so many blocks in all, where that is known: tables that grow are moved. */
struct error *search_reserve(struct search *search, uint64_t blocks) must_check_;

/*
 * Before blocks are added, by those who have their memory at hand: tells the words of each, so that
 * search_read() need not read them once more; words have to be at multiples of 8. All blocks will
 * lie in `ranges`, which are ascending; `blocks`: about so many. Where that can't be done (ranges
 * of more than 16 GiB), search_read() reads. The memory is borrowed until then.
 */
void search_tell(struct search *search, const struct search_memory *memory,
	const struct search_range *ranges, size_t count, uint64_t blocks);
/* The same of a search that is appended later. It ends before `first` does. */
void search_tell_behind(struct search *search, const struct search *first, uint64_t blocks);
/* The words of the block that was added last; of them `bits` tells the first ones. The first `len`
 * bytes of it are at hand. */
void search_tell_block(struct search *search, uint64_t address, uint64_t size, const uint8_t *bytes,
	size_t len, const struct word_bits *bits);

/* A block; they come by ascending address. ERROR_INPUT: it overlaps the one before. */
struct error *search_add_block(
	struct search *search, uint64_t address, uint64_t size, uint32_t site) must_check_;

/* Takes all blocks of another search, which was not run and whose blocks lie behind: of site i they
 * get the site sites[i]. It has to be given back still. */
struct error *search_append(
	struct search *search, struct search *behind, const uint32_t *sites) must_check_;

/*
 * All blocks are there: reads them and the roots, then sorts the blocks into kinds. Once. Memory
 * that cannot be read holds nothing (search_unread_bytes()).
 */
struct error *search_run(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count) must_check_;

/* The same in two steps, for those who want to see what points where before sites are counted. */
struct error *search_read(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count) must_check_;
struct error *search_judge(struct search *search) must_check_;

/* Blocks are numbered from 0 on, ascending by address. */
uint32_t search_block_count(const struct search *search);
uint64_t search_block_address(const struct search *search, uint32_t block);
uint64_t search_block_size(const struct search *search, uint32_t block);
uint32_t search_block_site(const struct search *search, uint32_t block);
/* Asks the processor for what will be wanted of a block: its site. */
void search_prefetch_block(const struct search *search, uint32_t block);
/* The site that it was added with, whatever was set since; before search_judge(), and in it of
 * those that may_explain() is asked about. */
uint32_t search_block_first_site(const struct search *search, uint32_t block);
/* Between search_read() and search_judge(). */
void search_block_set_site(struct search *search, uint32_t block, uint32_t site);
/* ERROR_ENVIRONMENT: there was no memory for sites that were set. Of who asks blocks for theirs
 * before search_judge(), which looks itself. */
struct error *search_check_sites(const struct search *search) must_check_;
/*
 * Between search_read() and search_judge(): words of a block from `bytes` on hold nothing any more;
 * what the program did not ask for may have what an earlier owner left there. In the graph such a
 * pointer leads to its own block from now on.
 */
void search_cut(struct search *search, uint32_t block, uint64_t bytes);
/* The same of all pointers into blocks that are none to what counts as their start
 * (options.is_start); roots lose theirs. For who wants those to hold nothing. */
void search_drop_interiors(struct search *search);
/* The block that an address points into, and how far; SPACE_NONE: into none. */
uint32_t search_block_at(const struct search *search, uint64_t address, uint64_t *ret_offset);

/* What blocks hold of each other, and roots of them, after search_read(). */
struct graph;
const struct graph *search_graph(const struct search *search);

enum search_kind search_kind(const struct search *search, uint32_t block);

/* After search_read(): the heuristic that explains a pointer so far into a block of which so much
 * was asked for; 0: none. */
enum search_heuristic search_explain(const struct search *search, uint32_t block, uint64_t into,
	const struct search_asked *asked);
/* The heuristic by which alone a block is reachable; 0: none, or it is by others. */
enum search_heuristic search_heuristic_of(const struct search *search, uint32_t block);

/* Results live as long as the search. Records: by site, kind and group. */
const struct search_record *search_records(const struct search *search, size_t *ret_count);
const struct search_group *search_groups(const struct search *search, size_t *ret_count);

struct search_totals {
	uint64_t blocks[SEARCH_KINDS], bytes[SEARCH_KINDS];
	/* Of the reachable ones, by number of the bit: those to which an interior pointer leads
	 * that a heuristic explains, and none to their start. */
	uint64_t heuristic_blocks[SEARCH_HEURISTIC_COUNT];
	uint64_t heuristic_bytes[SEARCH_HEURISTIC_COUNT];
	uint64_t pointers;     /* between blocks */
	uint64_t root_bytes;   /* that were read */
	uint64_t unread_bytes; /* of blocks and roots, that could not be read */
};
const struct search_totals *search_totals(const struct search *search);

#endif
