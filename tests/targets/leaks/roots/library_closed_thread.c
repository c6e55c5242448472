/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a thread's variables outlives their library: the loader keeps it until the thread
 * asks for the next such memory. Until then it holds what it held. */
#include "holder.h"

LEAK_ROLE(was_in_thread)

TRUTH_FRAME static void story(void)
{
	void *library = holder_open();
	holder_give(library, "hold_in_thread", was_in_thread(264));
	truth_need(!dlclose(library), "dlclose");
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, was_in_thread);
	leaks_end();
	return 0;
}
