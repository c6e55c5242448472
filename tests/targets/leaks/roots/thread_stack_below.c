/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What returned functions left below the stack pointer, of a waiting thread and of the one that
 * ends the process, holds nothing. */
#include "parked.h"

LEAK_ROLE(below_thread)
LEAK_ROLE(below_main)

/* Its frame is further down than what is scrubbed. */
TRUTH_FRAME static void leave(void *(*role)(size_t), size_t bytes)
{
	void *volatile deep[16384];
	for (size_t i = 0; i < 16; i++)
		deep[i] = role(bytes);
	(void)deep[0];
}

static void *thread(void *unused)
{
	leave(below_thread, 216);
	park();
	return unused;
}

int main(void)
{
	parked_start(thread, NULL);
	leave(below_main, 232);
	parked_wait(1);
	LEAKS_ARE(LEAK_DEFINITE, below_thread);
	LEAKS_ARE(LEAK_DEFINITE, below_main);
	leaks_end();
	return 0;
}
