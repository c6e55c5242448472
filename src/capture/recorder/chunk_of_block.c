/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/chunk_of_block.h"

#include <stdlib.h>
#include <string.h>

void block_chunks_init(struct block_chunks *block_chunks, uint64_t rows_max)
{
	*block_chunks = (struct block_chunks){.rows_max = rows_max};
}

void block_chunks_deinit(struct block_chunks *block_chunks)
{
	for (uint32_t i = 0; i < block_chunks->capacity; i++)
		free(block_chunks->threads[i].rows);
	free(block_chunks->threads);
	*block_chunks = (struct block_chunks){
		.rows_max = block_chunks->rows_max, .given_up = block_chunks->given_up};
}

static void forget_all(struct block_chunks *block_chunks)
{
	block_chunks->given_up = true;
	block_chunks_deinit(block_chunks);
}

static bool make_thread(struct block_chunks *block_chunks, uint32_t thread)
{
	if (thread < block_chunks->capacity)
		return true;
	uint32_t capacity = (thread + 1) * 2;
	struct thread_chunks *moved = realloc(block_chunks->threads, capacity * sizeof(*moved));
	if (!moved)
		return false;
	memset(moved + block_chunks->capacity, 0,
		(capacity - block_chunks->capacity) * sizeof(*moved));
	block_chunks->threads = moved;
	block_chunks->capacity = capacity;
	return true;
}

static bool make_room(struct thread_chunks *of)
{
	if (of->count < of->capacity)
		return true;
	uint32_t capacity = of->capacity ? of->capacity * 2 : 4;
	struct chunk_start *moved = realloc(of->rows, capacity * sizeof(*moved));
	if (!moved)
		return false;
	of->rows = moved;
	of->capacity = capacity;
	return true;
}

void block_chunks_add(
	struct block_chunks *block_chunks, uint32_t thread, uint32_t chunk, uint64_t number)
{
	if (block_chunks->given_up)
		return;
	if (block_chunks->rows == block_chunks->rows_max || !make_thread(block_chunks, thread)) {
		forget_all(block_chunks);
		return;
	}
	struct thread_chunks *of = &block_chunks->threads[thread];
	/* It allocated nothing in that chunk. */
	if (of->count && of->rows[of->count - 1].number == number) {
		of->rows[of->count - 1].chunk = chunk;
		return;
	}
	if (!make_room(of)) {
		forget_all(block_chunks);
		return;
	}
	of->rows[of->count++] = (struct chunk_start){number, chunk};
	block_chunks->rows++;
}

static bool is_row(const struct thread_chunks *of, uint32_t row, uint64_t number)
{
	return of->rows[row].number <= number &&
	       (row + 1 == of->count || number < of->rows[row + 1].number);
}

uint32_t chunk_of_block(struct block_chunks *block_chunks, uint32_t thread, uint64_t number)
{
	if (thread >= block_chunks->capacity || !block_chunks->threads[thread].count)
		return 0;
	struct thread_chunks *of = &block_chunks->threads[thread];
	if (is_row(of, of->found, number))
		return of->rows[of->found].chunk;
	uint32_t low = 0, high = of->count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (of->rows[middle].number <= number)
			low = middle;
		else
			high = middle;
	}
	of->found = low;
	return of->rows[low].chunk;
}
