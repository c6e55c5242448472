/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quick_exit: only its own handlers run. What they free is gone, what the others would free is
 * there. */
#include "leaks.h"

LEAK_ROLE(held_by_frame)
LEAK_ROLE(freed_by_handler)
LEAK_ROLE(freed_by_quick_handler)
LEAK_ROLE(lost)

static void *volatile keep, *volatile keep_quick;

static void handler(void)
{
	free(keep);
	keep = NULL;
}

static void quick_handler(void)
{
	free(keep_quick);
	keep_quick = NULL;
}

int main(void)
{
	void *volatile mine = held_by_frame(216);
	truth_need(!atexit(handler) && !at_quick_exit(quick_handler), "atexit");
	keep = freed_by_handler(232);
	keep_quick = freed_by_quick_handler(264);
	leak_opaque(lost(248));
	LEAKS_ARE(LEAK_REACHABLE, held_by_frame);
	LEAKS_ARE(LEAK_REACHABLE, freed_by_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	LEAKS_GONE(freed_by_quick_handler);
	leaks_end();
	quick_exit(0);
	(void)mine;
}
