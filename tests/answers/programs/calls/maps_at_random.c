/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads map, unmap and move ranges at random, each in a region of its own, over what is there:
 * pieces, covers, calls across several mappings and holes, calls that fail. Each keeps a table of
 * whose page is whose, which is compared with /proc/self/maps. Says as maps_memory.c:
 *
 *     # expect: FUNCTION CALLS ALLOCATED LIVE
 *
 * With the word "grow": maps a little more all the time, and unmaps the last piece. With "stacks":
 * makes many threads, whose stacks libc keeps, reuses and unmaps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define NOINLINE __attribute__((noinline, noclone))
#define ACCESS (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { THREADS = 3, TURNS = 3000, PAGES = 512, MOST = 48, FORK_EVERY = 500 };
enum owner { NOBODY, MAPS_A, MAPS_B, MAPS_FILE, MOVES, DOUBLES, GROWS, OWNERS };
static const char *const names[OWNERS] = {[MAPS_A] = "maps_a",
	[MAPS_B] = "maps_b",
	[MAPS_FILE] = "maps_shared",
	[MOVES] = "moves",
	[DOUBLES] = "doubles",
	[GROWS] = "grows"};

struct region {
	char *start;
	uint64_t random;
	unsigned char owners[PAGES];
	size_t calls[OWNERS], allocated[OWNERS];
};

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "maps_at_random: %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t below(struct region *r, size_t most)
{
	r->random = r->random * 6364136223846793005ul + 1442695040888963407ul;
	return (size_t)(r->random >> 33) % most;
}

static void own(struct region *r, size_t page, size_t pages, enum owner owner)
{
	memset(r->owners + page, owner, pages);
	r->calls[owner]++;
	r->allocated[owner] += pages * PAGE;
}

static NOINLINE void *maps_a(void *at, size_t bytes)
{
	return mmap(at, bytes, ACCESS, PRIVATE | MAP_FIXED, -1, 0);
}

static NOINLINE void *maps_b(void *at, size_t bytes)
{
	return mmap(at, bytes, PROT_READ, PRIVATE | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static NOINLINE void *maps_shared(void *at, size_t bytes)
{
	return mmap(at, bytes, ACCESS, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static NOINLINE void *moves(void *at, size_t old_bytes, size_t bytes, void *to)
{
	return mremap(at, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static NOINLINE void *doubles(void *at, size_t bytes, void *to)
{
	return mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
}

static NOINLINE void *grows(void *at, size_t old_bytes, size_t bytes)
{
	return mremap(at, old_bytes, bytes, 0);
}

/* A call that fails may have unmapped its target already (the kernel's mremap_to()). */
static void look_again(struct region *r, size_t page, size_t pages)
{
	unsigned char there;
	for (size_t i = page; i < page + pages; i++)
		if (mincore(r->start + i * PAGE, PAGE, &there) && errno == ENOMEM)
			r->owners[i] = NOBODY;
}

static void map_some(struct region *r, size_t page, size_t pages)
{
	static void *(*const ways[])(void *, size_t) = {maps_a, maps_b, maps_shared};
	size_t way = below(r, 3);
	char *at = r->start + page * PAGE;
	need(ways[way](at, pages * PAGE - below(r, PAGE)) == at, "mmap");
	own(r, page, pages, MAPS_A + way);
}

static void unmap_some(struct region *r, size_t page, size_t pages)
{
	need(!munmap(r->start + page * PAGE, pages * PAGE), "munmap");
	memset(r->owners + page, NOBODY, pages);
}

static void move_some(struct region *r, size_t page, size_t pages)
{
	size_t to = below(r, PAGES - MOST), more = 1 + below(r, MOST);
	int twice = below(r, 2);
	char *at = r->start + page * PAGE, *target = r->start + to * PAGE;
	more = twice ? pages : more;
	if (to < page + pages && page < to + more)
		return;
	void *moved = twice ? doubles(at, pages * PAGE, target)
			    : moves(at, pages * PAGE, more * PAGE, target);
	if (moved == MAP_FAILED) {
		look_again(r, to, more);
		look_again(r, page, pages);
		return;
	}
	if (!twice)
		memset(r->owners + page, NOBODY, pages);
	own(r, to, more, twice ? DOUBLES : MOVES);
	look_again(r, to, more); /* from Linux 6.17 on there may be holes in what is moved */
}

static void resize_some(struct region *r, size_t page, size_t pages)
{
	size_t want = 1 + below(r, MOST);
	if (page + want > PAGES)
		return;
	char *at = r->start + page * PAGE;
	if (grows(at, pages * PAGE, want * PAGE) == MAP_FAILED)
		look_again(r, page, pages > want ? pages : want);
	else if (want <= pages)
		memset(r->owners + page + want, NOBODY, pages - want);
	else
		own(r, page, want, GROWS);
}

/* What a child unmaps is its own copy. */
static void fork_once(struct region *r)
{
	pid_t child = fork();
	if (!child) {
		munmap(r->start, PAGES * PAGE);
		_exit(0);
	}
	need(child > 0 && waitpid(child, NULL, 0) == child, "fork");
}

static size_t bytes_in_maps(const struct region *r)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, low = (uint64_t)r->start, high = low + PAGES * PAGE;
	size_t sum = 0;
	char line[4096];
	need(maps != NULL, "/proc/self/maps");
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || end <= low || start >= high)
			continue;
		sum += (end < high ? end : high) - (start > low ? start : low);
	}
	fclose(maps);
	return sum;
}

static void *work(void *argument)
{
	static void (*const steps[])(struct region *, size_t, size_t) = {
		map_some, map_some, unmap_some, move_some, resize_some};
	struct region *r = argument;
	for (int turn = 0; turn < TURNS; turn++) {
		size_t page = below(r, PAGES - MOST), pages = 1 + below(r, MOST);
		steps[below(r, sizeof(steps) / sizeof(*steps))](r, page, pages);
		if (turn % FORK_EVERY == 0)
			fork_once(r);
	}
	return NULL;
}

static void say(const struct region *regions)
{
	for (int owner = MAPS_A; owner < OWNERS; owner++) {
		size_t calls = 0, allocated = 0, live = 0;
		for (int i = 0; i < THREADS; i++) {
			calls += regions[i].calls[owner];
			allocated += regions[i].allocated[owner];
			for (int page = 0; page < PAGES; page++)
				live += regions[i].owners[page] == owner ? PAGE : 0;
		}
		printf("# expect: %s %zu %zu %zu\n", names[owner], calls, allocated, live);
	}
}

static NOINLINE void *maps_more(void)
{
	void *at = mmap(NULL, 16 * PAGE, ACCESS, PRIVATE, -1, 0);
	need(at != MAP_FAILED, "mmap");
	return at;
}

static int grow_all_the_time(void)
{
	void *latest = NULL;
	for (int i = 0; i < 150; i++) {
		latest = maps_more();
		usleep(2000);
	}
	return munmap(latest, 16 * PAGE); /* Massif sees a peak when something goes */
}

enum { ROUNDS = 100, AT_ONCE = 16 };

static void *map_a_little(void *argument)
{
	free(malloc(100)); /* an arena of this thread, which takes the place of stacks */
	return mmap(NULL, 3 * PAGE, ACCESS, PRIVATE, -1, 0);
}

static int make_threads(void)
{
	pthread_t threads[AT_ONCE];
	void *mapped;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			need(!pthread_create(&threads[i], NULL, map_a_little, NULL), "a thread");
		for (int i = 0; i < AT_ONCE; i++) {
			pthread_join(threads[i], &mapped);
			need(!munmap(mapped, 3 * PAGE), "munmap");
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct region regions[THREADS];
	pthread_t threads[THREADS];
	if (argc > 1)
		return strcmp(argv[1], "grow") ? make_threads() : grow_all_the_time();
	for (size_t i = 0; i < THREADS; i++) {
		/* Where the kernel puts nothing by itself. */
		regions[i] = (struct region){(char *)(0x10000000000ul + (i << 32)), i + 1};
		need(!pthread_create(&threads[i], NULL, work, &regions[i]), "a thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		size_t pages = 0;
		for (int page = 0; page < PAGES; page++)
			pages += regions[i].owners[page] != NOBODY;
		need(pages * PAGE == bytes_in_maps(&regions[i]), "the kernel says otherwise");
	}
	say(regions);
	return 0;
}
