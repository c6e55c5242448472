/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that makes reading the time stamp counter deadly, for itself and its threads to come.
 */
#include "truth.h"
#include <pthread.h>
#include <sys/prctl.h>

TRUTH_SITE(site_before)
TRUTH_SITE(site_after)
TRUTH_SITE(site_in_thread)

static void *work(void *argument)
{
	for (size_t i = 0; i < 3000; i++)
		truth_free(site_in_thread(21));
	return argument;
}

int main(void)
{
	pthread_t threads[3];
	site_before(11);
	truth_need(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "no TSC");
	for (size_t i = 0; i < 3000; i++)
		truth_free(site_after(15));
	for (size_t i = 0; i < 3; i++)
		truth_need(!pthread_create(&threads[i], NULL, work, NULL), "thread");
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	truth_threads(4);
	truth_end(TRUTH_PLAIN);
	return 0;
}
