/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#178, #499, #932: a thread forks while others are inside malloc; the child
 * allocates. A lock of the recorder that another thread held is held there for ever.
 */
#include "stress.h"
#include <sys/wait.h>

TRUTH_SITE(site_in_thread)

static volatile int over;

static void child_ends_well(pid_t child, int wanted)
{
	int status;
	truth_need(waitpid(child, &status, 0) == child, "waitpid");
	truth_need(WIFEXITED(status) && WEXITSTATUS(status) == wanted, "status of a child");
}

static void *busy(void *argument)
{
	for (size_t i = 0; !over; i++)
		truth_free(site_in_thread(23 + i % 100));
	return argument;
}

static void *forking(void *argument)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (!child) {
			for (size_t n = 0; n < 50; n++)
				free(malloc(40 + n));
			_exit(12);
		}
		child_ends_well(child, 12);
	}
	return argument;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		truth_need(!pthread_create(&threads[i], NULL, busy, NULL), "pthread_create");
	stress_threads(2, forking, NULL);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
