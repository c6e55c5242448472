/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings. A lost one has one leader and the rest is indirect; one that is held is reachable; a block
 * that holds nothing but itself is definite and leads nobody. */
#include "leaks.h"

LEAK_ROLE(lost_ring)
LEAK_ROLE(kept_ring)
LEAK_ROLE(lost_self)
LEAK_ROLE(lost_self_inside)

enum { LOST = 7, LOST_BYTES = 48, KEPT = 5 };

static void *volatile kept;

TRUTH_FRAME static void *ring(void *(*link)(size_t), size_t links, size_t bytes)
{
	void *first = link(bytes), *last = first;
	for (size_t i = 1; i < links; i++) {
		void *one = link(bytes);
		leak_put(last, 1, one);
		last = one;
	}
	leak_put(last, 1, first);
	return first;
}

TRUTH_FRAME static void story(void)
{
	ring(lost_ring, LOST, LOST_BYTES);
	kept = ring(kept_ring, KEPT, 80);
	void *self = lost_self(32);
	leak_put(self, 0, self);
	self = lost_self_inside(96);
	leak_put(self, 5, leak_inside(self, 44));
}

int main(void)
{
	story();
	LEAKS_LED(lost_ring, 1, LOST_BYTES, NULL);
	LEAKS_ARE(LEAK_REACHABLE, kept_ring);
	LEAKS_ARE(LEAK_DEFINITE, lost_self);
	LEAKS_ARE(LEAK_DEFINITE, lost_self_inside);
	leaks_end();
	return 0;
}
