/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/dump_trigger.h"

#include "base/util.h"

/* Resident memory that wanders around the threshold is reported once it was below by a part. */
#define RESIDENT_PART 16
/* Between two reports of a shortage that lasts. */
#define PRESSURE_PAUSE_NS 10000000000u

void dump_trigger_init(struct dump_trigger *trigger, uint64_t now_ns)
{
	*trigger = (struct dump_trigger){.last = {.now_ns = now_ns}};
}

void dump_trigger_restart(struct dump_trigger *trigger, const struct dump_figures *now)
{
	trigger->last = trigger->start = *now;
	trigger->last.peak_bytes = trigger->highest_bytes = 0;
	trigger->is_restarted = true;
}

/* The highest that live memory was since the restart. Between two looks it is only known if it was
 * higher than ever. */
static uint64_t peak_since(struct dump_trigger *t, const struct dump_figures *now)
{
	if (!t->is_restarted)
		return now->peak_bytes;
	uint64_t top = now->peak_bytes > t->start.peak_bytes ? now->peak_bytes : now->live_bytes;
	top -= min(top, t->start.live_bytes);
	t->highest_bytes = max(t->highest_bytes, top);
	return t->highest_bytes;
}

/* Whether `now` is at least `distance` after *last, which becomes `now` then. */
static bool is_passed(uint64_t *last, uint64_t now, uint64_t distance)
{
	if (!distance || now < *last || now - *last < distance)
		return false;
	*last = now;
	return true;
}

/* Measured from the last dump, or from where live memory has fallen to if that is lower by as much.
 */
static bool has_grown(struct dump_trigger *t, const struct dump_plan *plan, uint64_t live)
{
	if (t->last.live_bytes > live && t->last.live_bytes - live >= plan->growth_bytes)
		t->last.live_bytes = live;
	return is_passed(&t->last.live_bytes, live, plan->growth_bytes);
}

/* Whether `now` has come to `most`, and had not before. */
static bool is_reached(bool *passed, uint64_t now, uint64_t most)
{
	if (!most || !now)
		return false;
	if (now < most - most / RESIDENT_PART)
		*passed = false;
	if (now < most || *passed)
		return false;
	*passed = true;
	return true;
}

/* One that lasts is reported again after a while. */
static bool is_pressed(
	struct dump_trigger *t, const struct dump_plan *plan, const struct dump_figures *now)
{
	if (!plan->pressure || !now->is_short ||
		(t->pressed_ns && now->now_ns - t->pressed_ns < PRESSURE_PAUSE_NS))
		return false;
	t->pressed_ns = now->now_ns;
	return true;
}

static bool got_signal(
	struct dump_trigger *t, const struct dump_plan *plan, const struct dump_figures *now)
{
	bool more = plan->signal && now->signals != t->last.signals;
	t->last.signals = now->signals;
	return more;
}

bool dump_trigger_is_due(struct dump_trigger *trigger, const struct dump_plan *plan,
	const struct dump_figures *now, enum dump_reason *ret)
{
	struct dump_figures *last = &trigger->last;
	const uint64_t peak = peak_since(trigger, now);
	if (got_signal(trigger, plan, now))
		*ret = DUMP_SIGNAL;
	else if (is_reached(&trigger->resident_passed, now->resident_bytes, plan->resident_bytes) ||
		 is_reached(&trigger->percent_passed, now->used_percent, plan->resident_percent))
		*ret = DUMP_RESIDENT;
	else if (is_pressed(trigger, plan, now))
		*ret = DUMP_PRESSURE;
	else if (has_grown(trigger, plan, now->live_bytes))
		*ret = DUMP_GROWTH;
	else if (is_passed(&last->peak_bytes, peak, plan->peak_bytes))
		*ret = DUMP_PEAK;
	else if (is_passed(&last->peak_pages, now->peak_pages, plan->pages))
		*ret = DUMP_PAGES;
	else if (is_passed(&last->allocated_bytes, now->allocated_bytes, plan->allocated_bytes))
		*ret = DUMP_ALLOCATED;
	else if (is_passed(&last->freed_bytes, now->freed_bytes, plan->freed_bytes))
		*ret = DUMP_FREED;
	else if (is_passed(&last->now_ns, now->now_ns, plan->period_ns))
		*ret = DUMP_TIME;
	else
		return false;
	if (plan->restart_all)
		*last = *now;
	if (plan->restart_all)
		last->peak_bytes = peak;
	return true;
}
