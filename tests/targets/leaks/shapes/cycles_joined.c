/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two rings, joined: one way, the ring that nobody holds leads both; both ways, they are one. */
#include "leaks.h"

LEAK_ROLE(upper_ring)
LEAK_ROLE(lower_ring)
LEAK_ROLE(late_lower_ring)
LEAK_ROLE(late_upper_ring)
LEAK_ROLE(eight)

enum { UPPER = 3, UPPER_BYTES = 40, LATE_UPPER_BYTES = 168 };

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
	void *upper = ring(upper_ring, UPPER, UPPER_BYTES);
	leak_put(leak_get(upper, 0), 1, ring(lower_ring, 4, 64));

	void *lower = ring(late_lower_ring, 4, 88);
	leak_put(ring(late_upper_ring, UPPER, LATE_UPPER_BYTES), 1, lower);

	void *one = ring(eight, 5, 104), *other = ring(eight, 6, 104);
	leak_put(one, 1, other);
	leak_put(other, 1, one);
}

int main(void)
{
	story();
	LEAKS_LED(upper_ring, 1, UPPER_BYTES, &leak_of_lower_ring, NULL);
	LEAKS_LED(late_upper_ring, 1, LATE_UPPER_BYTES, &leak_of_late_lower_ring, NULL);
	LEAKS_LED(eight, 1, 104, NULL);
	leaks_end();
	return 0;
}
