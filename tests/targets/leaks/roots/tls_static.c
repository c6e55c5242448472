/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that a thread-local variable of the program holds are reachable, the first thread's and a
 * waiting one's. */
#include "parked.h"

LEAK_ROLE(of_main)
LEAK_ROLE(of_thread)
LEAK_ROLE(behind_local)

static __thread void *volatile local;
static __thread void *volatile array[100];

TRUTH_FRAME static void story(void *(*role)(size_t), size_t bytes)
{
	local = role(bytes);
	for (size_t i = 0; i < 7; i++) {
		array[14 * i] = role(bytes);
		leak_put(array[14 * i], i, behind_local(72));
	}
}

static void *thread(void *unused)
{
	(void)unused;
	story(of_thread, 152);
	park();
}

int main(void)
{
	story(of_main, 136);
	parked_start(thread, NULL);
	parked_wait(1);
	LEAKS_ARE(LEAK_REACHABLE, of_main);
	LEAKS_ARE(LEAK_REACHABLE, of_thread);
	LEAKS_ARE(LEAK_REACHABLE, behind_local);
	leaks_end();
	return 0;
}
