/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A singly linked list that is lost: its head is definite, the rest indirect. One that a static
 * variable holds is reachable to its last node. */
#include "leaks.h"

LEAK_ROLE(lost_node)
LEAK_ROLE(kept_node)

enum { LOST = 37, LOST_BYTES = 56, KEPT = 23, KEPT_BYTES = 72 };

static void *volatile kept;

TRUTH_FRAME static void *list(void *(*node)(size_t), size_t nodes, size_t bytes)
{
	void *head = NULL;
	for (size_t i = 0; i < nodes; i++) {
		void *one = node(bytes);
		leak_put(one, i % 5, head);
		head = one;
	}
	return head;
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
