/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/check_starts.h"

#include <stdlib.h>

/* Objects of one program at a time: more are an error of it. */
#define CHECKS_MAX 1024u

bool check_start_init(struct check_start *start, uint64_t id, const struct tally *tally)
{
	*start = (struct check_start){.id = id, .thread_count = tally->thread_count};
	start->allocations = calloc(start->thread_count + 1u, sizeof(*start->allocations));
	for (uint32_t i = 0; start->allocations && i < start->thread_count; i++)
		start->allocations[i] = tally->threads[i].allocations;
	return start->allocations;
}

void check_start_deinit(struct check_start *start)
{
	free(start->allocations);
	start->allocations = NULL;
}

void check_starts_init(struct check_starts *starts)
{
	check_start_vec_init(&starts->starts);
}

void check_starts_deinit(struct check_starts *starts)
{
	for (size_t i = 0; i < starts->starts.len; i++)
		check_start_deinit(&starts->starts.data[i]);
	check_start_vec_deinit(&starts->starts);
}

void check_starts_add(struct check_starts *starts, uint64_t id, const struct tally *tally)
{
	struct check_start start;
	check_starts_remove(starts, id);
	if (starts->starts.len < CHECKS_MAX && check_start_init(&start, id, tally) &&
		!check_start_vec_push(&starts->starts, start))
		check_start_deinit(&start);
}

void check_starts_remove(struct check_starts *starts, uint64_t id)
{
	struct check_start_vec *vec = &starts->starts;
	for (size_t i = 0; i < vec->len; i++) {
		if (vec->data[i].id != id)
			continue;
		check_start_deinit(&vec->data[i]);
		vec->data[i] = vec->data[--vec->len];
		return;
	}
}

const struct check_start *check_starts_find(const struct check_starts *starts, uint64_t id)
{
	for (size_t i = 0; i < starts->starts.len; i++)
		if (starts->starts.data[i].id == id)
			return &starts->starts.data[i];
	return NULL;
}

bool check_start_precedes(const struct check_start *start, uint32_t thread, uint64_t number)
{
	return thread >= start->thread_count || number >= start->allocations[thread];
}
