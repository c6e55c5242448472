/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray (the remark on thread-local destructors in its hooks): destructors of a thread
 * allocate, round after round, after the recorder's own state was torn down.
 */
#include "stress.h"
#include <limits.h>

TRUTH_SITE(site_in_destructor)

static pthread_key_t key;

static void destructor(void *round)
{
	truth_free(site_in_destructor(27));
	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, (void *)((uintptr_t)round + 1));
}

static void *body(void *argument)
{
	pthread_setspecific(key, (void *)1);
	return argument;
}

int main(void)
{
	pthread_key_create(&key, destructor);
	for (int i = 0; i < 10; i++)
		stress_threads(8, body, NULL);
	truth_need(truth_of_site_in_destructor.allocations == 80 * PTHREAD_DESTRUCTOR_ITERATIONS,
		"rounds");
	truth_end(TRUTH_PLAIN);
	return 0;
}
