/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads_many THREADS ROUNDS [FORKS [FILE]]: so many threads alive at once, far more than there
 * are rings. Each allocates, resizes and frees in rounds, hands blocks on to whoever comes by, and
 * leaves one. Every FORKS-th (0: none) forks in the middle, and the child allocates too. FILE, for
 * tests that kill, is mapped and shared, and counts each site's finished allocations.
 */
#include "truth.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

TRUTH_SITE(site_of_thread)
TRUTH_SITE(site_passed_on)
TRUTH_SITE(site_kept)
TRUTH_SITE_REALLOC(site_resized)

enum { SHELF = 61, CHILD_BLOCKS = 50 };

static pthread_barrier_t all_here;
static unsigned long threads, rounds, forks;
static void *shelf[SHELF];

/* Of site_of_thread, site_passed_on, site_resized. */
enum { THREAD, PASSED_ON, RESIZED, SITES };
static uint64_t own_counts[SITES], *finished = own_counts;

static void *counted(void *block, int site)
{
	TRUTH_ADD(finished[site], 1);
	return block;
}

__attribute__((noinline)) static void *site_of_child(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}

static void fork_in_the_middle(void)
{
	pid_t child = fork();
	if (!child) {
		for (size_t i = 0; i < CHILD_BLOCKS; i++)
			free(site_of_child(333));
		_exit(0);
	}
	int status = -1;
	truth_need(child > 0 && waitpid(child, &status, 0) == child && !status, "a child");
}

static void *work(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	pthread_barrier_wait(&all_here);
	for (size_t i = 0; i < rounds; i++) {
		truth_free(counted(site_of_thread(21 + 2 * (self % 500)), THREAD));
		void **place = &shelf[(self + i) % SHELF], *mine = site_passed_on(1501);
		counted(mine, PASSED_ON);
		truth_free(__atomic_exchange_n(place, mine, __ATOMIC_ACQ_REL));
		mine = counted(site_of_thread(77), THREAD);
		truth_free(counted(site_resized(mine, 99 + i % 7), RESIZED));
		if (forks && self % forks == 7 && i == rounds / 2)
			fork_in_the_middle();
	}
	site_kept(1001);
	return NULL;
}

static void share_counts(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	truth_need(file >= 0 && !ftruncate(file, 4096), path);
	finished = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	truth_need(finished != MAP_FAILED, "mmap");
	close(file);
}

int main(int count, char **arguments)
{
	truth_need(count >= 3, "arguments");
	threads = strtoul(arguments[1], NULL, 10);
	rounds = strtoul(arguments[2], NULL, 10);
	forks = count > 3 ? strtoul(arguments[3], NULL, 10) : 0;
	if (count > 4)
		share_counts(arguments[4]);
	pthread_t *all = malloc(threads * sizeof(*all));
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&all_here, NULL, (unsigned)threads);
	for (uintptr_t i = 0; i < threads; i++)
		truth_need(!pthread_create(&all[i], &attributes, work, (void *)i), "thread");
	for (size_t i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	truth_threads(1 + (unsigned)threads);
	truth_end(TRUTH_PLAIN);
	return 0;
}
