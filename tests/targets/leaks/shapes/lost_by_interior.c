/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Among lost blocks a pointer to the inside holds as well as one to the start: what is held so is
 * indirect, not possible. */
#include "leaks.h"

LEAK_ROLE(outer)
LEAK_ROLE(inner)

TRUTH_FRAME static void story(void)
{
	void *holder = outer(248);
	for (size_t i = 0; i < 9; i++)
		leak_put(holder, 3 * i, leak_inside(inner(112), 8 * i + 1));
}

int main(void)
{
	story();
	LEAKS_HEAD(outer, inner);
	leaks_end();
	return 0;
}
