/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as logs have them, by address, passed on as steps. Memory follows the blocks that are live.
 * Of a realloc the old block is freed first, by `realloc`, and the new one allocated next by the
 * same thread.
 */
#ifndef SOURCES_EVENT_ADAPTER_H
#define SOURCES_EVENT_ADAPTER_H

#include "sources/events/event_replay.h"
#include "sources/events/hpw_blocks.h"

DEFINE_VEC(event_adapter_numbers, uint64_t)

struct event_adapter {
	const struct hpw_visitor *to;         /* borrowed */
	struct hpw_blocks blocks;             /* by address; size: number, site: thread */
	struct event_adapter_numbers threads; /* number of the next allocation of each */
	uint64_t repairs; /* blocks that were given out again without having been freed */
};

/* Begins a story. */
struct error *event_adapter_init(
	struct event_adapter *feed, const struct hpw_visitor *to) must_check_;
void event_adapter_deinit(struct event_adapter *feed);

/* Sets the time of the following calls, in ns; 0: unknown. */
void event_adapter_time(struct event_adapter *feed, uint64_t ns);

/* Adds an allocation. A block that is live at that address is freed first. Threads are numbered
 * from 0, without gaps. */
struct error *event_adapter_alloc(struct event_adapter *feed, uint32_t thread, uint64_t address,
	uint64_t size, uint32_t site) must_check_;
/* Adds a free; of an address where no block is live, an unknown free. kind: enum hw_free_kind. */
struct error *event_adapter_free(
	struct event_adapter *feed, uint32_t thread, uint64_t address, uint8_t kind) must_check_;
struct error *event_adapter_failed(
	struct event_adapter *feed, uint32_t thread, uint64_t size, uint32_t site) must_check_;

#endif
