/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of threads without a page below that nobody may touch, which the kernel joins with one
 * another: what lies below a waiting thread's frames, and what an ended one has left, holds
 * nothing. */
#include "parked.h"

LEAK_ROLE(in_frame)
LEAK_ROLE(below)
LEAK_ROLE(in_local)
LEAK_ROLE(on_ended_stack)
LEAK_ROLE(in_ended_local)
LEAK_ROLE(ended_argument)

enum { STACK = 1 << 17, THREADS = 6 };

static __thread void *volatile local;

TRUTH_FRAME static void lie_below(void)
{
	void *volatile mine[40];
	for (size_t i = 0; i < 40; i++)
		mine[i] = below(312);
	(void)mine[0];
}

/* Deeper than what the thread does afterwards. */
TRUTH_FRAME static void dig(void)
{
	volatile char deep[40000];
	deep[0] = 1;
	lie_below();
	(void)deep[0];
}

static void *wait_there(void *argument)
{
	void *volatile mine = in_frame(104);
	local = in_local(328);
	dig();
	park();
	(void)mine;
	return argument;
}

static void *end_at_once(void *argument)
{
	void *volatile mine[8];
	for (size_t i = 0; i < 8; i++)
		mine[i] = on_ended_stack(296);
	local = in_ended_local(344);
	(void)mine[0];
	(void)argument;
	return NULL;
}

TRUTH_FRAME static void story(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setguardsize(&attributes, 0);
	truth_need(!pthread_attr_setstacksize(&attributes, STACK), "pthread_attr_setstacksize");
	pthread_t threads[2 * THREADS];
	leak_loader_allocates = 1;
	for (size_t i = 0; i < 2 * THREADS; i++)
		truth_need(
			!pthread_create(&threads[i], &attributes, i % 2 ? wait_there : end_at_once,
				i % 2 ? NULL : ended_argument(360)),
			"pthread_create");
	for (size_t i = 0; i < 2 * THREADS; i += 2)
		truth_need(!pthread_join(threads[i], NULL), "pthread_join");
	parked_wait(THREADS);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_frame);
	LEAKS_ARE(LEAK_REACHABLE, in_local);
	LEAKS_ARE(LEAK_DEFINITE, below);
	LEAKS_ARE(LEAK_DEFINITE, on_ended_stack);
	LEAKS_ARE(LEAK_DEFINITE, in_ended_local);
	LEAKS_ARE(LEAK_DEFINITE, ended_argument);
	leaks_end();
	return 0;
}
