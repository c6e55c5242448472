/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the chunk of events in which a block was allocated, by its thread and its number in that
 * thread. A thread's numbers ascend, so it is enough to know with which number each chunk began.
 */
#ifndef CAPTURE_CHUNK_OF_BLOCK_H
#define CAPTURE_CHUNK_OF_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks from `number` on were allocated in the chunk, or later. */
struct chunk_start {
	uint64_t number;
	uint32_t chunk;
};

struct thread_chunks {
	struct chunk_start *rows; /* ascending */
	uint32_t count, capacity;
	uint32_t found; /* row that was found last */
};

struct block_chunks {
	struct thread_chunks *threads;
	uint32_t capacity;
	uint64_t rows;     /* of all threads */
	uint64_t rows_max; /* the most rows there may be */
	bool given_up; /* there were too many, or there was no memory: nothing is known any more */
};

/* 64 MiB: a recording of 10^10 events of ten threads. */
#define BLOCK_CHUNKS_ROWS_MAX (4u << 20)

/* rows_max: usually BLOCK_CHUNKS_ROWS_MAX. */
void block_chunks_init(struct block_chunks *block_chunks, uint64_t rows_max);
void block_chunks_deinit(struct block_chunks *block_chunks);

/* Adds a chunk for a thread that has its first step in it and has allocated `number` blocks before.
 */
void block_chunks_add(
	struct block_chunks *block_chunks, uint32_t thread, uint32_t chunk, uint64_t number);

/* Returns the chunk in which a thread allocated its block `number`. */
uint32_t chunk_of_block(struct block_chunks *block_chunks, uint32_t thread, uint64_t number);

#endif
