/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrappers of malloc that keep the size in a word of its own before what they give out (sqlite): a
 * pointer behind that word is as good as the start. */
#include "leaks.h"

LEAK_ROLE(held_behind_length)
LEAK_ROLE(behind_it)
LEAK_ROLE(wrong_length)
LEAK_ROLE(held_further)

enum { HEAD = 8, BYTES = 203 };

static void *volatile kept[3];

TRUTH_FRAME static char *sized(void *(*role)(size_t), size_t length)
{
	void *block = role(HEAD + BYTES);
	leak_put(block, 0, (void *)length);
	return leak_inside(block, HEAD);
}

TRUTH_FRAME static void story(void)
{
	kept[0] = sized(held_behind_length, BYTES);
	leak_put(kept[0], 20, behind_it(56));
	kept[1] = sized(wrong_length, BYTES - 1);
	kept[2] = sized(held_further, BYTES) + 8;
}

TRUTH_FRAME static void tell(enum leak_kind kind)
{
	LEAKS_ARE(kind, held_behind_length);
	LEAKS_ARE(kind, behind_it);
	LEAKS_ARE(LEAK_POSSIBLE, wrong_length);
	LEAKS_ARE(LEAK_POSSIBLE, held_further);
}

int main(void)
{
	story();
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=none");
	tell(LEAK_POSSIBLE);
	leaks_with("--leak-check-heuristics=length64");
	tell(LEAK_REACHABLE);
	leaks_with("--leak-check-heuristics=stdstring,multipleinheritance");
	tell(LEAK_POSSIBLE);
	/* It could as well be an array of so many bytes. */
	leaks_with("--leak-check-heuristics=newarray");
	tell(LEAK_REACHABLE);
	leaks_end();
	return 0;
}
