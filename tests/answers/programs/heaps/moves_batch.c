/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread ends, and tcmalloc moves what it has cached to where all threads take from. Amid that it
 * is held: the function to which a batch is handed is this program's. How many blocks the batch
 * has, and how many of that size are in use, is printed. To be started with tcmalloc.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES 3000u
#define KEPT 200u
#define FREED 400u

void *kept[KEPT];
static uintptr_t freed[FREED]; /* not their addresses: nothing leads to them */
static int leaves;

void _ZN8tcmalloc15CentralFreeList11InsertRangeEPvS1_i(
	void *list, void *start, void *end, int count)
{
	for (size_t i = 0; leaves && i < FREED; i++) {
		if (~freed[i] != (uintptr_t)start)
			continue;
		char line[64];
		int length = snprintf(line, sizeof(line), "%d %u\n", count, KEPT);
		if (write(1, line, (size_t)length) == length)
			pause();
	}
	static void (*insert)(void *, void *, void *, int);
	if (!insert)
		*(void **)&insert =
			dlsym(RTLD_NEXT, "_ZN8tcmalloc15CentralFreeList11InsertRangeEPvS1_i");
	insert(list, start, end, count);
}

static void *work(void *context)
{
	for (size_t i = 0; i < KEPT; i++)
		kept[i] = malloc(BYTES);
	for (size_t i = 0; i < FREED; i++)
		freed[i] = ~(uintptr_t)malloc(BYTES);
	for (size_t i = 0; i < FREED; i++)
		free((void *)~freed[i]);
	leaves = 1;
	return context;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
}
