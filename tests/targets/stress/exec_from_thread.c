/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray#33, heaptrack (takes itself out of the environment): a thread that is not the
 * first goes on as another program while the others allocate.
 */
#include "stress.h"
TRUTH_SITE(site_after_exec)

static char *self;

static void *busy(void *argument)
{
	for (size_t i = 0;; i++)
		free(malloc(23 + i % 100));
	return argument;
}

static void *go(void *argument)
{
	char *arguments[] = {self, (char *)"after", NULL};
	usleep(2000);
	execv("/proc/self/exe", arguments);
	truth_need(0, "execv");
	return argument;
}

int main(int count, char **arguments)
{
	self = arguments[0];
	if (count > 1) {
		truth_free(site_after_exec(73));
		truth_say("went on");
		truth_say("# end");
		return 6;
	}
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		truth_need(!pthread_create(&threads[i], NULL, busy, NULL), "pthread_create");
	stress_threads(1, go, NULL);
	return 1;
}
