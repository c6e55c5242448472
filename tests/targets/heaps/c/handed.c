/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that others free than took them, while the takers wait, and more of them once half of the
 * takers have ended: they go into lists that no owner has seen yet. */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

#define THREADS 6u
#define ENDING 3u /* of them */
#define BLOCKS 2000u
#define HUGE (40ul << 20)

struct taken {
	void *blocks[BLOCKS];
	unsigned rows[BLOCKS];
};

static struct taken *taken[THREADS];
static char *huge;
static pthread_barrier_t done, handed;

static void *work(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	struct taken *own = taken[number];
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t size = 16 + i * 24 % 1500;
		own->blocks[i] = malloc(size);
		memset(own->blocks[i], 0, size);
		own->rows[i] = account(own->blocks[i], size, 'r', "kept");
	}
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&handed);
	while (number >= ENDING)
		pause();
	return NULL;
}

static void free_each(unsigned step, unsigned from)
{
	for (unsigned number = 0; number < THREADS; number++) {
		for (unsigned i = from; i < BLOCKS; i += step) {
			free(taken[number]->blocks[i]);
			account_freed(taken[number]->rows[i]);
			taken[number]->blocks[i] = NULL;
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	account_open(argc, argv);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	pthread_barrier_init(&handed, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++) {
		taken[i] = calloc(1, sizeof(*taken[i]));
		account(taken[i], sizeof(*taken[i]), 'r', "what one took");
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			abort();
	}
	pthread_barrier_wait(&done);
	free_each(3, 0);
	pthread_barrier_wait(&handed);
	for (unsigned i = 0; i < ENDING; i++)
		pthread_join(threads[i], NULL);
	free_each(3, 1);
	/* As large as that, each has a mapping of its own. */
	huge = malloc(HUGE);
	*huge = 'h';
	account(huge, HUGE, 'r', "huge");
	account_end();
	return !huge;
}
