/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to inferred*.c: the rules that a type's members make. */
#ifndef HEAP_INFERRED_RULES_H
#define HEAP_INFERRED_RULES_H

#include "heap/inferred/inferred_alike.h"
#include "symbols/types.h"

/* Adds the rules of a type. False: no memory. */
bool alike_rules_find(struct types *types, uint32_t type, const struct fact *fact,
	struct alike_rules *ret) must_check_;

/* Returns the rule that an object as a whole must keep, whatever its members; ALIKE_NOTHING. */
enum alike_kind alike_rule_of_object(const struct type *type);
/* As above, for one word: `bytes` is what is at an address of its block. */
bool inferred_keeps_invariant(struct inferring *inferring, const struct alike_rule *rule,
	uint64_t address, const uint8_t *bytes);

/* Returns whether the rule->size bytes of a member keep one that is of no pointer. */
bool alike_rule_keeps(const struct types *types, struct alike_rule *rule, const uint8_t *bytes);

#endif
