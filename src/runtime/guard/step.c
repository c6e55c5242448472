/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see step.h. May touch: the same.
 *
 * A handler of the program's may come between the fault and the step, and itself make errors, or
 * leave by a jump. So a trap closes all pages that its thread has opened; an instruction whose page
 * was closed too early faults again, which is no new error. `traps` counts contexts of the thread
 * that have the flag from here: a trap without any is not ours.
 */
#include "runtime/guard/step.h"

#include "runtime/guard/limit.h"
#include "runtime/guard/signals.h"

#define TRAP_FLAG 0x100 /* of rflags (Intel SDM 1, 3.4.3.3) */
/* An instruction that is repeated (rep) traps after each round; after this many its page stays
 * open. */
#define REPEATS_MOST 512u

#define KNOWN 16384u /* a power of 2 */
#define KNOWN_PROBES 16u
static uint64_t known[KNOWN]; /* errors, by hash; relaxed */
static uint32_t steps, blocks;

enum found {
	FOUND,
	FOUND_NEW,
	FOUND_NO_PLACE,
};

static enum found find_error(uint64_t hash)
{
	for (unsigned i = 0; i < KNOWN_PROBES; i++) {
		uint64_t *place = &known[(hash + i) % KNOWN], there = 0;
		if (__atomic_compare_exchange_n(
			    place, &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return FOUND_NEW;
		if (there == hash)
			return FOUND;
	}
	return FOUND_NO_PLACE;
}

/* Counts a fault of a block; returns whether there may be another. */
static bool may_step(struct guard_slot *slot)
{
	if (!slot)
		return false;
	uint32_t faults = __atomic_add_fetch(&slot->faults, 1, __ATOMIC_RELAXED);
	if (faults == 1 && __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED) > STEP_BLOCKS_MOST)
		__atomic_store_n(&slot->faults, STEP_FAULTS_MOST, __ATOMIC_RELAXED);
	if (__atomic_load_n(&slot->faults, __ATOMIC_RELAXED) < STEP_FAULTS_MOST &&
		__atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED) < STEPS_MOST)
		return true;
	guard_limit_set(HW_CHECK_LIMIT_ERRORS);
	return false;
}

bool step_is_new(uint64_t address, uint64_t rip, uint32_t stack, bool *ret_steps)
{
	uint64_t page = address >> GUARD_PAGE_SHIFT;
	uint64_t hash = guard_random(page << 24 ^ rip ^ (uint64_t)stack << 40) | 1;
	enum found found = find_error(hash);
	bool may = may_step(slots_find(address));
	if (found == FOUND_NO_PLACE)
		guard_limit_set(HW_CHECK_LIMIT_ERRORS);
	*ret_steps = may && found != FOUND_NO_PLACE;
	return found != FOUND;
}

static bool blocks_traps(const ucontext_t *context)
{
	return guard_load64(&context->uc_sigmask) >> (SIGTRAP - 1) & 1;
}

void step_over(ucontext_t *context, uint64_t address)
{
	struct guard_thread *t = &guard_here;
	greg_t *flags = &context->uc_mcontext.gregs[REG_EFL];
	bool is_stepped = *flags & TRAP_FLAG;
	if (blocks_traps(context) || (is_stepped && !t->traps) || t->opened == GUARD_OPENED_MOST ||
		!signals_await_traps())
		return;
	t->opened_pages[t->opened++] = address & ~(uint64_t)(GUARD_PAGE - 1);
	t->traps += !is_stepped;
	t->repeats = 0;
	t->stepped_rip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	*flags |= TRAP_FLAG;
}

bool step_end(const siginfo_t *info, ucontext_t *context)
{
	struct guard_thread *t = &guard_here;
	if (!t->traps || (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT))
		return false;
	bool repeats = (uint64_t)context->uc_mcontext.gregs[REG_RIP] == t->stepped_rip;
	if (repeats && t->opened && ++t->repeats < REPEATS_MOST)
		return true;
	while (t->opened) {
		uint64_t page = t->opened_pages[--t->opened];
		if (!repeats)
			slots_shut(page);
		else
			guard_limit_set(HW_CHECK_LIMIT_ERRORS);
	}
	t->traps--;
	context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	return true;
}
