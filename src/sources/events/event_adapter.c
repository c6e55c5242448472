/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_adapter.h"

static struct error *event_adapter_put(struct event_adapter *feed, const struct hpw_step *step)
{
	return feed->to->step ? feed->to->step(feed->to->context, step) : NULL;
}

struct error *event_adapter_init(struct event_adapter *feed, const struct hpw_visitor *to)
{
	static const struct hpw_events_head head = {.slots = 0};
	*feed = (struct event_adapter){.to = to};
	hpw_blocks_init(&feed->blocks);
	event_adapter_numbers_init(&feed->threads);
	return to->head ? to->head(to->context, &head) : NULL;
}

void event_adapter_deinit(struct event_adapter *feed)
{
	hpw_blocks_deinit(&feed->blocks);
	event_adapter_numbers_deinit(&feed->threads);
}

void event_adapter_time(struct event_adapter *feed, uint64_t ns)
{
	if (feed->to->time)
		feed->to->time(feed->to->context, ns);
}

static struct error *count_thread(struct event_adapter *feed, uint32_t thread)
{
	while (feed->threads.len <= thread) {
		const struct hpw_slot_head slot = {.thread = (uint32_t)feed->threads.len};
		if (!event_adapter_numbers_push(&feed->threads, 0))
			return error_no_memory();
		struct error *error =
			feed->to->slot ? feed->to->slot(feed->to->context, &slot) : NULL;
		if (error)
			return error;
	}
	return NULL;
}

struct error *event_adapter_alloc(
	struct event_adapter *feed, uint32_t thread, uint64_t address, uint64_t size, uint32_t site)
{
	struct hpw_block there;
	struct error *error = count_thread(feed, thread);
	if (!error && hpw_blocks_take(&feed->blocks, address + 1, &there)) {
		feed->repairs++;
		const struct hpw_step freed = {.kind = HPW_STEP_FREE,
			.thread = thread,
			.owner = there.site,
			.number = there.size,
			.known = true,
			.lasting = true,
			.free_kind = HPW_FREE_MATCHING};
		error = event_adapter_put(feed, &freed);
	}
	if (error)
		return error;
	const struct hpw_step step = {.kind = HPW_STEP_ALLOC,
		.thread = thread,
		.site = site,
		.size = size,
		.number = feed->threads.data[thread]++};
	if (!hpw_blocks_add(&feed->blocks, address + 1, step.number, thread))
		return error_no_memory();
	return event_adapter_put(feed, &step);
}

struct error *event_adapter_free(
	struct event_adapter *feed, uint32_t thread, uint64_t address, uint8_t kind)
{
	struct hpw_block there = {.key = 0};
	struct error *error = count_thread(feed, thread);
	if (error)
		return error;
	bool known = hpw_blocks_take(&feed->blocks, address + 1, &there);
	const struct hpw_step step = {.kind = HPW_STEP_FREE,
		.thread = thread,
		.owner = there.site,
		.number = there.size,
		.known = known,
		.free_kind = kind};
	return event_adapter_put(feed, &step);
}

struct error *event_adapter_failed(
	struct event_adapter *feed, uint32_t thread, uint64_t size, uint32_t site)
{
	const struct hpw_step step = {
		.kind = HPW_STEP_FAILED, .thread = thread, .site = site, .size = size};
	struct error *error = count_thread(feed, thread);
	return error ? error : event_adapter_put(feed, &step);
}
