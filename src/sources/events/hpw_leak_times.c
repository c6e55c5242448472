/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the examples of leak records were allocated. EVENTS names a block by its thread and its
 * number there; a chunk's slots say with which number each thread goes on, so that a chunk without
 * any wanted block costs no more than unpacking it.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_events.h"
#include "sources/recording/hpw_leaks.h"

struct wanted {
	uint32_t thread;
	uint64_t number;
	size_t record;
	bool dated;
};
DEFINE_VEC(wanted_vec, struct wanted)

struct dating {
	struct hpw_leaks *leaks;
	struct wanted_vec wanted; /* by thread and number */
	uint64_t steps;           /* of the chunk at hand */
	uint64_t stamp;
	bool of_interest;
	size_t left;
};

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The first wanted one that is not before (thread, number). */
static size_t hpw_leak_times_find(const struct dating *dating, uint32_t thread, uint64_t number)
{
	size_t low = 0, high = dating->wanted.len;
	struct wanted key = {thread, number, 0, false};
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_wanted(&dating->wanted.data[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct error *see_head(void *context, const struct hpw_events_head *head)
{
	struct dating *dating = context;
	dating->steps = head->steps;
	dating->stamp = head->first_stamp;
	dating->of_interest = false;
	return NULL;
}

/* A thread cannot allocate more often in a chunk than that has steps. */
static struct error *see_slot(void *context, const struct hpw_slot_head *slot)
{
	struct dating *dating = context;
	size_t at = hpw_leak_times_find(dating, slot->thread, slot->allocations);
	if (at < dating->wanted.len && dating->wanted.data[at].thread == slot->thread &&
		dating->wanted.data[at].number - slot->allocations < dating->steps)
		dating->of_interest = true;
	return NULL;
}

static void see_time(void *context, uint64_t stamp)
{
	((struct dating *)context)->stamp = stamp;
}

static struct error *see_step(void *context, const struct hpw_step *step)
{
	struct dating *dating = context;
	if (!dating->of_interest)
		return error_create(ERROR_INPUT, "nothing is wanted of this chunk");
	if (step->kind != HPW_STEP_ALLOC)
		return NULL;
	struct wanted_vec *wanted = &dating->wanted;
	size_t at = hpw_leak_times_find(dating, step->thread, step->number);
	/* Several records may claim one block, and a malformed chunk allocate it again. */
	for (; at < wanted->len && wanted->data[at].thread == step->thread &&
		wanted->data[at].number == step->number && !wanted->data[at].dated;
		at++) {
		build_leak_time(dating->leaks->model, wanted->data[at].record,
			hpw_clock_ns(dating->leaks->clock, dating->stamp));
		wanted->data[at].dated = true;
		dating->left--;
	}
	return NULL;
}

static struct error *date_chunk(
	struct dating *dating, const struct hpw_file *file, const struct hpw_chunk *chunk)
{
	static const struct hpw_visitor visits = {
		.head = see_head, .slot = see_slot, .time = see_time, .step = see_step};
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct hpw_visitor visitor = visits;
	visitor.context = dating;
	struct error *error = hpw_file_payload(file, chunk, &payload);
	if (!error)
		error = hpw_events_decode(&payload, &visitor);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error); /* damage is reported where figures depend on it */
	return NULL;
}

static struct error *list_wanted(struct dating *dating)
{
	size_t count;
	const struct leak_record *records = model_leak_records(dating->leaks->model, &count);
	for (size_t i = 0; i < count; i++) {
		const struct live_block *example = &records[i].example;
		struct wanted wanted = {example->thread.value, example->number, i, false};
		if (wanted.thread != LEAK_NO_THREAD && !wanted_vec_push(&dating->wanted, wanted))
			return error_no_memory();
	}
	if (dating->wanted.len)
		qsort(dating->wanted.data, dating->wanted.len, sizeof(struct wanted),
			compare_wanted);
	dating->left = dating->wanted.len;
	return NULL;
}

struct error *hpw_leaks_date(struct hpw_leaks *leaks, const struct hpw_file *file)
{
	struct dating dating = {.leaks = leaks};
	wanted_vec_init(&dating.wanted);
	struct error *error = list_wanted(&dating);
	/* What stays was mostly allocated late, and a number comes once. */
	for (size_t i = file->chunks.len; !error && i > 0 && dating.left; i--)
		if (file->chunks.data[i - 1].type == HPW_EVENTS)
			error = date_chunk(&dating, file, &file->chunks.data[i - 1]);
	wanted_vec_deinit(&dating.wanted);
	return error;
}
