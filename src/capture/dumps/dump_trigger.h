/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when a process is dumped without being asked: compares what its recorder counts with a
 * plan, each time that its rings were drained. A distance is passed by some events, since these
 * come in batches; the next one is measured from what was found, not from what was wanted.
 */
#ifndef CAPTURE_DUMP_TRIGGER_H
#define CAPTURE_DUMP_TRIGGER_H

#include "capture/dump_plan.h"

/* What is counted now: bytes of all blocks (estimates if they are sampled), and the clock. */
struct dump_figures {
	uint64_t allocated_bytes, freed_bytes, live_bytes, peak_bytes;
	uint64_t peak_pages;     /* 0: not counted */
	uint64_t resident_bytes; /* 0: not looked at */
	uint32_t used_percent;   /* likewise */
	bool is_short;           /* of memory: see struct memory_state */
	uint32_t signals;        /* that were to dump it, so far */
	uint64_t now_ns;
};

struct dump_trigger {
	struct dump_figures last; /* where each distance begins; now_ns: for period_ns */
	bool resident_passed;     /* it has been reported, and not fallen below since */
	bool percent_passed;      /* likewise */
	uint64_t pressed_ns;      /* when a shortage was reported last; 0: never */
	/* After dump_trigger_restart(): what there was then, and the most that was live beyond it.
	 */
	bool is_restarted;
	struct dump_figures start;
	uint64_t highest_bytes;
};

void dump_trigger_init(struct dump_trigger *trigger, uint64_t now_ns);

/* Measures all distances from `now` on, and the height of live memory from what is live now. */
void dump_trigger_restart(struct dump_trigger *trigger, const struct dump_figures *now);

/*
 * Returns whether a dump is due, and why. The distance then begins anew; all of them do with
 * plan->restart_all. If several are due, the others are reported by the next calls.
 */
bool dump_trigger_is_due(struct dump_trigger *trigger, const struct dump_plan *plan,
	const struct dump_figures *now, enum dump_reason *ret);

#endif
