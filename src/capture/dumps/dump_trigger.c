/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/dump_trigger.h"

/* Resident memory that wanders around the threshold is reported once it was below by a part. */
#define RESIDENT_PART 16

void dump_trigger_init(struct dump_trigger *trigger, uint64_t now_ns)
{
	*trigger = (struct dump_trigger){.last = {.now_ns = now_ns}};
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

static bool resident_is_passed(struct dump_trigger *t, const struct dump_plan *plan, uint64_t now)
{
	if (!plan->resident_bytes || !now)
		return false;
	if (now < plan->resident_bytes - plan->resident_bytes / RESIDENT_PART)
		t->resident_passed = false;
	if (now < plan->resident_bytes || t->resident_passed)
		return false;
	t->resident_passed = true;
	return true;
}

bool dump_trigger_is_due(struct dump_trigger *trigger, const struct dump_plan *plan,
	const struct dump_figures *now, enum dump_reason *ret)
{
	struct dump_figures *last = &trigger->last;
	if (resident_is_passed(trigger, plan, now->resident_bytes))
		*ret = DUMP_RESIDENT;
	else if (has_grown(trigger, plan, now->live_bytes))
		*ret = DUMP_GROWTH;
	else if (is_passed(&last->peak_bytes, now->peak_bytes, plan->peak_bytes))
		*ret = DUMP_PEAK;
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
	return true;
}
