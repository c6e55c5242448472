/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray#33, #210: threads start programs side by side (posix_spawn, popen, system), some
 * of which do not exist.
 */
#include "stress.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void child_ends_well(pid_t child, int wanted)
{
	int status;
	truth_need(waitpid(child, &status, 0) == child, "waitpid");
	truth_need(WIFEXITED(status) && WEXITSTATUS(status) == wanted, "status of a child");
}

static void *body(void *argument)
{
	char *arguments[] = {(char *)"true", NULL};
	pid_t child;
	for (int i = 0; i < 2; i++) {
		free(malloc(67));
		truth_need(
			posix_spawn(&child, "/no/such", NULL, NULL, arguments, environ) == ENOENT,
			"posix_spawn of nothing");
		truth_need(!posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ),
			"posix_spawn");
		child_ends_well(child, 0);
	}
	FILE *pipe = popen("exit 3", "r");
	truth_need(pipe && WEXITSTATUS(pclose(pipe)) == 3, "popen");
	return argument;
}

int main(void)
{
	stress_threads(3, body, NULL);
	truth_need(WEXITSTATUS(system("exit 4")) == 4, "system");
	truth_say("# end");
	return 0;
}
