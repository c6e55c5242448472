/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process had allocated before it was attached: a list that the command makes, from a copy
 * of the process's memory as it was when its calls began to be recorded, and that the collector
 * enters before the first event. Memory that both share, which nobody else can write to.
 *
 *     command    making ──▶ blocks are there ──▶ their types are, too
 *                                   │                  │
 *     collector                     └─ in a hurry      └─ takes the list
 */
#ifndef CAPTURE_OLDER_H
#define CAPTURE_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/hpw.h"

struct older_block {
	uint64_t address, size; /* size: usable bytes */
	uint64_t type;          /* number of its name; 0: not known */
};

/* Bytes of names, of addresses' memory: sparse, so that they are a promise, not a cost. */
#define OLDER_BLOCKS_MAX (1ull << 28)
#define OLDER_NAMES_BYTES (64ull << 20)
#define OLDER_TYPES_MAX (1u << 20)

enum older_state {
	OLDER_MAKING = 0,
	OLDER_BLOCKS = 1, /* release: all blocks are there, without types */
	OLDER_TYPES = 2,  /* release: and their types and names */
	OLDER_NONE = 3,   /* release: there will be no list: `why` */
};

struct older_head {
	uint32_t state;   /* enum older_state */
	uint32_t why;     /* enum hpw_older: what came of it, as SUMMARY has it */
	uint64_t blocks;  /* rows */
	uint32_t types;   /* names, from number 1 on */
	uint32_t threads; /* that may have been inside the allocator */
	uint64_t damaged; /* bytes of the heap that could not be read as blocks */
	uint64_t name_bytes;
};

struct older_list {
	struct older_head *head; /* NULL: there is none */
	struct older_block *blocks;
	char *names; /* each ends with a NUL */
};

/* Makes the memory of a list. Returns false, and a list without a head, if there is no room. */
bool older_list_open(struct older_list *ret);
void older_list_close(struct older_list *list);

/* How the list is filled, by one process. Blocks: at most OLDER_BLOCKS_MAX, each address once; the
 * caller fills list->blocks before. */
void older_list_set_blocks(struct older_list *list, uint64_t count);
/* Adds a name. Returns its number, or 0 if there is no room for more. */
uint32_t older_list_add_name(struct older_list *list, const char *name);
/* The types of all blocks are there. */
void older_list_set_types(struct older_list *list);
/* There will be no list, or not more than it has. */
void older_list_give_up(struct older_list *list, enum hpw_older why);

static inline enum older_state older_list_state(const struct older_list *list)
{
	return list->head ? (enum older_state)__atomic_load_n(&list->head->state, __ATOMIC_ACQUIRE)
			  : OLDER_NONE;
}

#endif
