/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of nodes in a page. A page shows the tree of functions: frames of one function below
 * the same ones are one of its nodes, whatever lines they are at. In its order, level by level with
 * what is one of its nodes side by side, a browser makes that tree in one pass, without lists.
 */
#ifndef PAGE_ORDER_H
#define PAGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers `count` nodes anew: ret[i] is the number of the one that was number i. parents[i]: node 0
 * is the root, the others come after their parents; functions[i]: below function_count, that of the
 * root has no meaning. In the new order parents still come before their children, the children of
 * nodes that are one in the tree of functions follow one another, in the order in which functions
 * came first, and equal ones side by side. False: no memory.
 */
bool page_order_nodes(const uint32_t *parents, const uint32_t *functions, size_t count,
	size_t function_count, uint32_t *ret);

#endif
