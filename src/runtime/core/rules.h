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

/* The low half of `meta` is 1 + the index of the entry; without an entry it is this, or'ed with the
 * module. */
#define RT_RULE_NO_ENTRY (1u << 31)
/* In cfa_bytes: the rule is not one of the two that nearly every frame has. */
#define RT_RULE_RARE UINT32_MAX

/*
 * What is known of a return address: the rule, and the rule once more in the form that a walk needs
 * for nearly every frame (CFA = rsp + n, rbp kept or saved in the frame), so that it has nothing to
 * decode.
 */
struct rt_rule_entry {
	uint64_t address; /* 0 free, 1 being written, 2 withdrawn; release: the rest is complete */
	struct rt_rule rule;
	uint32_t cfa_bytes; /* or RT_RULE_RARE */
	int32_t rbp_bytes;  /* saved at CFA + this; 0: not saved */
	uint64_t meta; /* of a fresh frame: the entry's number; flag and slot if rbp is saved */
};
_Static_assert(sizeof(struct rt_rule_entry) == 32, "two to a cache line, indexed by a shift");

struct rt_rules {
	struct rt_modules *modules;
	struct rt_rule_entry entries[RT_RULES + RT_RULES_PROBES];
	uint64_t functions[RT_RULES + RT_RULES_PROBES]; /* start of the code around each address */
};

static inline uint32_t rt_rules_slot(uint64_t address)
{
	return (uint32_t)(address >> 2) & (RT_RULES - 1);
}

/* rt_rules_at() for an address that is not in its first slot: searches other slots, then the unwind
 * tables. */
const struct rt_rule_entry *rt_rules_search(
	struct rt_rules *rules, uint64_t address, struct rt_rule_entry *other);

/*
 * Returns what is known of a return address (or an exact one with RT_EXACT set). *other is memory
 * for an entry that does not fit into the table.
 */
static inline const struct rt_rule_entry *rt_rules_at(
	struct rt_rules *rules, uint64_t address, struct rt_rule_entry *other)
{
	const struct rt_rule_entry *e = &rules->entries[rt_rules_slot(address)];
	if (rt_likely(__atomic_load_n(&e->address, __ATOMIC_ACQUIRE) == address))
		return e;
	return rt_rules_search(rules, address, other);
}

static inline const struct rt_rule_entry *rt_rules_numbered(
	const struct rt_rules *rules, uint32_t number)
{
	return &rules->entries[number - 1];
}

/* Returns the entry as a frame of the call tree: module << 48 | address. */
static inline uint64_t rt_rule_frame(const struct rt_rule_entry *e)
{
	return (e->address & ~RT_EXACT) | (uint64_t)rt_rule_module(e->rule)
						  << HW_FRAME_ADDRESS_BITS;
}

/* Returns the start of the code that the unwind entry around `address` covers; 0 if unknown. */
uint64_t rt_rules_function(struct rt_rules *rules, uint64_t address);

/* Withdraws every rule for addresses in [start, end]. */
void rt_rules_withdraw(struct rt_rules *rules, uint64_t start, uint64_t end);

#endif
