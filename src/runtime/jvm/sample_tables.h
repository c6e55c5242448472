/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the agent records an object or writes a profile; the caller holds the agent's lock.
 * May touch: its own memory, by malloc.
 *
 * What was sampled, each thing once:
 *
 *	strings     names, never changed or removed; 0 is ""
 *	functions   a Java method, or a name alone (a class that is allocated, a thread)
 *	nodes       a trie of stacks: parent, function, line; 0 is the root
 *	cells       objects of one node and one size, with sums of their weights
 *	live        weak references to sampled objects, in slots that are used again
 *
 * Functions that add return 0 and set `failed` if there is no memory; nothing is lost but that.
 */
#ifndef RUNTIME_JVM_SAMPLE_TABLES_H
#define RUNTIME_JVM_SAMPLE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids by hash: open addressing, at most half full. */
struct id_index {
	uint32_t *ids; /* 0: free */
	uint32_t *hashes;
	size_t cap, len;
};

struct sample_line {
	uint32_t start, line;
};

struct sample_function {
	const void *method;  /* key: a method's id, NULL of names */
	uint32_t name;       /* "java.util.ArrayList.add" */
	uint32_t short_name; /* "ArrayList.add" */
	uint32_t full_name;  /* "java.util.ArrayList.add(Ljava/lang/Object;)Z" */
	uint32_t file;
	struct sample_line *lines; /* ascending */
	uint32_t line_count;
};

struct sample_node {
	uint32_t parent, function, line;
};

struct sample_cell {
	uint32_t node;
	uint32_t size_class;
	double objects, bytes;           /* estimates: sums of weights */
	double live_objects, live_bytes; /* filled when a profile is written */
	uint64_t samples;
};

struct sample_live {
	void *weak; /* NULL: the slot is free, and `cell` is the next free one */
	uint32_t cell;
	uint32_t epoch; /* collections that had ended when it was allocated */
	uint64_t size;
	double weight;
};

#define LIVE_CHUNK 4096u
#define LIVE_CHUNKS 65536u /* bounds live objects at 268 million samples */

struct sample_tables {
	char **strings;
	size_t string_count, string_cap;
	struct id_index string_index;
	struct sample_function *functions;
	size_t function_count, function_cap;
	struct id_index method_index, name_index;
	struct sample_node *nodes;
	size_t node_count, node_cap;
	struct id_index node_index;
	struct sample_cell *cells;
	size_t cell_count, cell_cap;
	struct id_index cell_index;
	struct sample_live **live; /* chunks, never moved */
	size_t live_count;         /* slots that were ever used */
	uint32_t live_free;        /* first free slot plus 1; 0: none */
	size_t live_now;
	size_t bytes; /* memory of all of this, about */
	bool failed;
};

bool sample_tables_init(struct sample_tables *tables);
/* Frees all but the weak references, which the caller deletes before. */
void sample_tables_deinit(struct sample_tables *tables);

/*
 * A copy of what a profile is written from: cells, nodes, functions without lines, and strings,
 * which stay the original's. It is as it was, while the original grows, until that is freed. False:
 * there was no memory, and nothing to free.
 */
bool sample_tables_copy(const struct sample_tables *tables, struct sample_tables *ret);
void sample_tables_copy_free(struct sample_tables *copy);

uint32_t sample_string(struct sample_tables *tables, const char *string);
/* 0: not known yet. */
uint32_t sample_method_find(const struct sample_tables *tables, const void *method);
/* Adds a method; takes over `row->lines`. Of one that is known returns that. */
uint32_t sample_method_add(struct sample_tables *tables, const struct sample_function *row);
/* A function that is a name alone. */
uint32_t sample_name(struct sample_tables *tables, const char *name, const char *short_name);
uint32_t sample_line_of(const struct sample_function *function, int64_t location);
uint32_t sample_node(
	struct sample_tables *tables, uint32_t parent, uint32_t function, uint32_t line);
/* Index of the cell plus 1. */
uint32_t sample_cell(struct sample_tables *tables, uint32_t node, uint64_t size);
/* Returns whether there was room. */
bool sample_live_add(struct sample_tables *tables, const struct sample_live *row);
void sample_live_free(struct sample_tables *tables, size_t slot);

static inline struct sample_live *sample_live_at(const struct sample_tables *tables, size_t slot)
{
	return &tables->live[slot / LIVE_CHUNK][slot % LIVE_CHUNK];
}

/* Sizes up to 1 KiB are their own class; above, there are eight between powers of two. */
uint32_t sample_size_class(uint64_t size);

/*
 * The weight of one sampled object: with mean distance `interval` between samples an object of
 * `size` bytes is one with probability 1 - exp(-size / interval), so it stands for that many.
 */
double sample_weight(uint64_t size, uint64_t interval);

#endif
