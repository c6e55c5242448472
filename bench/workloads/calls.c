/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls THREADS CALLS: THREADS threads make CALLS allocations each, in bursts with pauses like a
 * server's, and keep a window of them. Prints what a malloc and its free took, and what memory the
 * process had while all threads were there, as JSON:
 *   p50_ns, p99_ns, p99_99_ns, max_ns   of single calls, malloc and free alike, both clock readings
 *                                       included
 *   pss_kb                              the process's share of memory (/proc/self/smaps_rollup),
 *                                       the rings that it shares with a collector included by half
 *   anonymous_kb                        what is its own
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { WINDOW = 64, BURST = 256, PAUSE_NS = 200000 };
/* Buckets: exact below 256 ticks, then 128 for each power of two. */
enum { EXACT = 256, STEPS = 128, BUCKETS = EXACT + STEPS * 56 };

static uint32_t calls;
static pthread_barrier_t all_done, may_end;

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t buckets[BUCKETS];
	uint64_t max;
};

static unsigned bucket_of(uint64_t ticks)
{
	if (ticks < EXACT)
		return (unsigned)ticks;
	unsigned power = 63 - (unsigned)__builtin_clzll(ticks); /* 8 and more */
	return EXACT + (power - 8) * STEPS + (unsigned)(ticks >> (power - 7) & (STEPS - 1));
}

static uint64_t ticks_of(unsigned bucket)
{
	if (bucket < EXACT)
		return bucket;
	unsigned power = (bucket - EXACT) / STEPS + 8, step = (bucket - EXACT) % STEPS;
	return (1ull << power) + ((uint64_t)step << (power - 7));
}

static uint64_t ticks(void)
{
	unsigned cpu;
	_mm_lfence();
	uint64_t t = __rdtscp(&cpu);
	_mm_lfence();
	return t;
}

static void count(struct worker *w, uint64_t began)
{
	uint64_t took = ticks() - began;
	w->buckets[bucket_of(took)]++;
	if (took > w->max)
		w->max = took;
}

static size_t random_size(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return 16 + (w->random >> 20 & 0xff) * (w->random >> 40 & 7 ? 1 : 16);
}

static __attribute__((noinline)) void *get(struct worker *w)
{
	size_t size = random_size(w);
	uint64_t began = ticks();
	void *block = malloc(size);
	count(w, began);
	if (!block)
		abort();
	memset(block, 1, size);
	return block;
}

static __attribute__((noinline)) void give(struct worker *w, void *block)
{
	uint64_t began = ticks();
	free(block);
	count(w, began);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	void *window[WINDOW] = {NULL};
	const struct timespec pause = {0, PAUSE_NS};
	for (uint32_t i = 0; i < calls; i++) {
		void **slot = &window[i % WINDOW];
		if (*slot)
			give(w, *slot);
		*slot = get(w);
		if (i % BURST == BURST - 1)
			nanosleep(&pause, NULL);
	}
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&may_end);
	for (unsigned i = 0; i < WINDOW; i++)
		free(window[i]);
	return NULL;
}

static long kilobytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? atol(at + strlen(name)) : -1;
}

static double ticks_a_ns(void)
{
	struct timespec a, b;
	const struct timespec pause = {0, 20000000};
	clock_gettime(CLOCK_MONOTONIC, &a);
	uint64_t began = ticks();
	nanosleep(&pause, NULL);
	uint64_t ended = ticks();
	clock_gettime(CLOCK_MONOTONIC, &b);
	double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	return (double)(ended - began) / ns;
}

static double percentile(const struct worker *sum, uint64_t total, double share)
{
	uint64_t rank = (uint64_t)((double)total * share), seen = 0;
	unsigned b = 0;
	while (b < BUCKETS - 1 && (seen += sum->buckets[b]) <= rank)
		b++;
	return (double)ticks_of(b);
}

static void report(struct worker *workers, unsigned threads, double rate, const char *memory)
{
	struct worker *sum = &workers[0];
	uint64_t total = 0;
	for (unsigned i = 0; i < threads; i++) {
		for (unsigned b = 0; b < BUCKETS; b++) {
			total += workers[i].buckets[b];
			if (i)
				sum->buckets[b] += workers[i].buckets[b];
		}
		if (workers[i].max > sum->max)
			sum->max = workers[i].max;
	}
	printf("{\"calls\": %llu, \"p50_ns\": %.1f, \"p99_ns\": %.1f, \"p99_99_ns\": %.1f, "
	       "\"max_ns\": %.0f, \"pss_kb\": %ld, \"anonymous_kb\": %ld}\n",
		(unsigned long long)total, percentile(sum, total, 0.5) / rate,
		percentile(sum, total, 0.99) / rate, percentile(sum, total, 0.9999) / rate,
		(double)sum->max / rate, kilobytes(memory, "\nPss:"),
		kilobytes(memory, "\nAnonymous:"));
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	calls = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	struct worker *workers = threads ? calloc(threads, sizeof(*workers)) : NULL;
	if (!workers || !calls) {
		fprintf(stderr, "usage: calls THREADS CALLS\n");
		return 2;
	}
	double rate = ticks_a_ns();
	pthread_barrier_init(&all_done, NULL, threads + 1);
	pthread_barrier_init(&may_end, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		workers[i].random = 88172645463325252ull + i;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			fprintf(stderr, "calls: no thread number %u\n", i + 1);
			return 1;
		}
	}
	pthread_barrier_wait(&all_done);
	static char memory[4096];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	size_t n = f ? fread(memory, 1, sizeof(memory) - 1, f) : 0;
	memory[n] = 0;
	if (f)
		fclose(f);
	pthread_barrier_wait(&may_end);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	report(workers, threads, rate, memory);
	free(workers);
	return 0;
}
