/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block that is held by its inside alone is possibly lost, and so is all that only it holds. Held
 * by its start as well, it is reachable, in whichever order that is found. */
#include "leaks.h"

LEAK_ROLE(held_inside)
LEAK_ROLE(behind_inside)
LEAK_ROLE(held_last_byte)
LEAK_ROLE(held_both)
LEAK_ROLE(behind_both)
LEAK_ROLE(tagged)

static void *volatile holders[4];

TRUTH_FRAME static void story(void)
{
	void *inside = held_inside(200);
	leak_put(inside, 20, behind_inside(56));
	holders[0] = leak_inside(inside, 104);
	holders[1] = leak_inside(held_last_byte(73), 72);

	/* By its inside from a static variable; by its start from a block that is found later. */
	void *both = held_both(152), *behind = behind_both(88);
	holders[2] = leak_inside(both, 32);
	leak_put(both, 3, behind);
	leak_put(behind, 1, both);
	leak_put(behind, 2, behind);
	void *start = held_both(152);
	leak_put(start, 7, both);
	holders[3] = start;
}

/* Flags in the low bits of a pointer make it one to the inside. */
static void *volatile flagged;
TRUTH_FRAME static void story_of_flags(void)
{
	flagged = leak_inside(tagged(120), 3);
}

int main(void)
{
	story();
	story_of_flags();
	LEAKS_ARE(LEAK_POSSIBLE, held_inside);
	LEAKS_ARE(LEAK_POSSIBLE, behind_inside);
	LEAKS_ARE(LEAK_POSSIBLE, held_last_byte);
	LEAKS_ARE(LEAK_REACHABLE, held_both);
	LEAKS_ARE(LEAK_REACHABLE, behind_both);
	LEAKS_ARE(LEAK_POSSIBLE, tagged);
	leaks_end();
	return 0;
}
