/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: the program ends. May touch: what lies next to blocks. */
#include "runtime/guard/plain.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/sums.h"
#include "runtime/guard/table.h"

static void sweep_plain(uint64_t start, enum table_mark mark)
{
	struct guard_block block;
	if (!plain_describe(start, mark == TABLE_LIVE, &block))
		return;
	if (mark == TABLE_LIVE)
		plain_check(&block, (struct guard_caller){0}, HW_ERROR_AT_EXIT);
	else
		plain_check_kept(&block, HW_ERROR_AT_EXIT);
}

static void sweep_slot(const struct guard_slot *slot)
{
	slots_check(slot, (struct guard_caller){0}, HW_ERROR_AT_EXIT);
}

void guard_sweep(void)
{
	if (__atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) != GUARD_READY)
		return;
	table_each(sweep_plain);
	slots_each(sweep_slot);
	sums_publish();
}
