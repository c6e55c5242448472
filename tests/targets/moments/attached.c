/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that is attached while it runs: it does what it reads, a word and a number a line, and
 * answers with what it knows. Its hammering threads count what they do between two words.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS_MAX (1u << 20)
#define THREADS_MAX 600
#define WORD_BYTES 24
/* A thread of many needs little. */
#define STACK_BYTES (128u << 10)

static void *old[BLOCKS_MAX], *new[BLOCKS_MAX];
static size_t old_count, new_count;

static __attribute__((noinline)) void site_old(size_t size)
{
	old[old_count++ % BLOCKS_MAX] = malloc(size);
}

static __attribute__((noinline)) void site_new(size_t size)
{
	new[new_count++ % BLOCKS_MAX] = malloc(size);
}

/* Blocks of many sizes, which are known. */
static __attribute__((noinline)) void site_kept(size_t number)
{
	new[new_count++ % BLOCKS_MAX] = malloc(100 + number % 900);
}

/* One of each function, all freed but the last, of 77 bytes. */
static __attribute__((noinline)) void site_kinds(void)
{
	void *aligned = NULL;
	char *volatile copy = strdup("twelve bytes");
	free(copy);
	void *volatile brief = calloc(3, 111); /* volatile: it is not left out */
	free(brief);
	brief = reallocarray(NULL, 5, 10);
	free(brief);
	brief = aligned_alloc(64, 128);
	free(brief);
	if (!posix_memalign(&aligned, 64, 200))
		free(aligned);
	void *grown = malloc(10);
	grown = realloc(grown, 5000);
	new[new_count++ % BLOCKS_MAX] = realloc(grown, 77);
}

/* Blocks that nothing references. */
static __attribute__((noinline)) void site_lost(size_t size)
{
	char *volatile block = malloc(size);
	memset(block, 1, size);
	block = NULL;
}

static atomic_bool hammering;
static pthread_t threads[THREADS_MAX];
static size_t thread_count;
static atomic_ulong rounds, progress; /* when they have ended; now and then */
static atomic_uint pause_us;          /* after so many rounds: what is recorded is to be little */
#define PROGRESS_ROUNDS 64

static __attribute__((noinline)) void site_hammered(unsigned number)
{
	char *volatile block = malloc(100 + number % 64);
	block[0] = 1;
	block = realloc(block, 300);
	free(block);
}

static void *hammer(void *unused)
{
	unsigned long done = 0;
	(void)unused;
	while (atomic_load_explicit(&hammering, memory_order_relaxed)) {
		site_hammered((unsigned)done++);
		if (done % PROGRESS_ROUNDS)
			continue;
		atomic_fetch_add(&progress, PROGRESS_ROUNDS);
		unsigned us = atomic_load_explicit(&pause_us, memory_order_relaxed);
		if (us)
			usleep(us);
	}
	atomic_fetch_add(&rounds, done);
	return NULL;
}

static void hammer_begin(size_t count)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	atomic_store(&hammering, true);
	atomic_store(&rounds, 0);
	for (thread_count = 0; thread_count < count && thread_count < THREADS_MAX; thread_count++) {
		if (pthread_create(&threads[thread_count], &small, hammer, NULL))
			abort();
	}
	pthread_attr_destroy(&small);
}

static unsigned long hammer_end(void)
{
	atomic_store(&hammering, false);
	for (size_t i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	thread_count = 0;
	return atomic_load(&rounds);
}

#define TURNING_THREADS 3

static void *turn(void *count)
{
	for (size_t i = 0; i < (size_t)count; i++)
		site_hammered((unsigned)i);
	return NULL;
}

/* Threads that do so many rounds each. */
static void turn_all(long count)
{
	pthread_t turning[TURNING_THREADS];
	for (size_t i = 0; i < TURNING_THREADS; i++) {
		if (pthread_create(&turning[i], NULL, turn, (void *)count))
			abort();
	}
	for (size_t i = 0; i < TURNING_THREADS; i++)
		pthread_join(turning[i], NULL);
}

/* Until the threads have done so many more rounds. */
static void wait_for_rounds(unsigned long count)
{
	unsigned long until = atomic_load(&progress) + count;
	while (atomic_load(&progress) < until)
		sched_yield();
}

/* A child in this process's memory that ends when it can read from a pipe. */
static long suspended(int from)
{
	int status = -1;
	char byte;
	pid_t child = vfork();
	if (!child)
		_exit(read(from, &byte, 1) == 1 ? 5 : 1);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *sleeper(void *unused)
{
	pause();
	return unused;
}

static void *one_block(void *unused)
{
	(void)unused;
	return malloc(4321);
}

/* Threads that each allocate one block, which the first one keeps. */
static void in_threads(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t thread;
		void *block;
		if (pthread_create(&thread, NULL, one_block, NULL) || pthread_join(thread, &block))
			abort();
		new[new_count++ % BLOCKS_MAX] = block;
	}
}

/* A child that allocates and says by its status that it could. */
static long in_child(void)
{
	int status = -1;
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 1000; i++)
			site_new(50);
		_exit(new_count >= 1000 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child that goes on, in memory of its own where its parent has the rings. */
static long left_child(void)
{
	pid_t child = fork();
	if (child)
		return child;
	size_t bytes = (size_t)600 << 20;
	volatile char *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (;;) {
		for (size_t at = 0; at < bytes; at += 1 << 20)
			own[at] = 1;
		site_new(50);
		usleep(1000);
	}
}

/* A library that allocates when it is told to. */
static long in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *(*allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, "allocate") : NULL;
	if (!allocate)
		return 0;
	new[new_count++ % BLOCKS_MAX] = allocate(1234);
	return dlclose(library) ? 0 : 1;
}

/* A library that comes and goes, as often as can be. */
static void reload_library(const char *path, long times)
{
	for (; times > 0; times--) {
		void *library = dlopen(path, RTLD_NOW);
		void *(*allocate)(size_t) =
			library ? (void *(*)(size_t))dlsym(library, "allocate") : NULL;
		if (!allocate)
			abort();
		free(allocate(77));
		dlclose(library);
	}
}

/* In the memory of the arguments, as setproctitle does it. */
static void show_title(char **argv)
{
	char *end = argv[0];
	for (char **argument = argv; *argument; argument++)
		end = *argument + strlen(*argument);
	memset(argv[0], 0, (size_t)(end - argv[0]));
	memcpy(argv[0], "at: work", sizeof("at: work"));
}

static long do_word(const char *word, long number, char **argv)
{
	long result = number;
	if (!strcmp(word, "old"))
		site_old((size_t)number);
	else if (!strcmp(word, "new"))
		site_new((size_t)number);
	else if (!strcmp(word, "keep"))
		for (size_t i = 0; i < (size_t)number; i++)
			site_kept(i);
	else if (!strcmp(word, "lose"))
		for (int i = 0; i < 20; i++)
			site_lost((size_t)number);
	else if (!strcmp(word, "free-old"))
		for (; number && old_count; number--)
			free(old[--old_count]);
	else if (!strcmp(word, "free-new"))
		for (; number && new_count; number--)
			free(new[--new_count]);
	else if (!strcmp(word, "grow-old"))
		for (long i = 0; i < number; i++)
			old[i] = realloc(old[i], 999);
	else if (!strcmp(word, "kinds"))
		site_kinds();
	else if (!strcmp(word, "hammer"))
		hammer_begin((size_t)number);
	else if (!strcmp(word, "pause"))
		atomic_store(&pause_us, (unsigned)number);
	else if (!strcmp(word, "rest"))
		result = (long)hammer_end();
	else if (!strcmp(word, "turns"))
		turn_all(number);
	else if (!strcmp(word, "until"))
		wait_for_rounds((unsigned long)number);
	else if (!strcmp(word, "vfork"))
		result = suspended((int)number);
	else if (!strcmp(word, "threads"))
		in_threads(number);
	else if (!strcmp(word, "sleepers"))
		for (pthread_t thread; number; number--) {
			if (pthread_create(&thread, NULL, sleeper, NULL))
				abort();
		}
	else if (!strcmp(word, "child"))
		result = in_child();
	else if (!strcmp(word, "left"))
		result = left_child();
	else if (!strcmp(word, "library"))
		result = in_library(argv[1]);
	else if (!strcmp(word, "reload"))
		reload_library(argv[1], number);
	else if (!strcmp(word, "exec"))
		execv("/proc/self/exe", argv);
	else if (!strcmp(word, "title"))
		show_title(argv);
	else if (!strcmp(word, "end"))
		exit((int)number);
	else
		abort();
	return result;
}

int main(int argc, char **argv)
{
	char line[64], word[WORD_BYTES];
	long number;
	(void)argc;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && sscanf(line, "%23s %ld", word, &number) == 2) {
		long result = do_word(word, number, argv);
		printf("%s %ld\n", word, result);
		fflush(stdout);
	}
	return 0;
}
