/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program ends, starts another one in its place, or has forked (in the child). May
 * touch: what lies next to blocks.
 *
 * A child has what its parent damaged: that is the parent's to report. So a new child looks at all
 * blocks once, and passes over what has changed by then.
 */
#include "runtime/guard/sweep.h"

#include "runtime/guard/limit.h"
#include "runtime/guard/plain.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/sums.h"
#include "runtime/guard/table.h"

/* What sweeps have found so far, which may be several: by hash. What finds no place is reported
 * again. */
#define FOUND_KEPT 512u
#define FOUND_PROBES 8u
static uint64_t found_before[FOUND_KEPT];

static uint64_t sweeper; /* thread pointer of a thread that sweeps; 0: none. Relaxed */
static uint32_t own_pid; /* relaxed */
static bool inherits;    /* the child has too many blocks: it is not known whose damage it finds */
static uint64_t looked_at;

static uint64_t hash_of(uint64_t block, uint64_t first)
{
	return guard_random(block * 31 + first) | 1;
}

bool sweep_has_reported(uint64_t block, uint64_t first)
{
	uint64_t hash = hash_of(block, first);
	for (unsigned i = 0; i < FOUND_PROBES; i++)
		if (__atomic_load_n(&found_before[(hash + i) % FOUND_KEPT], __ATOMIC_RELAXED) ==
			hash)
			return true;
	return false;
}

void sweep_note(uint64_t block, uint64_t first)
{
	uint64_t hash = hash_of(block, first);
	for (unsigned i = 0; i < FOUND_PROBES; i++) {
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&found_before[(hash + i) % FOUND_KEPT], &none, hash,
			    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

static void sweep_plain(uint64_t start, enum table_mark mark)
{
	struct guard_block block;
	if (!plain_describe(start, mark == TABLE_LIVE, &block))
		return;
	if (mark == TABLE_LIVE)
		plain_check(&block, (struct guard_caller){0}, HW_ERROR_AT_EXIT);
	else if (plain_is_kept(start))
		plain_check_kept(&block, HW_ERROR_AT_EXIT);
}

static void sweep_slot(struct guard_slot *slot)
{
	slots_check(slot, (struct guard_caller){0}, HW_ERROR_AT_EXIT);
}

void guard_sweep(void)
{
	uint64_t self = sys_thread_pointer();
	if (__atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) != GUARD_READY)
		return;
	/* A fault in a sweep may end the program, which sweeps. */
	if (__atomic_exchange_n(&sweeper, self, __ATOMIC_RELAXED) != self) {
		table_each(sweep_plain);
		slots_each(sweep_slot);
	}
	__atomic_store_n(&sweeper, 0, __ATOMIC_RELAXED);
	sums_publish();
}

/* --- before the last exit handler, or without --- */

static uint32_t process_id(void)
{
	return (uint32_t)sys_call(__NR_getpid, 0, 0, 0);
}

void sweep_init(void)
{
	__atomic_store_n(&own_pid, process_id(), __ATOMIC_RELAXED);
}

/* A child of vfork has the memory of its parent, which goes on. */
void sweep_ending(void)
{
	if (sys_no_calls() || process_id() != __atomic_load_n(&own_pid, __ATOMIC_RELAXED))
		return;
	if (inherits)
		guard_limit_set(HW_CHECK_LIMIT_FORK);
	else
		guard_sweep();
}

/* --- forked children --- */

/* Blocks that a child looks at, at most; beyond that its sweeps before exit(3) are left out, which
 * is said. Measured: plain blocks take 6 ms of the child's time, guarded ones, each on a page of
 * its own, 50 ms. */
#define INHERITED_MOST 100000u

static void pass_over_plain(uint64_t start, enum table_mark mark)
{
	struct guard_block block;
	if (looked_at++ < INHERITED_MOST && plain_describe(start, mark == TABLE_LIVE, &block))
		plain_pass_over(&block);
}

static void pass_over_slot(struct guard_slot *slot)
{
	if (looked_at++ < INHERITED_MOST)
		slots_pass_over(slot);
}

void sweep_fork_child(void)
{
	sweeper = 0;
	looked_at = 0;
	if (sys_no_calls())
		return;
	sweep_init();
	table_each(pass_over_plain);
	slots_each(pass_over_slot);
	inherits = looked_at > INHERITED_MOST;
}
