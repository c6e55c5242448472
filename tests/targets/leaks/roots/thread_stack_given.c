/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads on stacks of the program's own (pthread_attr_setstack), in mapped memory and in a static
 * array: they hold what is in their frames, not what lies below, and data beside them hold. */
#include "parked.h"
#include <sys/mman.h>

LEAK_ROLE(in_mapped)
LEAK_ROLE(in_static)
LEAK_ROLE(below)
LEAK_ROLE(beside)

enum { STACK = 1 << 17 };

static struct {
	void *volatile before[2];
	char stack[STACK] __attribute__((aligned(4096)));
	void *volatile behind[2];
} given;

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

static void *thread(void *on_mapped)
{
	void *volatile mine = on_mapped ? in_mapped(216) : in_static(232);
	dig();
	park();
	(void)mine;
	return NULL;
}

TRUTH_FRAME static void start(void *stack, void *on_mapped)
{
	pthread_attr_t attributes;
	pthread_t one;
	pthread_attr_init(&attributes);
	truth_need(!pthread_attr_setstack(&attributes, stack, STACK), "pthread_attr_setstack");
	leak_loader_allocates = 1;
	truth_need(!pthread_create(&one, &attributes, thread, on_mapped), "pthread_create");
}

int main(void)
{
	char *mapped = mmap(
		NULL, STACK + 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(mapped != MAP_FAILED, "mmap");
	leak_put(mapped, 0, beside(248));
	leak_put(mapped + 0x1000 + STACK, 0, beside(248));
	given.before[0] = beside(248);
	given.behind[0] = beside(248);
	start(mapped + 0x1000, mapped);
	start(given.stack, NULL);
	parked_wait(2);
	LEAKS_ARE(LEAK_REACHABLE, in_mapped);
	LEAKS_ARE(LEAK_REACHABLE, in_static);
	LEAKS_ARE(LEAK_REACHABLE, beside);
	LEAKS_ARE(LEAK_DEFINITE, below);
	leaks_end();
	return 0;
}
