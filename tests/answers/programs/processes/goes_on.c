// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * goes_on: becomes a daemon, waits until a file is there, and loses 100 blocks of 1000 B then: when
 * the run is told about, it lives and has allocated nothing.
 */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || daemon(1, 0))
		return 9;
	for (int i = 0; access(argv[1], F_OK) && i < 60000; i++)
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		void *volatile lost = malloc(1000);
		lost = NULL;
	}
	return 0;
}
