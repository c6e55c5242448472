/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see rules.h. May touch: the same.
 *
 * Open addressing, eight probes; a place is claimed by compare-and-swap, filled, then published by
 * its key. Withdrawn places stay taken so that probe sequences hold. When eight probes find no room
 * the answer is simply not remembered.
 */
#include "runtime/core/rules.h"

#include "runtime/core/cfi.h"

#define TAKEN 1ull

static void remember(struct rt_rules *rules, const struct rt_rule_entry *entry)
{
	struct rt_rule_entry *e = &rules->entries[rt_rules_slot(entry->address)];
	for (unsigned probe = 0; probe < RT_RULES_PROBES; probe++, e++) {
		uint64_t expected = 0;
		if (!__atomic_compare_exchange_n(&e->address, &expected, TAKEN, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		e->rule = entry->rule;
		e->function = entry->function;
		__atomic_store_n(&e->address, entry->address, __ATOMIC_RELEASE);
		return;
	}
}

/*
 * A return address at the very start of a function, with no code before it: nobody called from
 * there. It was put on a new stack by hand (makecontext's __start_context), and is its end.
 */
static bool is_planted(const struct rt_module *module, uint64_t address)
{
	struct rt_rule rule;
	uint64_t function;
	rt_cfi_rule(module->eh_frame_hdr, module->start, module->end, address, &rule, &function);
	return function == address;
}

void rt_rules_add(struct rt_rules *rules, uint64_t address, struct rt_rule_entry *ret)
{
	uint64_t pc = address & RT_EXACT ? address & ~RT_EXACT : address - 1;
	*ret = (struct rt_rule_entry){.address = address};
	if (address >= 1ull << HW_FRAME_ADDRESS_BITS || pc < 4096)
		return;
	const struct rt_module *module = rt_modules_at(rules->modules, pc);
	if (!module)
		return; /* JIT code or no code at all: not remembered, it may change */
	rt_cfi_rule(
		module->eh_frame_hdr, module->start, module->end, pc, &ret->rule, &ret->function);
	if (!ret->function && pc != address && is_planted(module, address))
		ret->rule = rt_rule_make(RT_CFA_END, 0, RT_RBP_SAME, 0);
	else if (ret->function && rt_rule_cfa(ret->rule) == RT_CFA_NONE)
		ret->rule = rt_rule_make(RT_CFA_UNKNOWN, 0, RT_RBP_SAME, 0);
	else if (address & RT_EXACT && rt_rule_cfa(ret->rule) == RT_CFA_RSP)
		ret->rule = rt_rule_make(RT_CFA_RSP_CHECKED, (int64_t)rt_rule_cfa_offset(ret->rule),
			rt_rule_rbp(ret->rule), (int64_t)rt_rule_rbp_offset(ret->rule));
	ret->rule.bits |= module->id;
	remember(rules, ret);
}

void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < RT_RULES + RT_RULES_PROBES; i++) {
		uint64_t address = rules->entries[i].address & ~RT_EXACT;
		if (address >= start && address <= end)
			__atomic_store_n(&rules->entries[i].address, TAKEN, __ATOMIC_RELAXED);
	}
}
