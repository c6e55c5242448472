/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loses a block in a thread.
 *
 * Truth: 123 bytes are lost; libc's functions below the thread's own are others under Valgrind.
 */
#include <pthread.h>
#include <stdlib.h>

__attribute__((noinline)) static void lose(void)
{
	char *volatile block = malloc(123);
	block[0] = 1;
	block = NULL;
}

static void *run(void *unused)
{
	lose();
	return unused;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	return pthread_join(thread, NULL);
}
