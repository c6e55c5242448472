/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times in which allocations are not recorded. The recorder decides which they are, by stamps: the
 * runtime learns it a little later and sends allocations until then, which are dropped here.
 */
#include "capture/recorder/recorder_impl.h"

#include "base/util.h"

#include <string.h>

#define MARK_STOPPED "recording stopped"
#define MARK_RESUMED "recording resumed"

/* So that timelines show it. */
static void mark_change(struct recorder *r, const char *name, uint64_t stamp)
{
	if (r->folds || !r->tally.thread_count)
		return;
	uint64_t now = max(r->merge.delivered_until, stamp);
	recorder_put_mark(r, recorder_any_thread(r), name, strlen(name), now);
}

static void set_stopped(struct recorder *r, bool stopped)
{
	r->stopped = stopped;
	if (r->shm)
		__atomic_store_n(&r->shm->stopped, stopped, __ATOMIC_RELEASE);
}

void recorder_stop(struct recorder *recorder)
{
	struct recorder *r = recorder;
	if (r->stopped)
		return;
	struct clock_pair now = recorder_now(r);
	recorder_drain_until(r, now.tsc);
	mark_change(r, MARK_STOPPED, now.tsc);
	set_stopped(r, true);
	r->stop_count++;
	r->stop_began_ns = now.ns;
}

void recorder_resume(struct recorder *recorder)
{
	struct recorder *r = recorder;
	if (!r->stopped)
		return;
	struct clock_pair now = recorder_now(r);
	recorder_drain_until(r, now.tsc);
	r->stopped_ns += now.ns - r->stop_began_ns;
	r->resumed_ns = now.ns;
	set_stopped(r, false);
	mark_change(r, MARK_RESUMED, now.tsc);
}

uint64_t recorder_stopped_ns(const struct recorder *recorder)
{
	const struct recorder *r = recorder;
	return r->stopped_ns + (r->stopped ? recorder_now(r).ns - r->stop_began_ns : 0);
}

struct recorder_state recorder_state(const struct recorder *recorder)
{
	const struct recorder *r = recorder;
	uint64_t since = r->stopped ? r->stop_began_ns : r->resumed_ns;
	uint64_t lost = r->merge.dropped + r->merge.damaged + r->blocks_dropped;
	const struct event_report report = recorder_report(r);
	for (unsigned i = 0; r->shm && i < HW_LOST_REASONS; i++)
		lost += report.lost[i];
	return (struct recorder_state){
		.events = recorder_has_unseen(r)
				  ? r->sums.calls - r->older.blocks
				  : r->merge.events - r->merge.dropped + r->frees_added,
		.lost = lost,
		.live_blocks = r->tally.heap.live_blocks,
		.stopped_ns = recorder_stopped_ns(r),
		.since_ns = since ? since - r->began.ns : 0};
}
