/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heaptrack, memray and gperftools write their last words in exit handlers that quick_exit does not
 * run: here from a thread, with handlers that allocate.
 */
#include "stress.h"
static void late(void)
{
	for (size_t i = 0; i < 50; i++)
		free(malloc(79 + i));
	truth_say("late");
}

static void *body(void *argument)
{
	free(malloc(87));
	quick_exit(4);
	return argument;
}

int main(void)
{
	at_quick_exit(late);
	stress_threads(1, body, NULL);
	return 1;
}
