/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first thread leaves by pthread_exit, and another one ends the process: what only the frames
 * of the first held, and its thread-local variables, is lost. */
#include "parked.h"
#include <fcntl.h>

LEAK_ROLE(held_by_main)
LEAK_ROLE(in_local_of_main)
LEAK_ROLE(held_by_thread)
LEAK_ROLE(kept)

static __thread void *volatile local;
static void *volatile keep;

static char state_of_first(void)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
	truth_need(n > 0 && !close(file), path);
	text[n] = 0;
	return strrchr(text, ')')[2];
}

static void *thread(void *unused)
{
	void *volatile mine = held_by_thread(216);
	while (state_of_first() != 'Z')
		sched_yield();
	LEAKS_ARE(LEAK_DEFINITE, held_by_main);
	LEAKS_ARE(LEAK_DEFINITE, in_local_of_main);
	LEAKS_ARE(LEAK_REACHABLE, held_by_thread);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_end();
	exit(0);
	(void)mine;
	return unused;
}

int main(void)
{
	void *volatile mine[64];
	for (size_t i = 0; i < 64; i++)
		mine[i] = held_by_main(232);
	local = in_local_of_main(248);
	keep = kept(264);
	parked_start(thread, NULL);
	pthread_exit(NULL);
	(void)mine[0];
}
