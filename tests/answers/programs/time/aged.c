/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates 1 MiB at once, then does nothing for 1.2 s: the block is that old at the end. With an
 * argument it kills itself then. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	(void)argv;
	void *block = malloc(1u << 20);
	__asm__ volatile("" ::"r"(block) : "memory");
	nanosleep(&(struct timespec){1, 200000000}, NULL);
	if (argc > 1)
		raise(SIGKILL);
	_Exit(0);
}
