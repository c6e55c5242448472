/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted_calls FILE: allocates and frees, some thousand times a second, and after each pair writes
 * the number of pairs and the time (CLOCK_MONOTONIC, ns) into a ring of 65,536 places in FILE,
 * which outlives it. Truth: place 0 has the number of pairs, place n the time of pair n modulo
 * 65,535.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PLACES 65536

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, PLACES * 8))
		return 1;
	volatile uint64_t *told = mmap(NULL, PLACES * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (uint64_t n = 1;; n++) {
		struct timespec now, pause = {0, 100000};
		char *volatile block = malloc(n % 1000 + 1);
		free(block);
		clock_gettime(CLOCK_MONOTONIC, &now);
		told[1 + (n - 1) % (PLACES - 1)] =
			(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		told[0] = n;
		nanosleep(&pause, NULL);
	}
}
