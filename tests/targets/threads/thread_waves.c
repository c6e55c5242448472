/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waves of short threads, joined or detached: far more over time than at once. */
#include "truth.h"
#include <pthread.h>
#include <semaphore.h>

TRUTH_SITE(site_joined)
TRUTH_SITE(site_detached)
TRUTH_SITE(site_handed_over)

enum { WAVES = 60, WIDTH = 10 };

static sem_t done;

static void *joined(void *argument)
{
	truth_free(argument);
	return site_joined(83);
}

static void *detached(void *argument)
{
	truth_free(argument);
	site_detached(71);
	sem_post(&done);
	return NULL;
}

int main(void)
{
	sem_init(&done, 0, 0);
	pthread_attr_t loose;
	pthread_attr_init(&loose);
	pthread_attr_setdetachstate(&loose, PTHREAD_CREATE_DETACHED);
	for (size_t wave = 0; wave < WAVES; wave++) {
		pthread_t threads[WIDTH], ignored;
		for (size_t i = 0; i < WIDTH; i++) {
			truth_need(!pthread_create(&threads[i], NULL, joined, site_handed_over(39)),
				"thread");
			truth_need(
				!pthread_create(&ignored, &loose, detached, site_handed_over(39)),
				"thread");
		}
		for (size_t i = 0; i < WIDTH; i++) {
			void *block;
			pthread_join(threads[i], &block);
			if (i % 2)
				truth_free(block);
			while (sem_wait(&done))
				;
		}
	}
	truth_threads(1 + WAVES * WIDTH * 2);
	truth_end(TRUTH_PLAIN);
	return 0;
}
