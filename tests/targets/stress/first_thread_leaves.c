/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorders that take the end of the first thread, or of main, for the end of the process: here it
 * leaves long before, and the last thread ends the process.
 */
#include "stress.h"
TRUTH_SITE(site_in_last)

static pthread_t first;

static void *body(void *argument)
{
	pthread_join(first, NULL);
	for (size_t i = 0; i < 300; i++)
		truth_free(site_in_last(89 + i));
	truth_end(TRUTH_PLAIN);
	return argument;
}

int main(void)
{
	pthread_t thread;
	first = pthread_self();
	truth_need(!pthread_create(&thread, NULL, body, NULL), "pthread_create");
	free(malloc(97));
	pthread_exit(NULL);
}
