/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vfork, then exec of another program or _exit: the parent goes on where it was. */
#include "truth.h"
#include <sys/wait.h>

TRUTH_SITE(site_around)

static int run(const char *path, int expected)
{
	char *const arguments[] = {(char *)path, NULL};
	pid_t pid = vfork();
	if (!pid) {
		execv(path, arguments);
		_exit(127);
	}
	int status;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == expected;
}

int main(void)
{
	for (size_t i = 0; i < 5; i++) {
		void *block = site_around(1501 + i);
		truth_need(run("/bin/true", 0), "true");
		truth_need(run("/bin/false", 1), "false");
		truth_need(run("/nonexistent/program", 127), "no program");
		if (i % 2)
			truth_free(block);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
