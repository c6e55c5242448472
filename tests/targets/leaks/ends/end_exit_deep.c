/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit() from deep within: the frames that called it are alive and hold what they hold. */
#include "leaks.h"

LEAK_ROLE(held_by_main)
LEAK_ROLE(held_by_frame)
LEAK_ROLE(lost)

/* By this the compiler does not see that it never returns. */
static void (*volatile end)(int) = exit;

TRUTH_FRAME static void deeper(size_t depth)
{
	void *volatile mine[3] = {NULL, held_by_frame(200 + 8 * depth), NULL};
	leak_opaque(lost(40));
	if (depth) {
		deeper(depth - 1);
	} else {
		LEAKS_ARE(LEAK_REACHABLE, held_by_main);
		LEAKS_ARE(LEAK_REACHABLE, held_by_frame);
		LEAKS_ARE(LEAK_DEFINITE, lost);
		leaks_end();
		end(0);
	}
	(void)mine[0];
}

int main(void)
{
	void *volatile mine = held_by_main(104);
	deeper(30);
	(void)mine;
	return 1;
}
