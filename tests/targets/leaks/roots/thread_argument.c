/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The argument that a thread was started with is in libc's description of it as long as the thread
 * lives: reachable, though the thread has dropped it. */
#include "parked.h"

LEAK_ROLE(argument)

static void *thread(void *unused)
{
	(void)unused;
	park();
}

TRUTH_FRAME static void story(void)
{
	parked_start(thread, argument(408));
	parked_wait(1);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, argument);
	leaks_end();
	return 0;
}
