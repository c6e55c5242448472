/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that is dumped, stopped and started, by itself and from outside: it does what it reads,
 * a word and a number a line, and answers with what it knows.
 */
#include <errno.h>
#include <heapwise/client.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS_MAX (1u << 21)
#define WORD_BYTES 24

static void *blocks[BLOCKS_MAX];
static size_t count;

static __attribute__((noinline)) void site_kept(size_t size)
{
	if (count < BLOCKS_MAX)
		blocks[count++] = malloc(size);
}

/* Blocks that are freed at once. */
static __attribute__((noinline)) void site_brief(size_t size)
{
	void *volatile block = malloc(size);
	free(block);
}

static char *mapped;
static size_t mapped_bytes;

static __attribute__((noinline)) void site_mapped(size_t size)
{
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped_bytes = size;
	if (mapped != MAP_FAILED)
		memset(mapped, 1, size);
}

/* Unmaps the last bytes of the latest mapping. */
static void unmap_tail(size_t size)
{
	mapped_bytes -= size;
	munmap(mapped + mapped_bytes, size);
}

static void free_last(void)
{
	if (count)
		free(blocks[--count]);
}

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The longest pause of a thread that allocates and frees for so many milliseconds. */
static double longest_pause(double milliseconds)
{
	double begin = now_ms(), last = begin, most = 0;
	while (last - begin < milliseconds) {
		site_brief(64);
		double now = now_ms();
		most = now - last > most ? now - last : most;
		last = now;
	}
	return most;
}

static double processor_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds of the processor that an allocation with its free takes. */
static double cost_ns(long calls)
{
	double begin = processor_ns();
	for (long i = 0; i < calls; i++)
		site_brief(64);
	return (processor_ns() - begin) / (double)calls;
}

#define DUMPERS_MAX 8

static pthread_t dumpers[DUMPERS_MAX];
static long dumper_count;
static sem_t refused;

static void *dump_once(void *unused)
{
	(void)unused;
	int error = heapwise_dump(NULL) ? errno : 0;
	if (error == EAGAIN)
		sem_post(&refused);
	return (void *)(long)error;
}

/* So many threads, each of which dumps the process once. */
static void start_dumps(long number)
{
	sem_init(&refused, 0, 0);
	for (dumper_count = 0; dumper_count < number && dumper_count < DUMPERS_MAX; dumper_count++)
		pthread_create(&dumpers[dumper_count], NULL, dump_once, NULL);
}

/* How many of them have written one, when all have ended. */
static long end_dumps(void)
{
	long written = 0;
	for (long i = 0; i < dumper_count; i++) {
		void *error;
		pthread_join(dumpers[i], &error);
		written += !error;
	}
	return written;
}

static double does(const char *word, long number)
{
	if (!strcmp(word, "keep"))
		site_kept((size_t)number);
	for (long i = 0; !strcmp(word, "keep64") && i < number; i++)
		site_kept(64);
	for (long i = 0; !strcmp(word, "brief1000") && i < number; i++)
		site_brief(1000);
	for (long i = 0; !strcmp(word, "free") && i < number; i++)
		free_last();
	if (!strcmp(word, "touch") && count)
		memset(blocks[count - 1], 1, (size_t)number);
	if (!strcmp(word, "map"))
		site_mapped((size_t)number);
	if (!strcmp(word, "unmap"))
		unmap_tail((size_t)number);
	if (!strcmp(word, "grow") && count)
		blocks[count - 1] = realloc(blocks[count - 1], (size_t)number);
	if (!strcmp(word, "stop"))
		return heapwise_stop() ? errno : 0;
	if (!strcmp(word, "start"))
		return heapwise_start() ? errno : 0;
	if (!strcmp(word, "dump"))
		return heapwise_dump(number ? "own.dump" : NULL) ? errno : 0;
	if (!strcmp(word, "dumps"))
		start_dumps(number);
	if (!strcmp(word, "refused"))
		return sem_wait(&refused);
	if (!strcmp(word, "dumped"))
		return (double)end_dumps();
	if (!strcmp(word, "ignore"))
		number ? heapwise_ignore_begin() : heapwise_ignore_end();
	if (!strcmp(word, "block"))
		heapwise_block_alloc(blocks[count - 1], (size_t)number);
	if (!strcmp(word, "unblock"))
		heapwise_block_free(blocks[count - 1]);
	if (!strcmp(word, "handle"))
		signal((int)number, SIG_IGN);
	if (!strcmp(word, "raise"))
		raise((int)number);
	if (!strcmp(word, "pause"))
		return longest_pause((double)number);
	if (!strcmp(word, "cost"))
		return cost_ns(number);
	if (!strcmp(word, "exec"))
		execl("/proc/self/exe", "dumps", NULL);
	if (!strcmp(word, "fork") && !fork()) {
		site_kept((size_t)number);
		_exit(0);
	}
	return 0;
}

int main(void)
{
	char line[WORD_BYTES + 32], word[WORD_BYTES];
	setvbuf(stdin, NULL, _IONBF, 0); /* no blocks but those that are asked for */
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("pid %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		size_t length = strcspn(line, " \n");
		snprintf(word, sizeof(word), "%.*s", (int)length, line);
		printf("%s %.3f\n", word, does(word, strtol(line + length, NULL, 10)));
	}
	return 0;
}
