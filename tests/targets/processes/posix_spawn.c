/* SPDX-License-Identifier: GPL-2.0-or-later */
/* posix_spawn and system: children that share memory until they exec leave no trace in the parent.
 */
#include "truth.h"
#include <spawn.h>
#include <sys/wait.h>

TRUTH_SITE(site_around)

extern char **environ;

int main(void)
{
	for (size_t i = 0; i < 5; i++) {
		void *block = site_around(2503 + i);
		char *const arguments[] = {(char *)"true", NULL};
		pid_t pid;
		int status;
		truth_need(!posix_spawnp(&pid, "true", NULL, NULL, arguments, environ), "spawn");
		truth_need(waitpid(pid, &status, 0) == pid && status == 0, "status");
		truth_need(
			posix_spawn(&pid, "/nonexistent", NULL, NULL, arguments, environ) == ENOENT,
			"spawn of nothing");
		truth_need(system("exit 7") == 7 << 8, "system");
		if (i % 2)
			truth_free(block);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
