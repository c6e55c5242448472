/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another thread than the first calls exit(): its frames and those of the waiting first thread hold
 * what they hold. */
#include "parked.h"

LEAK_ROLE(held_by_main)
LEAK_ROLE(held_by_thread)
LEAK_ROLE(lost)

TRUTH_FRAME static void lose(void)
{
	leak_opaque(lost(40));
}

static void *thread(void *unused)
{
	void *volatile mine = held_by_thread(216);
	lose();
	parked_wait(1);
	LEAKS_ARE(LEAK_REACHABLE, held_by_main);
	LEAKS_ARE(LEAK_REACHABLE, held_by_thread);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	exit(0);
	(void)mine;
	return unused;
}

int main(void)
{
	void *volatile mine = held_by_main(232);
	lose();
	parked_start(thread, NULL);
	park();
	(void)mine;
}
