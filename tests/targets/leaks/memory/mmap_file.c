/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writable mappings of files hold blocks, private and shared ones. */
#include "leaks.h"
#include <sys/mman.h>

LEAK_ROLE(in_private_file)
LEAK_ROLE(in_shared_file)

enum { WORDS = 1 << 14 };

TRUTH_FRAME static void **map(int flags, int file)
{
	void *memory = mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, flags, file, 0);
	truth_need(memory != MAP_FAILED, "mmap");
	return (void **)memory;
}

TRUTH_FRAME static void story(void)
{
	char path[] = "/tmp/heapwise-target-XXXXXX";
	int file = mkstemp(path);
	truth_need(file >= 0 && !unlink(path) && !ftruncate(file, WORDS * 8), path);
	leak_put(map(MAP_PRIVATE, file), 1234, in_private_file(216));
	leak_put(map(MAP_SHARED, file), 12345, in_shared_file(232));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_private_file);
	LEAKS_ARE(LEAK_REACHABLE, in_shared_file);
	leaks_end();
	return 0;
}
