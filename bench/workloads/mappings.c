/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes COUNT mappings of one page, of which every other one is in memory; the rest have no rights.
 * Prints its PID, and ends when its input does. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	/* Every other page has no rights, so that the kernel joins none: two mappings a step. */
	char *start = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return 1;
	for (size_t i = 0; i + 1 < count; i += 2) {
		start[i * PAGE] = 1;
		if (mprotect(start + (i + 1) * PAGE, PAGE, PROT_NONE))
			return 1;
	}
	printf("%d\n", getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
