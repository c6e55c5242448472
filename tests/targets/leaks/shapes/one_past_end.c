/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pointer just past the last requested byte holds nothing, nor does one just before the first. */
#include "leaks.h"

LEAK_ROLE(held_past)
LEAK_ROLE(held_past_odd)
LEAK_ROLE(held_before)

static void *volatile holders[3];

TRUTH_FRAME static void story(void)
{
	holders[0] = leak_inside(held_past(168), 168);
	holders[1] = leak_inside(held_past_odd(61), 61);
	holders[2] = leak_inside(held_before(136), (size_t)-1);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, held_past);
	LEAKS_ARE(LEAK_DEFINITE, held_past_odd);
	LEAKS_ARE(LEAK_DEFINITE, held_before);
	leaks_end();
	return 0;
}
