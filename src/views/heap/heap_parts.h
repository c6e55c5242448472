/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What answers about a heap have in common: what they lack, and how many rows or blocks match. */
#ifndef VIEWS_HEAP_PARTS_H
#define VIEWS_HEAP_PARTS_H

#include "heap/heap_scan.h"
#include "table/answer.h"

/* Names of what a core lacks, and of the bounds that were reached. */
extern const struct table_type heap_partial_type;
/* Places with damage of the allocator's books. */
extern const struct table_type heap_damage_type;
/* A record: rows that match conditions. */
extern const struct table_type heap_matched_rows_type;
/* A record: blocks that match, and their bytes. */
extern const struct table_type heap_matched_type;
struct heap_matched {
	uint64_t blocks, bytes;
};
/* Of other sums of blocks. */
extern const struct column heap_matched_columns[];

/* Both of the first two, with which an answer about blocks begins. In text only the summary has
 * them.
 */
#define HEAP_HEAD_TYPES &heap_partial_type, &heap_damage_type
void heap_head_answer(struct answer *answer, const struct heap_scan *scan);
/* The first alone, of what rests on memory and not on blocks; `reached`: the name of a bound that
 * was; NULL: none. */
void heap_memory_head_answer(
	struct answer *answer, const struct address_space *space, const char *reached);

/* The first members of a struct answer_type: its name, " VERB" as it is written, what it is about.
 */
#define HEAP_ANSWER(name, verb, ...)                                                               \
	.schema = "heapwise.heap-" name "/1", .before = HEAP_SCHEMA_BEFORE,                        \
	.from = "heapwise core CORE" verb, .says = __VA_ARGS__

/* "global", "stack"… */
extern const char *const heap_root_names[HEAP_ROOT_KINDS];

void heap_matched_rows_answer(struct answer *answer, uint64_t rows);
void heap_matched_answer(struct answer *answer, uint64_t blocks, uint64_t bytes);

#endif
