/* SPDX-License-Identifier: GPL-2.0-or-later */
/* _exit: handlers do not run, so that what they would free is still there, and the frames are
 * alive. */
#include "leaks.h"

LEAK_ROLE(held_by_frame)
LEAK_ROLE(freed_by_handler)
LEAK_ROLE(lost)

static void *volatile keep;

static void handler(void)
{
	free(keep);
	keep = NULL;
}

int main(void)
{
	void *volatile mine = held_by_frame(216);
	truth_need(!atexit(handler), "atexit");
	keep = freed_by_handler(232);
	leak_opaque(lost(248));
	LEAKS_ARE(LEAK_REACHABLE, held_by_frame);
	LEAKS_ARE(LEAK_REACHABLE, freed_by_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	_exit(0);
	(void)mine;
}
