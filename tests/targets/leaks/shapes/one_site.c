/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of one stack are of many kinds: a record for each. */
#include "leaks.h"

LEAK_ROLE(node)

enum { BYTES = 104, DEFINITE = 5, INDIRECT = 7, POSSIBLE = 11, REACHABLE = 13 };

static void *volatile holders[POSSIBLE + REACHABLE];

TRUTH_FRAME static void story(void)
{
	void *leader = NULL;
	for (size_t i = 0; i < DEFINITE + INDIRECT + POSSIBLE + REACHABLE; i++) {
		void *block = node(BYTES);
		if (i < DEFINITE)
			leader = block;
		else if (i < DEFINITE + INDIRECT)
			leak_put(leader, i - DEFINITE, block);
		else
			holders[i - DEFINITE - INDIRECT] =
				leak_inside(block, i < DEFINITE + INDIRECT + POSSIBLE ? 16 : 0);
	}
}

int main(void)
{
	story();
	LEAKS_ARE_PART(LEAK_DEFINITE, node, DEFINITE, DEFINITE * BYTES);
	LEAKS_ARE_PART(LEAK_INDIRECT, node, INDIRECT, INDIRECT * BYTES);
	LEAKS_ARE_PART(LEAK_POSSIBLE, node, POSSIBLE, POSSIBLE * BYTES);
	LEAKS_ARE_PART(LEAK_REACHABLE, node, REACHABLE, REACHABLE * BYTES);
	leaks_end();
	return 0;
}
