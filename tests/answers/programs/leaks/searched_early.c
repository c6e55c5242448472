/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says "ready" and waits for a line; is searched meanwhile. Then it loses 1000 blocks of 10000
 * bytes and frees the one that was reachable. True at its end: 10000000 B in 1000 blocks are lost,
 * nothing is reachable.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	void *kept = malloc(100);
	char line[1];
	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, line, 1) != 1)
		return 1;
	for (int i = 0; i < 1000; i++) {
		char *lost = malloc(10000);
		memset(lost, 0, 10000);
	}
	free(kept);
	return 0;
}
