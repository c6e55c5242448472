/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of the program's own hold blocks, though the allocator's mappings lie right beside them,
 * so that the system takes them for one. The allocator grows between them. */
#include "leaks.h"
#include <sys/mman.h>

LEAK_ROLE(in_mapping)
LEAK_ROLE(behind_mapping)
LEAK_ROLE(growth)
LEAK_ROLE(lost)

enum { ROUNDS = 12 };

static void *volatile grown[ROUNDS * 2];

TRUTH_FRAME static void round_of(size_t number)
{
	static const size_t sizes[] = {4096, 1 << 16, 300 << 10, 1 << 20, 3 << 20};
	size_t bytes = sizes[number % (sizeof sizes / sizeof *sizes)];
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(memory != MAP_FAILED, "mmap");
	for (size_t i = 0; i < 3; i++) {
		void *block = in_mapping(216);
		leak_put(block, 1, behind_mapping(40));
		leak_put(memory + i * (bytes / 2 - 8) / 16 * 16, 0, block);
	}
	grown[number * 2] = growth(200000);
	grown[number * 2 + 1] = growth(1500000);
	leak_opaque(lost(1000));
}

TRUTH_FRAME static void story(void)
{
	for (size_t i = 0; i < ROUNDS; i++)
		round_of(i);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_mapping);
	LEAKS_ARE(LEAK_REACHABLE, behind_mapping);
	LEAKS_ARE(LEAK_REACHABLE, growth);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	return 0;
}
