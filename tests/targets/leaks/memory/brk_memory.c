/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that the program itself gets by sbrk holds blocks, though the allocator's own lies beside
 * it. */
#include "leaks.h"

LEAK_ROLE(in_break)
LEAK_ROLE(behind_break)
LEAK_ROLE(lost)

TRUTH_FRAME static void story(void)
{
	leak_opaque(lost(1000));
	void *memory = sbrk(1 << 16);
	truth_need(memory != (void *)-1, "sbrk");
	void *block = in_break(216);
	leak_put(block, 1, behind_break(40));
	leak_put((void *)(((uintptr_t)memory + 15) & ~(uintptr_t)15), 3333, block);
	for (size_t i = 0; i < 300; i++)
		leak_opaque(lost(1000));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_break);
	LEAKS_ARE(LEAK_REACHABLE, behind_break);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	return 0;
}
