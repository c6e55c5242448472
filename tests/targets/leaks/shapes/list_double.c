/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A doubly linked list that is lost: its nodes hold each other, and one of them leads. Of one that
 * is held in the middle everything is reachable, to both sides. */
#include "leaks.h"

LEAK_ROLE(lost_node)
LEAK_ROLE(kept_node)

enum { LOST = 19, LOST_BYTES = 88, KEPT = 21, KEPT_BYTES = 104 };

static void *volatile kept;

/* Returns the node in the middle. */
TRUTH_FRAME static void *list(void *(*node)(size_t), size_t nodes, size_t bytes)
{
	void *last = NULL, *middle = NULL;
	for (size_t i = 0; i < nodes; i++) {
		void *one = node(bytes);
		leak_put(one, 1, last);
		if (last)
			leak_put(last, 0, one);
		last = one;
		if (i == nodes / 2)
			middle = one;
	}
	return middle;
}

TRUTH_FRAME static void story(void)
{
	list(lost_node, LOST, LOST_BYTES);
	kept = list(kept_node, KEPT, KEPT_BYTES);
}

int main(void)
{
	story();
	LEAKS_LED(lost_node, 1, LOST_BYTES, NULL);
	LEAKS_ARE(LEAK_REACHABLE, kept_node);
	leaks_end();
	return 0;
}
