/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray#669: exit() runs handlers that allocate while threads go on allocating; what a
 * recorder tears down is still in use.
 */
#include "stress.h"
static void *busy(void *argument)
{
	for (size_t i = 0;; i++)
		free(malloc(23 + i % 100));
	return argument;
}

static void late(void)
{
	for (size_t i = 0; i < 50; i++)
		free(malloc(79 + i));
	truth_say("late");
}

int main(void)
{
	pthread_t thread;
	atexit(late);
	for (int i = 0; i < 4; i++)
		truth_need(!pthread_create(&thread, NULL, busy, NULL), "pthread_create");
	usleep(1000);
	exit(3);
}
