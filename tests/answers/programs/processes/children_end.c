/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * children_end: forks 60 children, each of which allocates once and ends with a status of its own,
 * 1 to 50, or by SIGABRT (the last ten). Truth: none ends in another way.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 60; i++) {
		if (!fork()) {
			char *volatile block = malloc(100);
			block[0] = 1;
			if (i >= 50)
				abort();
			_exit(i + 1);
		}
		if (i % 3 == 2) {
			while (waitpid(-1, NULL, 0) > 0)
				;
		}
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}
