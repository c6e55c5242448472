/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an exit handler allocates is found by default, and is not there yet at the end of main. */
#include "leaks.h"

LEAK_ROLE(lost_in_handler)
LEAK_ROLE(kept_in_handler)
LEAK_ROLE(lost)

static void *volatile keep;

TRUTH_FRAME static void story_of_handler(void)
{
	leak_opaque(lost_in_handler(216));
	keep = kept_in_handler(232);
}

static void handler(void)
{
	story_of_handler();
	LEAKS_ARE(LEAK_DEFINITE, lost_in_handler);
	LEAKS_ARE(LEAK_REACHABLE, kept_in_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_with("--leak-check-at=main-end");
	LEAKS_GONE(lost_in_handler);
	LEAKS_GONE(kept_in_handler);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
}

TRUTH_FRAME static void story(void)
{
	leak_opaque(lost(248));
}

int main(void)
{
	truth_need(!atexit(handler), "atexit");
	story();
	leak_scrub();
	return 0;
}
