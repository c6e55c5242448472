/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps, unmaps and moves memory in all shapes; says of each function how much of what it mapped is
 * still mapped, and how much it has mapped in all:
 *
 *     # expect: FUNCTION CALLS ALLOCATED LIVE
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB 1024ul
#define NOINLINE __attribute__((noinline, noclone))

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "maps_memory: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void expect(const char *function, size_t calls, size_t allocated, size_t live)
{
	printf("# expect: %s %zu %zu %zu\n", function, calls, allocated, live);
}

static NOINLINE void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(at != MAP_FAILED, "mmap");
	return at;
}

/* A piece out of the middle: two are left. */
static NOINLINE char *maps_with_hole(void)
{
	char *at = map(100 * KIB);
	need(!munmap(at + 40 * KIB, 20 * KIB), "munmap");
	return at;
}

/* The head and the tail; a size that is no multiple of the page. */
static NOINLINE char *maps_without_ends(void)
{
	char *at = map(64 * KIB);
	need(!munmap(at, 4 * KIB + 1), "munmap");
	need(!munmap(at + 60 * KIB, 4 * KIB), "munmap");
	return at;
}

static NOINLINE void maps_and_unmaps(void)
{
	for (int i = 0; i < 10; i++) {
		char *at = map(28 * KIB);
		need(!munmap(at, 28 * KIB), "munmap");
	}
}

/* Two mappings side by side, unmapped by one call across both. */
static NOINLINE char *maps_below(void)
{
	return map(256 * KIB);
}

static NOINLINE char *maps_over(char *at, size_t bytes)
{
	char *over = mmap(
		at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	need(over == at, "mmap over");
	return over;
}

static NOINLINE char *maps_to_grow(void)
{
	return map(40 * KIB);
}

static NOINLINE char *grows(char *at, size_t from, size_t to)
{
	char *moved = mremap(at, from, to, MREMAP_MAYMOVE);
	need(moved != MAP_FAILED, "mremap");
	return moved;
}

static NOINLINE char *maps_to_shrink(void)
{
	return map(80 * KIB);
}

static NOINLINE char *shrinks(char *at, size_t from, size_t to)
{
	need(mremap(at, from, to, 0) == at, "mremap");
	return at;
}

static NOINLINE char *maps_place(size_t bytes)
{
	return map(bytes);
}

static NOINLINE void moves_onto(char *at, size_t bytes, char *to)
{
	need(mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "mremap");
}

static NOINLINE char *maps_twice(void)
{
	return map(24 * KIB);
}

/* MREMAP_DONTUNMAP: both places stay. 0: the kernel is older than 5.7. */
static NOINLINE char *doubles(char *at, size_t bytes)
{
	char *moved = mremap(at, bytes, bytes, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, NULL);
	return moved == MAP_FAILED ? NULL : moved;
}

static NOINLINE void breaks_up(void)
{
	need(sbrk(48 * KIB) != (void *)-1, "sbrk");
}

static NOINLINE void breaks_down(size_t bytes)
{
	need(sbrk(-(intptr_t)bytes) != (void *)-1, "sbrk");
}

static NOINLINE void sets_break(size_t bytes)
{
	need(!brk((char *)sbrk(0) + bytes), "brk");
}

/* Calls that fail change nothing. */
static NOINLINE void fails(char *at)
{
	need(munmap(at + 1, 4 * KIB) == -1 && errno == EINVAL, "munmap in the middle of a page");
	errno = 0;
	need(munmap(at, 0) == -1 && errno == EINVAL, "munmap of nothing");
	errno = 0;
	need(mremap(at, 4 * KIB, 1ul << 60, 0) == MAP_FAILED && errno, "mremap to too much");
	errno = 0;
	need(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
			errno == EINVAL,
		"mmap of nothing");
}

static pthread_barrier_t all_here;

/* A function for each thread's calls would be the same one: one site. */
static NOINLINE char *maps_in_thread(size_t bytes)
{
	return map(bytes);
}

enum { THREADS = 4, TURNS = 500 };

/* Each unmaps what others have mapped, so that the kernel gives the places out again at once. */
static char *places[THREADS];

static void *race(void *argument)
{
	(void)argument;
	for (int turn = 0; turn < TURNS; turn++) {
		char *mine = maps_in_thread((1 + (size_t)turn % 3) * 4 * KIB);
		char *other = __atomic_exchange_n(&places[turn % THREADS], mine, __ATOMIC_ACQ_REL);
		if (other)
			need(!munmap(other, 4 * KIB), "munmap in a thread");
	}
	pthread_barrier_wait(&all_here);
	return NULL;
}

static NOINLINE void starts_threads(pthread_t *threads)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 512 * KIB);
	pthread_attr_setguardsize(&attributes, 4 * KIB);
	for (size_t i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], &attributes, race, NULL), "a thread");
	pthread_attr_destroy(&attributes);
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&all_here, NULL, THREADS);
	starts_threads(threads);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	size_t mapped = 0, left = 0;
	for (int turn = 0; turn < TURNS; turn++)
		mapped += (1 + (size_t)turn % 3) * 4 * KIB;
	/* The first page of each is unmapped but for the last ones that nobody took. */
	left = THREADS * (mapped - TURNS * 4 * KIB);
	for (size_t i = 0; i < THREADS; i++)
		left += places[i] ? 4 * KIB : 0;
	expect("maps_in_thread", THREADS * TURNS, THREADS * mapped, left);
	expect("starts_threads", THREADS, THREADS * 516 * KIB, THREADS * 516 * KIB);
}

static NOINLINE char *maps_file(size_t bytes)
{
	FILE *file = tmpfile();
	need(file && !ftruncate(fileno(file), (off_t)bytes), "a file");
	char *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(file), 0);
	need(at != MAP_FAILED, "mmap of a file");
	fclose(file);
	return at;
}

static NOINLINE char *reserves(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	need(at != MAP_FAILED, "mmap");
	return at;
}

int main(int argc, char **argv)
{
	char *kept = maps_with_hole();
	expect("maps_with_hole", 1, 100 * KIB, 80 * KIB);
	maps_without_ends();
	expect("maps_without_ends", 1, 64 * KIB, 52 * KIB);
	maps_and_unmaps();
	expect("maps_and_unmaps", 10, 280 * KIB, 0);
	char *below = maps_below();
	char *over = maps_over(below + 64 * KIB, 32 * KIB);
	need(!munmap(over + 16 * KIB, 32 * KIB), "munmap across both");
	expect("maps_below", 1, 256 * KIB, 208 * KIB);
	expect("maps_over", 1, 32 * KIB, 16 * KIB);
	/* What comes next to it can't be known: it moves, or grows in place. */
	grows(maps_to_grow(), 40 * KIB, 400 * KIB);
	expect("maps_to_grow", 1, 40 * KIB, 0);
	expect("grows", 1, 400 * KIB, 400 * KIB);
	shrinks(maps_to_shrink(), 80 * KIB, 12 * KIB);
	expect("maps_to_shrink", 1, 80 * KIB, 12 * KIB);
	char *place = maps_place(60 * KIB);
	moves_onto(maps_place(20 * KIB), 20 * KIB, place);
	expect("maps_place", 2, 80 * KIB, 40 * KIB);
	expect("moves_onto", 1, 20 * KIB, 20 * KIB);
	if (doubles(maps_twice(), 24 * KIB)) {
		expect("maps_twice", 1, 24 * KIB, 24 * KIB);
		expect("doubles", 1, 24 * KIB, 24 * KIB);
	}
	breaks_up();
	breaks_down(16 * KIB);
	expect("breaks_up", 1, 48 * KIB, 32 * KIB);
	sets_break(20 * KIB);
	expect("sets_break", 1, 20 * KIB, 20 * KIB);
	maps_file(36 * KIB);
	expect("maps_file", 1, 36 * KIB, 36 * KIB);
	reserves(1024 * KIB * KIB);
	expect("reserves", 1, 1024 * KIB * KIB, 1024 * KIB * KIB);
	fails(kept);
	run_threads();
	free(malloc(1000));
	(void)argc;
	(void)argv;
	return 0;
}
