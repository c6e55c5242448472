/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#1425: fork handlers that allocate run between the recorder's own
 * preparation and the fork; their order is the program's.
 */
#include "stress.h"
#include <sys/wait.h>

TRUTH_SITE(site_in_handler)

static char order[64];

static void child_ends_well(pid_t child, int wanted)
{
	int status;
	truth_need(waitpid(child, &status, 0) == child, "waitpid");
	truth_need(WIFEXITED(status) && WEXITSTATUS(status) == wanted, "status of a child");
}

static void note(char what)
{
	truth_free(site_in_handler(43));
	order[strlen(order)] = what;
}

static void prepare_one(void)
{
	note('p');
}

static void prepare_two(void)
{
	note('P');
}

static void parent_one(void)
{
	note('a');
}

static void parent_two(void)
{
	note('A');
}

static void child_one(void)
{
	free(malloc(47));
	order[strlen(order)] = 'c';
}

int main(void)
{
	pthread_atfork(prepare_one, parent_one, child_one);
	pthread_atfork(prepare_two, parent_two, child_one);
	for (int i = 0; i < 4; i++) {
		memset(order, 0, sizeof order);
		pid_t child = fork();
		if (!child)
			_exit(!strcmp(order, "Ppcc") ? 14 : 15);
		child_ends_well(child, 14);
		truth_say("%s", order);
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
