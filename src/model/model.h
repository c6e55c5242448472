/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one heap: what every source (a recording now; cores, live processes and foreign profiles
 * later) is turned into and every question is asked of. This header reads it; only sources fill it,
 * through build.h.
 *
 * It holds sums, not events: a table of call stacks, a row of counters for each allocation site, a
 * row for each thread and size. Its memory follows the number of distinct stacks, never the number
 * of events (a stack node costs 8 bytes, a different frame about 30, a site about 200), which is
 * why a recording of 10^8 events can be reported on in a few megabytes. What needs the events
 * asks the source again.
 *
 * Quantities are defined once, in docs/quantities.md. Sizes are requested bytes, times are
 * nanoseconds since the recording began unless a name says otherwise. All strings and arrays belong
 * to the model and die with it.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/counters.h"
#include "model/code.h"
#include "model/embedded_names.h"
#include "model/errors.h"
#include "model/kind.h"
#include "model/lives.h"
#include "model/unrecorded.h"

/* Typed numbers, so that a stack cannot be passed where a site is due. */
struct stack_id {
	uint32_t value; /* 0: the empty stack, root of the tree */
};
struct site_id {
	uint32_t value;
};
struct thread_id {
	uint32_t value; /* index of the thread, not its tid */
};

enum exit_kind {
	EXIT_KIND_UNKNOWN,
	EXIT_KIND_STATUS,
	EXIT_KIND_SIGNAL,
	EXIT_KIND_EXEC,    /* the process went on as another program */
	EXIT_KIND_RUNNING, /* it has not ended */
};

struct target {
	const char *const *command; /* NULL-terminated argument vector; never NULL */
	size_t command_len;
	const char *exe; /* path; this and the next two are "" if unknown */
	const char *cwd;
	const char *host;
	uint32_t pid, ppid;             /* as the process itself sees them; 0: unknown */
	uint32_t outer_pid, outer_ppid; /* as its recorder does: others in a PID namespace */
	bool forked;             /* it began as a copy of its parent, with the parent's blocks */
	uint64_t forked_at;      /* number of that fork in the parent's recording; 0: unknown */
	const char *parent_file; /* base name of that recording; "" if unknown */
	enum exit_kind exit_kind;
	int exit_value;         /* status or signal number */
	uint64_t wall_start_ns; /* CLOCK_REALTIME when recording began; 0: unknown */
};

/* How the figures were obtained, from the writer's footer or by going through all events again. */
enum read_way {
	READ_FOOTER,
	READ_REPLAY,
	READ_SUMS, /* of a part: from what the writer summed up now and then */
};

/* Why an event is not in the recording, of those that should be; see enum hpw_lost. */
enum lost_reason {
	LOST_STALLED,
	LOST_IN_HANDLER,
	LOST_SAMPLED,
	LOST_HELD,
	LOST_REALLOC_FAILED,
	LOST_SAMPLER,
	LOST_OWNERLESS,
	LOST_DAMAGED,
	LOST_NO_MEMORY,
	LOST_RING,
	LOST_TABLE,
	LOST_UNPROBED,
	LOST_REASONS
};

/*
 * Which part of a recording figures are of, if not of all of it. Then "at the end" is the end of
 * the range; the peak is the highest moment inside it, both ends included; all counts are of calls
 * inside it.
 */
struct range {
	bool part;                   /* of a part; else nothing below is set */
	const char *from, *to;       /* as they were asked for: "mark:loaded", "peak"… */
	uint64_t from_ns, to_ns;     /* since the recording began */
	uint64_t from_step, to_step; /* this many steps of the recording come before */
};

/* What a source does not know: figures that are 0 for that reason. Bits of recording.unknown. */
enum unknown_figure {
	UNKNOWN_ALLOCATIONS = 1,
	UNKNOWN_ALLOCATED_BYTES = 2,
	UNKNOWN_LIVE_BLOCKS = 4,
	UNKNOWN_LIVE_BYTES = 8,
	UNKNOWN_PEAK_BLOCKS = 16,
	UNKNOWN_PEAK_BYTES = 32,
	UNKNOWN_TEMPORARY = 64,
	UNKNOWN_FAILED = 128,
	UNKNOWN_FREES = 256,
	UNKNOWN_THREADS = 512,        /* model_threads() */
	UNKNOWN_SIZES = 1024,         /* model_sizes() */
	UNKNOWN_TIMES = 2048,         /* when anything was, and how long it took */
	UNKNOWN_SERIES = 4096,        /* model_series(), and moments */
	UNKNOWN_LIVES = 8192,         /* model_lifetimes(), model_reallocs() */
	UNKNOWN_EXTREMES = 16384,     /* smallest and largest size of a site */
	UNKNOWN_SERIES_SITES = 32768, /* of each moment of the series; some may have them */
	UNKNOWN_FAILED_SIZE = 65536,  /* largest size that a site requested without success */
};

/* What figures are of. */
enum recorded_what {
	RECORDED_HEAP,
	RECORDED_MAPPINGS, /* what the program has mapped: each call is an allocation */
	RECORDED_BOTH,     /* without what its allocator has mapped, in which blocks lie */
};

/* What the program has mapped by calls of its own, and has not unmapped: beside the heap. */
struct mapped_sums {
	uint64_t bytes, mappings; /* live at the end, or at that of the part */
	uint64_t peak_bytes;      /* at most, up to then */
	uint64_t calls;           /* that map something, up to then */
	uint64_t allocator_bytes; /* of `bytes`: by the library that has malloc; blocks lie there */
};

/* What came of the list of what a process had allocated before it was attached. */
enum older_blocks {
	OLDER_BLOCKS_UNKNOWN, /* it was not attached, or nobody made one */
	OLDER_BLOCKS_TYPED,   /* they are in the recording, by type */
	OLDER_BLOCKS_SIZED,   /* they are, without types: there was no time */
	OLDER_BLOCKS_UNWANTED,
	OLDER_BLOCKS_SAMPLED,
	OLDER_BLOCKS_PAUSE,
	OLDER_BLOCKS_REFUSED,
	OLDER_BLOCKS_LACKS,
	OLDER_BLOCKS_ALLOCATOR,
	OLDER_BLOCKS_LATE,
	OLDER_BLOCKS_FAILED,
	OLDER_BLOCKS_WATCHED, /* nothing looked into the process */
	OLDER_BLOCKS_KINDS
};

static inline bool older_blocks_are_known(enum older_blocks older)
{
	return older == OLDER_BLOCKS_TYPED || older == OLDER_BLOCKS_SIZED;
}

/* Why the frames of an interpreter in the program were not recorded. */
enum no_python_frames {
	NO_PYTHON_FRAMES_NONE,    /* they were, or there is none, or it ended before it began */
	NO_PYTHON_FRAMES_UNKNOWN, /* its version or build is not known */
	NO_PYTHON_FRAMES_DIFFERS, /* they were not where that version has them */
	NO_PYTHON_FRAMES_NO_ROOM, /* no address space for the table of its code */
};

struct recording {
	const char *path;   /* as the user gave it */
	const char *source; /* static; what kind of file it is: "recording", "pprof"… */
	uint32_t unknown;   /* of enum unknown_figure */
	enum recorded_what what;
	bool mappings;             /* what the program maps was recorded */
	bool only_mappings;        /* … and nothing of its heap */
	bool only_errors;          /* nothing was recorded but errors: figures are unknown */
	struct mapped_sums mapped; /* with `mappings`, unless `what` is RECORDED_MAPPINGS */
	/* Frames that are not to be shown unless all are, as regular expressions on functions, as
	 * pprof says it; NULL: none. An allocator's are hidden anyway, unless whole_stacks. */
	const char *drop_frames, *keep_frames;
	bool snapshot;      /* of a program that went on: what is live was not necessarily left */
	bool types;         /* stacks are types: of a heap that was not recorded */
	bool is_heap;       /* of a heap that was inspected: of a core, or a process that runs */
	bool no_heap;       /* memory was read in which no heap was found */
	bool all_collected; /* all blocks are a garbage collector's, as `collected_blocks` are */
	/* Blocks of a garbage collector, which are not classified. */
	uint64_t collected_blocks, collected_bytes;
	bool whole_stacks;     /* stacks are as their maker wanted them to be read */
	bool call_addresses;   /* the source has addresses of calls: those of nodes are one more */
	size_t merged;         /* number of recordings that were added up; 0: it is one */
	const char *mode;      /* "exact", "aggregate", "sample" */
	uint64_t sample_bytes; /* "sample": mean distance of samples; figures are estimates */
	/* Which allocations were taken was not left to chance: each sample stands for whatever else
	 * its thread allocated before. Sums are right, of their parts nobody knows how far. */
	bool biased_samples;
	const char *writer; /* "heapwise 0.1.0"; "" if unknown */
	/* Events that the file has not, as the user wanted it, in steps (a realloc is two); and
	 * those that it has, with the time from the first to the last. */
	uint64_t dropped_steps, kept_steps;
	uint64_t kept_from_ns, kept_until_ns;
	struct range range;
	const char *blocks;        /* which blocks figures are of: "of 1 KiB and more"; NULL: all */
	uint64_t temporary_within; /* as of struct source_blocks: 0 and 1 are alike */
	const char *remark; /* a sentence on what the source's figures are of; NULL: none is due */
	/* "ms", "B" or "i": the only one that times of the series are known in. NULL: all are. */
	const char *time_unit;
	/* What was live at a moment of the series stayed so until about the next, however late that
	 * is; else it is unknown what was in between. */
	bool series_is_whole;
	enum read_way read_way;
	bool complete;   /* it was closed properly and all of it could be read */
	uint64_t events; /* recorded calls; a realloc is one */
	uint64_t lost_events;
	uint64_t lost[LOST_REASONS]; /* of these, where the cause is known */
	uint64_t duration_ns;
	uint64_t repairs;          /* places where alloc and free of an address did not alternate */
	uint64_t unknown_frees;    /* of blocks whose allocation was not recorded */
	uint64_t inherited_frees;  /* of blocks that the process was forked with */
	uint64_t mismatched_frees; /* free of a new[], delete of a malloc… */
	uint64_t stacks_full;      /* events whose stack did not fit the table of stacks */
	uint64_t marks;            /* set by the program or from outside */
	/* Of all threads that live at the end, or at that of the range: as of struct series_row. 0:
	 * unknown, or not asked for. */
	uint64_t stack_bytes;
	/* "counted", or why they are not, as the name of an errno; NULL: not tried. */
	const char *instructions;
	uint64_t children_unrecorded; /* programs it started or went on as, named or not */
	/* Times in which allocations were not recorded, since somebody had stopped that: how many,
	 * how long; frees of blocks that were not known afterwards; the last one had not ended. */
	uint64_t stops, stopped_ns, stopped_frees;
	bool stopped_at_end;
	/* The mode of the process had been changed so often before: the recording goes on after
	 * that of `earlier_file` (a name without a folder; NULL: not known), and what was live
	 * there is not known. `change_missed` events of the moment of the change are in neither.
	 * `changed_at_end`: the process went on in yet another one. */
	uint64_t mode_changes, change_missed;
	const char *earlier_file;
	bool changed_at_end;
	/* The process was attached when it had run for so long: what was live then is not known; 0:
	 * it was recorded from its start. `detached`: it was let go, and went on. */
	uint64_t attached_ns;
	/* Nothing was changed in the process: its calls were seen by probes in the kernel, those of
	 * the allocator's functions alone. */
	bool watched;
	bool detached;
	/* Then: what came of a list of what was live; how many blocks of how many (usable) bytes
	 * are in the recording, as sites of an unknown kind without calls; how many threads may
	 * have been inside the allocator, each of which may have one block more or less; and bytes
	 * of the heap in which no blocks could be made out. */
	enum older_blocks older;
	uint64_t older_blocks, older_bytes, older_threads, older_damaged;
	/* Of such a process: libraries that were loaded later, whose calls were seen only a moment
	 * after; words that held addresses of the allocator's functions, calls through which were
	 * not.
	 */
	uint64_t attached_later, attached_kept;
	/* Of a dump: why it was written, "it was requested"; NULL: it is none. */
	const char *dump;
	uint64_t reset_ns; /* of a dump: its counts of calls begin then; 0: with the recording */
	uint64_t longest_wait_ns; /* of one thread for room in its ring */
	uint64_t wait_ns;         /* of all threads together */
	uint64_t waits;           /* how many these were */
	bool waits_unknown;       /* the file does not say how many */
	/* Largest resident size of the process, without shared memory; 0: not known. */
	uint64_t resident_peak_bytes;
	bool own_malloc;      /* the executable defines malloc: its calls were not seen */
	bool malloc_in_front; /* with that: a library before the recorder's does, not the executable
			       */
	bool sandboxed;       /* the program forbade itself system calls or the TSC */
	bool loaded_apart;    /* libraries with RTLD_DEEPBIND, dlmopen: theirs was not seen */
	bool signal_taken;    /* the program handles the signal that was to dump it itself */
	bool ignores;         /* the program had allocations left out */
	bool not_attached;    /* the recorder got no memory inside the program: nothing was seen */
	/* CPython in it: 3.`python_minor`, 0: there is none, or it is not known. */
	uint32_t python_minor;
	bool python_objects, python_frames;     /* its objects are blocks here; with their stacks */
	enum no_python_frames no_python_frames; /* why not */
};

/* Variances of the figures of the same names, when they are estimates of a sampled recording; else
 * 0. */
struct spread {
	double allocations, allocated_bytes, live_blocks, live_bytes, peak_blocks, peak_bytes,
		failed;
	/*
	 * Of files that do not say how large the blocks of a stack are: by how much the estimates
	 * would be larger if these were as unlike each other as can be. 0: their sizes are known.
	 * Numbers of blocks have a variance then as if all were of the mean size; bytes have the
	 * largest that there can be.
	 */
	double allocations_more, allocated_bytes_more, live_blocks_more, live_bytes_more;
};

/* Adds variances: those of independent estimates add up. */
static inline void spread_add(struct spread *sums, const struct spread *more)
{
	sums->allocations += more->allocations;
	sums->allocated_bytes += more->allocated_bytes;
	sums->live_blocks += more->live_blocks;
	sums->live_bytes += more->live_bytes;
	sums->peak_blocks += more->peak_blocks;
	sums->peak_bytes += more->peak_bytes;
	sums->failed += more->failed;
	sums->allocations_more += more->allocations_more;
	sums->allocated_bytes_more += more->allocated_bytes_more;
	sums->live_blocks_more += more->live_blocks_more;
	sums->live_bytes_more += more->live_bytes_more;
}

struct totals {
	uint64_t allocations, allocated_bytes;
	uint64_t frees; /* of recorded and unknown blocks */
	uint64_t failed;
	uint64_t live_blocks, live_bytes; /* at the end: never freed */
	uint64_t kept_blocks, kept_bytes; /* of these, allocated in the range: see struct range */
	uint64_t temporary;
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t threads;
	struct spread spread;
};

struct module {
	const char *path;        /* "" for a module that was never added */
	const uint8_t *build_id; /* NULL if it has none */
	size_t build_id_len;
	uint64_t start, end; /* mapped range */
	uint64_t bias;       /* address - bias = the ELF file's own address */
	bool executable;     /* of several recordings that were added up: one's program */
};

/*
 * One node of the tree of stacks: its own frame is the innermost one, parents lie outward and
 * always have smaller ids, so a walk ends.
 */
struct stack_node {
	struct stack_id parent;
	enum frame_kind kind;
	struct module_id module; /* native; or what a name is of. 0: not known */
	struct code_id code;     /* of code objects, methods and names; else 0 */
	/* Native: the return address in the target's memory. Names: the same, 0 if there is none.
	 * Code objects and methods: the instruction + 1, 0 if it is not known. Marks: which one. */
	uint64_t address;
};

/* What a mark says instead of naming code. Numbers are those of stored marks. */
enum stack_mark {
	MARK_NONE = 0,
	MARK_DEPTH_LIMIT = 1,    /* the stack was cut here */
	MARK_NO_UNWIND_INFO = 2, /* nothing is known from here outward */
	MARK_TABLE_FULL = 3,     /* the table of stacks was full */
	MARK_SIGNAL = 4,         /* the next inner frame was interrupted: its address is exact */
	MARK_GUESSED = 5,        /* frames outward of here come from frame pointers alone */
	MARK_IN_HANDLER = 6,     /* inside a signal handler: no stack could be taken */
	MARK_NO_PYTHON = 7,      /* it has Python frames, which could not be placed */
	STACK_MARKS = 16
};

static inline enum stack_mark stack_node_mark(struct stack_node node)
{
	return node.kind == FRAME_MARK ? (enum stack_mark)node.address : MARK_NONE;
}

/* One place of allocation: a stack and a kind. */
struct site {
	struct stack_id stack;
	enum alloc_kind kind;
	SITE_COUNTERS_MEMBERS;            /* live_… at the end */
	uint64_t kept_blocks, kept_bytes; /* of the live ones, allocated in the range: see struct
					     range */
	struct spread spread;
};

struct thread {
	uint32_t tid;
	uint64_t others;  /* ended threads that are in this row too: tid is the last one's */
	const char *name; /* "" if unknown, or if not all of them had the same */
	uint64_t first_ns, last_ns; /* of its first and last event */
	CALL_COUNTERS_MEMBERS;
	uint64_t stack_bytes; /* its part of the recording's; 0 also of one that had ended */
	/* How far down its stack was used, in whole pages, as far as that was seen; 0: not known.
	 */
	uint64_t stack_used_bytes;
	bool ended; /* before the process did */
};

struct size_count {
	uint64_t size, allocations;
};

/* What was live at one of the moments of a series. */
struct series_row {
	uint64_t step, time_ns;
	uint64_t allocated_bytes, freed_bytes; /* since the recording began */
	uint64_t live_blocks, live_bytes;
	/* Of all threads that live then: largest sizes that were seen about then; 0: not known. */
	uint64_t stack_bytes;
	uint64_t instructions; /* executed by then, about; 0 unless they are counted */
	/* What the live blocks lack to multiples of 16 bytes; 0 of a sample. Of sources that do not
	 * count blocks: all that their allocator needs beside what was asked for. */
	uint64_t padding;
	bool peak;                     /* the moment of the process's peak */
	size_t first_site, site_count; /* of model_series_sites() */
};

/* A moment that was given a name, by the program or from outside. */
struct mark {
	const char *name;
	uint64_t nth; /* of the marks of that name, from 1 */
	uint64_t step, time_ns;
	uint64_t live_blocks, live_bytes; /* then */
};

struct series_site {
	struct site_id site;
	uint64_t live_blocks, live_bytes;
};

struct live_block {
	uint64_t address, size;
	struct site_id site;
	struct thread_id thread; /* that allocated it */
	uint64_t number;         /* n-th allocation of that thread, from 0 */
};

/* What a forked process began with: blocks of its parent's (and of that one's). */
struct inherited {
	const char *from; /* the parent's recording; NULL: these figures are not known */
	uint64_t blocks, bytes;
	uint32_t generations;  /* 2: some come from the parent's parent, and so on */
	bool at_most;          /* of these, ancestors have freed some before they forked */
	uint64_t freed_blocks; /* how many of them; which they are is not known */
	const char *problem;   /* a sentence, why it is not known, or not wholly; NULL: it is */
};

/* A process of the run, or what one was before an exec, that has no recording but a row in this
 * one: it allocated next to nothing. Its figures are in none of this model's. */
struct small_process {
	struct target target; /* numbers and its end alone */
	const char *command;
	struct totals totals;
	uint64_t lost_events, duration_ns, children_unrecorded;
};

/* Returns whether it is known how many of these blocks were left at the fork, and how many that
 * are. */
static inline bool inherited_is_counted(const struct inherited *inherited)
{
	bool known = !inherited->at_most || inherited->freed_blocks;
	return inherited->from && !inherited->problem && known &&
	       inherited->freed_blocks <= inherited->blocks;
}

static inline uint64_t inherited_left(const struct inherited *inherited)
{
	return inherited_is_counted(inherited) ? inherited->blocks - inherited->freed_blocks
					       : inherited->blocks;
}

/* What became of a block that was never freed: docs/leaks.md. */
enum leak_kind { LEAK_DEFINITE, LEAK_INDIRECT, LEAK_POSSIBLE, LEAK_REACHABLE, LEAK_KINDS };

enum leak_moment {
	LEAK_AT_EXIT,     /* after all exit handlers and destructors */
	LEAK_AT_MAIN_END, /* before them */
	LEAK_ON_DEMAND,
	LEAK_ON_DEATH,   /* at a fatal signal */
	LEAK_BY_PROGRAM, /* when the program asked for it */
};

enum leak_way {
	LEAK_WAY_NONE,      /* no search, `problem` says why */
	LEAK_WAY_HELD,      /* the process was held meanwhile */
	LEAK_WAY_SNAPSHOT,  /* of a copy of its memory, while it went on */
	LEAK_WAY_UNSTOPPED, /* its other threads could not be stopped, and ran on */
};

#define LEAK_UNCOPIED_LACKS 4096u    /* fork would not have copied all of it */
#define LEAK_UNCOPIED_CONFINED 4097u /* no thread could be made to fork */
#define LEAK_HEURISTICS 4            /* stdstring, length64, newarray, multipleinheritance */

/* A search for what can still be reached. */
struct leak_search {
	enum leak_moment moment;
	enum leak_way way;
	uint64_t time_ns; /* of the moment */
	uint64_t pause_ns, search_ns;
	unsigned alignment, heuristics; /* as HPW_LEAK_ALIGNMENT and HPW_LEAK_HEURISTICS */
	/* Why no copy was searched that should have been: errno of fork, or one of these. 0: all is
	 * well. */
	uint32_t uncopied;
	bool partial; /* blocks that are not known may hold others: leaks may be missed */
	/* Memory was not cleared as it was given out: words of earlier uses may hold blocks. */
	bool uncleared;
	uint64_t threads, threads_missed, root_bytes, unread_bytes, pointers;
	uint64_t blocks[LEAK_KINDS], bytes[LEAK_KINDS];
	uint64_t allocations, frees, allocated_bytes; /* until then; 0, 0, 0: unknown */
	/* By number of the bit in `heuristics`: blocks that are reachable by that alone. */
	uint64_t heuristic_blocks[LEAK_HEURISTICS], heuristic_bytes[LEAK_HEURISTICS];
	const char *problem; /* why there was none, or what it lacks; NULL */
	bool damaged;        /* its result can't be read: there is none then */
	bool selected;       /* its records are those that the user selected: maybe not all */
	unsigned shown;      /* where they are selected: kinds (bits) of which all were shown */
	/* What the program says to LeakSanitizer: suppressions, options. NULL: nothing. */
	const char *own_suppressions, *own_options;
};

enum leak_place {
	LEAK_PLACE_DATA,
	LEAK_PLACE_STACK, /* thread-local storage included */
	LEAK_PLACE_REGISTERS,
	LEAK_PLACE_MAPPING,
	LEAK_PLACE_REGION,  /* memory that the program says to be a root */
	LEAK_PLACE_IGNORED, /* nowhere: the program says that the blocks are to be ignored */
};

/* Memory outside of blocks that holds some. */
struct leak_root {
	enum leak_place place;
	uint64_t start, size;
	uint32_t tid;            /* of stacks and registers */
	struct module_id module; /* of data */
	const char *name;        /* of the mapping; "" */
};

/* Who holds blocks: a tree whose first level roots hold; parents come first. */
struct leak_group {
	uint32_t parent;       /* LEAK_NO_GROUP: held by the root */
	uint32_t root;         /* of the whole way */
	uint64_t root_address; /* of the word there; of registers its number: LEAK_REGISTER_NAMES */
	struct site_id site;
	bool repeats;  /* blocks of this group hold others of it, as in a list */
	bool together; /* further words of the root, in the same page, count as this one */
	/* One example: the block at `holder` (0: the root) has, at `offset`, a pointer that points
	 * `into` bytes into the block at `block`. */
	uint64_t holder, offset, block, into;
};
#define LEAK_NO_GROUP UINT32_MAX
#define LEAK_REGISTER_NAMES                                                                        \
	{                                                                                          \
		"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11",  \
			"r12", "r13", "r14", "r15"                                                 \
	}
#define LEAK_REGISTERS 16u

/* Blocks of one site, kind and group. */
struct leak_record {
	struct site_id site;
	enum leak_kind kind;
	uint32_t group; /* that it is of; LEAK_NO_GROUP: not referenced, or it is not known by what
			 */
	uint64_t blocks, bytes;
	uint64_t indirect_blocks, indirect_bytes; /* of definite ones: lost with them */
	struct live_block example; /* the largest; its thread may be LEAK_NO_THREAD */
	uint64_t example_ns;       /* when it was allocated, or shortly before; LEAK_NO_TIME */
};
#define LEAK_NO_THREAD UINT32_MAX
#define LEAK_NO_TIME UINT64_MAX

struct model;

void model_destroy(struct model *model);

static inline void model_cleanup(struct model **model)
{
	model_destroy(*model);
}

/*
 * How names of the code in it are looked up (symbols/settings.h): a
 * setting of the reader that the model only carries, NULL unless set. Borrowed: the settings must
 * outlive all lookups of names.
 */
struct symbols_settings;
void model_set_names_from(struct model *model, const struct symbols_settings *settings);
const struct symbols_settings *model_names_from(const struct model *model);

/*
 * Returns what is to be subtracted from all figures, of a file that is a difference of two states:
 * what of it is below 0. NULL: the figures are what they are.
 */
const struct model *model_subtracted(const struct model *model);

const struct target *model_target(const struct model *model);
const struct recording *model_recording(const struct model *model);
const struct totals *model_totals(const struct model *model);

/* Returns sentences about what is missing from the recording; *ret_count may be 0. */
const char *const *model_damage(const struct model *model, size_t *ret_count);

/* Returns one more than the largest module id; ids that were never added have the path "". */
size_t model_module_limit(const struct model *model);
const struct module *model_module(const struct model *model, struct module_id id);

/* Returns one more than the largest stack id. Unused ids are children of the root with address 0.
 */
size_t model_stack_limit(const struct model *model);
struct stack_node model_stack(const struct model *model, struct stack_id id);
/* Returns only the parent of a stack, for walks outward. */
struct stack_id model_stack_parent(const struct model *model, struct stack_id id);

/*
 * Frames have numbers, so that what is found out about one needs to be found out once: nodes of
 * one number differ in their parents alone. Returns one more than the largest.
 */
size_t model_frame_limit(const struct model *model);
/* Returns what the nodes of a frame have in common: all but the parent, which is the root here. */
struct stack_node model_frame(const struct model *model, uint32_t number);

/* Where a stack hangs, and the number of its frame. */
struct stack_link {
	uint32_t parent, frame;
};

/* Returns the link of each stack by id, for walks through many of them: model_stack_limit() of
 * them, which belong to the model and are valid until it changes. */
const struct stack_link *model_stack_links(const struct model *model);

/* Code in no loaded file, by id; 0 is none. One more than the largest id. */
size_t model_code_limit(const struct model *model);
const struct code *model_code(const struct model *model, struct code_id id);

/* Returns all rows of traced lines, in no particular order. */
const struct traced_line *model_traced_lines(const struct model *model, size_t *ret_count);

/* Returns what the source itself says of the code of a node, of a name too; NULL: nothing, or it is
 * a code object or a method. */
const struct embedded_run *model_embedded(const struct model *model, struct stack_node node);
/* Tells runs of native frames apart: from 0, in the order in which they came. */
size_t model_embedded_number(const struct model *model, const struct embedded_run *run);

/* Returns the rows by site id. A site that was lost with a damaged part has KIND_UNKNOWN and no
 * counts. */
const struct site *model_sites(const struct model *model, size_t *ret_count);
/*
 * Returns what the process was forked with; all zero if it was not forked, or not asked for. Sites
 * have live_blocks and live_bytes, as at the fork, and the parents' stacks; they are in no other
 * sum.
 */
const struct inherited *model_inherited(const struct model *model);
const struct site *model_inherited_sites(const struct model *model, size_t *ret_count);

/* Returns the search for leaks; NULL if there was none. */
const struct leak_search *model_leak_search(const struct model *model);
const struct leak_record *model_leak_records(const struct model *model, size_t *ret_count);
const struct leak_group *model_leak_groups(const struct model *model, size_t *ret_count);
const struct leak_root *model_leak_roots(const struct model *model, size_t *ret_count);

/* Returns the rows by thread index. */
const struct thread *model_threads(const struct model *model, size_t *ret_count);
/* Moments all along the recording, in their order; none unless they were asked for. */
const struct series_row *model_series(const struct model *model, size_t *ret_count);
/* Of all of them, those with something live, by site. */
const struct series_site *model_series_sites(const struct model *model, size_t *ret_count);
/* In their order; none unless they were asked for. recording.marks says how many there are. */
const struct mark *model_marks(const struct model *model, size_t *ret_count);
/* Returns the programs without a recording, in order; children_unrecorded counts also what is not
 * here. */
const struct unrecorded_program *model_unrecorded(const struct model *model, size_t *ret_count);
/* In no order; of a sum of recordings, those of all of them. */
const struct small_process *model_small(const struct model *model, size_t *ret_count);
/* Ascending by size. */
const struct size_count *model_sizes(const struct model *model, size_t *ret_count);

/*
 * Returns the blocks live at the end, ascending by address. NULL if the source left them out
 * (reports need only the sites' sums): *ret_count is 0 then, whatever totals say.
 */
const struct live_block *model_live(const struct model *model, size_t *ret_count);

#endif
