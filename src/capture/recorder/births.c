/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/births.h"

#include <stdlib.h>
#include <string.h>

void births_init(struct births *births, uint64_t rows_max)
{
	*births = (struct births){.rows_max = rows_max};
}

void births_deinit(struct births *births)
{
	for (uint32_t i = 0; i < births->capacity; i++)
		free(births->threads[i].rows);
	free(births->threads);
	*births = (struct births){.rows_max = births->rows_max, .given_up = births->given_up};
}

static void give_up(struct births *births)
{
	births->given_up = true;
	births_deinit(births);
}

static bool make_thread(struct births *births, uint32_t thread)
{
	if (thread < births->capacity)
		return true;
	uint32_t capacity = (thread + 1) * 2;
	struct births_of *moved = realloc(births->threads, capacity * sizeof(*moved));
	if (!moved)
		return false;
	memset(moved + births->capacity, 0, (capacity - births->capacity) * sizeof(*moved));
	births->threads = moved;
	births->capacity = capacity;
	return true;
}

static bool make_room(struct births_of *of)
{
	if (of->count < of->capacity)
		return true;
	uint32_t capacity = of->capacity ? of->capacity * 2 : 4;
	struct birth *moved = realloc(of->rows, capacity * sizeof(*moved));
	if (!moved)
		return false;
	of->rows = moved;
	of->capacity = capacity;
	return true;
}

void births_enter(struct births *births, uint32_t thread, uint32_t chunk, uint64_t number)
{
	if (births->given_up)
		return;
	if (births->rows == births->rows_max || !make_thread(births, thread)) {
		give_up(births);
		return;
	}
	struct births_of *of = &births->threads[thread];
	/* It allocated nothing in that chunk. */
	if (of->count && of->rows[of->count - 1].number == number) {
		of->rows[of->count - 1].chunk = chunk;
		return;
	}
	if (!make_room(of)) {
		give_up(births);
		return;
	}
	of->rows[of->count++] = (struct birth){number, chunk};
	births->rows++;
}

static bool is_row(const struct births_of *of, uint32_t row, uint64_t number)
{
	return of->rows[row].number <= number &&
	       (row + 1 == of->count || number < of->rows[row + 1].number);
}

uint32_t births_find(struct births *births, uint32_t thread, uint64_t number)
{
	if (thread >= births->capacity || !births->threads[thread].count)
		return 0;
	struct births_of *of = &births->threads[thread];
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
