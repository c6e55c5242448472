/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that was made read-only, or that may not be read at all for now, still holds blocks: the
 * program can read it, or give itself the right to. */
#include "leaks.h"
#include <sys/mman.h>

LEAK_ROLE(in_read_only)
LEAK_ROLE(in_untouchable)
LEAK_ROLE(in_writable_again)

enum { WORDS = 512 };

TRUTH_FRAME static void **map(void)
{
	void *memory =
		mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_need(memory != MAP_FAILED, "mmap");
	return (void **)memory;
}

TRUTH_FRAME static void story(void)
{
	void **memory = map();
	leak_put(memory, 17, in_read_only(216));
	truth_need(!mprotect(memory, WORDS * 8, PROT_READ), "mprotect");
	memory = map();
	leak_put(memory, 19, in_untouchable(232));
	truth_need(!mprotect(memory, WORDS * 8, PROT_NONE), "mprotect");
	memory = map();
	leak_put(memory, 23, in_writable_again(248));
	truth_need(!mprotect(memory, WORDS * 8, PROT_READ), "mprotect");
	truth_need(!mprotect(memory, WORDS * 8, PROT_READ | PROT_WRITE), "mprotect");
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_read_only);
	LEAKS_ARE(LEAK_REACHABLE, in_untouchable);
	LEAKS_ARE(LEAK_REACHABLE, in_writable_again);
	leaks_end();
	return 0;
}
