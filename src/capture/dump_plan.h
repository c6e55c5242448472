/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When dumps are written, and where. A dump is a recording without events: what is live at that
 * moment and all sums until then, by stack. All commands read it, and diff compares two of them.
 */
#ifndef CAPTURE_DUMP_PLAN_H
#define CAPTURE_DUMP_PLAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a dump is written. The letters are what %r gives in the pattern of a file's name. */
enum dump_reason {
	DUMP_ASKED,     /* a command or the program wants it: m (manual) */
	DUMP_ALLOCATED, /* so many bytes were allocated since the last dump: i (interval) */
	DUMP_FREED,     /* or freed: i */
	DUMP_GROWTH,    /* more is live than at the last dump, by so many bytes: u */
	DUMP_PEAK,      /* more is live than ever before, by so many bytes: u */
	DUMP_PAGES,     /* the same in pages that jemalloc would need: u */
	DUMP_TIME,      /* some time has passed: t */
	DUMP_RESIDENT,  /* the process has so much memory resident: r */
	DUMP_PRESSURE,  /* its cgroup is short of memory: p */
	DUMP_SIGNAL,    /* the process got the signal for it: s */
	DUMP_EXIT,      /* the process ends: f (final) */
	DUMP_REASONS
};

struct dump_plan;

struct dump_conversion {
	const struct dump_plan *plan;
	enum dump_reason reason;
	const char *from, *to; /* a recording, and the file that is written */
};

/*
 * Writes a dump in another format, and says so if plan->announce. Runs in a process of its own.
 * Returns 0, or an exit status of a failure that `message` (at most `bytes`) describes.
 */
typedef int dump_convert_function(
	const struct dump_conversion *conversion, char *message, size_t bytes);

/*
 * Changes a plan as lines KEY=VALUE say: see HW_ASK_CONFIGURE. On failure *plan may have changed in
 * part. plan->files then is in `lines`, which is changed.
 */
typedef struct error *dump_configure_function(struct dump_plan *plan, char *lines);

/* Each distance is in bytes since the last dump for that reason, or since the start; 0: none. */
struct dump_plan {
	uint64_t allocated_bytes, freed_bytes, growth_bytes, peak_bytes;
	uint64_t period_ns;      /* CLOCK_MONOTONIC; 0: none */
	uint64_t resident_bytes; /* once it has so much, and again when that was left; 0: none */
	/* The same for the memory of its cgroup, in percent of its limit; 0: none. */
	uint32_t resident_percent;
	/* When more pages are needed for live blocks than ever before: dumps/heap_pages.h. */
	bool pages;
	bool pressure; /* when memory.high is reached, or tasks stall for memory */
	int signal;    /* number; 0: none */
	bool at_exit;
	/* When a time or a growth is due, all distances begin anew, as gperftools has it. */
	bool restart_all;
	bool announce; /* on standard error, as the tool does whose format it is */
	uint32_t keep; /* how many files remain of each process, the latest ones; 0: all */
	/* Name of the files; NULL: beside the recording, with .NNNN.dump in place of .hpw. Letters:
	 * dump_files.h. */
	const char *files;
	/* Makes the files from the dumps; NULL: the dumps are the files. */
	dump_convert_function *convert;
	const void *convert_context;        /* for it; lives as long as this process */
	dump_configure_function *configure; /* NULL: processes can't change their plans */
};

/* Milliseconds matter for shorter periods than this. */
#define DUMP_PERIOD_LONG_NS 1000000000u

/* Returns whether a process may have to be dumped without being asked. */
static inline bool dump_plan_has_triggers(const struct dump_plan *plan)
{
	return plan->allocated_bytes || plan->freed_bytes || plan->growth_bytes ||
	       plan->peak_bytes || plan->pages || plan->period_ns || plan->resident_bytes ||
	       plan->resident_percent || plan->pressure || plan->signal || plan->at_exit;
}

/* Returns whether dumps depend on figures or times that may be passed within milliseconds. */
static inline bool dump_plan_follows_counts(const struct dump_plan *plan)
{
	return plan->allocated_bytes || plan->freed_bytes || plan->growth_bytes ||
	       plan->peak_bytes || plan->pages || plan->resident_bytes || plan->resident_percent ||
	       (plan->period_ns && plan->period_ns < DUMP_PERIOD_LONG_NS);
}

/* Returns what is wrong with a pattern of file names; NULL if nothing is. */
const char *dump_files_problem(const char *pattern);

#endif
