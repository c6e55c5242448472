/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that the frames of a waiting thread hold are reachable: on a stack that libc made, and on
 * one that the program made itself. */
#include "parked.h"
#include <sys/mman.h>

LEAK_ROLE(on_usual_stack)
LEAK_ROLE(on_own_stack)
LEAK_ROLE(behind_stack)

enum { STACK = 1 << 17 };

TRUTH_FRAME static void *hold(void *(*role)(size_t), size_t bytes)
{
	void *volatile mine[9];
	for (size_t i = 0; i < 9; i++) {
		mine[i] = role(bytes);
		leak_put(mine[i], i, behind_stack(40));
	}
	park();
}

static void *usual(void *unused)
{
	(void)unused;
	return hold(on_usual_stack, 216);
}

static void *own(void *unused)
{
	(void)unused;
	return hold(on_own_stack, 232);
}

int main(void)
{
	parked_start(usual, NULL);
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(stack != MAP_FAILED, "mmap");
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	truth_need(!pthread_attr_setstack(&attributes, stack, STACK), "pthread_attr_setstack");
	pthread_t thread;
	truth_need(!pthread_create(&thread, &attributes, own, NULL), "pthread_create");
	parked_wait(2);
	LEAKS_ARE(LEAK_REACHABLE, on_usual_stack);
	LEAKS_ARE(LEAK_REACHABLE, on_own_stack);
	LEAKS_ARE(LEAK_REACHABLE, behind_stack);
	leaks_end();
	return 0;
}
