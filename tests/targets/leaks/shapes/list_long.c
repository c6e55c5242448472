/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of 50,000 nodes, lost and reachable: a search that calls itself for each node would
 * overflow its stack. The nodes of the one are in order of address, those of the other against it.
 */
#include "leaks.h"

LEAK_ROLE(lost_node)
LEAK_ROLE(kept_node)

enum { NODES = 50000, LOST_BYTES = 40, KEPT_BYTES = 24 };

static void *volatile kept;

TRUTH_FRAME static void story(void)
{
	void *last = NULL;
	for (size_t i = 0; i < NODES; i++) {
		void *node = lost_node(LOST_BYTES);
		if (last)
			leak_put(last, 4, node);
		last = node;
	}
	for (size_t i = 0; i < NODES; i++) {
		void *node = kept_node(KEPT_BYTES);
		leak_put(node, 2, kept);
		kept = node;
	}
}

int main(void)
{
	story();
	LEAKS_LED(lost_node, 1, LOST_BYTES, NULL);
	LEAKS_ARE(LEAK_REACHABLE, kept_node);
	leaks_end();
	return 0;
}
