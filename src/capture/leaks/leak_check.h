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

struct leak_check {
	bool at_exit;        /* after all exit handlers and destructors */
	bool at_main_end;    /* before them */
	bool on_death;       /* and at a fatal signal: the process is traced for life */
	bool as_lsan;        /* only where LeakSanitizer would */
	bool by_tool;        /* not by an option: the tool of --as has it so */
	bool clears;         /* memory is cleared as it is given out */
	unsigned alignment;  /* of words that are looked at: 1, 2, 4 or 8; 0: 8 */
	unsigned heuristics; /* enum search_heuristic */
	struct lsan_program program;
};

#endif
