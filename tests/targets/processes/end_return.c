/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: main returns, with a status. Threads that wait are still there. */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_main)
TRUTH_SITE(site_waiting)

static pthread_barrier_t both;

static void *wait_forever(void *argument)
{
	site_waiting(901);
	pthread_barrier_wait(&both);
	for (;;)
		pause();
	return argument;
}

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&both, NULL, 2);
	site_main(33);
	truth_need(!pthread_create(&thread, NULL, wait_forever, NULL), "thread");
	pthread_barrier_wait(&both);
	truth_threads(2);
	truth_end(TRUTH_PLAIN);
	return 23;
}
