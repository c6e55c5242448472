/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When and how a process is searched for leaks, as the user chose. */
#ifndef CAPTURE_LEAK_CHECK_H
#define CAPTURE_LEAK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/shm.h"

/* The functions in an executable by which LeakSanitizer would be configured. */
struct lsan_program {
	dev_t device; /* the file; inode 0: nothing is known */
	ino_t inode;
	uint64_t functions[HW_LSAN_FUNCTIONS]; /* as linked; 0: it has none, or exports it */
};

/* Finds those of these functions in an ELF file that it does not export. */
void lsan_program_find(const char *image, struct lsan_program *ret);

/* Returns whether a process executes that file. */
bool lsan_program_is(const struct lsan_program *program, pid_t pid);

/* The result of a search for leaks, for callers that do not read the recording. */
struct leak_found {
	uint32_t is_whole; /* 1: at the end, of all blocks, and it saw all memory and registers */
	uint32_t kinds;    /* bits 1 << enum hpw_leak_kind: of which it found any */
};

/* What gperftools' checker leaves out, where --as=gperftools has it so. Not of searches that a
 * command asks for. */
struct leak_rules {
	bool since_start; /* at the end: what was there at HW_CHECK_MAIN can't be a leak */
	bool no_globals;  /* data of modules, other memory, the first thread's stack hold nothing */
	bool no_threads;  /* registers, and other threads' stacks and local storage, hold nothing */
	/* A pointer this many bytes into a block, or further, is no reference; 0: all are. */
	uint64_t offset_limit;
	unsigned alignment; /* of words that are looked at, unless an option says it; 0: any */
};

struct leak_check {
	bool at_exit;                  /* after all exit handlers and destructors */
	bool at_main_end;              /* before them */
	bool on_death;                 /* and at a fatal signal: the process is traced for life */
	bool as_lsan;                  /* only where LeakSanitizer would */
	bool by_tool;                  /* not by an option: the tool of --as has it so */
	enum hw_heap_check heap_check; /* the program's HEAPCHECK */
	bool clears;                   /* memory is cleared as it is given out */
	unsigned alignment;            /* of words that are looked at: 1, 2, 4 or 8; 0: 8 */
	unsigned heuristics;           /* enum search_heuristic */
	struct leak_rules rules;
	struct lsan_program program;
};

#endif
