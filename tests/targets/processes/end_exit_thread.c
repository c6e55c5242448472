/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: exit() called by a thread while main waits; its handlers run in that thread. */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_main)
TRUTH_SITE(site_other)
TRUTH_SITE(site_handler)

static void handler(void)
{
	site_handler(501);
	truth_free(site_handler(503));
	truth_threads(2);
	truth_end(TRUTH_PLAIN);
}

static void *leave(void *argument)
{
	site_other(73);
	exit(27);
	return argument;
}

int main(void)
{
	pthread_t thread;
	atexit(handler);
	site_main(31);
	truth_need(!pthread_create(&thread, NULL, leave, NULL), "thread");
	for (;;)
		pause();
}
