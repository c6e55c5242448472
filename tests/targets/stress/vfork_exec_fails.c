/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heapprofd (google/perfetto, its end-to-end tests of vfork): a vfork child that fails to exec,
 * again and again, shares the memory of a parent whose threads allocate.
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

static void start(const char *program)
{
	char *arguments[] = {(char *)program, NULL};
	pid_t child = vfork();
	if (!child) {
		execv(program, arguments);
		_exit(errno == ENOENT ? 21 : 22);
	}
	child_ends_well(child, strcmp(program, "/bin/true") ? 21 : 0);
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		truth_need(!pthread_create(&threads[i], NULL, busy, NULL), "pthread_create");
	for (int i = 0; i < 30; i++)
		start("/no/such/program");
	start("/bin/true");
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
