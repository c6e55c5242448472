/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grows in ways that a watcher of page faults gets wrong, once it is told to on stdin, and says
 * what stays: "# expect: FUNCTION BYTES", FUNCTION being that which touched the memory;
 * "# mapped: FUNCTION CALL BYTES" and "# unmapped: …" of mappings.
 *
 *	grown [huge]     says "ready PID"; with a line on stdin does it, says "done"; with the next
 *	                 one ends. `huge`: one huge page is touched, and nothing else
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define THREADS 7
#define LATER_THREADS 5

#define SITE __attribute__((noinline, noclone)) static

static pthread_barrier_t started;

static void expect(const char *function, size_t pages)
{
	printf("# expect: %s %zu\n", function, pages * PAGE);
}

static char *map(size_t pages)
{
	char *memory = mmap(
		NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, pages * PAGE, MADV_NOHUGEPAGE))
		abort();
	return memory;
}

static void touch(volatile char *memory, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

/* Each function touches in its own code: touch() is inlined. */
SITE void site_mapped(void)
{
	touch(map(1001), 1001);
}

/* Only every third page. */
SITE void site_sparse(void)
{
	volatile char *memory = map(300);
	for (size_t i = 0; i < 300; i += 3)
		memory[i * PAGE] = 1;
}

/* Read as zeros first, which brings no page of its own. */
SITE void site_written(volatile char *memory)
{
	touch(memory, 50);
}

SITE int site_read(const volatile char *memory)
{
	int sum = 0;
	for (size_t i = 0; i < 90; i++)
		sum += memory[i * PAGE];
	return sum;
}

SITE void site_given_back(void)
{
	char *memory = map(400);
	touch(memory, 400);
	if (madvise(memory, 399 * PAGE, MADV_DONTNEED))
		abort();
}

SITE void site_unmapped(void)
{
	char *memory = map(500);
	touch(memory, 500);
	if (munmap(memory, 500 * PAGE))
		abort();
}

/* By the kernel, in a system call. */
SITE void site_filled(int from, char *memory)
{
	if (read(from, memory, 12 * PAGE) != 12 * PAGE)
		abort();
}

SITE void *site_thread(void *memory)
{
	touch(memory, 33);
	return NULL;
}

SITE void *site_later_thread(void *memory)
{
	touch(memory, 21);
	return NULL;
}

/* The parent's pages are copied at a write; it has no more of them afterwards. */
SITE void site_copied(volatile char *memory, size_t pages)
{
	touch(memory, pages);
}

SITE void *site_untouched(void)
{
	return calloc(1, 20000000);
}

SITE int site_deep(int depth)
{
	volatile char room[PAGE];
	room[0] = (char)depth;
	return depth ? site_deep(depth - 1) + room[0] : 0;
}

static void fill_from_pipe(void)
{
	static char words[12 * PAGE];
	int ends[2];
	if (pipe(ends) || write(ends[1], words, sizeof(words)) != sizeof(words))
		abort();
	site_filled(ends[0], map(12));
	close(ends[0]);
	close(ends[1]);
}

static void run_threads(pthread_t *threads)
{
	/* They were there before the memory: so were their stacks. */
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *thread_run(void *memory)
{
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&started);
	return site_thread(memory);
}

/* Threads that start threads, when all are followed already. */
static void *thread_start_another(void *memory)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, site_later_thread, memory))
		abort();
	pthread_join(thread, NULL);
	return NULL;
}

static void run_later_threads(void)
{
	pthread_t threads[LATER_THREADS];
	for (int i = 0; i < LATER_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, thread_start_another, map(21)))
			abort();
	}
	for (int i = 0; i < LATER_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void copy_after_fork(volatile char *before)
{
	int end[2];
	char word;
	if (pipe(end))
		abort();
	pid_t child = fork();
	if (!child) {
		close(end[1]);
		(void)!read(end[0], &word, 1);
		_exit(0);
	}
	site_copied(before, 200);
	close(end[0]);
	close(end[1]);
	waitpid(child, NULL, 0);
}

static void run_all(volatile char *before)
{
	volatile char *zeros = map(90);
	site_mapped();
	site_sparse();
	if (site_read(zeros))
		abort();
	site_written(zeros);
	site_given_back();
	site_unmapped();
	fill_from_pipe();
	if (!site_untouched() || site_deep(150) == 12345)
		abort();
	run_later_threads();
	copy_after_fork(before);
	expect("site_mapped", 1001);
	expect("site_sparse", 100);
	expect("site_written", 50);
	expect("site_read", 0);
	expect("site_given_back", 1);
	expect("site_unmapped", 0);
	expect("site_filled", 12);
	expect("site_copied", 0);
	expect("site_untouched", 1); /* the page with the chunk's header */
	expect("site_thread", 33 * THREADS);
	expect("site_later_thread", 21 * LATER_THREADS);
	printf("# unmapped: site_unmapped munmap %lu\n", 500 * PAGE);
	printf("# unmapped: site_given_back madvise %lu\n", 399 * PAGE);
	printf("# mapped: site_untouched mmap %lu\n", (20000000 + 16 + PAGE - 1) / PAGE * PAGE);
}

SITE void site_huge(volatile char *memory)
{
	memory[77 * PAGE] = 1;
}

static void run_huge(void)
{
	char *memory =
		mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start = (char *)(((uintptr_t)memory + HUGE - 1) & ~(HUGE - 1));
	if (memory == MAP_FAILED || madvise(start, HUGE, MADV_HUGEPAGE))
		abort();
	site_huge(start);
	expect("site_huge", HUGE / PAGE);
}

int main(int argc, char **argv)
{
	char line[64];
	static char output[65536];
	pthread_t threads[THREADS];
	volatile char *before = map(200);
	int is_huge = argc > 1 && !strcmp(argv[1], "huge");
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	touch(before, 200);
	pthread_barrier_init(&started, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, thread_run, map(33)))
			abort();
	}
	pthread_barrier_wait(&started);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (is_huge)
		run_huge();
	pthread_barrier_wait(&started);
	run_threads(threads);
	if (!is_huge)
		run_all(before);
	printf("done\n");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
