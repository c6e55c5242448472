/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see fill.h. May touch: the same; the sums. */
#include "runtime/guard/fill.h"

#include "runtime/guard/sums.h"

struct fill_plan fill_plan = {.byte = -1, .other = -1};
static uint64_t next_number; /* of the next block; relaxed */

static bool gets_other(uint64_t number)
{
	const struct fill_plan *plan = &fill_plan;
	if (plan->other < 0 || number < plan->from || number >= plan->to)
		return false;
	for (uint32_t i = 0; i < plan->skip_count; i++)
		if (plan->skips[i] == number)
			return false;
	return true;
}

static void put_other(uint8_t *block, uint64_t from, uint64_t bytes)
{
	uint64_t first = fill_plan.first > from ? fill_plan.first : from;
	uint64_t end = fill_plan.last < bytes ? fill_plan.last + 1 : bytes;
	if (first < end)
		guard_fill(block + first, (uint8_t)fill_plan.other, end - first);
}

static void report_unwritten(const struct fill_range *range, const struct guard_block *block)
{
	uint64_t last = range->last < block->bytes ? range->last : block->bytes - 1;
	struct hw_error_report report = {.address = block->start + range->first,
		.access_bytes = range->first <= last ? last - range->first + 1 : 0,
		.source = range->first};
	guard_report_block(&report, block);
	guard_report(HW_ERROR_UNINIT, &report, (struct guard_caller){0}); /* where is not known */
}

static void fill_other_process(uint8_t *block, uint64_t from, uint64_t bytes)
{
	bool other = fill_plan.others && fill_plan.other >= 0;
	if (from < bytes)
		guard_fill(block + from, (uint8_t)(other ? fill_plan.other : fill_plan.byte),
			bytes - from);
}

void fill_new_block(
	uint8_t *block, uint64_t from, uint64_t bytes, enum hw_alloc_kind kind, uint32_t stack)
{
	if (rt_unlikely(!guard_settings.started)) {
		fill_other_process(block, from, bytes);
		return;
	}
	uint64_t number = __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED);
	sums_set_numbered(number + 1);
	if (from < bytes) {
		guard_fill(block + from, (uint8_t)fill_plan.byte, bytes - from);
		if (gets_other(number)) {
			put_other(block, from, bytes);
			sums_set_filled(bytes);
		}
	}
	for (uint32_t i = 0; i < fill_plan.report_count; i++) {
		if (fill_plan.reports[i].number != number)
			continue;
		struct guard_block found = {.start = (uint64_t)block,
			.bytes = bytes,
			.live = true,
			.alloc_kind = (uint8_t)kind,
			.allocated_at = stack,
			.allocated_by = guard_tid()};
		report_unwritten(&fill_plan.reports[i], &found);
	}
}
