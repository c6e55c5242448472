/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exit handlers and destructors free is not there when the search comes after them, by
 * default; and what they drop is lost. When it comes at the end of main, both are there and held.
 */
#include "leaks.h"

LEAK_ROLE(freed_by_handler)
LEAK_ROLE(freed_by_destructor)
LEAK_ROLE(dropped_by_handler)
LEAK_ROLE(lost)
LEAK_ROLE(kept)

static void *volatile keep[4];

static void handler(void)
{
	free(keep[0]);
	keep[0] = keep[1] = NULL;
	leak_scrub();
}

__attribute__((destructor)) static void destructor(void)
{
	free(keep[2]);
	keep[2] = NULL;
	leak_scrub();
}

TRUTH_FRAME static void story(void)
{
	keep[0] = freed_by_handler(216);
	keep[1] = dropped_by_handler(232);
	keep[2] = freed_by_destructor(248);
	keep[3] = kept(264);
	leak_opaque(lost(280));
}

int main(void)
{
	truth_need(!atexit(handler), "atexit");
	story();
	LEAKS_GONE(freed_by_handler);
	LEAKS_GONE(freed_by_destructor);
	LEAKS_ARE(LEAK_DEFINITE, dropped_by_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_with("--leak-check-at=main-end");
	LEAKS_ARE(LEAK_REACHABLE, freed_by_handler);
	LEAKS_ARE(LEAK_REACHABLE, freed_by_destructor);
	LEAKS_ARE(LEAK_REACHABLE, dropped_by_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	LEAKS_ARE(LEAK_REACHABLE, kept);
	leaks_end();
	return 0;
}
