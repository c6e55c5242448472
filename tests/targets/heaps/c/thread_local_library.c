/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library with thread-local variables, which thread_local.c is linked with, or loads. */
#include "thread_local.h"

struct entry {
	struct entry *next;
	char name[120];
};

static __thread long numbers[7] = {1, 2, 3};
static __thread struct {
	long count;
	struct entry *first;
} cache;

static void fill(unsigned thread, const char *variable)
{
	cache.first = calloc(1, sizeof(*cache.first));
	cache.count = 1;
	numbers[0]++;
	thread_local_account(cache.first, sizeof(*cache.first), thread, variable);
	__asm__ volatile("" : : "r"(&cache), "r"(numbers) : "memory");
}

void linked_fill(unsigned thread)
{
	fill(thread, "cache + 8");
}

void loaded_fill(unsigned thread)
{
	fill(thread, "loaded cache + 8");
}
