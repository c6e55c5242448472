/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the program maps itself holds blocks, private or shared, also in the middle of pages
 * that were never touched; what was unmapped holds nothing. */
#include "leaks.h"
#include <sys/mman.h>

LEAK_ROLE(in_private)
LEAK_ROLE(in_shared)
LEAK_ROLE(in_memfd)
LEAK_ROLE(in_unmapped)
LEAK_ROLE(behind_private)

enum { WORDS = 1 << 20 };

TRUTH_FRAME static void **map(int flags, int file)
{
	void *memory = mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, flags, file, 0);
	truth_need(memory != MAP_FAILED, "mmap");
	return (void **)memory;
}

TRUTH_FRAME static void story(void)
{
	void *block = in_private(216);
	leak_put(block, 26, behind_private(72));
	leak_put(map(MAP_PRIVATE | MAP_ANONYMOUS, -1), 765432, block);
	leak_put(map(MAP_SHARED | MAP_ANONYMOUS, -1), 4321, in_shared(232));
	int file = memfd_create("target", MFD_CLOEXEC);
	truth_need(file >= 0 && !ftruncate(file, WORDS * 8), "memfd_create");
	leak_put(map(MAP_SHARED, file), WORDS - 1, in_memfd(248));
	void **gone = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	leak_put(gone, 5, in_unmapped(264));
	truth_need(!munmap(gone, WORDS * 8), "munmap");
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_private);
	LEAKS_ARE(LEAK_REACHABLE, behind_private);
	LEAKS_ARE(LEAK_REACHABLE, in_shared);
	LEAKS_ARE(LEAK_REACHABLE, in_memfd);
	LEAKS_ARE(LEAK_DEFINITE, in_unmapped);
	leaks_end();
	return 0;
}
