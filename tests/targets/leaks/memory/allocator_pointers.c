/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator's own books point into blocks: where its free memory begins is the last word of the
 * block before (glibc's chunks overlap so), and its lists of free memory name such places. That
 * holds nothing. */
#include "parked.h"

LEAK_ROLE(before_top)
LEAK_ROLE(before_free)
LEAK_ROLE(before_tree)
LEAK_ROLE(guard)
LEAK_ROLE(freed)

enum { LAST_WORD_SHARED = 8 }; /* of 16: sizes for which the last word is the one that overlaps */

static void *volatile guards[64];
static size_t guard_count;

/* A lost block before freed memory that nothing but a guard keeps apart from the rest. */
TRUTH_FRAME static void lose_before_free(void *(*role)(size_t), size_t bytes, size_t free_bytes)
{
	leak_opaque(role(bytes));
	void *block = freed(free_bytes);
	guards[guard_count++] = guard(24);
	LEAK_FREE(freed, block, free_bytes);
}

TRUTH_FRAME static void story(void)
{
	for (size_t i = 0; i < 5; i++)
		lose_before_free(before_free, 1040 + LAST_WORD_SHARED, 1500 + 16 * i);
	for (size_t i = 0; i < 5; i++)
		lose_before_free(before_tree, 2080 + LAST_WORD_SHARED, 5000 + 160 * i);
	/* Sorts what was freed into its lists. */
	void *large = freed(100000);
	LEAK_FREE(freed, large, 100000);
	leak_opaque(before_top(96 + LAST_WORD_SHARED));
}

static void *thread(void *unused)
{
	story();
	park();
	return unused;
}

int main(void)
{
	parked_start(thread, NULL);
	parked_wait(1);
	story();
	LEAKS_ARE(LEAK_DEFINITE, before_top);
	LEAKS_ARE(LEAK_DEFINITE, before_free);
	LEAKS_ARE(LEAK_DEFINITE, before_tree);
	LEAKS_ARE(LEAK_REACHABLE, guard);
	leaks_end();
	return 0;
}
