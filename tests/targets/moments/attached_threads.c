/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that end, or have little room, while the program is attached. It does what it reads, a
 * word and a number a line, and answers with a number. Linked with signal_safe_allocator.c, too,
 * whose calls may be cancelled anywhere.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAINT 0xa5
#define DEEP_BYTES (64u << 10)

static void *volatile sink;
static atomic_long begun, cleaned, handled, done;

/* All kinds of events. */
static __attribute__((noinline)) void site_round(unsigned number)
{
	sink = malloc(40 + number % 64);
	sink = realloc(sink, 200);
	free(sink);
	sink = calloc(2, 30);
	free(sink);
}

static void count_cleaned(void *unused)
{
	(void)unused;
	atomic_fetch_add(&cleaned, 1);
}

static void *cancelled(void *type)
{
	pthread_setcanceltype((int)(intptr_t)type, NULL);
	pthread_cleanup_push(count_cleaned, NULL);
	for (unsigned i = 0;; i++) {
		site_round(i);
		if (i == 0)
			atomic_fetch_add(&begun, 1);
		if ((int)(intptr_t)type == PTHREAD_CANCEL_DEFERRED)
			pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void wait_us(long us)
{
	const struct timespec time = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&time, NULL);
}

/* Threads of which each is cancelled at some moment; returns how many have cleaned up. */
static long cancel_threads(long count, int type)
{
	long before = atomic_load(&cleaned);
	for (long i = 0; i < count; i++) {
		pthread_t thread;
		void *result;
		long until = atomic_load(&begun) + 1;
		if (pthread_create(&thread, NULL, cancelled, (void *)(intptr_t)type))
			abort();
		while (atomic_load(&begun) < until)
			sched_yield();
		wait_us(i * 37 % 400);
		pthread_cancel(thread);
		if (pthread_join(thread, &result) || result != PTHREAD_CANCELED)
			abort();
	}
	return atomic_load(&cleaned) - before;
}

static void *round_in_thread(void *unused)
{
	for (unsigned i = 0; i < 1000; i++)
		site_round(i);
	atomic_fetch_add(&done, 1);
	return unused;
}

/* Threads with as little stack as there may be. */
static long small_stacks(long count)
{
	pthread_attr_t small;
	long before = atomic_load(&done);
	pthread_attr_init(&small);
	if (pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN))
		abort();
	for (long i = 0; i < count; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, round_in_thread, NULL) ||
			pthread_join(thread, NULL))
			abort();
	}
	pthread_attr_destroy(&small);
	return atomic_load(&done) - before;
}

static void handle(int number)
{
	(void)number;
	site_round((unsigned)atomic_fetch_add(&handled, 1));
}

/* A stack of a handler, with a page below it that nobody may touch; painted. */
static unsigned char *stack_make(size_t bytes)
{
	size_t page = 4096, whole = (bytes + page - 1) / page * page;
	unsigned char *at = mmap(
		NULL, page + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at, page, PROT_NONE))
		abort();
	memset(at + page, PAINT, whole);
	return at + page;
}

static size_t untouched(const unsigned char *stack, size_t bytes)
{
	size_t found = 0;
	while (found < bytes && stack[found] == PAINT)
		found++;
	return found;
}

/* How much of its stack a handler takes that allocates (or not), with the kernel's part. */
static long handler_depth(size_t bytes, long times, bool allocates)
{
	unsigned char *stack = stack_make(bytes);
	const stack_t use = {.ss_sp = stack, .ss_size = bytes}, none = {.ss_flags = SS_DISABLE};
	struct sigaction action = {
		.sa_handler = allocates ? handle : SIG_IGN, .sa_flags = SA_ONSTACK};
	sigaltstack(&use, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < times; i++)
		raise(SIGUSR1);
	signal(SIGUSR1, SIG_IGN);
	sigaltstack(&none, NULL);
	long depth = (long)(bytes - untouched(stack, bytes));
	munmap(stack - 4096, 4096 + (bytes + 4095) / 4096 * 4096);
	return depth;
}

static void handle_nothing(int number)
{
	(void)number;
}

static long frame_depth(void)
{
	unsigned char *stack = stack_make(DEEP_BYTES);
	const stack_t use = {.ss_sp = stack, .ss_size = DEEP_BYTES},
		      none = {.ss_flags = SS_DISABLE};
	const struct sigaction action = {.sa_handler = handle_nothing, .sa_flags = SA_ONSTACK};
	sigaltstack(&use, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_IGN);
	sigaltstack(&none, NULL);
	long depth = (long)(DEEP_BYTES - untouched(stack, DEEP_BYTES));
	munmap(stack - 4096, 4096 + DEEP_BYTES);
	return depth;
}

/* The least stack that a handler may have which itself takes some for its own calls. */
static long least_stack(void)
{
	long least = sysconf(_SC_MINSIGSTKSZ);
	return (least > MINSIGSTKSZ ? least : MINSIGSTKSZ) + 2048;
}

static long do_word(const char *word, long number)
{
	if (!strcmp(word, "cancel-deferred"))
		return cancel_threads(number, PTHREAD_CANCEL_DEFERRED);
	if (!strcmp(word, "cancel-at-once"))
		return cancel_threads(number, PTHREAD_CANCEL_ASYNCHRONOUS);
	if (!strcmp(word, "small"))
		return small_stacks(number);
	if (!strcmp(word, "depth"))
		return handler_depth(DEEP_BYTES, number, true) - frame_depth();
	if (!strcmp(word, "handlers"))
		return handler_depth((size_t)least_stack(), number, true) > 0 ? number : 0;
	if (!strcmp(word, "round")) {
		for (long i = 0; i < number; i++)
			site_round((unsigned)i);
		return number;
	}
	abort();
}

int main(void)
{
	char line[64], word[24];
	long number;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && sscanf(line, "%23s %ld", word, &number) == 2) {
		printf("%s %ld\n", word, do_word(word, number));
		fflush(stdout);
	}
	return 0;
}
