/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc/jemalloc#916 (getenv in a preload): the program's own constructor replaces and clears
 * the environment before anything else runs, then starts itself again with none.
 */
#include "stress.h"
#include <spawn.h>
#include <sys/wait.h>

TRUTH_SITE(site_without_environment)

extern char **environ;

__attribute__((constructor(101))) static void before(void)
{
	static char *none[] = {NULL};
	environ = none;
	setenv("ONE", "1", 1);
	putenv((char *)"TWO=2");
	clearenv();
	environ = NULL;
}

int main(int count, char **arguments)
{
	truth_need(!getenv("ONE") && !getenv("TWO"), "environment");
	truth_free(site_without_environment(63));
	if (count > 1)
		return 7;
	char *again[] = {arguments[0], (char *)"again", NULL};
	char *none[] = {NULL};
	pid_t child;
	int status;
	for (int i = 0; i < 2; i++) {
		truth_need(
			!posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, none), "spawn");
		truth_need(
			waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "child");
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
