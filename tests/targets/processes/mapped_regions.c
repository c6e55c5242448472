/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of every kind, which grows by pages as it is told to: a line "WORD NUMBER" is answered by
 * "WORD ADDRESS", the beginning of what is meant, once that is done. Nothing else is touched for
 * it.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define RESERVED ((size_t)64 << 20)
#define BLOCK 1000u

/* A thread that does one thing at a time for the first one. */
struct helper {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int asked, done; /* counters */
	size_t pages;
	void *address;
};

static struct helper in_arena = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static struct helper on_stack = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static void *kept; /* a list of blocks, so that none is freed */

static char *map(size_t bytes, int flags, int file)
{
	char *ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
	if (ret == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return ret;
}

static char *map_private(size_t pages)
{
	return map(pages * PAGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static void touch(char *from, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		memset(from + i * PAGE, 'a' + (int)(i % 26), PAGE / 2);
}

static void *allocate(size_t pages)
{
	void *first = NULL;
	for (size_t bytes = 0; bytes < pages * PAGE; bytes += BLOCK + 8) {
		void **block = malloc(BLOCK);
		if (!block)
			exit(1);
		memset(block, 'x', BLOCK);
		*block = kept;
		kept = block;
		first = first ? first : block;
	}
	return first;
}

static size_t helper_wait(struct helper *helper, int seen)
{
	pthread_mutex_lock(&helper->lock);
	while (helper->asked == seen)
		pthread_cond_wait(&helper->changed, &helper->lock);
	size_t pages = helper->pages;
	pthread_mutex_unlock(&helper->lock);
	return pages;
}

static void helper_answer(struct helper *helper, void *address)
{
	pthread_mutex_lock(&helper->lock);
	helper->address = address;
	helper->done++;
	pthread_cond_broadcast(&helper->changed);
	pthread_mutex_unlock(&helper->lock);
}

static void *helper_ask(struct helper *helper, size_t pages)
{
	pthread_mutex_lock(&helper->lock);
	helper->pages = pages;
	helper->asked++;
	pthread_cond_broadcast(&helper->changed);
	while (helper->done != helper->asked)
		pthread_cond_wait(&helper->changed, &helper->lock);
	void *address = helper->address;
	pthread_mutex_unlock(&helper->lock);
	return address;
}

static void *arena_run(void *unused)
{
	(void)unused;
	for (int seen = 0;; seen++)
		helper_answer(&in_arena, allocate(helper_wait(&in_arena, seen)));
	return NULL;
}

/* Each call goes so many pages further down. */
static int stack_descend(int seen)
{
	if (seen > 1000)
		return 0;
	size_t pages = helper_wait(&on_stack, seen);
	volatile char room[pages * PAGE + 1];
	for (size_t i = 0; i <= pages; i++)
		room[pages * PAGE - i * PAGE] = 1;
	helper_answer(&on_stack, (void *)room);
	return stack_descend(seen + 1) + room[0];
}

static void *stack_run(void *unused)
{
	(void)unused;
	stack_descend(0);
	return NULL;
}

static void helper_start(struct helper *helper, void *(*run)(void *))
{
	if (pthread_create(&helper->thread, NULL, run, NULL))
		exit(1);
	helper_ask(helper, 1);
}

/* Grows by so many pages a second, by the clock, until it is told to stop. */
static atomic_int steady_pages;
static char *steady;
static void *steady_run(void *unused)
{
	struct timespec start, now;
	size_t touched = 0;
	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int rate; (rate = steady_pages);) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		double seconds = (double)(now.tv_sec - start.tv_sec) +
				 (double)(now.tv_nsec - start.tv_nsec) / 1e9;
		size_t due = (size_t)(seconds * rate);
		due = due < RESERVED / PAGE ? due : RESERVED / PAGE;
		touch(steady + touched * PAGE, due - touched);
		touched = due;
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	return steady + touched * PAGE;
}

struct growing {
	char *start;
	size_t touched;
};

static void *grow(struct growing *growing, size_t pages)
{
	touch(growing->start + growing->touched * PAGE, pages);
	growing->touched += pages;
	return growing->start;
}

static struct growing region, shared, file, moved;
static pthread_t steady_thread;

/* Writes to pages that were touched: other contents than they have, or the same ones. */
static void *region_write(size_t pages, int other)
{
	for (size_t i = 0; i < pages; i++)
		region.start[i * PAGE] = (char)((other ? 'A' : 'a') + (int)(i % 26));
	return region.start;
}

/* Pages of 2 MiB, where the machine has them for those who ask. */
static void *huge_touch(size_t count)
{
	size_t bytes = (size_t)2 << 20;
	char *start = map_private((count + 1) * bytes / PAGE);
	start += -(uintptr_t)start % bytes;
	madvise(start, count * bytes, MADV_HUGEPAGE);
	touch(start, count * bytes / PAGE);
	return start;
}

static void *region_protect(size_t page, int rights)
{
	mprotect(region.start + page * PAGE, PAGE, rights);
	return region.start;
}

/* To the place of an address range that was reserved for it. */
static void *region_move(size_t pages)
{
	char *to = map_private(4 * pages);
	char *at = mremap(
		moved.start, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	munmap(to + 2 * pages * PAGE, 2 * pages * PAGE);
	moved.start = at;
	return at;
}

static void *obey(const char *word, size_t number)
{
	if (!strcmp(word, "heap"))
		return allocate(number);
	if (!strcmp(word, "arena"))
		return helper_ask(&in_arena, number);
	if (!strcmp(word, "stack"))
		return helper_ask(&on_stack, number);
	if (!strcmp(word, "region"))
		return grow(&region, number);
	if (!strcmp(word, "shared"))
		return grow(&shared, number);
	if (!strcmp(word, "file"))
		return grow(&file, number);
	if (!strcmp(word, "movable"))
		return grow(&moved, number);
	if (!strcmp(word, "rewrite"))
		return region_write(number, 1);
	if (!strcmp(word, "repeat"))
		return region_write(number, 0);
	if (!strcmp(word, "huge"))
		return huge_touch(number);
	if (!strcmp(word, "split"))
		return region_protect(number, PROT_READ);
	if (!strcmp(word, "join"))
		return region_protect(number, PROT_READ | PROT_WRITE);
	if (!strcmp(word, "move"))
		return region_move(number);
	if (!strcmp(word, "block")) {
		char *block = malloc(number * PAGE);
		touch(block, number);
		return block;
	}
	if (!strcmp(word, "new")) {
		char *start = map_private(number);
		touch(start, number);
		return start;
	}
	if (!strcmp(word, "drop")) {
		munmap(shared.start, 4 * PAGE);
		return shared.start;
	}
	if (!strcmp(word, "steady")) {
		steady_pages = (int)number;
		pthread_create(&steady_thread, NULL, steady_run, NULL);
		return steady;
	}
	if (!strcmp(word, "stop")) {
		void *end;
		steady_pages = 0;
		pthread_join(steady_thread, &end);
		return end;
	}
	exit(2);
}

/* So many mappings, which the kernel can't join. */
static void many_map(size_t count)
{
	char *start = map_private(2 * count + 2);
	for (size_t i = 0; i < count; i++) {
		start[2 * i * PAGE] = 1;
		mprotect(start + (2 * i + 1) * PAGE, PAGE, PROT_NONE);
	}
}

int main(int argc, char **argv)
{
	char word[32];
	size_t number;
	int memory = memfd_create("known", 0), of_file = argc > 1 ? fileno(tmpfile()) : -1;
	if (ftruncate(memory, RESERVED) || (of_file >= 0 && ftruncate(of_file, RESERVED)))
		return 1;
	if (argc > 2)
		many_map(strtoul(argv[2], NULL, 10));
	helper_start(&in_arena, arena_run);
	helper_start(&on_stack, stack_run);
	region.start = map_private(RESERVED / PAGE);
	/* Apart, so that the kernel does not join them. */
	mprotect(region.start, PAGE, PROT_NONE);
	mprotect(region.start + RESERVED - PAGE, PAGE, PROT_NONE);
	region.start += PAGE;
	moved.start = map_private(32) + PAGE;
	mprotect(moved.start - PAGE, PAGE, PROT_NONE);
	mprotect(moved.start + 30 * PAGE, PAGE, PROT_NONE);
	steady = map_private(RESERVED / PAGE);
	mprotect(steady, PAGE, PROT_NONE);
	mprotect(steady + RESERVED - PAGE, PAGE, PROT_NONE);
	steady += PAGE;
	shared.start = map(RESERVED, MAP_SHARED, memory);
	if (of_file >= 0)
		file.start = map(RESERVED, MAP_SHARED, of_file);
	/* What reading a line needs is there before the first answer. */
	setvbuf(stdin, NULL, _IOLBF, 4096);
	setvbuf(stdout, NULL, _IOLBF, 4096);
	printf("pid %d\n", getpid());
	while (scanf("%31s %zu", word, &number) == 2) {
		void *address = obey(word, number);
		printf("%s %" PRIxPTR "\n", word, (uintptr_t)address);
	}
	return 0;
}
