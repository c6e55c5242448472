/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see sys.h. May touch: the same.
 */
#include "runtime/core/sys.h"

uint32_t sys_forbidden;

static uint64_t clock_instead;

void sys_forbid(uint32_t what)
{
	if (what & SYS_NO_TSC && !(__atomic_load_n(&sys_forbidden, __ATOMIC_RELAXED) & SYS_NO_TSC))
		__atomic_store_n(&clock_instead, sys_tsc_fenced(), __ATOMIC_RELAXED);
	__atomic_fetch_or(&sys_forbidden, what, __ATOMIC_SEQ_CST);
}

uint64_t sys_tsc_instead(void)
{
	return __atomic_add_fetch(&clock_instead, 1, __ATOMIC_RELAXED);
}
