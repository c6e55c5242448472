/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that is in use but not reachable is held by pointers into the middle alone. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *amid[10];

int main(void)
{
	for (int i = 0; i < 10; i++)
		amid[i] = (char *)calloc(1, 1000) + 100;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
