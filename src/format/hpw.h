/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recording files (.hpw) as bytes. FORMAT.md beside this file is normative and explains every
 * field; this header only gives the numbers names. All integers are little endian.
 */
#ifndef FORMAT_HPW_H
#define FORMAT_HPW_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define HPW_MAGIC "HEAPWISE"
#define HPW_VERSION_MAJOR 1
#define HPW_VERSION_MINOR 3
/* Required-feature bits: a reader that does not know one would show wrong figures. */
enum hpw_feature {
	HPW_FEATURE_SAMPLED = 1,     /* of mode "sample": what is there stands for more */
	HPW_FEATURE_CODE = 2,        /* frames may be of code in no loaded file: CODE */
	HPW_FEATURE_NO_HEAP = 4,     /* calls of the heap's functions were not recorded */
	HPW_FEATURE_ERRORS_ONLY = 8, /* nor anything else but errors of the program: ERRORS */
};
#define HPW_FEATURES_KNOWN                                                                         \
	((uint32_t)(HPW_FEATURE_SAMPLED | HPW_FEATURE_CODE | HPW_FEATURE_NO_HEAP |                 \
		    HPW_FEATURE_ERRORS_ONLY))

struct hpw_header {
	char magic[8];
	uint16_t version_major;     /* a reader refuses a larger one */
	uint16_t version_minor;     /* additions that an older reader may ignore */
	uint32_t required_features; /* a bit the reader does not know: refuse */
	uint64_t reserved;
	uint64_t checksum; /* XXH3-64 of the 24 bytes before */
};
static_assert(sizeof(struct hpw_header) == 32, "stored");
static_assert(offsetof(struct hpw_header, checksum) == 24, "stored");

#define HPW_CHUNK_MAGIC 0x6b637768u /* "hwck" */

struct hpw_chunk_header {
	uint32_t magic;
	uint16_t type;             /* enum hpw_chunk_type */
	uint16_t flags;            /* enum hpw_chunk_flag */
	uint32_t stored_bytes;     /* of the payload that follows in the file */
	uint32_t raw_bytes;        /* of the payload once unpacked */
	uint64_t payload_checksum; /* XXH3-64 of the stored payload */
	uint64_t header_checksum;  /* XXH3-64 of the 24 bytes before */
};
static_assert(sizeof(struct hpw_chunk_header) == 32, "stored");
static_assert(offsetof(struct hpw_chunk_header, header_checksum) == 24, "stored");

enum hpw_chunk_flag {
	HPW_CHUNK_ZSTD = 1, /* payload is one zstd frame */
};

/* No writer makes a larger payload and a reader refuses one, before it allocates. */
#define HPW_CHUNK_RAW_MAX (64u << 20)
/* Steps and slots of one EVENTS chunk, and sites of a recording: the same holds for these. */
#define HPW_STEPS_MAX (1u << 20)
#define HPW_SLOTS_MAX (1u << 16)
#define HPW_SITES_MAX (1u << 22)
/* Rows of CODE_NAMES. */
#define HPW_CODE_NAMES_MAX (1u << 20)
/* Rows of all UNRECORDED chunks, and bytes of each path. */
#define HPW_UNRECORDED_MAX 1000u
#define HPW_UNRECORDED_PATH_MAX 4096u

enum hpw_chunk_type {
	HPW_TARGET = 1,
	HPW_MODULES = 2,
	HPW_STACKS = 3,
	HPW_SITES = 4,
	HPW_EVENTS = 5,
	HPW_THREADS = 6,
	HPW_SITE_STATS = 7,
	HPW_SIZES = 8,
	HPW_LIVE = 9,
	HPW_SUMMARY = 10,
	HPW_INDEX = 11,
	HPW_CODE_NAMES = 12,
	HPW_UNRECORDED = 13,
	HPW_CHECKPOINT = 14,
	HPW_RING = 15,
	HPW_SUMS = 16,
	HPW_DEATHS = 17,
	HPW_NAMES = 18,
	HPW_LEAK_SEARCH = 20,
	HPW_LEAK_ROOTS = 21,
	HPW_LEAK_GROUPS = 22,
	HPW_LEAK_RECORDS = 23,
	HPW_LSAN_STRINGS = 24,
	HPW_BAD_FREES = 25,
	HPW_SMALL = 26,
	HPW_CODE = 27,
	HPW_MAPPINGS = 28,
	HPW_RESIDENT = 29, /* format/resident.h */
	HPW_ESTIMATES = 30,
	HPW_ERRORS = 31,
	HPW_CHECK = 32,
	HPW_TRACED_LINES = 33, /* format/traced.h */
};

/* Columns of a MAPPINGS chunk: one row for each change. */
enum hpw_mapping_column {
	HPW_MAPPING_STAMP = 0, /* zigzag difference from the row before */
	HPW_MAPPING_THREAD,    /* index of the thread + 1; 0: not by a thread */
	HPW_MAPPING_WHAT,      /* enum hpw_mapping */
	HPW_MAPPING_FLAGS,     /* enum hpw_mapping_flag, or'ed */
	HPW_MAPPING_PAGE,      /* the first one; zigzag difference from the row before */
	HPW_MAPPING_PAGES,
	HPW_MAPPING_STACK, /* 0: not known */
	HPW_MAPPING_COLUMNS
};
#define HPW_MAPPING_PAGE_BYTES 4096u
/* Rows of all MAPPINGS together, and the pages that there can be. */
#define HPW_MAPPINGS_MAX (1u << 21)
#define HPW_MAPPING_PAGES_MAX (1ull << 44)
enum hpw_mapping {
	HPW_MAPPING_UNMAPPED = 0, /* by a call of the program */
	HPW_MAPPING_GONE = 1,     /* it was seen to be mapped no longer */
	HPW_MAPPING_MMAP = 2,     /* from here on: enum hw_map_kind + 2 */
	HPW_MAPPING_MREMAP = 3,
	HPW_MAPPING_BRK = 4,
	HPW_MAPPING_SBRK = 5,
	HPW_MAPPING_THREAD_STACK = 6,
	HPW_MAPPING_KINDS
};
enum hpw_mapping_flag {
	HPW_MAPPING_FILE = 1,      /* of a file */
	HPW_MAPPING_SHARED = 2,    /* with the file, or with other processes */
	HPW_MAPPING_RESERVED = 4,  /* without any access, at first */
	HPW_MAPPING_ALLOCATOR = 8, /* by the library that has malloc: blocks lie in it */
	HPW_MAPPING_FLAG_BITS = 15
};

/* What was wrong with the frees of a row of BAD_FREES. */
enum hpw_bad_free {
	HPW_BAD_FREE_UNKNOWN = 1,    /* there was no block at the address */
	HPW_BAD_FREE_TWICE = 2,      /* the block had been freed already */
	HPW_BAD_FREE_MISMATCHED = 3, /* of a kind that does not match the allocation's */
};
/* Rows of all BAD_FREES together; HPW_SUM_UNKNOWN_FREES and _MISMATCHED count those without one. */
#define HPW_BAD_FREES_MAX 65536u
#define HPW_BAD_FREES_COLUMNS 10u

/* Columns of an ERRORS chunk: one row an error, or more of an earlier one. */
enum hpw_errors_column {
	HPW_ERRORS_STAMP = 0,
	HPW_ERRORS_THREAD, /* its index in THREADS */
	HPW_ERRORS_TID,
	HPW_ERRORS_KIND,  /* enum hw_error_kind: format/check.h, as what follows */
	HPW_ERRORS_FLAGS, /* enum hw_error_flag, or'ed */
	HPW_ERRORS_COUNT, /* how many reports this row adds; at least 1 */
	/* Of struct hw_error_report. */
	HPW_ERRORS_ADDRESS,
	HPW_ERRORS_ACCESS_BYTES,
	HPW_ERRORS_SOURCE,
	HPW_ERRORS_BLOCK,
	HPW_ERRORS_BLOCK_BYTES,
	HPW_ERRORS_STACK,
	HPW_ERRORS_ALLOCATED_AT,
	HPW_ERRORS_FREED_AT,
	HPW_ERRORS_ALLOCATED_BY,
	HPW_ERRORS_FREED_BY,
	HPW_ERRORS_ALLOC_KIND,
	HPW_ERRORS_FREE_KIND,
	HPW_ERRORS_TEXT_BYTES,
	HPW_ERRORS_TEXT, /* bytes: HPW_ERRORS_TEXT_BYTES of each row */
	HPW_ERRORS_COLUMNS
};
/* Rows of all ERRORS together, and bytes of a text. */
#define HPW_ERRORS_MAX 65536u
#define HPW_ERRORS_TEXT_MAX 47u

/* Keys of a CHECK chunk: key, value, both varints. The last chunk of a file counts. */
enum hpw_check_key {
	HPW_CHECK_IS_THERE = 1, /* 1: the library that looks for errors served the program */
	HPW_CHECK_BACKEND = 2,  /* enum hw_check_backend; from here on as struct hw_check_sums */
	HPW_CHECK_SEED = 3,
	HPW_CHECK_BLOCKS = 4,
	HPW_CHECK_BYTES = 5,
	HPW_CHECK_GUARDED_BLOCKS = 6,
	HPW_CHECK_GUARDED_BYTES = 7,
	HPW_CHECK_STACKS = 8,
	HPW_CHECK_GUARDED_STACKS = 9,
	HPW_CHECK_STACKS_UNCOUNTED = 10,
	HPW_CHECK_REPORTS = 11,
	HPW_CHECK_DROPPED = 12,
	HPW_CHECK_LIMITS = 13,
	HPW_CHECK_LEFT_OUT = 14, /* reports of errors beyond those that the writer keeps */
	HPW_CHECK_KEYS = 15
};

/* Kinds of frames, and so of rows of CODE. */
enum hpw_frame_kind {
	HPW_FRAME_NATIVE = 0,      /* an address in a module: no row of CODE */
	HPW_FRAME_CODE_OBJECT = 1, /* a code object of an interpreter, and an instruction in it */
	HPW_FRAME_METHOD = 2,      /* a method of a virtual machine, and a bytecode index in it */
	HPW_FRAME_NAME = 3,        /* a name is all that is known */
};

/* Columns of a CODE chunk. */
enum hpw_code_column {
	HPW_CODE_FIRST = 0, /* one varint: number of the first row */
	/* One row each. */
	HPW_CODE_KIND,
	HPW_CODE_FIRST_LINE,
	HPW_CODE_LINES, /* how many rows of the two last columns are its own */
	/* Strings: each has its lengths here, and its bytes HPW_CODE_TEXTS columns later. */
	HPW_CODE_LANGUAGE,
	HPW_CODE_NAME,
	HPW_CODE_OUTER,
	HPW_CODE_SIGNATURE,
	HPW_CODE_FILE,
	HPW_CODE_MODULE,
	/* One row a line. */
	HPW_CODE_INSTRUCTION = 16, /* difference from the row before of the same code */
	HPW_CODE_LINE,             /* zigzag difference from the row before of the same code */
	HPW_CODE_COLUMNS
};
#define HPW_CODE_TEXTS 6u
/* Rows of all CODE chunks, and lines of each. */
#define HPW_CODE_MAX (1u << 24)
#define HPW_CODE_LINES_MAX (1u << 20)

/* Columns of ESTIMATES: doubles, each as the varint of its bits. */
enum hpw_estimates_column {
	HPW_ESTIMATES_FIRST = 0, /* one varint: number of the first site; missing: 0 */
	HPW_ESTIMATES_SITE = 1,  /* + enum hpw_estimates_site: one row a site */
	HPW_ESTIMATES_SITE_COLUMNS = 10,
	HPW_ESTIMATES_THREAD = 11, /* allocations, their bytes, frees: one row a thread */
	HPW_ESTIMATES_THREAD_COLUMNS = 3,
	HPW_ESTIMATES_COLUMNS = 14
};
/* "Variance": of the figure before it. */
enum hpw_estimates_site {
	HPW_ESTIMATES_ALLOCATIONS,
	HPW_ESTIMATES_ALLOCATIONS_VARIANCE,
	HPW_ESTIMATES_ALLOCATED_BYTES,
	HPW_ESTIMATES_ALLOCATED_BYTES_VARIANCE,
	HPW_ESTIMATES_LIVE_BLOCKS,
	HPW_ESTIMATES_LIVE_BLOCKS_VARIANCE,
	HPW_ESTIMATES_LIVE_BYTES,
	HPW_ESTIMATES_LIVE_BYTES_VARIANCE,
	HPW_ESTIMATES_FAILED,
	HPW_ESTIMATES_FAILED_VARIANCE
};

/* Bytes of each of the two parts of a row of SMALL: arguments may be long. */
#define HPW_SMALL_PART_MAX (64u << 10)
/* Rows of all SMALL together. */
#define HPW_SMALL_MAX (1u << 20)

/* Before the chunks in a CHECKPOINT. */
struct hpw_checkpoint_head {
	uint64_t checksum; /* XXH3-64 of the rest of this head and of the chunks */
	uint64_t number;   /* the largest one counts */
	uint64_t bytes;    /* of the chunks */
};
static_assert(sizeof(struct hpw_checkpoint_head) == 24, "stored");
/* No writer makes a larger one, head included. */
#define HPW_CHECKPOINT_MAX (64u << 20)

struct hpw_trailer {
	uint64_t index_offset; /* of the INDEX chunk's header in the file */
	uint64_t checksum;     /* XXH3-64 of the 8 bytes before */
	char magic[8];         /* "HWINDEX\0": the last bytes of a complete recording */
};
static_assert(sizeof(struct hpw_trailer) == 24, "stored");
#define HPW_TRAILER_MAGIC "HWINDEX"

/* What came of the list of the blocks that a process had when it was attached. */
enum hpw_older {
	HPW_OLDER_UNKNOWN = 0,   /* the writer made none */
	HPW_OLDER_TYPED = 1,     /* they are in the recording, by type */
	HPW_OLDER_SIZED = 2,     /* they are, by size alone: there was no time for types */
	HPW_OLDER_UNWANTED = 3,  /* nobody wanted them */
	HPW_OLDER_SAMPLED = 4,   /* of a sample they are not wanted */
	HPW_OLDER_PAUSE = 5,     /* the pause to copy the process would have been too long */
	HPW_OLDER_REFUSED = 6,   /* the process could not be copied */
	HPW_OLDER_LACKS = 7,     /* it has memory that a copy lacks */
	HPW_OLDER_ALLOCATOR = 8, /* blocks of its allocator can't be listed */
	HPW_OLDER_LATE = 9,      /* the list was not there in time */
	HPW_OLDER_FAILED = 10,   /* the heap could not be read, or there was no memory */
	HPW_OLDER_WATCHED = 11,  /* it is watched from the kernel, and was not looked into */
	HPW_OLDER_KINDS = 12
};

/* Keys of the TARGET chunk: key, length, bytes; an integer is 8 bytes. */
enum hpw_target_key {
	HPW_TARGET_PID = 1,
	HPW_TARGET_PPID = 2,
	HPW_TARGET_ARG = 3, /* one for each argument, in order */
	HPW_TARGET_EXE = 4,
	HPW_TARGET_CWD = 5,
	HPW_TARGET_HOST = 6,
	HPW_TARGET_WALL_START_NS = 7, /* CLOCK_REALTIME at tsc_start */
	HPW_TARGET_TSC_START = 8,
	HPW_TARGET_TSC_HZ = 9,        /* measured at the start; SUMMARY has a better pair */
	HPW_TARGET_MODE = 10,         /* "exact", "aggregate", "sample", "errors" */
	HPW_TARGET_WRITER = 11,       /* "heapwise 0.1.0" */
	HPW_TARGET_SAMPLE_BYTES = 13, /* mode "sample": mean distance of samples */
	HPW_TARGET_FORKED = 12, /* 1: it began as a copy of its parent, with the parent's blocks */
	HPW_TARGET_FORKED_AT = 14,   /* number of the fork's mark in the parent's recording */
	HPW_TARGET_PARENT_FILE = 15, /* that recording's name, without a folder */
	/* As the collector sees the process and its parent: only where that differs from
	 * HPW_TARGET_PID, which is what the process itself sees (pid_namespaces(7)). */
	HPW_TARGET_OUTER_PID = 16,
	HPW_TARGET_OUTER_PPID = 17, /* 0: not to be seen from there either */
	/* HPW_COUNTED, or why instructions are not: the name of an errno. Missing: nobody tried. */
	HPW_TARGET_INSTRUCTIONS = 18,
	/* Of a dump: when sums began anew, ns since the recording did. Missing: with that. */
	HPW_TARGET_RESET_NS = 20,
	HPW_TARGET_DUMP = 19, /* of a dump: why it was made, a sentence's part in English */
	/* 1: what the program maps is recorded: MAPPINGS. Missing: it is not. */
	HPW_TARGET_MAPPINGS = 21,
	/* How often the mode of the process had been changed: this recording goes on after another
	 * one. And that one's name, without a folder. Missing: it begins with the program. */
	HPW_TARGET_MODE_CHANGES = 22,
	HPW_TARGET_EARLIER_FILE = 23,
	/* It had run for so many ns when the recording began: what it had allocated is not known.
	 */
	HPW_TARGET_ATTACHED_NS = 24,
	/* 1: nothing was changed in the process: its calls were seen by probes in the kernel. */
	HPW_TARGET_WATCHED = 25,
};

#define HPW_COUNTED "counted"

/* Keys of the SUMMARY chunk: key, value, both varints. */
enum hpw_summary_key {
	HPW_SUM_EVENTS = 1,        /* recorded calls; a realloc is one */
	HPW_SUM_STEPS = 2,         /* entries of the order columns; a realloc of a block is two */
	HPW_SUM_LOST = 3,          /* events dropped: see HPW_SUM_LOST_FIRST */
	HPW_SUM_REPAIRS = 4,       /* places where alloc and free of an address did not alternate */
	HPW_SUM_UNKNOWN_FREES = 5, /* frees of blocks no allocation of which was recorded */
	HPW_SUM_ALLOCATIONS = 6,
	HPW_SUM_ALLOCATED_BYTES = 7,
	HPW_SUM_FREES = 8, /* of recorded and unknown blocks */
	HPW_SUM_FAILED = 9,
	HPW_SUM_LIVE_BLOCKS = 10,
	HPW_SUM_LIVE_BYTES = 11,
	HPW_SUM_TEMPORARY = 12,
	HPW_SUM_PEAK_BLOCKS = 13, /* blocks live at the moment of the byte peak */
	HPW_SUM_PEAK_BYTES = 14,
	HPW_SUM_PEAK_TSC = 15,
	HPW_SUM_THREADS = 16,
	HPW_SUM_TSC_END = 17,
	HPW_SUM_NS_DURATION = 18,     /* from tsc_start to tsc_end, CLOCK_MONOTONIC */
	HPW_SUM_EXIT_KIND = 19,       /* enum hpw_exit_kind */
	HPW_SUM_EXIT_VALUE = 20,      /* status or signal number */
	HPW_SUM_LONGEST_WAIT_NS = 21, /* longest time one thread slept for room in its ring */
	HPW_SUM_WAIT_NS = 22,         /* all threads together */
	HPW_SUM_MISMATCHED = 23,      /* frees whose kind does not match the allocation's */
	HPW_SUM_STACKS_FULL = 24,     /* events whose stack did not fit the table of stacks */
	HPW_SUM_CHILDREN = 25,        /* programs it started or went on as, not recorded */
	HPW_SUM_INHERITED = 26,       /* reserved */
	HPW_SUM_NOTES = 27,           /* enum hpw_note, or'ed */
	HPW_SUM_DROPPED_STEPS = 28,   /* steps that EVENTS have not, as the user wanted it */
	HPW_SUM_KEPT_FIRST = 29,      /* of those that they have: number of the first */
	HPW_SUM_KEPT_STEPS = 30,      /* how many */
	HPW_SUM_KEPT_FROM_TSC = 31,   /* stamp of the first */
	HPW_SUM_KEPT_UNTIL_TSC = 32,  /* and of the last */
	HPW_SUM_LOST_FIRST = 33,      /* + enum hpw_lost: HPW_SUM_LOST by its causes */
	/* Marks that the program or its users have set, in steps that the file has or had. */
	HPW_SUM_MARKS = 64,
	HPW_SUM_INSTRUCTIONS = 65, /* executed by all threads; see HPW_TARGET_INSTRUCTIONS */
	/* Largest resident size of the process, without shared memory; 0: unknown. */
	HPW_SUM_RESIDENT = 66,
	HPW_SUM_WAITS = 67,         /* how often threads slept for room in their rings */
	HPW_SUM_MAPPINGS_LOST = 68, /* changes that are in no MAPPINGS: there were too many */
	/* Times in which allocations were not recorded: how many, how long, frees of what was not
	 * known after the first, and whether the last one had not ended. */
	HPW_SUM_STOPS = 80,
	HPW_SUM_STOPPED_NS = 81,
	HPW_SUM_STOPPED_FREES = 82,
	HPW_SUM_STOPPED_AT_END = 83, /* 1: it had not */
	/* With HPW_TARGET_MODE_CHANGES: events at the change that neither recording has. */
	HPW_SUM_CHANGE_MISSED = 84,
	/* Of an attached process, what it had allocated before: enum hpw_older; how many blocks, of
	 * how many bytes are in the recording; how many of its threads may have been inside the
	 * allocator then; and bytes of its heap in which no blocks could be made out. */
	HPW_SUM_OLDER = 85,
	HPW_SUM_OLDER_BLOCKS = 86,
	HPW_SUM_OLDER_BYTES = 87,
	HPW_SUM_OLDER_THREADS = 88,
	HPW_SUM_OLDER_DAMAGED = 89,
	/* With HPW_TARGET_ATTACHED_NS: objects with references to the allocator that were loaded
	 * after it was attached, whose first calls are not seen; and words that held the address of
	 * a function of it before, calls through which are not. */
	HPW_SUM_ATTACHED_LATER = 90,
	HPW_SUM_ATTACHED_KEPT = 91,
};

/* Why an event is not in the recording. */
enum hpw_lost {
	/* It found no room, and … */
	HPW_LOST_STALLED = 0,    /* the collector had not moved for long */
	HPW_LOST_IN_HANDLER = 1, /* it was a signal handler's, which had interrupted another */
	HPW_LOST_SAMPLED = 2,    /* it was a sample: these never wait for the collector */
	HPW_LOST_HELD = 3,       /* another thread was stopped in the middle of an event */
	/* A sampled block … */
	HPW_LOST_REALLOC_FAILED = 4, /* lives on, unseen, since its realloc failed */
	HPW_LOST_SAMPLER = 5,        /* could not be noted */
	/* The collector … */
	HPW_LOST_OWNERLESS = 6, /* could not tell which thread it was of, or number that */
	HPW_LOST_DAMAGED = 7,   /* could not read it; each ring with such words counts as one */
	HPW_LOST_NO_MEMORY = 8, /* had no memory for the block */
	/* Probes in the kernel, whose … */
	HPW_LOST_RING = 9,      /* ring of events was full */
	HPW_LOST_TABLE = 10,    /* table of blocks or threads was full */
	HPW_LOST_UNPROBED = 11, /* harm it might have been: the call might have thrown */
	HPW_LOST_REASONS = 12
};

/* What the runtime found out about the program. */
enum hpw_note {
	HPW_NOTE_OWN_MALLOC = 1, /* the executable has a malloc of its own, not seen */
	HPW_NOTE_IN_FRONT = 16,  /* with that: not there, but in a library before the runtime's */
	HPW_NOTE_SANDBOXED = 2,  /* the program forbade itself system calls or the TSC */
	HPW_NOTE_SIGNAL_TAKEN = 64, /* the program handles the signal that was to dump it itself */
	/* The program had allocations left out (heapwise_ignore_begin). */
	HPW_NOTE_IGNORES = 128,
	HPW_NOTE_NOT_ATTACHED = 4, /* the runtime got no memory to record into */
	HPW_NOTE_APART =
		8, /* libraries loaded with RTLD_DEEPBIND or dlmopen: theirs was not seen */
	/* There is a CPython, of minor version HPW_NOTE_PYTHON_MINOR; its objects are recorded. */
	HPW_NOTE_PYTHON = 512,
	HPW_NOTE_PYTHON_FRAMES = 1024,  /* and its frames; not these, since … */
	HPW_NOTE_PYTHON_UNKNOWN = 2048, /* that version, or build, is not known */
	HPW_NOTE_PYTHON_DIFFERS = 4096, /* they were not where they should be */
	HPW_NOTE_PYTHON_NO_ROOM = 8192, /* there was no address space for its code */
	HPW_NOTE_PYTHON_LINES = 16384,  /* lines of functions were traced */
};

/* All of CPython's; and its minor version. */
#define HPW_NOTES_PYTHON 0x7f7e00u
#define HPW_NOTE_PYTHON_SHIFT 16

/* Keys of the LEAK_SEARCH chunk: key, value, both varints, but for HPW_LEAK_PROBLEM: key, length,
 * bytes. */
enum hpw_leak_key {
	HPW_LEAK_MOMENT = 1, /* enum hpw_leak_moment */
	HPW_LEAK_TSC = 2,
	HPW_LEAK_WAY = 3,       /* enum hpw_leak_way */
	HPW_LEAK_PAUSE_NS = 4,  /* how long the process was held */
	HPW_LEAK_SEARCH_NS = 5, /* how long the search took, with that */
	HPW_LEAK_ALIGNMENT = 6, /* of the words that were looked at, in bytes */
	HPW_LEAK_HEURISTICS =
		7,          /* bits: 1 stdstring, 2 length64, 4 newarray, 8 multipleinheritance */
	HPW_LEAK_NOTES = 8, /* enum hpw_leak_note, or'ed */
	HPW_LEAK_THREADS = 9,
	HPW_LEAK_THREADS_MISSED = 10, /* of these could not be stopped */
	HPW_LEAK_ROOT_BYTES = 11,     /* of roots, read */
	HPW_LEAK_UNREAD_BYTES = 12,   /* of blocks and roots, that could not be read */
	HPW_LEAK_POINTERS = 13,       /* found in blocks */
	HPW_LEAK_BLOCKS = 16,         /* + enum hpw_leak_kind */
	HPW_LEAK_BYTES = 20,          /* + enum hpw_leak_kind */
	HPW_LEAK_PROBLEM = 24,        /* why there was no search, or what it lacks: a sentence */
	HPW_LEAK_ALLOCATIONS = 25,    /* calls until that moment; 0: unknown, like the next two */
	HPW_LEAK_FREES = 26,
	HPW_LEAK_ALLOCATED_BYTES = 27,
	HPW_LEAK_HEURISTIC_BLOCKS = 28, /* + number of the bit in HPW_LEAK_HEURISTICS: reachable by
					   that alone */
	HPW_LEAK_HEURISTIC_BYTES = 32,  /* + the same */
	HPW_LEAK_UNCOPIED = 36,         /* why no copy was searched that should have been: enum
					   hpw_leak_uncopied */
	HPW_LEAK_KEYS = 37,
};
/* Below 4096: the errno that fork gave (Linux). */
enum hpw_leak_uncopied {
	HPW_LEAK_UNCOPIED_LACKS = 4096,    /* it would have lacked memory that fork leaves out */
	HPW_LEAK_UNCOPIED_CONFINED = 4097, /* no thread could be made to fork */
};
#define HPW_LEAK_HEURISTIC_COUNT 4

enum hpw_leak_moment {
	HPW_LEAK_AT_EXIT = 0,     /* after all exit handlers and destructors */
	HPW_LEAK_AT_MAIN_END = 1, /* before them */
	HPW_LEAK_ON_DEMAND = 2,
	HPW_LEAK_ON_DEATH = 3,   /* at a fatal signal */
	HPW_LEAK_BY_PROGRAM = 4, /* when the program asked for it */
};

enum hpw_leak_way {
	HPW_LEAK_NONE = 0,      /* there was none: HPW_LEAK_PROBLEM says why */
	HPW_LEAK_HELD = 1,      /* the process was held meanwhile */
	HPW_LEAK_SNAPSHOT = 2,  /* of a copy of its memory */
	HPW_LEAK_UNSTOPPED = 3, /* its other threads could not be stopped, and ran on */
};

enum hpw_leak_note {
	/* Not all blocks are known (forked, sampled, begun late): the rest of the heap was assumed
	 * to hold what it points to, so leaks may be missed, none is false. */
	HPW_LEAK_NOTE_PARTIAL = 1,
	/* Memory was cleared as it was given out: no word of an earlier use was in a block. */
	HPW_LEAK_NOTE_CLEARED = 2,
};

enum hpw_leak_kind {
	HPW_LEAK_DEFINITE = 0,
	HPW_LEAK_INDIRECT = 1,
	HPW_LEAK_POSSIBLE = 2,
	HPW_LEAK_REACHABLE = 3,
	HPW_LEAK_KINDS
};

/* Where a root is. */
enum hpw_leak_root {
	HPW_LEAK_ROOT_DATA = 0,      /* writable data of a module */
	HPW_LEAK_ROOT_STACK = 1,     /* of a thread, its thread-local storage included */
	HPW_LEAK_ROOT_REGISTERS = 2, /* of a thread */
	HPW_LEAK_ROOT_MAPPING = 3,   /* other memory */
	HPW_LEAK_ROOT_REGION = 4,    /* memory that the program says to be one */
	HPW_LEAK_ROOT_IGNORED = 5,   /* none: blocks that the program says to ignore */
};

/* What the program says to LeakSanitizer. Keys of the LSAN_STRINGS chunk: key, length, bytes. */
enum hpw_lsan_string {
	HPW_LEAK_SUPPRESSIONS = 1, /* of __lsan_default_suppressions */
	HPW_LEAK_OPTIONS = 2,      /* of __lsan_default_options */
};
#define HPW_LSAN_STRING_MAX (1u << 20) /* bytes of each; a longer one is left out */

enum hpw_exit_kind {
	HPW_EXIT_UNKNOWN = 0, /* ended, exit status unknown */
	HPW_EXIT_STATUS = 1,
	HPW_EXIT_SIGNAL = 2,
	HPW_EXIT_EXEC = 3,    /* the process went on as another program */
	HPW_EXIT_RUNNING = 4, /* it had not ended: this is a dump */
	/* It had not ended: its mode was changed, and it went on in another recording. */
	HPW_EXIT_MODE = 5,
	HPW_EXIT_DETACHED = 6, /* it goes on, and is not recorded any more */
};

/* Columns of an EVENTS chunk: number 0 to 2 once, then for slot s: 3 + 5 * s + one of these. */
enum hpw_events_column {
	HPW_EV_META = 0,
	HPW_EV_ORDER = 1,
	HPW_EV_TIME = 2,
	HPW_EV_FIRST_SLOT = 3,
	HPW_EV_GAPS = 1 << 20, /* after those of all slots */
};
enum hpw_slot_column {
	HPW_SLOT_RUNS = 0,
	HPW_SLOT_TOKENS = 1,
	HPW_SLOT_SIZES = 2,
	HPW_SLOT_FREES = 3,
	HPW_SLOT_SPECIALS = 4,
	HPW_SLOT_COLUMNS = 5
};

/* Columns of a NAMES chunk. */
enum hpw_names_column {
	/* One row a place in code. */
	HPW_NAMES_MODULE = 0,
	HPW_NAMES_ADDRESS, /* zigzag difference from the row before */
	HPW_NAMES_COUNT,   /* of functions there, innermost first */
	/* One row a function there. */
	HPW_NAMES_FUNCTION, /* number of the name, from 1; 0: unknown, as of the file */
	HPW_NAMES_FILE,
	HPW_NAMES_LINE,
	HPW_NAMES_INLINED, /* 1: into the next one */
	/* One row a name. */
	HPW_NAMES_LENGTH,
	HPW_NAMES_BYTES, /* of all names, one after another */
	HPW_NAMES_COLUMNS
};
#define HPW_NAMES_FRAMES_MAX 256u /* functions at one place */

/* In THREADS: how far down each stack was used, in bytes; 0: not known. */
#define HPW_THREAD_STACK_USED 11u

/* Columns of a SITE_STATS chunk: one row a site. */
enum hpw_site_column {
	HPW_SITE_ALLOCATIONS = 0,
	HPW_SITE_ALLOCATED,
	HPW_SITE_LIVE_BLOCKS,
	HPW_SITE_LIVE_BYTES,
	HPW_SITE_PEAK_BLOCKS,
	HPW_SITE_PEAK_BYTES,
	HPW_SITE_TEMPORARY,
	HPW_SITE_SAME_FRAME,
	HPW_SITE_FAILED,
	HPW_SITE_MIN_SIZE,
	HPW_SITE_MAX_SIZE,
	HPW_SITE_FIRST, /* one varint: number of the first site; not in the first chunk */
	HPW_SITE_MAX_FAILED,
	HPW_SITE_COLUMNS
};

/* Columns of a SUMS chunk. */
enum hpw_sums_column {
	HPW_SUMS_HEAD = 0, /* enum hpw_sums_head, in that order */
	/* One row a site that changed. */
	HPW_SUMS_SITE = 1,
	HPW_SUMS_SITE_ALLOCATIONS,
	HPW_SUMS_SITE_ALLOCATED,
	HPW_SUMS_SITE_FREES,
	HPW_SUMS_SITE_FREED,
	HPW_SUMS_SITE_TEMPORARY,
	HPW_SUMS_SITE_SAME_FRAME,
	HPW_SUMS_SITE_FAILED,
	HPW_SUMS_SITE_MIN,
	HPW_SUMS_SITE_MAX,
	/* One row a slot of the EVENTS. */
	HPW_SUMS_THREAD,
	HPW_SUMS_THREAD_STATE,  /* enum hpw_sums_state, or'ed: before its first step there */
	HPW_SUMS_THREAD_NUMBER, /* of its first allocation there */
	HPW_SUMS_THREAD_ALLOCATIONS,
	HPW_SUMS_THREAD_ALLOCATED,
	HPW_SUMS_THREAD_FREES,
	HPW_SUMS_THREAD_TEMPORARY,
	/* One row a size. */
	HPW_SUMS_SIZE,
	HPW_SUMS_SIZE_ALLOCATIONS,
	/* Marks: (varint step in the chunk, varint length, name)*. */
	HPW_SUMS_MARKS,
	/* One row a mark: its stamp, and what lives then. */
	HPW_SUMS_MARK_STAMP,
	HPW_SUMS_MARK_BLOCKS,
	HPW_SUMS_MARK_BYTES,
	/* One row a slot of the EVENTS: the largest size of its stack that was seen there, or
	 * before if none was, in bytes; 0: not known. */
	HPW_SUMS_THREAD_STACK,
	/* One row a site, as from HPW_SUMS_SITE on; may be missing. */
	HPW_SUMS_SITE_MAX_FAILED,
	HPW_SUMS_COLUMNS
};
enum hpw_sums_head {
	HPW_SUMS_FIRST_STEP,
	HPW_SUMS_STEPS,
	HPW_SUMS_STAMP,       /* of the first step */
	HPW_SUMS_LIVE_BLOCKS, /* before the first step */
	HPW_SUMS_LIVE_BYTES,
	HPW_SUMS_HIGHEST_BYTES, /* live at any moment from there to the last step */
	HPW_SUMS_CALLS,
	HPW_SUMS_LOST,
	HPW_SUMS_UNKNOWN_FREES,
	HPW_SUMS_MISMATCHED,
	HPW_SUMS_PADDING, /* before the first step: what lacks to whole HPW_PADDED bytes, of all
			     live */
	HPW_SUMS_INSTRUCTIONS, /* executed about then, before the first step; may be missing */
	HPW_SUMS_HEADS
};

#define HPW_PADDED 16u

enum hpw_sums_state {
	HPW_SUMS_IN_REALLOC = 1, /* its last step was a free of kind HW_FREE_REALLOC */
	HPW_SUMS_FRESH = 2,      /* it has begun, and allocated nothing yet */
};

/* What changes from one block of a DEATHS column to the next; varints follow in this order. */
enum hpw_death_change {
	HPW_DEATH_SITE = 1,
	HPW_DEATH_SIZE = 2,
	HPW_DEATH_BIRTH = 4, /* number of the chunk of EVENTS in which it was allocated, from 0 */
};

/* One time stamp every this many steps. */
#define HPW_TIME_STEP 256u

enum hpw_token {
	HPW_TOKEN_SPECIAL = 0,
	HPW_TOKEN_PREDICTED = 1, /* site that followed last time, size as last time at that site */
	HPW_TOKEN_PREDICTED_SIZE = 2, /* the same, and a size follows in SIZES */
	HPW_TOKEN_SITE = 3,           /* 3 + 2 * site, + 1 if a size follows in SIZES */
};

enum hpw_special {
	HPW_SP_FREE =
		1, /* a free of another kind than matches: enum hw_free_kind byte; ref in FREES */
	HPW_SP_FAILED = 2, /* site varint, size varint */
	HPW_SP_THREAD_START = 3,
	HPW_SP_THREAD_END = 4,
	HPW_SP_MARK = 5, /* length varint, bytes */
	HPW_SP_LOST = 6, /* count varint: events this thread dropped here */
};

/* Name of the mark at a fork: this, then the number in small hexadecimal digits. */
#define HPW_MARK_FORK "fork:"
#define HPW_MARK_FORK_BYTES 24u /* the longest such name, with a NUL */

#endif
