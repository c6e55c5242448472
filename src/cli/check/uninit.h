/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory of the heap that a program never wrote changes what it does.
 *
 * The program is run with new blocks filled with one byte, and again with another one. Where its
 * exit status or output differs, it has read such memory. Which block, and which of its bytes, is
 * found by bisection: of the blocks in the order of their allocation only the first n get the other
 * byte, then only the first n bytes of the block. What differs between runs with the same fill is
 * left out of the comparison; where that is not lines of output alone, the program can't be
 * examined this way.
 *
 * Blocks have numbers in the process that was started alone, until it executes
 * another program. Of other processes all blocks are filled at once: that results depend on them is
 * found, not on which.
 *
 * The same runs show which bytes that the process hands to the kernel were never written
 * (leaving.h).
 *
 * The method finds reads that matter for the results that are compared, of heap memory alone. It
 * finds nothing in a program whose results don't depend on the fill bytes that are tried.
 */
#ifndef CLI_UNINIT_H
#define CLI_UNINIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/check/leaving.h"
#include "cli/check/trial.h"

/* More blocks than this in one search would take too many runs. */
#define UNINIT_FINDINGS_MOST 16u
/* Fills that are tried. */
#define UNINIT_FILLS 4u
/* Runs of a search, unless it is told otherwise. */
#define UNINIT_RUNS_MOST 400u
/* Runs that are made before the first block is searched for. */
#define UNINIT_RUNS_LEAST 6u

enum uninit_verdict {
	UNINIT_NONE,           /* no fill changed a result */
	UNINIT_FOUND,          /* findings[0], and perhaps more */
	UNINIT_NOT_REPEATABLE, /* runs with the same fill differ; `why` says in what */
	UNINIT_NOT_SERVED,     /* the library gave the program no block that was to be filled */
	UNINIT_UNNAMED, /* a fill changed the results, but no block was found that does: `why` */
};

struct uninit_finding {
	uint64_t number;      /* of the block, in the order of allocation, from 0 */
	uint64_t block_bytes; /* its size; 0: not known */
	uint64_t first, last; /* of its bytes; both 0 if !has_bytes */
	bool has_bytes;       /* they are known */
	bool alone;       /* that block's fill changes the result; else only with earlier ones */
	uint8_t fill[2];  /* the two bytes between which it differs */
	char *difference; /* "standard output, line 3: "a" or "b"", "the exit status: 0 or 1" */
};

struct uninit_options {
	const struct trial_program *program;
	unsigned findings_most; /* how many blocks to look for, at most UNINIT_FINDINGS_MOST */
	unsigned runs_most;     /* at which the search ends, but not below UNINIT_RUNS_LEAST */
	void (*progress)(void *context, unsigned runs); /* before each run; NULL: not called */
	void *context;
};

struct uninit_result {
	enum uninit_verdict verdict;
	struct uninit_finding findings[UNINIT_FINDINGS_MOST];
	size_t count;
	bool more;          /* there may be others: see below; else none changes them alone */
	bool spent;         /* that bound was runs_most */
	bool full;          /* it was findings_most */
	bool others;        /* results depend on memory of processes that the program started, or
			       of what it executed, whose blocks are not searched: `why` */
	unsigned runs;      /* that were made */
	unsigned runs_most; /* the bound */
	uint64_t blocks;    /* that the first run allocated */
	size_t masked;      /* lines of output that differ by themselves */
	char *why;          /* see enum uninit_verdict; NULL: nothing to say */
	struct leaving leaving; /* what the program hands to the kernel; has followed all
				   fills if leaving.fills is UNINIT_FILLS, else nothing is known */
	struct trial result;    /* of the first run: what the program gives */
};

/* Searches. ERROR_ENVIRONMENT: the program can't be started, or memory. *ret is to be deinited,
 * also after an error. */
struct error *uninit_search(
	const struct uninit_options *options, struct uninit_result *ret) must_check_;
void uninit_result_deinit(struct uninit_result *result);

/* How many calls with bytes that were never written the last run is to report. */
uint64_t uninit_leaving_calls(const struct uninit_result *result);

/* Adds the value of HEAPWISE_CHECK for a run that reports the findings: blocks as it allocates
 * them, bytes for the kernel as it hands them over. */
void uninit_report_settings(struct uninit_result *result, struct text *text);

#endif
