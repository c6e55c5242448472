/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of /proc/PID/numa_maps (numa(7)): on which NUMA nodes the pages of mappings are. */
#ifndef PROCESS_NUMA_MAPS_H
#define PROCESS_NUMA_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes from this number on are left out: Linux has 1,024 at most (MAX_NUMNODES). */
#define NUMA_NODES_MAX 1024u

struct numa_entry {
	uint64_t start; /* of the mapping */
	uint64_t bytes; /* on the node; 0 bytes are not handed over */
	unsigned node;
};

/*
 * Hands over what each mapping has on each node, ascending by mapping and node. `text` ends with a
 * NUL and is written to. `take` returns false to end it. Returns how many lines were left out: not
 * of this form, or not above the one before.
 */
size_t numa_maps_parse(
	char *text, bool (*take)(void *ctx, const struct numa_entry *entry), void *ctx);

#endif
