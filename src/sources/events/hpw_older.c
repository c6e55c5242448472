/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_older.h"

#include "base/util.h"

static const enum older_blocks kinds[HPW_OLDER_KINDS] = {
	[HPW_OLDER_UNKNOWN] = OLDER_BLOCKS_UNKNOWN,
	[HPW_OLDER_TYPED] = OLDER_BLOCKS_TYPED,
	[HPW_OLDER_SIZED] = OLDER_BLOCKS_SIZED,
	[HPW_OLDER_UNWANTED] = OLDER_BLOCKS_UNWANTED,
	[HPW_OLDER_SAMPLED] = OLDER_BLOCKS_SAMPLED,
	[HPW_OLDER_PAUSE] = OLDER_BLOCKS_PAUSE,
	[HPW_OLDER_REFUSED] = OLDER_BLOCKS_REFUSED,
	[HPW_OLDER_LACKS] = OLDER_BLOCKS_LACKS,
	[HPW_OLDER_ALLOCATOR] = OLDER_BLOCKS_ALLOCATOR,
	[HPW_OLDER_LATE] = OLDER_BLOCKS_LATE,
	[HPW_OLDER_FAILED] = OLDER_BLOCKS_FAILED,
	[HPW_OLDER_WATCHED] = OLDER_BLOCKS_WATCHED,
};

/* Their sites have a stack, of names; what is of no known site has none. */
static bool is_older(const struct site *site)
{
	return site->kind == KIND_UNKNOWN && site->stack.value;
}

static struct call_counters take_sites(struct model *model)
{
	size_t count;
	struct call_counters calls = {.allocations = 0};
	model_sites(model, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct site *site = build_site_at(model, (struct site_id){i});
		if (!is_older(site))
			continue;
		calls.allocations += site->counters.allocations;
		calls.allocated_bytes += site->counters.allocated_bytes;
		site->counters.allocations = site->counters.allocated_bytes = 0;
		site->counters.min_size = site->counters.max_size = 0;
	}
	return calls;
}

/* The thread that is none is the first one that did nothing else. Of a part it counts only if the
 * blocks came in it. */
static void take_thread(struct model *model, const struct call_counters *calls, bool is_part)
{
	struct thread *thread;
	struct totals *totals = build_totals(model);
	if (is_part && !calls->allocations)
		return;
	for (size_t i = 0; (thread = build_thread_at(model, i)); i++) {
		if (thread->tid || thread->calls.frees ||
			thread->calls.allocations != calls->allocations)
			continue;
		thread->calls.allocations = thread->calls.allocated_bytes = 0;
		totals->threads -= totals->threads > 0;
		return;
	}
}

void hpw_older_put(struct model *model, const struct hpw_footer *footer, bool is_part)
{
	const uint64_t *sum = footer->summary;
	struct recording *recording = build_recording(model);
	if (!recording->attached_ns)
		return;
	recording->older = kinds[min(sum[HPW_SUM_OLDER], (uint64_t)HPW_OLDER_KINDS - 1)];
	const struct call_counters calls = take_sites(model);
	struct totals *totals = build_totals(model);
	totals->allocations -= min(calls.allocations, totals->allocations);
	totals->allocated_bytes -= min(calls.allocated_bytes, totals->allocated_bytes);
	recording->events -= min(calls.allocations, recording->events);
	recording->older_blocks = sum[HPW_SUM_OLDER_BLOCKS];
	recording->older_bytes = sum[HPW_SUM_OLDER_BYTES];
	recording->older_threads = sum[HPW_SUM_OLDER_THREADS];
	recording->older_damaged = sum[HPW_SUM_OLDER_DAMAGED];
	/* One that was cut off before it could say so. */
	if (!footer->has_summary && calls.allocations) {
		recording->older = OLDER_BLOCKS_TYPED;
		recording->older_blocks = calls.allocations;
		recording->older_bytes = calls.allocated_bytes;
	}
	if (recording->older_blocks)
		take_thread(model, &calls, is_part);
}
