/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program whose mode is changed from outside while its threads allocate, rest or end. It does
 * what it reads, a word and a number a line, and answers when that is done.
 *
 * Threads hand their blocks on: each puts a new one into a slot that all share, and frees what was
 * there, mostly another thread's. At rest they wait in a system call.
 */
#include <heapwise/client.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 64
#define SLOTS 1024
#define KEPT_MAX 4096
#define WORD_BYTES 24
#define HW_ASK_MODE 9 /* format/request.h */

/* Of the runtime; not there if that is not. */
extern __attribute__((weak)) int heapwise_rt_request(
	uint32_t what, const char *text, char *message, size_t bytes);

enum order { HAMMER, COUNT, WORK, DROP, END };

static struct worker {
	pthread_t thread;
	uint64_t random;
	void *kept[KEPT_MAX];
	size_t kept_count;
	long begun, done;   /* calls of count_one(), before and after */
} workers[THREADS_MAX + 1]; /* the last is the program's first thread */

static enum order order;
static long amount, thread_count;
static pthread_barrier_t begun, done; /* of all workers and the first thread */
static bool rests;
static void *slots[SLOTS];

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	return w->random ^= w->random << 17;
}

static __attribute__((noinline)) void *site_hammered(size_t size)
{
	void *volatile block = malloc(size);
	return block;
}

static __attribute__((noinline)) void *site_worked(size_t size)
{
	void *volatile block = malloc(size);
	return block;
}

/* The block is never freed: what of the program is recorded are these calls alone. */
static __attribute__((noinline)) void site_counted(void)
{
	void *volatile block = malloc(24);
	(void)block;
}

static __attribute__((noinline)) void site_lost(size_t size)
{
	void *volatile block = malloc(size);
	block = NULL;
	(void)block;
}

static void hammer(struct worker *w)
{
	uint64_t random = next_random(w);
	void *block = site_hammered(24 + random % 1000), *before;
	if (random >> 40 & 1)
		block = realloc(block, 24 + (random >> 20) % 2000);
	before = __atomic_exchange_n(&slots[(random >> 50) % SLOTS], block, __ATOMIC_ACQ_REL);
	free(before);
}

static void count_one(struct worker *w)
{
	__atomic_store_n(&w->begun, w->begun + 1, __ATOMIC_SEQ_CST);
	site_counted();
	__atomic_store_n(&w->done, w->done + 1, __ATOMIC_SEQ_CST);
}

/* Of all threads together, while they go on. */
static double sum_counts(bool started)
{
	long sum = 0;
	for (long i = 0; i < thread_count; i++)
		sum += __atomic_load_n(
			started ? &workers[i].begun : &workers[i].done, __ATOMIC_SEQ_CST);
	return (double)sum;
}

/* So many blocks are kept, and as many are freed at once. */
static void work(struct worker *w, long number)
{
	for (long i = 0; i < number; i++) {
		if (w->kept_count < KEPT_MAX)
			w->kept[w->kept_count++] = site_worked(1001);
		free(site_hammered(333));
	}
}

static void drop(struct worker *w)
{
	while (w->kept_count)
		free(w->kept[--w->kept_count]);
	for (size_t i = 0; i < SLOTS; i++)
		free(__atomic_exchange_n(&slots[i], NULL, __ATOMIC_ACQ_REL));
}

static void *run_worker(void *argument)
{
	struct worker *w = argument;
	enum order now;
	do {
		pthread_barrier_wait(&begun);
		now = order;
		while (now == HAMMER && !__atomic_load_n(&rests, __ATOMIC_RELAXED)) {
			for (int i = 0; i < 16; i++)
				hammer(w);
			if (amount)
				usleep((useconds_t)amount);
		}
		while (now == COUNT && !__atomic_load_n(&rests, __ATOMIC_RELAXED))
			count_one(w);
		if (now == WORK)
			work(w, amount);
		if (now == DROP)
			drop(w);
		pthread_barrier_wait(&done);
	} while (now != END);
	return NULL;
}

/* number: of blocks, or of microseconds that a thread pauses now and then. */
static void begin_order(enum order next, long number)
{
	order = next;
	amount = number;
	__atomic_store_n(&rests, false, __ATOMIC_RELAXED);
	if (thread_count)
		pthread_barrier_wait(&begun);
}

static void end_order(void)
{
	__atomic_store_n(&rests, true, __ATOMIC_RELAXED);
	if (thread_count)
		pthread_barrier_wait(&done);
}

static void start_threads(long number)
{
	thread_count = number < THREADS_MAX ? number : THREADS_MAX;
	pthread_barrier_init(&begun, NULL, (unsigned)thread_count + 1);
	pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1);
	for (long i = 0; i < thread_count; i++) {
		workers[i].random = (uint64_t)i * 7919 + 1;
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
}

static void end_threads(void)
{
	begin_order(END, 0);
	end_order();
	for (long i = 0; i < thread_count; i++)
		pthread_join(workers[i].thread, NULL);
	thread_count = 0;
}

static void *run_briefly(void *argument)
{
	struct worker w = {.random = (uint64_t)argument};
	for (int i = 0; i < 100; i++)
		hammer(&w);
	return NULL;
}

/* So many threads, one after another, that end soon. */
static void run_brief_threads(long number)
{
	pthread_t thread;
	for (long i = 1; i <= number; i++) {
		if (!pthread_create(&thread, NULL, run_briefly, (void *)(i * 104729)))
			pthread_join(thread, NULL);
	}
}

/* A child that works and ends, with its status. */
static double run_child(long number)
{
	pid_t child = fork();
	if (!child) {
		work(&workers[THREADS_MAX], number);
		_exit(0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	return status;
}

static pid_t sleeper;
static int sleeper_wakes[2];

/* Forks a child that sleeps until it is woken, and works then. */
static double start_sleeper(long number)
{
	char byte;
	if (pipe(sleeper_wakes))
		return -1;
	sleeper = fork();
	if (!sleeper) {
		close(sleeper_wakes[1]);
		while (read(sleeper_wakes[0], &byte, 1) > 0)
			;
		work(&workers[THREADS_MAX], number);
		_exit(0);
	}
	return sleeper < 0;
}

static double wake_sleeper(void)
{
	int status = -1;
	close(sleeper_wakes[1]);
	waitpid(sleeper, &status, 0);
	return status;
}

static void **outer; /* the only reference to a block, which has the only one to another */

/* A filter that allows every call. */
static int enter_sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = {.len = 1, .filter = &allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

static double obey(const char *word, long number)
{
	static struct worker *const first = &workers[THREADS_MAX];
	if (!strcmp(word, "threads"))
		start_threads(number);
	if (!strcmp(word, "end"))
		end_threads();
	if (!strcmp(word, "hammer"))
		begin_order(HAMMER, number);
	if (!strcmp(word, "count"))
		begin_order(COUNT, 0);
	if (!strcmp(word, "begun") || !strcmp(word, "done"))
		return sum_counts(*word == 'b');
	if (!strcmp(word, "rest"))
		end_order();
	if (!strcmp(word, "brief"))
		run_brief_threads(number);
	if (!strcmp(word, "work")) {
		begin_order(WORK, number);
		end_order();
	}
	if (!strcmp(word, "drop")) {
		begin_order(DROP, 0);
		end_order();
		drop(first);
	}
	if (!strcmp(word, "alone"))
		work(first, number);
	for (long i = 0; !strcmp(word, "step") && i < number; i++)
		hammer(first);
	if (!strcmp(word, "fork"))
		return run_child(number);
	if (!strcmp(word, "sleeper"))
		return start_sleeper(number);
	if (!strcmp(word, "wake"))
		return wake_sleeper();
	if (!strcmp(word, "outer"))
		outer = site_worked(sizeof(*outer) * 10);
	if (!strcmp(word, "inner"))
		outer[3] = site_worked((size_t)number);
	for (long i = 0; !strcmp(word, "lose") && i < number; i++)
		site_lost(77);
	if (!strcmp(word, "exec"))
		execl("/proc/self/exe", "mode_changes", NULL);
	if (!strcmp(word, "block"))
		heapwise_block_alloc(slots, (size_t)number);
	if (!strcmp(word, "unblock"))
		heapwise_block_free(slots);
	if (!strcmp(word, "ask"))
		return heapwise_rt_request
			       ? heapwise_rt_request(HW_ASK_MODE, "sample:4096", NULL, 0)
			       : -1;
	if (!strcmp(word, "sandbox"))
		return enter_sandbox();
	return 0;
}

int main(void)
{
	char line[WORD_BYTES + 32], word[WORD_BYTES];
	workers[THREADS_MAX].random = 1;
	setvbuf(stdin, NULL, _IONBF, 0); /* no blocks but those that are asked for */
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("pid %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		size_t length = strcspn(line, " \n");
		snprintf(word, sizeof(word), "%.*s", (int)length, line);
		printf("%s %.3f\n", word, obey(word, strtol(line + length, NULL, 10)));
	}
	return 0;
}
