/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#1488, bloomberg/memray#210: a fork before main: parent and child write to
 * what either thinks is its own.
 */
#include "stress.h"
#include <sys/wait.h>

TRUTH_SITE(site_in_main)

static pid_t child;

static void child_ends_well(pid_t pid, int wanted)
{
	int status;
	truth_need(waitpid(pid, &status, 0) == pid, "waitpid");
	truth_need(WIFEXITED(status) && WEXITSTATUS(status) == wanted, "status of a child");
}

__attribute__((constructor)) static void before(void)
{
	child = fork();
}

int main(void)
{
	if (!child) {
		for (size_t i = 0; i < 30; i++)
			free(malloc(57 + i));
		_exit(16);
	}
	child_ends_well(child, 16);
	truth_free(site_in_main(59));
	truth_end(TRUTH_PLAIN);
	return 0;
}
