/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates in ways that a watcher by probes gets wrong, once it is told to on stdin, and says what
 * stays: "# expect: FUNCTION BYTES BLOCKS", FUNCTION being that which called the allocator.
 *
 *	watched     says "ready PID"; with a line on stdin does it, says "done"; with the next
 *	            one ends
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 100
#define PAGE 4096ul

#define SITE __attribute__((noinline, noclone)) static

static void *volatile kept[1024];
static unsigned kept_count;

static void keep(void *block)
{
	if (!block)
		abort();
	kept[kept_count++] = block;
}

static void expect(const char *function, size_t bytes, size_t blocks)
{
	printf("# expect: %s %zu %zu\n", function, bytes, blocks);
}

SITE void site_malloc(void)
{
	keep(malloc(333));
}

SITE void site_calloc(void)
{
	keep(calloc(7, 101));
}

SITE void site_memalign_to(void)
{
	void *block = NULL;
	if (posix_memalign(&block, 64, 1234))
		abort();
	keep(block);
}

SITE void site_aligned_alloc(void)
{
	keep(aligned_alloc(64, 640));
}

SITE void site_memalign(void)
{
	keep(memalign(64, 641));
}

SITE void site_valloc(void)
{
	keep(valloc(4097));
}

SITE void site_pvalloc(void)
{
	keep(pvalloc(103));
}

SITE void site_reallocarray(void)
{
	keep(reallocarray(NULL, 10, 33));
}

/* Above the threshold from which malloc maps memory. */
SITE void site_large(void)
{
	keep(malloc(20000000));
}

SITE void *site_thread(void *unused)
{
	(void)unused;
	return malloc(1111);
}

SITE void *site_before_realloc(void)
{
	return malloc(555);
}

SITE void *site_failing_realloc(void *block)
{
	if (realloc(block, SIZE_MAX / 4))
		abort();
	return block;
}

SITE void site_realloc(void)
{
	void *block = malloc(77);
	keep(realloc(block, 7777));
}

SITE void *site_partly_unmapped(void)
{
	char *memory =
		mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || munmap(memory + PAGE, 3 * PAGE))
		abort();
	return memory;
}

SITE void *site_freed_elsewhere(void)
{
	return malloc(99);
}

SITE void site_temporary(void)
{
	void *volatile block = malloc(777);
	free(block);
}

static void *free_in_thread(void *block)
{
	free(block);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		void *block;
		if (pthread_create(&threads[i], NULL, site_thread, NULL))
			abort();
		pthread_join(threads[i], &block);
		keep(block);
	}
	pthread_t thread;
	if (pthread_create(&thread, NULL, free_in_thread, site_freed_elsewhere()))
		abort();
	pthread_join(thread, NULL);
}

static void run_all(void)
{
	for (int i = 0; i < 10; i++)
		site_malloc();
	site_calloc();
	site_memalign_to();
	site_aligned_alloc();
	site_memalign();
	site_valloc();
	site_pvalloc();
	site_reallocarray();
	site_large();
	for (int i = 0; i < 1000; i++)
		site_temporary();
	keep(site_failing_realloc(site_before_realloc()));
	site_realloc();
	keep(site_partly_unmapped());
	run_threads();
}

int main(void)
{
	char line[64];
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	run_all();
	expect("site_malloc", 10 * 333, 10);
	expect("site_calloc", 7 * 101, 1);
	expect("site_memalign_to", 1234, 1);
	expect("site_aligned_alloc", 640, 1);
	expect("site_memalign", 641, 1);
	expect("site_valloc", 4097, 1);
	expect("site_pvalloc", 103, 1);
	expect("site_reallocarray", 330, 1);
	expect("site_large", 20000000, 1);
	expect("site_before_realloc", 555, 1);
	expect("site_realloc", 7777, 1);
	expect("site_thread", 1111 * THREADS, THREADS);
	expect("site_partly_unmapped", 7 * PAGE, 1);
	printf("done\n");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
