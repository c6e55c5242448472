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

/* Set in an address that is exact (an interrupted instruction), not a return address. User
 * addresses are below 2^47. */
#define RT_EXACT (1ull << 47)

struct rt_rule_entry {
	/* address (48 bits) | low 16 bits of a hash of the function's start; 0 free, 1 being
	 * written or withdrawn */
	uint64_t key;
	struct rt_rule rule; /* complete before key is (release) */
};

struct rt_rules {
	struct rt_modules *modules;
	uint32_t used;
	struct rt_rule_entry entries[RT_RULES];
};

static inline uint32_t rt_rules_slot(uint64_t address)
{
	return (uint32_t)((address >> 2) ^ (address >> 20)) & (RT_RULES - 1);
}

/* Looks the address up and remembers it. */
struct rt_rule rt_rules_add(struct rt_rules *rules, uint64_t address, uint16_t *ret_function);

/*
 * The rule at a return address (or an exact one with RT_EXACT set). *ret_function identifies the
 * function around it by 16 bits of a hash of its start.
 */
static inline struct rt_rule rt_rules_find(
	struct rt_rules *rules, uint64_t address, uint16_t *ret_function)
{
	uint32_t slot = rt_rules_slot(address);
	for (unsigned probe = 0; probe < 8; probe++) {
		const struct rt_rule_entry *e = &rules->entries[(slot + probe) & (RT_RULES - 1)];
		uint64_t key = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);
		if (rt_likely(((key ^ address) & HW_FRAME_ADDRESS_MASK) == 0)) {
			*ret_function = (uint16_t)(key >> HW_FRAME_ADDRESS_BITS);
			return e->rule;
		}
		if (!key)
			break;
	}
	return rt_rules_add(rules, address, ret_function);
}

/* Withdraws every rule for addresses in [start, end]. */
void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end);

#endif
