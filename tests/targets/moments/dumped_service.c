/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A service that is dumped while it works. Many blocks are live; each thread serves requests, some
 * hundred a second, and notes how long the longest took. Prints that for a time without dumps, and
 * for as many dumps as asked for; before these, and at the end, it waits for a line.
 *
 *     dumped_service BLOCKS THREADS DUMPS MILLISECONDS
 */
#include <heapwise/client.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 16
#define CALLS 200 /* of malloc() in a request */
#define PAUSE_NS 1000000

#define SLOW_NS 20000000
#define WARM_DUMPS 5

/* What the threads' longest request took, in ns. The other two leave out the time in which the
 * thread could have run, but others had the processors: the longest, and how many took SLOW_NS. */
struct longest {
	_Atomic uint64_t took, held, slow;
};

static struct longest idle, dumped;
static struct longest *_Atomic phase;
static atomic_bool ends;
static atomic_uint begun;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How long this thread has waited for a processor; 0: the kernel doesn't say. */
static uint64_t waited_ns(FILE *schedstat)
{
	unsigned long long ran, waited = 0;
	rewind(schedstat);
	return fscanf(schedstat, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static void note_most(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t before = atomic_load(most);
	while (value > before && !atomic_compare_exchange_weak(most, &before, value))
		;
}

static __attribute__((noinline)) void serve_request(void)
{
	void *held[CALLS];
	for (int i = 0; i < CALLS; i++)
		held[i] = malloc((size_t)(i % 50) * 16 + 1);
	for (int i = 0; i < CALLS; i++)
		free(held[i]);
}

static void *serve(void *context)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	FILE *schedstat = fopen(path, "r");
	if (schedstat)
		setvbuf(schedstat, NULL, _IONBF, 0);
	atomic_fetch_add(&begun, 1);
	while (!atomic_load(&ends)) {
		struct longest *most = atomic_load(&phase);
		uint64_t waited = schedstat ? waited_ns(schedstat) : 0, began = now_ns();
		serve_request();
		uint64_t took = now_ns() - began;
		waited = schedstat ? waited_ns(schedstat) - waited : 0;
		if (most) {
			note_most(&most->took, took);
			uint64_t held = took - (waited < took ? waited : took);
			note_most(&most->held, held);
			atomic_fetch_add(&most->slow, held >= SLOW_NS);
		}
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	if (schedstat)
		fclose(schedstat);
	return context;
}

static __attribute__((noinline)) void *keep(long i, int depth)
{
	if (depth)
		return keep(i, depth - 1);
	return malloc((size_t)(i % 40) + 24);
}

static void show(const char *what, const struct longest *one)
{
	printf("%s %.3f %.3f %llu\n", what, (double)one->took / 1e6, (double)one->held / 1e6,
		(unsigned long long)one->slow);
}

/* Returns how many failed. */
static long make_dumps(long count)
{
	long failed = 0;
	for (long i = 0; i < count; i++)
		failed += heapwise_dump(NULL) != 0;
	return failed;
}

static void observe_idle(long milliseconds)
{
	atomic_store(&phase, &idle);
	nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
	atomic_store(&phase, NULL);
	show("idle", &idle);
}

static void observe_dumps(long count)
{
	atomic_store(&phase, &dumped);
	uint64_t began = now_ns();
	long failed = make_dumps(count);
	double all = (double)(now_ns() - began) / 1e6;
	atomic_store(&phase, NULL);
	show("dumped", &dumped);
	printf("dumps %ld failed %ld ms %.3f\n", count, failed, all);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	long blocks = atol(argv[1]), threads = atol(argv[2]);
	pthread_t ids[THREADS_MAX];
	void **kept = malloc(sizeof(*kept) * (size_t)(blocks + 1));
	setvbuf(stdout, NULL, _IOLBF, 256);
	for (long i = 0; i < blocks; i++)
		kept[i] = keep(i, (int)(i % 23));
	for (long i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_create(&ids[i], NULL, serve, NULL);
	while (atomic_load(&begun) < (unsigned)threads)
		usleep(1000);
	make_dumps(WARM_DUMPS);
	observe_idle(atol(argv[4]));
	getchar();
	observe_dumps(atol(argv[3]));
	getchar();
	atomic_store(&ends, true);
	for (long i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
