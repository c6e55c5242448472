/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a frame of a code object is seen that the thread does not know. May touch: the table
 * of codes in shared memory, code objects that are in use.
 *
 * Code objects, each once, with what names an instruction in them: name, file, first line, table of
 * lines. These are immutable, and what a frame in use refers to is alive, so they are read without
 * the interpreter's lock. An address may become another code's: a code is known by its address and
 * those of the three objects in it, and its first line.
 */
#ifndef RUNTIME_PYTHON_CODES_H
#define RUNTIME_PYTHON_CODES_H

#include "format/shm.h"
#include "runtime/core/sys.h"
#include "runtime/python/layout.h"

/* Bits of a filter of the addresses of code objects: most other blocks are seen not to be any by
 * one look. */
#define RT_CODE_FILTER_WORDS 1024u

struct rt_codes {
	struct hw_shm *shm; /* its `codes` and `code_bytes`: under lock */
	struct hw_code *rows;
	uint32_t *index; /* open addressing; release: the row is complete */
	char *bytes;
	struct rt_lock lock; /* leaf; held to add a row */
	uint64_t filter[RT_CODE_FILTER_WORDS];
};

/* Row 1 stands for all codes that found no room. */
#define RT_CODE_FULL 1u

/* Opens the table in the shared memory at `base`. Returns false if it is not mapped. */
bool rt_codes_open(struct rt_codes *codes, void *base);

/* Returns whether the table is not in use, and never will be: it may be unmapped. Any thread. */
bool rt_codes_close(struct hw_shm *shm);

/* Returns the row of a code object, which is added if it is new; RT_CODE_FULL if there is no room,
 * 0 if another thread adds one and does not finish in time. */
uint32_t rt_codes_row(struct rt_codes *codes, const struct rt_python_layout *layout, uint64_t code);

/* The block at this address is about to be freed. Returns whether it was a code object's: what is
 * known of it does not hold for the next one there. */
bool rt_codes_died(struct rt_codes *codes, uint64_t code);

static inline uint64_t *rt_code_filter_word(struct rt_codes *codes, uint64_t address, uint64_t *bit)
{
	uint64_t hash = (address >> 4) * 0x9e3779b97f4a7c15ull >> 48;
	*bit = 1ull << (hash & 63);
	return &codes->filter[hash >> 6 & (RT_CODE_FILTER_WORDS - 1)];
}

/* Returns whether there may have been a code object at the address. */
static inline bool rt_codes_may_have(struct rt_codes *codes, uint64_t address)
{
	uint64_t bit;
	return __atomic_load_n(rt_code_filter_word(codes, address, &bit), __ATOMIC_RELAXED) & bit;
}

#endif
