/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/leaving.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void leaving_deinit(struct leaving *leaving)
{
	free(leaving->ranges);
}

void leaving_begin(
	const struct leaving *leaving, bool first, uint8_t byte, struct hw_check_leaves *page)
{
	page->mode = first ? HW_LEAVES_ALL : HW_LEAVES_AGAIN;
	page->byte = byte;
	page->calls = page->uncounted = page->left_out = page->found_count = 0;
	page->wanted_count = leaving->count;
	for (size_t i = 0; i < leaving->count; i++) {
		page->wanted[i] = leaving->ranges[i];
		page->wanted[i].seen = 0;
	}
}

static bool is_same_call(const struct hw_leaving_range *a, const struct hw_leaving_range *b)
{
	return a->call == b->call && a->number == b->number;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct hw_leaving_range *x = a, *y = b;
	if (x->call != y->call)
		return compare_numbers(x->call, y->call);
	if (x->number != y->number)
		return compare_numbers(x->number, y->number);
	return compare_numbers(x->first, y->first);
}

/* Calls of a list, of which neighbours are the same call; only those that the run has not made, if
 * so asked. */
static uint64_t count_calls(const struct hw_leaving_range *ranges, size_t count, bool unseen)
{
	uint64_t calls = 0;
	for (size_t i = 0; i < count; i++)
		calls += (!i || !is_same_call(&ranges[i - 1], &ranges[i])) &&
			 !(unseen && ranges[i].seen);
	return calls;
}

/* The page is the program's, too: nothing in it is relied upon. */
struct error *leaving_take(struct leaving *leaving, const struct hw_check_leaves *page)
{
	size_t count = min(page->found_count, (uint64_t)HW_LEAVES_MOST);
	struct hw_leaving_range *ranges = malloc((count + 1) * sizeof(*ranges));
	if (!ranges)
		return error_no_memory();
	memcpy(ranges, page->found, count * sizeof(*ranges));
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	if (page->mode == HW_LEAVES_ALL) {
		leaving->looked_at = page->calls;
		leaving->left_out = page->left_out + page->uncounted;
	} else {
		leaving->changed +=
			count_calls(page->wanted, min(page->wanted_count, leaving->count), true);
		leaving->left_out += page->left_out;
	}
	free(leaving->ranges);
	leaving->ranges = ranges;
	leaving->count = count;
	leaving->calls = count_calls(ranges, count, false);
	return NULL;
}

void leaving_drop(struct leaving *leaving)
{
	leaving->count = 0;
	leaving->calls = 0;
}

/* Adds those whose call is the first that is left of those that are alike, or the others. */
static void add_calls(struct leaving *leaving, bool first_alike, struct text *text)
{
	for (size_t i = 0; i < leaving->count; i++) {
		const struct hw_leaving_range *one = &leaving->ranges[i];
		const struct hw_leaving_range *before = i ? one - 1 : NULL;
		if (before && is_same_call(before, one))
			continue;
		if (first_alike != !(before && before->call == one->call) ||
			leaving->reported == LEAVING_REPORTED_MOST)
			continue;
		text_printf(text, ",leaves=%016" PRIx64 ":%" PRIu64 ":%" PRIu64 "-%" PRIu64,
			one->call, one->number, one->first, one->last);
		leaving->reported++;
	}
}

void leaving_add_settings(struct leaving *leaving, struct text *text)
{
	leaving->reported = 0;
	add_calls(leaving, true, text);
	add_calls(leaving, false, text);
}
