/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gets ten blocks and ends: by a signal or by itself (first argument), when they are freed, lost,
 * or still held (second). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile kept[10];

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(1237);
	for (int i = 0; i < 10 && strcmp(argv[2], "held"); i++) {
		if (!strcmp(argv[2], "freed"))
			free(kept[i]);
		kept[i] = NULL;
	}
	if (!strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[1], "segv"))
		raise(SIGSEGV);
	if (!strcmp(argv[1], "abort"))
		abort();
	return 0;
}
