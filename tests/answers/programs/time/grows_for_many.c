/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One function grows a list for twelve callers in turn, so that none of them has a tenth of it.
 * Another one, a wrapper of malloc for two, grows by one of them as the other shrinks.
 *
 * Truth: list_add holds 64 B more each millisecond, 125 KiB in the end.
 */
#include <stdlib.h>
#include <unistd.h>

struct node {
	struct node *next;
	char text[56];
};

static struct node *list;

static void list_add(void)
{
	struct node *node = malloc(sizeof(*node));
	node->next = list;
	list = node;
}

#define CALLER(n)                                                                                  \
	static void caller_##n(void)                                                               \
	{                                                                                          \
		list_add();                                                                        \
		__asm__ volatile("");                                                              \
	}
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
CALLER(8)
CALLER(9)
CALLER(10)
CALLER(11)
CALLER(12)

static void *take(size_t size)
{
	void *block = malloc(size);
	return block;
}

static void *grow(void)
{
	void *block = take(100);
	return block;
}

static void *shrink(void)
{
	void *block = take(100);
	return block;
}

int main(void)
{
	static void *shrinking[2000];
	void (*callers[])(void) = {caller_1, caller_2, caller_3, caller_4, caller_5, caller_6,
		caller_7, caller_8, caller_9, caller_10, caller_11, caller_12};
	for (int i = 0; i < 2000; i++)
		shrinking[i] = shrink();
	for (int i = 0; i < 2000; i++) {
		callers[i % 12]();
		grow();
		free(shrinking[i]);
		usleep(1000);
	}
	return 0;
}
