/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When main has returned, what its frame and those that it called held is lost: nobody can come by
 * it again. */
#include "leaks.h"

LEAK_ROLE(held_by_main)
LEAK_ROLE(held_by_called)
LEAK_ROLE(kept)

static void *volatile keep;

TRUTH_FRAME static void called(void)
{
	void *volatile mine[100];
	for (size_t i = 0; i < 100; i++)
		mine[i] = held_by_called(216);
	(void)mine[0];
	keep = kept(248);
}

int main(void)
{
	/* Further down than what the exit itself needs of the stack; the rest is scrubbed. */
	void *volatile mine[2000];
	for (size_t i = 0; i < 2000; i++)
		mine[i] = NULL;
	for (size_t i = 0; i < 10; i++)
		mine[i] = held_by_main(232);
	called();
	LEAKS_ARE(LEAK_DEFINITE, held_by_main);
	LEAKS_ARE(LEAK_DEFINITE, held_by_called);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_end();
	(void)mine[0];
	return 0;
}
