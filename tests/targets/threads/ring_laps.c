/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More events than any ring holds, in long runs of one length, so that a record ends exactly where
 * a ring does: by one thread, then by two at the same time.
 */
#include "truth.h"
#include <pthread.h>

#define BLOCKS 150000

TRUTH_SITE(site_alone)
TRUTH_SITE(site_together)

static void *alone[BLOCKS];

static void *together(void *argument)
{
	void **blocks = argument;
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			blocks[i] = site_together(27);
		for (size_t i = 0; i < BLOCKS; i++)
			truth_free(blocks[i]);
	}
	return NULL;
}

int main(void)
{
	for (size_t round = 0; round < 5; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			alone[i] = site_alone(19);
		for (size_t i = 0; i < BLOCKS; i++)
			truth_free(alone[i]);
	}
	static void *others[BLOCKS];
	pthread_t thread;
	if (pthread_create(&thread, NULL, together, others))
		truth_need(0, "no thread");
	together(alone);
	pthread_join(thread, NULL);
	truth_threads(2);
	truth_end(TRUTH_TEMPORARY);
	return 0;
}
