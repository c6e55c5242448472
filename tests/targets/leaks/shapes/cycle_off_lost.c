/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring that hangs off a lost block is indirect as a whole: the block leads it, also when the ring
 * was there first and when the block holds any of the ring's links. */
#include "leaks.h"

LEAK_ROLE(early_ring)
LEAK_ROLE(early_holder)
LEAK_ROLE(late_holder)
LEAK_ROLE(late_ring)

TRUTH_FRAME static void *ring(void *(*link)(size_t), size_t links, size_t bytes)
{
	void *first = link(bytes), *last = first;
	for (size_t i = 1; i < links; i++) {
		void *one = link(bytes);
		leak_put(last, 0, one);
		last = one;
	}
	leak_put(last, 0, first);
	return first;
}

TRUTH_FRAME static void story(void)
{
	/* Links of the first ring have lower addresses than what holds them: its first one is held.
	 */
	void *first = ring(early_ring, 5, 56);
	leak_put(early_holder(120), 3, first);
	void *holder = late_holder(136);
	leak_put(holder, 0, leak_get(ring(late_ring, 6, 72), 0));
}

int main(void)
{
	story();
	LEAKS_HEAD(early_holder, early_ring);
	LEAKS_HEAD(late_holder, late_ring);
	leaks_end();
	return 0;
}
