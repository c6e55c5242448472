/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks hold pointers to a block: a graph turned round, 4 bytes a block and 4 a pointer. */
#ifndef SEARCH_REVERSE_H
#define SEARCH_REVERSE_H

#include "search/graph.h"

struct reverse {
	uint32_t *heads;   /* of each block: its first source; one more at the end */
	uint32_t *sources; /* blocks; one that holds several pointers stands there several times */
};

struct error *reverse_make(const struct graph *graph, struct reverse *ret) must_check_;
void reverse_free(struct reverse *reverse);

#endif
