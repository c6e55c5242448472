/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of a search for leaks that another checker's user asked for (HEAPCHECK). */
#ifndef MODEL_LEAK_RULES_H
#define MODEL_LEAK_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct model;

/* All zero: heapwise's own rules. */
struct leak_search_rules {
	bool since_start; /* blocks of before the check are in no figure if they are lost */
	bool no_globals;  /* global data and the first thread's stack hold nothing */
	bool no_threads;  /* registers and other threads' stacks hold nothing */
	/* A pointer this many bytes into a block, or further, is no reference; 0: all are. */
	uint64_t offset_limit;
};

/* Returns the rules of the model's search; valid as long as the model. */
const struct leak_search_rules *model_leak_rules(const struct model *model);

/* Sets them. For readers, as model/build.h. */
void build_leak_rules(struct model *model, const struct leak_search_rules *rules);

#endif
