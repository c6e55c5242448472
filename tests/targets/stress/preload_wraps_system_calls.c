/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc/jemalloc#329, #443: a preload wraps open and mmap and allocates in them. An allocator or
 * recorder that calls these through the program's names comes round to itself.
 */
#include "stress.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	for (size_t i = 0; i < 20; i++) {
		int file = open("/proc/self/exe", O_RDONLY);
		void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
		truth_need(map != MAP_FAILED, "mmap");
		munmap(map, 4096);
		close(file);
		free(malloc(300000 + i)); /* which libc maps */
	}
	truth_say("calls seen by the wrappers: %s", getenv("STRESS_WRAPPED"));
	truth_say("# end");
	return 0;
}
