/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Freed memory holds nothing, though all that stood in it may still be there: in small blocks that
 * wait to be given out again, in large ones, between live ones. */
#include "leaks.h"

LEAK_ROLE(lost)
LEAK_ROLE(kept)
LEAK_ROLE(freed)

static void *volatile keep[64];

TRUTH_FRAME static void hold_and_free(size_t bytes, size_t number)
{
	void *block = freed(bytes);
	keep[number] = kept(56);
	for (size_t word = 4; word < bytes / 8; word += 3)
		leak_put(block, word, lost(40));
	LEAK_FREE(freed, block, bytes);
}

TRUTH_FRAME static void story(void)
{
	size_t number = 0;
	for (size_t bytes = 40; bytes < 4000; bytes += 200)
		hold_and_free(bytes, number++);
	hold_and_free(1 << 17, number++);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, lost);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_end();
	return 0;
}
