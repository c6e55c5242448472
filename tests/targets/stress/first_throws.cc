/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yugabyte/yugabyte-db#33917, ray-project/ray#48671: threads throw their first exceptions at once;
 * libgcc allocates under its own lock, and a recorder that unwinds with libgcc waits for it.
 */
#include "stress.h"
TRUTH_SITE(site_in_catch)

static pthread_barrier_t barrier;

struct on_the_way {
	~on_the_way()
	{
		truth_free(site_in_catch(137));
	}
};

TRUTH_FRAME static void descend(unsigned depth)
{
	on_the_way here;
	if (!depth)
		throw depth;
	descend(depth - 1);
	TRUTH_STAY();
}

static void *body(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < 30; i++) {
		try {
			descend(i % 10);
		} catch (unsigned) {
			truth_free(site_in_catch(139));
		}
	}
	return argument;
}

int main()
{
	pthread_barrier_init(&barrier, nullptr, 6);
	stress_threads(6, body, nullptr);
	truth_end(TRUTH_PLAIN);
	return 0;
}
