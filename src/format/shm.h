/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory that a recorded process and its collector share: one sparse memfd for each process
 * image, made by the collector, mapped by both, its descriptor closed in the target at once.
 *
 *     +--------+------------+---------+---------+-------+-------------+-------+------+------+
 *     | header | ring heads | modules | strings | lines | nodes       | more  | code | ring |
 *     |        |            |         |         |       | (call tree) | lines |      | data |
 *     +--------+------------+---------+---------+-------+-------------+-------+------+------+
 *
 * The target writes everything except what is marked *collector*. The collector trusts nothing it
 * reads here: it fetches each word once and checks it. The target in turn only ever waits for
 * `tail` of a ring that it writes to, or at its end for an answer to `leaving`, and never for long.
 *
 * A ring is an array of 64-bit words with a free-running head (words published by its one producer)
 * and tail (words the collector is done with). Word number n is at index n modulo the size. A
 * record never wraps: HW_R_PAD fills the rest of a lap.
 */
#ifndef FORMAT_SHM_H
#define FORMAT_SHM_H

#include "format/check.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define HW_SHM_MAGIC 0x31676e6972776868ull /* "hhwring1" */
#define HW_SHM_VERSION 20u

/* Rings by size: few large ones for the threads that come first, many small ones. 61 MiB in all,
 * sparse. */
#define HW_RINGS_LARGE 8u
#define HW_RINGS_MEDIUM 56u
#define HW_RINGS_SMALL 448u
#define HW_RING_WORDS_LARGE (1u << 19)  /* 4 MiB */
#define HW_RING_WORDS_MEDIUM (1u << 15) /* 256 KiB */
#define HW_RING_WORDS_SMALL (1u << 12)  /* 32 KiB */
/* One more, after a lock, for what has no ring of its own: see HW_R_FOREIGN. */
#define HW_RING_SHARED (HW_RINGS_LARGE + HW_RINGS_MEDIUM + HW_RINGS_SMALL)
#define HW_RING_WORDS_SHARED (1u << 17) /* 1 MiB */
#define HW_RINGS (HW_RING_SHARED + 1u)

#define HW_MODULES_MAX 8192u
#define HW_STRINGS_BYTES (2u << 20)
#define HW_NODES_MAX (14u << 20)

/*
 * Where children of a node are looked up, but for the first one: tables of lines, each a cache line
 * of entries, eight times as many in each table. A node is in the table for its parent's number, or
 * in a later one if its line there is full: runtime/core/stacks.c. The last tables stand apart,
 * since few programs need them.
 */
#define HW_LINE_WIDTH 8
struct hw_line {
	/* Tag of (parent, frame) << 32 | number of the node; 0: none, nor any after it. Release:
	 * the node is complete. Never changes again. */
	_Alignas(64) uint64_t entries[HW_LINE_WIDTH];
};
static_assert(sizeof(struct hw_line) == 64, "a cache line");
#define HW_TABLES 4      /* of 2^8, 2^11, 2^14 and 2^17 lines */
#define HW_TABLES_MORE 2 /* of 2^19 and 2^21 lines */
#define HW_LINES ((1u << 8) + (1u << 11) + (1u << 14) + (1u << 17))
#define HW_LINES_MORE ((1u << 19) + (1u << 21))

enum hw_lines_more {
	HW_LINES_UNUSED = 0, /* they may come into use, or be closed */
	HW_LINES_USED = 1,   /* for ever */
	HW_LINES_CLOSED = 2, /* for ever: the target does not have them mapped */
};

enum hw_ring_state {
	HW_RING_FREE = 0,   /* collector: drained, its thread is gone */
	HW_RING_ACTIVE = 1, /* target: has a producer */
};

struct hw_ring {
	/* Producer's line. */
	_Alignas(64) uint64_t head; /* release: words before it are complete */
	uint64_t busy; /* non-zero while an event is between its start and its publication */
	uint32_t tid;  /* of the shared ring: the thread that writes to it now, or 0 */
	/* Grows with each new producer, in its lower bits; the upper HW_GENERATION_CHANGES are the
	 * number of changes of the mode (hw_shm.mode_changes) that the producer has seen. A thread
	 * that sees another change goes on as a new producer. */
	uint32_t generation;
	uint32_t state;   /* enum hw_ring_state */
	uint32_t waiting; /* 1: the producer sleeps on the low half of tail (futex) */
	uint64_t longest_wait_ns;
	uint64_t wait_ns;
	uint64_t own; /* where the runtime keeps what the ring's thread needs; see own_ring_bytes */
	uint64_t stack_asked; /* *collector*: has changed: the next event says how deep it is */
	/* Collector's line. */
	_Alignas(64) uint64_t tail;
	uint64_t stack_top; /* producer, once: where the thread's stack begins; 0: not known */
	/* Producer, before it says its tid: what its thread was called then; "": not known. */
	char name[16];
	/* Producer, between the start and the end of a realloc, else 0: the block, and its stack. A
	 * realloc of what is no block often does not come back. */
	uint64_t moving;
	uint32_t moving_from;
	uint32_t waits; /* producer: how often it waited for room */
	uint64_t began; /* producer, before `generation`: its first word */
};
static_assert(sizeof(struct hw_ring) == 128, "shared");
static_assert(offsetof(struct hw_ring, tail) == 64, "shared");

#define HW_GENERATION_CHANGES 8
#define HW_GENERATION_SHIFT (32 - HW_GENERATION_CHANGES)
#define HW_MODE_CHANGES_MAX ((1u << HW_GENERATION_CHANGES) - 1)

/* The generation after another one, of a producer that has seen so many changes of the mode. */
static inline uint32_t hw_generation_next(uint32_t generation, uint32_t changes)
{
	uint32_t count = (generation + 1) & ((1u << HW_GENERATION_SHIFT) - 1);
	return changes << HW_GENERATION_SHIFT | (count ? count : 1);
}

/* A part of the target's address space; empty: 0, 0. */
struct hw_span {
	uint64_t start, end;
};
#define HW_OWN 2

struct hw_module {
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	uint32_t path_offset; /* in the strings */
	uint32_t path_bytes;
	uint32_t build_id_bytes; /* at most 32 */
	uint32_t reserved;
	uint8_t build_id[32];
};
static_assert(sizeof(struct hw_module) == 72, "shared");

struct hw_node {
	uint64_t frame;  /* module << 48 | address; written before the node is linked */
	uint32_t parent; /* always smaller than the node's own number */
	/* The child that came first, as a number, and in the upper bits a tag of its frame; 0: it
	 * has none. Release: that node is complete. Never changes again. */
	uint32_t child;
};
static_assert(sizeof(struct hw_node) == 16, "shared");
#define HW_NODE_BITS 24
static_assert(HW_NODES_MAX <= 1u << HW_NODE_BITS, "there are eight bits for the tag");

#define HW_FRAME_ADDRESS_BITS 48
#define HW_FRAME_ADDRESS_MASK ((1ull << HW_FRAME_ADDRESS_BITS) - 1)

/*
 * In the bits of the module: a frame of code in no loaded file. Its other bits are the number of
 * the code (in a process's own rings: of its struct hw_code), and the instruction in it + 1 (0: not
 * known).
 */
#define HW_FRAME_CODE 0xffffu
#define HW_FRAME_INSTRUCTION_BITS 24
#define HW_FRAME_INSTRUCTION_MASK ((1ull << HW_FRAME_INSTRUCTION_BITS) - 1)
static_assert(HW_MODULES_MAX <= HW_FRAME_CODE, "no module has that number");

/*
 * Code objects of an interpreter in the process (runtime/python/codes.h). Number 0 is none. Where
 * address space is short there is no such table, and no frame of code.
 */
#define HW_CODES_MAX (1u << 17)
/* Places of a hash of them: the target's alone. */
#define HW_CODE_INDEX (1u << 18)
/* Bytes of all their texts and tables of lines; of a name or file, of longer ones the beginning;
 * and of a table, of longer ones nothing. */
#define HW_CODE_BYTES (64u << 20)
#define HW_CODE_TEXT_MAX (16u << 10)
#define HW_CODE_TABLE_MAX (1u << 20)

/* How a table of lines is encoded: CPython, Objects/lnotab_notes.txt (3.10: of both). */
enum hw_line_table {
	HW_LINES_NONE = 0,      /* none is known */
	HW_LINES_LNOTAB = 1,    /* up to 3.9: pairs of differences */
	HW_LINES_LINETABLE = 2, /* 3.10: likewise, of ranges */
	HW_LINES_LOCATIONS = 3, /* from 3.11 on: location entries */
	HW_LINE_TABLES = 4
};

struct hw_code_part {
	uint32_t offset, bytes;
};

struct hw_code {
	/* The target's alone: what it knows the code by. */
	uint64_t key[5];
	uint32_t first_line;
	uint32_t table; /* enum hw_line_table */
	struct hw_code_part name, file, lines;
};
static_assert(sizeof(struct hw_code) == 72, "shared");
static_assert(HW_CODES_MAX <= 1u << HW_FRAME_INSTRUCTION_BITS, "a frame has its number");

/* Frames that are marks: module 0, small addresses. The meaning of each: FORMAT.md, STACKS. */
enum hw_mark_frame {
	HW_MARK_CUT = 1,
	HW_MARK_NO_UNWIND_INFO = 2,
	HW_MARK_TABLE_FULL = 3,
	HW_MARK_SIGNAL = 4,
	HW_MARK_GUESS = 5,
	HW_MARK_IN_HANDLER = 6,
	HW_MARK_NO_PYTHON = 7,
	HW_MARK_FRAMES = 16
};

/* Names of functions of Python whose lines are traced, with a NUL. */
#define HW_TRACED_NAMES_BYTES 512u

/* Why an event was dropped: it found no room, and could not wait for it because … */
enum hw_lost {
	HW_LOST_STALLED = 0,    /* the collector had not moved for long */
	HW_LOST_IN_HANDLER = 1, /* it was a signal handler's, which had interrupted another event */
	HW_LOST_SAMPLED = 2,    /* it was a sample: these never wait for the collector */
	HW_LOST_HELD = 3, /* a thread was stopped in the middle of writing to the shared ring */
	/* Or: a sampled block whose realloc failed lives on, unseen. */
	HW_LOST_REALLOC_FAILED = 4,
	HW_LOST_SAMPLER = 5, /* the table of sampled blocks was full, or in use by what a handler
				interrupted */
	HW_LOST_REASONS = 6
};

/* Whether memory that the program maps is recorded. */
enum hw_mappings {
	HW_MAPPINGS_OFF = 0,
	HW_MAPPINGS_TOO = 1,  /* beside the heap */
	HW_MAPPINGS_ONLY = 2, /* calls of the heap's functions are not recorded */
};

#define HW_LEAVING_REGISTERS 6

enum hw_leaving_what {
	HW_LEAVES = 0,      /* the process ends */
	HW_LEAVES_MAIN = 1, /* only main has ended, its exit handlers are still to run */
	HW_LEAVES_NOT = 2,  /* the program wants to be searched for leaks, and goes on */
	HW_LEAVES_AFTER_VERDICT =
		3, /* the process ends, once it has been searched and got the result */
};

enum hw_found {
	HW_FOUND_UNKNOWN = 0, /* no search, or no result */
	HW_FOUND_NOTHING = 1,
	HW_FOUND_LEAKS = 2,
};

/* Whose function has the process searched (HW_LEAVES_NOT): whose rules count. */
enum hw_leak_asker {
	HW_ASKER_LSAN = 0,    /* LeakSanitizer's */
	HW_ASKER_CHECKER = 1, /* gperftools' HeapLeakChecker */
};

/* What HEAPCHECK wants of a process that is recorded as gperftools'. */
enum hw_heap_check {
	HW_HEAP_CHECK_NOT = 0,         /* it is not set, or counts for nothing */
	HW_HEAP_CHECK_LOCAL = 1,       /* the program makes its own checks */
	HW_HEAP_CHECK_WHOLE = 2,       /* and the whole is checked at the end */
	HW_HEAP_CHECK_SINCE_START = 3, /* of that what came after the start of the library */
};

/* The check of the whole program (hw_shm.leaving_check), if it leaves out what was there at its
 * beginning. */
#define HW_CHECK_MAIN 1u

/* What a search came to, after suppressions, in blocks and bytes. */
struct hw_found_sums {
	uint64_t lost_blocks, lost_bytes; /* leaks */
	uint64_t blocks, bytes;           /* all that are live */
};

/* Functions that a program may have for LeakSanitizer. */
enum hw_lsan_function {
	HW_LSAN_DEFAULT_SUPPRESSIONS = 0,
	HW_LSAN_DEFAULT_OPTIONS = 1,
	HW_LSAN_IS_TURNED_OFF = 2,
	HW_LSAN_FUNCTIONS = 3
};

enum hw_lsan_text { HW_LSAN_SUPPRESSIONS = 0, HW_LSAN_OPTIONS = 1, HW_LSAN_TEXTS = 2 };

struct hw_shm {
	uint64_t magic;
	uint32_t version;
	/* *collector*, at any time: 1: allocations are not wanted; frees are */
	uint32_t stopped;
	uint64_t total_bytes;
	uint64_t sample_bytes; /* mean distance of samples; 0: every event is recorded */
	uint64_t sample_seed;
	uint32_t free_stacks; /* 1: stacks of frees are wanted, too (HW_ANNOTATE_FREED_FROM) */
	uint32_t mappings;    /* enum hw_mappings */
	/* *collector*: how often the mode was changed (at most HW_MODE_CHANGES_MAX). Release:
	 * sample_bytes and sample_seed are those of the new mode. What a thread decides after that
	 * it has seen the number goes to the recording of that mode, and nothing else does. */
	uint32_t mode_changes;
	uint32_t errors_only; /* 1: calls of the heap's functions are not recorded, only errors */
	/* Target. */
	_Alignas(64) uint32_t nodes; /* next free node number; node 0 is the root */
	uint32_t lines_more;         /* enum hw_lines_more */
	/* Both under the lock of the target's module table (runtime/core/modules.h): one thread
	 * adds. */
	uint32_t modules; /* release: modules before it, and their strings, are complete; module 0
			     is "unknown" */
	uint32_t strings; /* bytes used; plain: only the thread that adds a module reads it */
	uint32_t ring_wanted; /* 1: all rings are taken, perhaps by threads that have ended; the
				 collector clears it, looks, and counts in `rings_freed` */
	uint64_t lost[HW_LOST_REASONS]; /* events dropped so far */
	/* Events that were decided by a number of changes of the mode (mode_changes) when their
	 * ring had gone on to a later one already: dropped. */
	uint64_t change_missed;
	uint64_t stacks_full;
	uint64_t
		stalled_at; /* progress + 1 when waiting for the collector was given up; 0: never */
	uint32_t notes;     /* enum hw_note, or'ed */
	uint32_t
		doorbell; /* 1: a ring has filled by a part; the collector clears it, before it
			   * looks at the rings. It may leave them alone for long while this is 0 */
	/* The longest that a thread waited for the collector elsewhere than for room in its ring:
	 * for its answer at the start, or for others that waited for room in the shared one. */
	uint64_t longest_wait_ns;
	uint32_t leaving;        /* enum hw_leaving (futex); also the collector's, for its answer */
	uint32_t leaving_status; /* exit status, or HW_LEAVING_UNKNOWN */
	uint32_t leaving_tid;    /* the thread that says so */
	uint32_t leaving_what;   /* enum hw_leaving_what */
	/* The stack pointer of that thread where it called exit or the like, and rbx, rbp, r12 to
	 * r15; 0: main has returned instead. */
	uint64_t leaving_sp, leaving_registers[HW_LEAVING_REGISTERS];
	uint32_t asker;              /* id of the thread whose words these are; 0: of no thread */
	uint32_t leaving_unsearched; /* 1: what it says to LeakSanitizer leaves nothing to search */
	uint32_t leaving_asker;      /* enum hw_leak_asker, of HW_LEAVES_NOT */
	/* Of HW_LEAVES_NOT: the search is for leaks among what was allocated since that
	 * HW_ANNOTATE_CHECK alone; 0: among all blocks. */
	uint32_t leaving_check;
	/* Grows when it begins to wait in such a way that no code of the program runs on that
	 * thread, and when that is over: odd while it does. And its thread pointer. */
	uint32_t leaving_quiet;
	uint64_t leaving_thread;
	/* What the program tells LeakSanitizer (its own memory, without a NUL): suppressions and
	 * options. Set before it asks. */
	struct hw_span lsan_texts[HW_LSAN_TEXTS];
	/* For readers of pointers in the target's memory: what the runtime keeps for itself
	 * beside its library's data, and the function that allocates for the program. */
	struct hw_span own[HW_OWN];
	uint64_t resident_bytes; /* at its end, as hw_status_resident(); 0: unknown */
	uint64_t own_ring_bytes; /* of each ring's `own` */
	uint64_t allocator;
	/* How far below each thread's pointer the library of that function has its thread-local
	 * memory; 0: it has none, or elsewhere. */
	uint64_t allocator_local;
	/* Collector. */
	/* Grows whenever room was made in any ring, and while none can be made because a thread is
	 * in the middle of an event, for as long as that is waited for. */
	_Alignas(64) uint64_t progress;
	uint32_t rings_freed; /* grows whenever rings of ended threads were freed */
	int32_t awaited; /* the process of this id, as it sees itself, says when it leaves and waits
			    for the answer a moment; 0: none. Set before the target has the memory
			  */
	uint32_t awaited_at_main_end; /* 1: it also says when main has ended; set as awaited */
	uint32_t held;                /* grows while an answer to `leaving` is being worked on */
	uint32_t as_lsan;    /* 1: ends are searched where LeakSanitizer would; set as awaited */
	uint32_t heap_check; /* enum hw_heap_check; set as awaited */
	uint32_t clears;     /* 1: memory is cleared as it is given out; set as awaited */
	uint32_t found; /* enum hw_found: the answer to HW_LEAVES_NOT and HW_LEAVES_AFTER_VERDICT */
	uint32_t found_status; /* exit status for leaks; 0: go on */
	struct hw_found_sums found_sums;
	/* Where the executable has those that it does not export, as linked; 0: nowhere. Set as
	 * awaited. */
	uint64_t lsan_functions[HW_LSAN_FUNCTIONS];
	uint32_t dump_signal; /* number of a signal that dumps the process, if it has no handler of
				 its own: the runtime installs one when a recording begins or
				 after a request of its own; 0: none */
	/* Target: notices (struct hw_notice) that did not get through. */
	_Alignas(64) uint32_t unsent_notices;
	uint32_t dump_signals; /* how often that signal came */
	struct hw_check_sums check;
	/* The command that has attached the process: objects with references to the allocator that
	 * were loaded later, and words that hold an address of a function of it which was kept
	 *before . Calls by them are not seen, the former's until they were noticed. */
	uint32_t attached_later, attached_kept;
	/* Target, of struct hw_code: how many there are, number 0 included (release: those before
	 * it are complete; 0: none); the bytes used of their texts and tables; how many found no
	 * room; and whether they can come into use, as with the further lines. */
	uint32_t codes, code_bytes;
	uint64_t codes_full;
	uint32_t codes_state;       /* enum hw_lines_more */
	uint32_t no_python_objects; /* 1: CPython's objects are not recorded; set as awaited */
	/* Functions of Python whose lines are traced, separated by commas; set as awaited. */
	char traced[HW_TRACED_NAMES_BYTES];
};
static_assert(sizeof(struct hw_shm) <= 4096, "one page");

enum hw_leaving {
	HW_LEAVING_NOT = 0,
	HW_LEAVING_ASKS = 1, /* target: about to end, nothing more of mine comes */
	HW_LEAVING_DONE = 2, /* collector: the recording is complete */
	HW_LEAVING_HELD = 3, /* collector: the answer takes long, wait while hw_shm.held grows */
};
#define HW_LEAVING_UNKNOWN 0xffffffffu

/* What the runtime found out that a reader of the recording should know. */
enum hw_note {
	/* The executable defines malloc itself: its calls, and those of its libraries, pass us by.
	 */
	HW_NOTE_OWN_MALLOC = 1,
	/* With that: not the executable does, but a library that is loaded before the runtime. */
	HW_NOTE_IN_FRONT = 16,
	/* The program forbade itself system calls or the TSC: what that leaves out is in FORMAT.md.
	 */
	HW_NOTE_SANDBOXED = 2,
	/* The program loads libraries that find libc's malloc and not ours:
	 * runtime/preload/dlopen_hooks.c.
	 */
	HW_NOTE_APART = 8,
	/* Operators new and delete are an allocator's: some forms go through its malloc or
	 * aligned_alloc by the public name, so that their blocks are not known to be new's. */
	HW_NOTE_OPERATORS = 32,
	/* The runtime has mapped this memory; without it nothing was recorded. */
	HW_NOTE_ATTACHED = 4,
	/* The program handles the signal that was to dump it (dump_signal) itself. */
	HW_NOTE_SIGNAL_TAKEN = 64,
	/* The program had allocations left out: frees of unknown blocks may be of these. */
	HW_NOTE_IGNORES = 128,
	/* The program has reported blocks of its own allocators: others may contain them. */
	HW_NOTE_BLOCKS = 256,
	/* There is a CPython, of minor version HW_NOTE_PYTHON_MINOR; its objects are recorded. */
	HW_NOTE_PYTHON = 512,
	HW_NOTE_PYTHON_FRAMES = 1024, /* and its frames */
	/* Not its frames: we don't know that version, or build (free-threaded); they are not where
	 * we expect them; there is no room for its code. */
	HW_NOTE_PYTHON_UNKNOWN = 2048,
	HW_NOTE_PYTHON_DIFFERS = 4096,
	HW_NOTE_PYTHON_NO_ROOM = 8192,
	HW_NOTE_PYTHON_LINES = 16384, /* lines of functions are traced */
};
/* The minor version of CPython, in the notes. */
#define HW_NOTE_PYTHON_SHIFT 16
#define HW_NOTE_PYTHON_MINOR(notes) ((notes) >> HW_NOTE_PYTHON_SHIFT & 0x7fu)

/* Offsets of the parts; each starts on a page. */
#define HW_SHM_PAGES(bytes) (((uint64_t)(bytes) + 4095) / 4096 * 4096)
#define HW_SHM_RINGS ((uint64_t)4096)
#define HW_SHM_MODULES (HW_SHM_RINGS + HW_SHM_PAGES(HW_RINGS * sizeof(struct hw_ring)))
#define HW_SHM_STRINGS (HW_SHM_MODULES + HW_SHM_PAGES(HW_MODULES_MAX * sizeof(struct hw_module)))
#define HW_SHM_LINES (HW_SHM_STRINGS + HW_STRINGS_BYTES)
#define HW_SHM_NODES (HW_SHM_LINES + HW_SHM_PAGES(HW_LINES * sizeof(struct hw_line)))
#define HW_SHM_LINES_MORE                                                                          \
	(HW_SHM_NODES + HW_SHM_PAGES((uint64_t)HW_NODES_MAX * sizeof(struct hw_node)))
#define HW_SHM_CODES                                                                               \
	(HW_SHM_LINES_MORE + HW_SHM_PAGES((uint64_t)HW_LINES_MORE * sizeof(struct hw_line)))
#define HW_SHM_CODE_INDEX                                                                          \
	(HW_SHM_CODES + HW_SHM_PAGES((uint64_t)HW_CODES_MAX * sizeof(struct hw_code)))
#define HW_SHM_CODE_BYTES (HW_SHM_CODE_INDEX + (uint64_t)HW_CODE_INDEX * sizeof(uint32_t))
#define HW_SHM_DATA (HW_SHM_CODE_BYTES + HW_CODE_BYTES)
#define HW_SHM_DATA_WORDS                                                                          \
	((uint64_t)HW_RINGS_LARGE * HW_RING_WORDS_LARGE +                                          \
		(uint64_t)HW_RINGS_MEDIUM * HW_RING_WORDS_MEDIUM +                                 \
		(uint64_t)HW_RINGS_SMALL * HW_RING_WORDS_SMALL + HW_RING_WORDS_SHARED)
#define HW_SHM_BYTES (HW_SHM_DATA + HW_SHM_DATA_WORDS * 8)
static_assert(HW_SHM_DATA_WORDS * 8 <= 64u << 20, "all rings together at most 64 MiB");

/* A program that may have less address space (RLIMIT_AS) is left what it has, and is not recorded.
 */
#define HW_ADDRESS_SPACE_LEAST (80u << 20)

/* Size of ring number `ring` in words. */
static inline uint32_t hw_ring_words(uint32_t ring)
{
	if (ring < HW_RINGS_LARGE)
		return HW_RING_WORDS_LARGE;
	if (ring < HW_RINGS_LARGE + HW_RINGS_MEDIUM)
		return HW_RING_WORDS_MEDIUM;
	return ring < HW_RING_SHARED ? HW_RING_WORDS_SMALL : HW_RING_WORDS_SHARED;
}

/* Where the data of ring number `ring` begins, in words from HW_SHM_DATA. */
static inline uint64_t hw_ring_start(uint32_t ring)
{
	uint64_t start = 0;
	uint32_t large = ring < HW_RINGS_LARGE ? ring : HW_RINGS_LARGE;
	start += (uint64_t)large * HW_RING_WORDS_LARGE;
	ring -= large;
	uint32_t medium = ring < HW_RINGS_MEDIUM ? ring : HW_RINGS_MEDIUM;
	start += (uint64_t)medium * HW_RING_WORDS_MEDIUM;
	ring -= medium;
	return start + (uint64_t)ring * HW_RING_WORDS_SMALL;
}

/*
 * Ring records. The low byte of the first word is the operation, the other 56 bits its address or
 * number. With HW_R_STAMPED the last word (for a realloc the last two) is a TSC value; without, the
 * record took place after the last stamp seen in the ring, and no other thread has a stamp between
 * the two that the record would have to come after.
 */
enum hw_record {
	HW_R_PAD = 0x01,    /* rest of the lap is empty */
	HW_R_TIME = 0x02,   /* [tsc] */
	HW_R_FAILED = 0x03, /* number = kind; [stack | 0] [size] */
	HW_R_REALLOC =
		0x04,     /* address = new; [stack | size] [old] ; stamps: before, after the call */
	HW_R_LOST = 0x05, /* number = events dropped at this place */
	HW_R_FOREIGN = 0x06, /* shared ring only: number = tid; the next record is that thread's */
	HW_R_MOVING = 0x08,  /* shared ring only, always stamped: address; a realloc of it begins.
				The thread's next HW_R_REALLOC, HW_R_FAILED or HW_R_FREE of a
				realloc says what came of it */
	HW_R_FORK = 0x07,    /* the thread is about to fork; always stamped, and the child says that
				stamp in its hello */

	HW_R_ANNOTATION =
		0x09, /* address; [enum hw_annotation | size << 8]: the program says so of it */

	HW_R_MARK = 0x0a, /* number = bytes of a name, 1 to HW_MARK_NAME_MAX; [name, 8 bytes a word,
			     zeros after]…: the program marks this moment; always stamped */

	HW_R_STACK = 0x0b, /* number = the stack pointer of the next record, which is lower than
			      those since the collector last asked, and of some words before */

	/* Always stamped, after the call. Address; [stack | enum hw_map_kind << 32 | flags << 40,
	 * of enum hw_map_flag] [bytes]: the program has mapped this, in place of what was there. */
	HW_R_MAP = 0x0c,
	/* Always stamped, before the call, and recorded after it; address; [bytes]. */
	HW_R_UNMAP = 0x0d,

	/* Always stamped. Address; [pool | enum hw_pool_what << 56] [size] [stack | bytes of a
	 * name, HW_MARK_NAME_MAX at most, << 32] [name, 8 bytes a word, zeros after]…: the program
	 * says so of a pool of its blocks. */
	HW_R_POOL = 0x0e,

	/* Always stamped. Number = enum hw_error_kind; [struct hw_error_report, HW_ERROR_WORDS]…:
	 * an error of the program that `heapwise check` has found. */
	HW_R_ERROR = 0x0f,

	HW_R_FREE = 0x10,            /* + enum hw_free_kind; address */
	HW_R_FREE_SAME_FRAME = 0x18, /* + enum hw_free_kind: freed by the frame that allocated */
	HW_R_ALLOC = 0x20,           /* + enum hw_alloc_kind; address; [stack | size] */
	HW_R_STAMPED = 0x80,
};

/* Annotations of the program about its memory, for leak searches. */
enum hw_annotation {
	HW_ANNOTATE_IGNORE = 1,   /* the block that the address is in is to be kept */
	HW_ANNOTATE_DISABLE = 2,  /* as is what this thread allocates from here on … */
	HW_ANNOTATE_ENABLE = 3,   /* … to here */
	HW_ANNOTATE_ROOT = 4,     /* the memory may hold blocks */
	HW_ANNOTATE_ROOT_END = 5, /* no longer, as often as it was said */
	/* Not of the program's own accord: the free of the address that this thread recorded last
	 * came from the stack whose number is in place of the size. */
	HW_ANNOTATE_FREED_FROM = 6,
	HW_ANNOTATE_CHECK = 7,      /* a check begins; its number is in place of the address … */
	HW_ANNOTATE_CHECK_END = 8,  /* … is over */
	HW_ANNOTATE_IGNORE_END = 9, /* the block is no longer to be kept, as HW_ANNOTATE_IGNORE */
	/* A traced function of Python is at a line. In place of the address: its struct hw_code
	 * << 32 | the line; of the size: resident pages of the process (0: not known)
	 * << HW_TRACED_BITS | enum hw_traced. */
	HW_ANNOTATE_LINE = 10,
};

enum hw_traced {
	HW_TRACED_CALL = 0,   /* it begins */
	HW_TRACED_LINE = 1,   /* a line begins, which ends the one before */
	HW_TRACED_RETURN = 2, /* it returns, yields, or an exception leaves it: its line ends */
	HW_TRACED_RESUME = 3, /* a generator or coroutine goes on, within the line */
};
#define HW_TRACED_BITS 2

/* What a program says of a pool, which is known by an address. Its blocks and those of malloc may
 * have the same addresses. */
enum hw_pool_what {
	HW_POOL_CREATE = 0, /* name; or none */
	HW_POOL_ALLOC =
		1, /* address, size, stack: of a new block; of a pool that is not known, too */
	HW_POOL_FREE = 2,    /* address: of a block of any pool */
	HW_POOL_RESET = 3,   /* all its blocks are free */
	HW_POOL_DESTROY = 4, /* as is the pool */
	HW_POOL_TRIM = 5,    /* address, size: what of its blocks is not in there is free */
	HW_POOL_MOVE = 6,    /* address: the pool is known by this one from now on */
};

/* [stack | size] = stack in the low half, size in the high half; this value: a further word has the
 * size. */
#define HW_R_SIZE_BIG 0xffffffffu
/* The longest record of a call in words: realloc with a big size, stamped. */
#define HW_R_WORDS_MAX 6

/* An HW_R_UNMAP and an HW_R_MAP. */
#define HW_R_WORDS_MAPPED 7

/* Of a mark's name, without a NUL. */
#define HW_MARK_NAME_MAX 255u
#define HW_MARK_NAME_WORDS 32u
/* An HW_R_POOL without a name. */
#define HW_R_WORDS_POOL 5u
/* An HW_R_ERROR. */
#define HW_R_WORDS_ERROR (HW_ERROR_WORDS + 2)
/* The longest record of all: an HW_R_POOL with a name. */
#define HW_R_WORDS_LONGEST (HW_MARK_NAME_WORDS + HW_R_WORDS_POOL)
static_assert(HW_MARK_NAME_WORDS * 8 > HW_MARK_NAME_MAX, "in whole words");
static_assert(HW_R_WORDS_ERROR <= HW_R_WORDS_LONGEST, "an HW_R_ERROR is shorter");
static_assert(HW_RING_WORDS_SMALL / 4 > HW_R_WORDS_LONGEST + 8, "it fits the smallest part of one");

/*
 * The conversation on the session's socket: the runtime says hello, the collector answers with the
 * memfd attached, or declines. HEAPWISE_SESSION in the environment is the socket's path. Without it
 * the runtime starts a collector of its own, at the other end of a socket pair, which gets
 * HEAPWISE_OPTIONS unchanged, and learns the session from the answer.
 */
#define HW_SESSION_ENV "HEAPWISE_SESSION"
#define HW_OPTIONS_ENV "HEAPWISE_OPTIONS"
/* Set by `run --mmap`, for processes that map before they allocate. */
#define HW_MAPPINGS_ENV "HEAPWISE_MAPPINGS"
#define HW_SESSION_BYTES 108 /* of a socket's path, with the NUL: unix(7) */
#define HW_HELLO_MAGIC 0x6f6c6568u

enum hw_hello_reason {
	HW_HELLO_START = 0, /* a program image has just started */
	HW_HELLO_FORK = 1,  /* a forked child, at its first allocation */
};

struct hw_hello {
	uint32_t magic;
	uint32_t version;
	int32_t pid; /* as the target sees itself */
	int32_t ppid;
	uint32_t reason;
	int32_t forked_from; /* pid of the process that forked it, as the target sees it; 0: unknown
			      */
	uint64_t tsc;
	uint64_t forked_at; /* stamp of the HW_R_FORK there; 0: there is none */
};
static_assert(sizeof(struct hw_hello) == 40, "on a socket");

/* A collector that has many callers sends those that it has heard an interim answer, a few times a
 * second: they are to wait on. */
enum hw_answer {
	HW_ANSWER_DECLINED = 0, /* the process goes unrecorded */
	HW_ANSWER_RECORD = 1,   /* into the memory that comes with it */
	HW_ANSWER_WAIT = 2,
};

struct hw_welcome {
	uint32_t magic;
	uint32_t version;
	uint32_t record;                /* enum hw_answer */
	char session[HW_SESSION_BYTES]; /* what HEAPWISE_SESSION is for the process's children */
};
static_assert(sizeof(struct hw_welcome) == 120, "on a socket");

/*
 * In place of a hello, without an answer: a program that will say none has been started, or is
 * about to be. A process that forks and execs sends it before the exec, since nothing runs after
 * it; if the exec fails it takes that back by another one, with HW_UNRECORDED_NOT.
 */
#define HW_NOTICE_MAGIC 0x65656e6bu
#define HW_NOTICE_PATH 480 /* bytes, with the NUL */

struct hw_notice {
	uint32_t magic;
	uint32_t version;
	int32_t by;   /* the sender, as it sees itself */
	int32_t ppid; /* its parent */
	int32_t pid;  /* the process that becomes that program: the sender, or a child that it has
			 started */
	uint32_t reason; /* enum hw_unrecorded */
	uint64_t tsc;
	/* Of the program as it was asked for, or where it was found; "..." and its last part if it
	 * is longer. */
	char path[HW_NOTICE_PATH];
};
static_assert(sizeof(struct hw_notice) == 512, "on a socket");

#endif
