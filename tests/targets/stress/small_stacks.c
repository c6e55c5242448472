/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray PR #639 (a stack overflow in the recorder): threads with the smallest stacks
 * there are allocate when little of them is left.
 */
#include "stress.h"
#include <limits.h>

TRUTH_SITE(site_low)

TRUTH_FRAME static void descend(unsigned depth)
{
	char space[256];
	__asm__ volatile("" : : "r"(space) : "memory");
	if (depth)
		descend(depth - 1);
	else
		truth_free(site_low(127));
	TRUTH_STAY();
}

static void *body(void *argument)
{
	for (int i = 0; i < 20; i++)
		descend(12);
	return argument;
}

int main(void)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
	for (int round = 0; round < 4; round++) {
		pthread_t threads[16];
		for (int i = 0; i < 16; i++)
			truth_need(!pthread_create(&threads[i], &small, body, NULL), "create");
		for (int i = 0; i < 16; i++)
			pthread_join(threads[i], NULL);
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
