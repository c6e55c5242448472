/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program has accessed memory that it may not, any thread, any moment. May touch:
 * slots; the runtime.
 *
 * Faults in the reservation are errors of the program, which are reported; then the page is made
 * accessible and the instruction is tried again. In the reservation nothing else is inaccessible.
 */
#include "runtime/guard/signals.h"
#include "runtime/guard/slots.h"

#include <ucontext.h>

extern char guard_peek_pc[], guard_peek_failed[], guard_peek_word_failed[];

#define FAULT_WRITES 2u /* bit of the page fault's error code (Intel SDM 3A, 4.7) */
#define FAULT_FETCHES 16u

static uint64_t register_of(const ucontext_t *context, int which)
{
	return (uint64_t)context->uc_mcontext.gregs[which];
}

/* The copy of guard_peek() ends here. */
static bool end_peek(ucontext_t *context)
{
	uint64_t rip = register_of(context, REG_RIP);
	if (rip == (uint64_t)guard_peek_word)
		context->uc_mcontext.gregs[REG_RIP] = (greg_t)guard_peek_word_failed;
	else if (rip == (uint64_t)guard_peek_pc)
		context->uc_mcontext.gregs[REG_RIP] = (greg_t)guard_peek_failed;
	else
		return false;
	return true;
}

static enum hw_error_kind kind_of_access(const ucontext_t *context, uint64_t address)
{
	uint64_t code = register_of(context, REG_ERR);
	if (code & FAULT_FETCHES || register_of(context, REG_RIP) == address)
		return HW_ERROR_JUMP;
	return code & FAULT_WRITES ? HW_ERROR_WRITE : HW_ERROR_READ;
}

static void report_fault(const ucontext_t *context, uint64_t address)
{
	struct guard_block block;
	struct hw_error_report report = {
		.address = address, .access_bytes = 1, .flags = HW_ERROR_UNSIZED};
	struct guard_caller at = {register_of(context, REG_RIP), register_of(context, REG_RSP),
		register_of(context, REG_RBP)};
	if (guard_find(address, &block) != GUARD_NOWHERE)
		guard_report_block(&report, &block);
	guard_report_exact(kind_of_access(context, address), &report, at);
}

bool fault_handle(int number, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;
	uint64_t address = (uint64_t)info->si_addr;
	(void)number;
	if (end_peek(context))
		return true;
	if (!slots_have(address) || info->si_code == SI_KERNEL)
		return false;
	report_fault(context, address);
	return slots_pass(address);
}
