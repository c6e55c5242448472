/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a checker found besides leaks: reads of freed memory, uninitialised values, races… */
#ifndef MODEL_ERRORS_H
#define MODEL_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct model;

/* An access that was wrong, or the address of a free that was. */
struct error_access {
	bool known; /* else nothing below is */
	uint64_t address;
	uint64_t bytes; /* 0: unknown */
	bool exact;     /* else it were so many bytes at least */
};

/* The block that the address is in, or next to. */
struct error_block {
	bool known;             /* else nothing below is */
	uint64_t address, size; /* as the program asked for it */
	bool has_offset;
	int64_t offset;                  /* of the address, from the block's; may be negative */
	bool freed;                      /* when the error was made */
	bool guarded;                    /* inaccessible memory was next to it */
	uint32_t allocated_at, freed_at; /* struct stack_id; 0: unknown */
	uint32_t allocated_by, freed_by; /* thread ids; 0: unknown */
};

struct program_error {
	const char *kind;                /* in the checker's words: "InvalidRead"; "" if unknown */
	const char *what;                /* a sentence; "" if there is none */
	const char *thread;              /* name; "" if unknown */
	uint32_t tid;                    /* the checker's own number; 0: unknown */
	uint64_t count;                  /* how often; 1 at least */
	size_t first_stack, stack_count; /* of model_error_stacks() */
	struct error_access access;
	struct error_block block;
	bool ends; /* the program ended because of it, as the user wanted it */
};

/* What `heapwise check` looked at. */
struct check_coverage {
	bool is_there;       /* errors were looked for; else nothing below is known but left_out */
	const char *backend; /* static: "madvise", "userfaultfd", "mprotect", "none", "unknown"; of
				several recordings that differ "of several kinds" */
	uint64_t seed;       /* of the choice of blocks; the same seed repeats it */
	bool seeds_differ;   /* of several recordings that were added up: seed means nothing */
	uint64_t blocks, bytes; /* allocated */
	bool blocks_unknown; /* of one of several that were added up: it ended before it counted */
	uint64_t guarded_blocks, guarded_bytes; /* of them, next to inaccessible memory */
	uint64_t stacks, guarded_stacks; /* different ones that allocated, of which a block was
					    guarded */
	uint64_t stacks_uncounted; /* blocks at stacks that are in neither, for lack of room */
	uint64_t dropped;          /* reports that did not reach the recording */
	uint64_t left_out;         /* that did, and were different from more than it keeps */
	uint32_t limits;           /* enum check_limit, or'ed */
	uint64_t unserved; /* of recordings that were added up, those in which errors were not
			      looked for, or not up to the process's end; 0 of one recording */
};

/* Why less was guarded than was asked for. */
enum check_limit {
	CHECK_LIMIT_BUDGET = 1, /* the CPU budget: the choice can't be repeated exactly */
	CHECK_LIMIT_SPACE = 2,  /* address space */
	CHECK_LIMIT_MAPS = 4,   /* vm.max_map_count */
	CHECK_LIMIT_MEMORY = 8,
	CHECK_LIMIT_LOCKED = 16,  /* mlockall */
	CHECK_LIMIT_FORK = 32,    /* guards, or a sweep, were lost in a forked child */
	CHECK_LIMIT_SANDBOX = 64, /* the program has forbidden itself system calls */
	CHECK_LIMIT_ERRORS = 128, /* too many errors: pages of some stayed accessible */
	CHECK_LIMIT_PASSED = 256, /* the program had blocks from libc past the allocator */
};

/* Adds to `sum`, which is all zeros before the first, what was looked at in one more recording:
 * `one`, in which errors were looked for if one->is_there. */
void check_coverage_add(struct check_coverage *sum, const struct check_coverage *one);

/* Returns what was looked at; NULL if the source is not a recording of `heapwise check`. */
const struct check_coverage *model_check_coverage(const struct model *model);

/* A stack of an error: first where it happened, then related ones, such as where the block was
 * freed. */
struct error_stack {
	const char *what; /* a sentence on it; "" if there is none, as of the first one */
	uint32_t stack;   /* struct stack_id; 0: none, only the sentence */
};

/* A suppression that was used, or of a file that heapwise read. */
struct error_suppression {
	const char *name;
	uint64_t count; /* how many errors it suppressed; 0: it fits none */
	const char *
		from; /* "FILE:LINE" of one of a file that heapwise read; "" of the checker's own */
};

/* Returns the errors; NULL if the source does not report errors. If it is not NULL and *ret_count
 * is 0, there were none. */
const struct program_error *model_errors(const struct model *model, size_t *ret_count);
const struct error_stack *model_error_stacks(const struct model *model, size_t *ret_count);
const struct error_suppression *model_error_suppressions(
	const struct model *model, size_t *ret_count);

/* Sets how often each error came, in the order of model_errors(). Those of 0 are removed: they are
 * suppressed, or counted with an equal one. */
void model_errors_recount(struct model *model, const uint64_t *counts);
/* Adds a suppression. Strings are copied. */
struct error *model_errors_suppressed(
	struct model *model, const struct error_suppression *suppression) must_check_;

#endif
