/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see rules.h. May touch: the same.
 *
 * Open addressing, eight probes; a place is claimed by compare-and-swap, filled, then published by
 * its key. Withdrawn places keep probe sequences together until they are taken again: no walk goes
 * through code that has been unloaded. When eight probes find no room the answer is simply not
 * remembered.
 */
#include "runtime/core/rules.h"

#include "runtime/core/cfi.h"
#include "runtime/core/unwind.h"

#define TAKEN 1ull
#define WITHDRAWN 2ull

/* The form that a walk needs, from the rule. */
static void prepare_entry(struct rt_rule_entry *e, uint32_t number)
{
	uint64_t kinds = rt_rule_kinds(e->rule), cfa = rt_rule_cfa_offset(e->rule);
	bool plain = kinds == RT_RULE_KINDS(RT_CFA_RSP, RT_RBP_SAME);
	bool saved = kinds == RT_RULE_KINDS(RT_CFA_RSP, RT_RBP_AT_CFA);
	e->meta = number;
	e->cfa_bytes = RT_RULE_RARE;
	e->rbp_bytes = 0;
	if (!(plain || saved) || e->address & RT_EXACT || cfa >= 1u << 31)
		return;
	e->cfa_bytes = (uint32_t)cfa;
	if (saved) {
		e->rbp_bytes = (int32_t)(int64_t)rt_rule_rbp_offset(e->rule);
		e->meta |= (uint64_t)RT_FRAME_RBP_RESTORED << RT_META_FLAGS |
			   (uint64_t)(e->rbp_bytes / 8) << RT_META_RBP_SLOT;
	}
}

/*
 * A return address at the very start of a function, with no code before it: no call returns there.
 * It was put on a new stack by hand (makecontext's __start_context), and is its end.
 */
static bool is_planted(const struct rt_module *module, uint64_t address)
{
	struct rt_rule rule;
	uint64_t function;
	rt_cfi_rule(
		module->eh_frame_hdr, module->tables_start, module->end, address, &rule, &function);
	return function == address;
}

static const struct rt_rule_entry *remember_entry(
	struct rt_rules *rules, struct rt_rule_entry *entry, uint64_t function)
{
	uint32_t slot = rt_rules_slot(entry->address);
	for (uint32_t i = slot; i < slot + RT_RULES_PROBES; i++) {
		struct rt_rule_entry *e = &rules->entries[i];
		uint64_t seen = __atomic_load_n(&e->address, __ATOMIC_RELAXED);
		if ((seen && seen != WITHDRAWN) ||
			!__atomic_compare_exchange_n(&e->address, &seen, TAKEN, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		prepare_entry(entry, i + 1);
		e->rule = entry->rule;
		e->cfa_bytes = entry->cfa_bytes;
		e->rbp_bytes = entry->rbp_bytes;
		e->meta = entry->meta;
		rules->functions[i] = function;
		__atomic_store_n(&e->address, entry->address, __ATOMIC_RELEASE);
		return e;
	}
	return entry;
}

static const struct rt_rule_entry *add_rule_entry(struct rt_rules *rules, uint64_t address,
	struct rt_rule_entry *other, uint64_t *ret_function)
{
	uint64_t pc = address & RT_EXACT ? address & ~RT_EXACT : address - 1;
	*other = (struct rt_rule_entry){.address = address};
	*ret_function = 0;
	prepare_entry(other, RT_RULE_NO_ENTRY);
	if (address >= 1ull << HW_FRAME_ADDRESS_BITS || pc < 4096)
		return other;
	const struct rt_module *module = rt_modules_at(rules->modules, pc);
	if (!module)
		return other; /* JIT code or no code at all: not remembered, it may change */
	rt_cfi_rule(module->eh_frame_hdr, module->tables_start, module->end, pc, &other->rule,
		ret_function);
	if (!*ret_function && pc != address && is_planted(module, address))
		other->rule = rt_rule_make(RT_CFA_END, 0, RT_RBP_SAME, 0);
	else if (*ret_function && rt_rule_cfa(other->rule) == RT_CFA_NONE)
		other->rule = rt_rule_make(RT_CFA_UNKNOWN, 0, RT_RBP_SAME, 0);
	else if (address & RT_EXACT && rt_rule_cfa(other->rule) == RT_CFA_RSP)
		other->rule =
			rt_rule_make(RT_CFA_RSP_CHECKED, (int64_t)rt_rule_cfa_offset(other->rule),
				rt_rule_rbp(other->rule), (int64_t)rt_rule_rbp_offset(other->rule));
	other->rule.bits |= module->id;
	prepare_entry(other, RT_RULE_NO_ENTRY | module->id);
	return remember_entry(rules, other, *ret_function);
}

static const struct rt_rule_entry *search_tables(struct rt_rules *rules, uint64_t address,
	struct rt_rule_entry *other, uint64_t *ret_function)
{
	uint32_t slot = rt_rules_slot(address);
	for (uint32_t i = slot; i < slot + RT_RULES_PROBES; i++) {
		uint64_t found = __atomic_load_n(&rules->entries[i].address, __ATOMIC_ACQUIRE);
		if (found == address) {
			*ret_function = rules->functions[i];
			return &rules->entries[i];
		}
		if (!found)
			break;
	}
	return add_rule_entry(rules, address, other, ret_function);
}

const struct rt_rule_entry *rt_rules_search(
	struct rt_rules *rules, uint64_t address, struct rt_rule_entry *other)
{
	uint64_t function;
	return search_tables(rules, address, other, &function);
}

uint64_t rt_rules_function(struct rt_rules *rules, uint64_t address)
{
	struct rt_rule_entry other;
	uint64_t function;
	search_tables(rules, address, &other, &function);
	return function;
}

void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < RT_RULES + RT_RULES_PROBES; i++) {
		uint64_t address = rules->entries[i].address & ~RT_EXACT;
		if (address >= start && address <= end)
			__atomic_store_n(&rules->entries[i].address, WITHDRAWN, __ATOMIC_RELAXED);
	}
}
