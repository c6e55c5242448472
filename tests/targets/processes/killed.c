/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the test that kills: two threads allocate without end; the size of each allocation is its
 * serial number (SERIAL_BASE + 2 * serial + thread), so the sizes of a recording tell which events
 * it holds. Each thread keeps its own count of finished calls in the file that argument 1 names,
 * mapped and shared, which outlives it. Blocks are never touched and soon freed, so large sizes
 * cost nothing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Above every size that libc asks for in this program. */
enum { SERIAL_BASE = 4096, KEPT = 64 };

struct shared {
	uint64_t finished[2];
};

static struct shared *shared;

__attribute__((noinline)) static void *serial_site(uint64_t serial, uint64_t thread)
{
	void *volatile block = malloc(SERIAL_BASE + 2 * serial + thread);
	return block;
}

static void *work(void *argument)
{
	uint64_t thread = (uint64_t)(uintptr_t)argument;
	void *kept[KEPT] = {NULL};
	for (uint64_t serial = 0;; serial++) {
		free(kept[serial % KEPT]);
		kept[serial % KEPT] = serial_site(serial, thread);
		__atomic_store_n(&shared->finished[thread], serial + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	int file = count == 2 ? open(arguments[1], O_RDWR | O_CLOEXEC) : -1;
	if (file < 0 || ftruncate(file, 4096))
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		return 2;
	close(file);
	pthread_t other;
	if (pthread_create(&other, NULL, work, (void *)1))
		return 2;
	work(NULL);
	return 0;
}
