/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that has ended and was joined holds nothing: its stack and its thread-local memory stay
 * mapped, for the next one, with all that stood in them. */
#include "parked.h"

LEAK_ROLE(on_ended_stack)
LEAK_ROLE(in_ended_local)
LEAK_ROLE(ended_argument)

static __thread void *volatile local;

/* Small, so that libc gives none of it back, and all is left as it was. */
enum { STACK = 1 << 16 };

static void *thread(void *argument)
{
	void *volatile mine[64];
	for (size_t i = 0; i < 64; i++)
		mine[i] = on_ended_stack(312);
	local = in_ended_local(328);
	(void)mine[0];
	(void)argument;
	return NULL;
}

TRUTH_FRAME static void story(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	truth_need(!pthread_attr_setstacksize(&attributes, STACK), "pthread_attr_setstacksize");
	pthread_t one;
	leak_loader_allocates = 1;
	truth_need(
		!pthread_create(&one, &attributes, thread, ended_argument(344)), "pthread_create");
	truth_need(!pthread_join(one, NULL), "pthread_join");
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, on_ended_stack);
	LEAKS_ARE(LEAK_DEFINITE, in_ended_local);
	LEAKS_ARE(LEAK_DEFINITE, ended_argument);
	leaks_end();
	return 0;
}
