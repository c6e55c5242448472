/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All threads leave by pthread_exit; the last one ends the process. Nobody's frames are left. */
#include "parked.h"

LEAK_ROLE(held_by_main)
LEAK_ROLE(held_by_thread)
LEAK_ROLE(kept)

static void *volatile keep;
static pthread_t first;

static void *thread(void *unused)
{
	void *volatile mine[64];
	for (size_t i = 0; i < 64; i++)
		mine[i] = held_by_thread(216);
	keep = kept(264);
	truth_need(!pthread_join(first, NULL), "pthread_join");
	LEAKS_ARE(LEAK_DEFINITE, held_by_main);
	LEAKS_ARE(LEAK_DEFINITE, held_by_thread);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_end();
	(void)mine[0];
	return unused;
}

int main(void)
{
	void *volatile mine[64];
	for (size_t i = 0; i < 64; i++)
		mine[i] = held_by_main(232);
	first = pthread_self();
	parked_start(thread, NULL);
	pthread_exit(NULL);
	(void)mine[0];
}
