/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program has accessed memory that it may not, any thread, any moment. May touch:
 * slots; the runtime.
 *
 * Faults in the reservation are errors of the program, which are reported; then the page is made
 * accessible and the instruction is tried again, and after that (step.h) the page is as before.
 *
 * Pages of live blocks are accessible as far as we are concerned. If one is not, the program itself
 * has done that: by mprotect, whose faults are its own; or it has given its memory back by madvise,
 * which with userfaultfd is a fault, and without it zeros.
 */
#include "runtime/guard/decode.h"
#include "runtime/guard/signals.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/step.h"

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

static struct decode_registers registers_of(const ucontext_t *context)
{
	static const uint8_t numbers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
		REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		REG_R15};
	struct decode_registers r = {
		.rip = register_of(context, REG_RIP), .fs_base = sys_thread_pointer()};
	for (unsigned n = 0; n < 16; n++)
		r.general[n] = register_of(context, numbers[n]);
	return r;
}

/* The bytes at an address that can be read, up to DECODE_BYTES_MAX. */
static size_t read_code(uint64_t address, uint8_t *bytes)
{
	size_t to_page = GUARD_PAGE - address % GUARD_PAGE;
	if (guard_peek(bytes, address, DECODE_BYTES_MAX))
		return DECODE_BYTES_MAX;
	return to_page < DECODE_BYTES_MAX && guard_peek(bytes, address, to_page) ? to_page : 0;
}

/*
 * The access as the instruction makes it, which may begin before the byte that can't be accessed;
 * without knowing the instruction, that byte alone.
 */
static void describe_access(
	const ucontext_t *context, uint64_t address, struct hw_error_report *report)
{
	uint8_t bytes[DECODE_BYTES_MAX];
	struct decode_registers registers = registers_of(context);
	struct decoded decoded;
	size_t count = read_code(registers.rip, bytes);
	report->address = address;
	report->access_bytes = 1;
	report->flags = HW_ERROR_UNSIZED;
	if (!decode_instruction(bytes, count, &registers, &decoded))
		return;
	const struct decode_operand *operand = decode_find_operand(&decoded, address);
	if (!operand)
		return;
	report->access_bytes = operand->bytes;
	if (operand->unsized)
		return;
	report->address = operand->address;
	report->flags = 0;
}

static struct guard_caller interrupted_at(const ucontext_t *context)
{
	return (struct guard_caller){register_of(context, REG_RIP), register_of(context, REG_RSP),
		register_of(context, REG_RBP)};
}

static void report_fault(const ucontext_t *context, uint64_t address, enum hw_error_kind kind,
	uint32_t stack, uint32_t flags)
{
	struct guard_block block;
	struct hw_error_report report = {.address = address, .stack = stack};
	struct guard_caller at = interrupted_at(context);
	if (kind != HW_ERROR_JUMP)
		describe_access(context, address, &report);
	if (guard_find(address, &block) != GUARD_NOWHERE)
		guard_report_block(&report, &block);
	report.flags |= flags;
	guard_report_exact(kind, &report, at);
}

/* Where there is no code there are no tables that lead to the caller: it is where a call that has
 * just been made left it. */
static uint32_t stack_of_jump(const ucontext_t *context)
{
	uint64_t sp = register_of(context, REG_RSP), caller = guard_peek_word(sp);
	if (!caller)
		return guard_stack_exact(interrupted_at(context));
	return guard_stack(
		(struct guard_caller){caller, sp + sizeof(caller), register_of(context, REG_RBP)});
}

/* Nothing that we could do makes it executable: it is reported, and then the program's affair. */
static void report_jump(const ucontext_t *context, uint64_t address)
{
	report_fault(context, address, HW_ERROR_JUMP, stack_of_jump(context), 0);
}

/* The address that is none at all (not canonical), for which the kernel gives no other; 0: it can't
 * be told. */
static uint64_t find_impossible(const ucontext_t *context, enum hw_error_kind *ret)
{
	uint8_t bytes[DECODE_BYTES_MAX];
	struct decode_registers registers = registers_of(context);
	struct decoded decoded;
	if (!decode_instruction(bytes, read_code(registers.rip, bytes), &registers, &decoded))
		return 0;
	for (uint32_t i = 0; i < decoded.count; i++) {
		const struct decode_operand *operand = &decoded.operands[i];
		if (operand->address + (1ull << 47) < 1ull << 48)
			continue;
		*ret = operand->access & DECODE_WRITE ? HW_ERROR_WRITE : HW_ERROR_READ;
		return operand->address;
	}
	return 0;
}

void fault_report_end(const siginfo_t *info, const void *interrupted)
{
	const ucontext_t *context = interrupted;
	uint64_t address = (uint64_t)info->si_addr;
	enum hw_error_kind kind = kind_of_access(context, address);
	if (info->si_code == SI_KERNEL && !(address = find_impossible(context, &kind)))
		return;
	if (kind == HW_ERROR_JUMP && slots_have(address))
		return; /* that has been reported */
	uint32_t stack = kind == HW_ERROR_JUMP ? stack_of_jump(context)
					       : guard_stack_exact(interrupted_at(context));
	report_fault(context, address, kind, stack, HW_ERROR_ENDS);
}

static bool handle_access(ucontext_t *context, uint64_t address)
{
	bool steps;
	uint32_t stack = guard_stack_exact(interrupted_at(context));
	if (step_is_new(address, register_of(context, REG_RIP), stack, &steps))
		report_fault(context, address, kind_of_access(context, address), stack, 0);
	if (!slots_pass(address))
		return false;
	if (steps)
		step_over(context, address);
	return true;
}

bool fault_handle(int number, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;
	uint64_t address = (uint64_t)info->si_addr;
	if (number == SIGTRAP)
		return step_end(info, context);
	if (end_peek(context))
		return true;
	if (!slots_have(address) || info->si_code == SI_KERNEL)
		return false;
	if (kind_of_access(context, address) == HW_ERROR_JUMP)
		report_jump(context, address);
	else if (slots_are_programs(address))
		return number == SIGBUS &&
		       slots_refill(address & ~(uint64_t)(GUARD_PAGE - 1), GUARD_PAGE);
	else
		return handle_access(context, address);
	return false;
}
