/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forked_keeps HOW: a child that is forked has a block of its own at its end.
 *
 * Truth: "global": a variable holds it, and libc a buffer. "lose": nothing does. "inherited": a
 * block that it had from its parent does, and whether anything holds that one a recording of the
 * child does not know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept;
static void **table;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "global";
	table = calloc(10, sizeof(*table));
	pid_t child = fork();
	if (!child) {
		char *volatile block = malloc(300);
		if (strcmp(how, "global") == 0)
			kept = block;
		else if (strcmp(how, "inherited") == 0)
			table[3] = block;
		block = NULL;
		puts("child");
		exit(0);
	}
	waitpid(child, NULL, 0);
	free(table);
	return 0;
}
