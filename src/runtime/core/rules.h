/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the rule table, the module table, unwind tables of
 * live modules.
 *
 * Rules by address: a hash table filled on first use of an address. A hit costs one cache line.
 */
#ifndef RUNTIME_RULES_H
#define RUNTIME_RULES_H

#include "runtime/core/modules.h"
#include "runtime/core/rule.h"

#include <stdint.h>

#define RT_RULES_BITS 18
#define RT_RULES (1u << RT_RULES_BITS)
#define RT_RULES_PROBES 8

/* Set in an address that is exact (an interrupted instruction), not a return address. User
 * addresses are below 2^47. */
#define RT_EXACT (1ull << 47)

struct rt_rule_entry {
	uint64_t address;    /* 0 free, 1 being written or withdrawn */
	struct rt_rule rule; /* complete, like function, before address is (release) */
	uint64_t function;   /* start of the code that the rule's unwind entry covers */
	uint64_t unused;     /* two entries to a cache line */
};
_Static_assert(sizeof(struct rt_rule_entry) == 32, "indexed by a shift");

struct rt_rules {
	struct rt_modules *modules;
	struct rt_rule_entry entries[RT_RULES + RT_RULES_PROBES];
};

static inline uint32_t rt_rules_slot(uint64_t address)
{
	return (uint32_t)(address >> 2) & (RT_RULES - 1);
}

/* Looks the address up, remembers it, fills *ret (address, rule, function). */
void rt_rules_add(struct rt_rules *rules, uint64_t address, struct rt_rule_entry *ret);

/* The rule at a return address (or an exact one with RT_EXACT set). */
static inline struct rt_rule rt_rules_find(struct rt_rules *rules, uint64_t address)
{
	const struct rt_rule_entry *e = &rules->entries[rt_rules_slot(address)];
	for (unsigned probe = 0; probe < RT_RULES_PROBES; probe++, e++) {
		uint64_t found = __atomic_load_n(&e->address, __ATOMIC_ACQUIRE);
		if (rt_likely(found == address))
			return e->rule;
		if (!found)
			break;
	}
	struct rt_rule_entry added;
	rt_rules_add(rules, address, &added);
	return added.rule;
}

/* The same, with the function around it. */
static inline struct rt_rule_entry rt_rules_find_entry(struct rt_rules *rules, uint64_t address)
{
	const struct rt_rule_entry *e = &rules->entries[rt_rules_slot(address)];
	for (unsigned probe = 0; probe < RT_RULES_PROBES; probe++, e++) {
		if (__atomic_load_n(&e->address, __ATOMIC_ACQUIRE) == address)
			return *e;
	}
	struct rt_rule_entry added;
	rt_rules_add(rules, address, &added);
	return added;
}

/* Withdraws every rule for addresses in [start, end]. */
void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end);

#endif
