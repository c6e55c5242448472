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

#define KEY_TAKEN 1ull

static void remember(
	struct rt_rules *rules, uint64_t address, struct rt_rule rule, uint16_t function)
{
	uint32_t slot = rt_rules_slot(address);
	for (unsigned probe = 0; probe < 8; probe++) {
		struct rt_rule_entry *e = &rules->entries[(slot + probe) & (RT_RULES - 1)];
		uint64_t expected = 0;
		if (!__atomic_compare_exchange_n(&e->key, &expected, KEY_TAKEN, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		e->rule = rule;
		__atomic_store_n(&e->key, address | (uint64_t)function << HW_FRAME_ADDRESS_BITS,
			__ATOMIC_RELEASE);
		return;
	}
}

struct rt_rule rt_rules_add(struct rt_rules *rules, uint64_t address, uint16_t *ret_function)
{
	struct rt_rule rule = {0};
	uint64_t pc = address & RT_EXACT ? address & ~RT_EXACT : address - 1;
	uint64_t function = 0;
	*ret_function = 0;
	if (address >= 1ull << HW_FRAME_ADDRESS_BITS || pc < 4096)
		return rule;
	const struct rt_module *module = rt_modules_at(rules->modules, pc);
	if (!module)
		return rule; /* JIT code or no code at all: not remembered, it may change */
	rt_cfi_rule(module->eh_frame_hdr, module->start, module->end, pc, &rule, &function);
	rule.bits |= module->id;
	*ret_function = (uint16_t)((function * 0x9e3779b97f4a7c15ull) >> 48);
	remember(rules, address, rule, *ret_function);
	return rule;
}

void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < RT_RULES; i++) {
		uint64_t key = rules->entries[i].key;
		uint64_t address = key & HW_FRAME_ADDRESS_MASK & ~RT_EXACT;
		if (address >= start && address <= end)
			__atomic_store_n(&rules->entries[i].key, KEY_TAKEN, __ATOMIC_RELAXED);
	}
}
