/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that thread-local variables of a library hold which was loaded on the way are reachable:
 * their memory is a block of the loader's that only the thread's own table holds. Of the first
 * thread and of a waiting one. */
#include "holder.h"
#include "parked.h"

LEAK_ROLE(of_main)
LEAK_ROLE(of_thread)
LEAK_ROLE(behind_thread)

static void *library;

TRUTH_FRAME static void story(void)
{
	library = holder_open();
	holder_give(library, "hold_in_thread", of_main(216));
}

TRUTH_FRAME static void story_of_thread(void)
{
	void *block = of_thread(232);
	leak_put(block, 5, behind_thread(104));
	holder_give(library, "hold_in_thread", block);
}

static void *thread(void *unused)
{
	(void)unused;
	story_of_thread();
	park();
}

int main(void)
{
	story();
	parked_start(thread, NULL);
	parked_wait(1);
	LEAKS_ARE(LEAK_REACHABLE, of_main);
	LEAKS_ARE(LEAK_REACHABLE, of_thread);
	LEAKS_ARE(LEAK_REACHABLE, behind_thread);
	leaks_end();
	return 0;
}
