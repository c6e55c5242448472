/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: main leaves by pthread_exit, another thread goes on and is the last. */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_main)
TRUTH_SITE(site_other)

static pthread_t main_thread;

static void *go_on(void *argument)
{
	pthread_join(main_thread, NULL);
	for (size_t i = 0; i < 1000; i++) {
		void *block = site_other(71 + i);
		if (i % 3)
			truth_free(block);
	}
	truth_threads(2);
	truth_end(TRUTH_PLAIN);
	return argument;
}

int main(void)
{
	pthread_t thread;
	main_thread = pthread_self();
	site_main(31);
	truth_need(!pthread_create(&thread, NULL, go_on, NULL), "thread");
	pthread_detach(thread);
	pthread_exit(NULL);
}
