/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork, again and again, while other threads allocate. The child allocates and frees much,
 * inherited blocks too, and creates a thread; none of it is the parent's.
 */
#include "truth.h"
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

TRUTH_SITE(site_busy)
TRUTH_SITE(site_before_fork)
TRUTH_SITE(site_between_forks)

enum { FORKS = 25, THREADS = 3, ROUNDS_BEFORE = 300 };

/* While a child runs they allocate slowly: else what is recorded is hundreds of times as much. */
static int stop, slow;
static unsigned long rounds;

static void *busy(void *argument)
{
	void *kept[32] = {NULL};
	for (size_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		truth_free(kept[i % 32]);
		kept[i % 32] = site_busy(9 + i % 900);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&slow, __ATOMIC_RELAXED))
			usleep(500);
	}
	return argument;
}

static void *in_child_thread(void *argument)
{
	for (size_t i = 0; i < 500; i++)
		truth_free(site_busy(1000003 - i));
	return argument;
}

static int child(void *inherited)
{
	truth_free(inherited);
	for (size_t i = 0; i < 3000; i++)
		truth_free(site_between_forks(5 * i + 9));
	site_between_forks(99999);
	pthread_t thread;
	if (pthread_create(&thread, NULL, in_child_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	return 43;
}

/* Until the threads do nothing else again. */
static void be_busy(void)
{
	__atomic_store_n(&slow, 0, __ATOMIC_RELAXED);
	unsigned long until = __atomic_load_n(&rounds, __ATOMIC_RELAXED) + ROUNDS_BEFORE;
	while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < until)
		sched_yield();
}

int main(void)
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, busy, NULL), "thread");
	for (size_t i = 0; i < FORKS; i++) {
		void *inherited = site_before_fork(4001 + i);
		be_busy();
		pid_t pid = fork();
		truth_need(pid >= 0, "fork");
		if (!pid)
			_exit(child(inherited));
		__atomic_store_n(&slow, 1, __ATOMIC_RELAXED);
		truth_free(site_between_forks(61));
		int status;
		truth_need(waitpid(pid, &status, 0) == pid, "waitpid");
		truth_need(WIFEXITED(status) && WEXITSTATUS(status) == 43, "status of the child");
		if (i % 2)
			truth_free(inherited);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
