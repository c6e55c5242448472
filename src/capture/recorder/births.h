/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which chunk of events a block was allocated, by its thread and its number there: a thread's
 * numbers ascend, so it is enough to know with which one each chunk began.
 */
#ifndef CAPTURE_BIRTHS_H
#define CAPTURE_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks from `number` on were allocated in the chunk, or later. */
struct birth {
	uint64_t number;
	uint32_t chunk;
};

struct births_of {
	struct birth *rows; /* ascending */
	uint32_t count, capacity;
	uint32_t found; /* row that was asked for last */
};

struct births {
	struct births_of *threads;
	uint32_t capacity;
	uint64_t rows;     /* of all threads */
	uint64_t rows_max; /* no more than so many */
	bool given_up; /* there were too many, or there was no memory: nothing is known any more */
};

/* 64 MiB: a recording of 10^10 events of ten threads. */
#define BIRTHS_ROWS_MAX (4u << 20)

/* rows_max: usually BIRTHS_ROWS_MAX. */
void births_init(struct births *births, uint64_t rows_max);
void births_deinit(struct births *births);

/* The thread has its first step in the chunk, and has allocated so many blocks before. */
void births_enter(struct births *births, uint32_t thread, uint32_t chunk, uint64_t number);

/* The chunk of a block that has been allocated in one of them. */
uint32_t births_find(struct births *births, uint32_t thread, uint64_t number);

#endif
