/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bytehound (koute/bytehound#119): cancellation is an exception through every frame; cleanup
 * handlers and destructors allocate on the way.
 */
#include "stress.h"
TRUTH_SITE(site_in_loop)
TRUTH_SITE(site_in_cleanup)

static void cleanup(void *block)
{
	truth_free(site_in_cleanup(107));
	truth_free(block);
}

static void *body(void *argument)
{
	void *block = site_in_loop(103);
	pthread_cleanup_push(cleanup, block);
	pthread_barrier_wait(argument);
	for (;;) {
		truth_free(site_in_loop(109));
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return NULL;
}

int main(void)
{
	for (int round = 0; round < 6; round++) {
		pthread_t threads[6];
		pthread_barrier_t barrier;
		pthread_barrier_init(&barrier, NULL, 7);
		for (int i = 0; i < 6; i++)
			truth_need(!pthread_create(&threads[i], NULL, body, &barrier), "create");
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < 6; i++)
			pthread_cancel(threads[i]);
		for (int i = 0; i < 6; i++) {
			void *result;
			pthread_join(threads[i], &result);
			truth_need(result == PTHREAD_CANCELED, "cancelled");
		}
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
