/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_alike.h"

#include <string.h>

#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_pointee.h"
#include "heap/inferred/inferred_rules.h"

/* Blocks that are declared to be of a type, and are asked which rules they keep. */
#define WITNESSES_MOST 64u
#define BLOCK_BYTES (8ull * SHAPE_WORDS)
/* What is read at a time, of blocks that lie beside each other. */
#define READ_BYTES (4u << 10)

static const uint8_t *inferred_alike_bytes_of(struct inferring *f, uint32_t block, size_t *ret_len)
{
	uint64_t address = search_block_address(f->search, block);
	uint64_t size = search_block_size(f->search, block);
	*ret_len = size < BLOCK_BYTES ? (size_t)size : BLOCK_BYTES;
	return window_at(&f->window, address, *ret_len, address + READ_BYTES);
}

static bool is_kept(struct inferring *f, struct alike_rule *rule, uint32_t block,
	const uint8_t *bytes, size_t len)
{
	uint64_t word;
	if (rule->offset > len || len - rule->offset < rule->size)
		return true;
	uint64_t start = search_block_address(f->search, block);
	if (rule->kind == ALIKE_VECTOR || rule->kind == ALIKE_STRING)
		return inferred_keeps_invariant(
			f, rule, start + rule->offset, bytes + rule->offset);
	if (rule->kind != ALIKE_POINTER && rule->kind != ALIKE_APART)
		return alike_rule_keeps(f->types, rule, bytes + rule->offset);
	memcpy(&word, bytes + rule->offset, 8);
	if (rule->kind == ALIKE_POINTER)
		return inferred_pointee(f, word, rule->type) != POINTEE_DENIES;
	return word - start >= search_block_size(f->search, block);
}

static struct fact *fact_with_rules(struct inferring *f, uint32_t layout)
{
	struct fact *fact = inferred_fact(f, layout);
	if (fact && !fact->has_rules) {
		fact->has_rules = true;
		f->failed |= !alike_rules_find(f->types, layout, fact, &fact->rules);
	}
	return fact;
}

static struct fact *ruled_fact(struct inferring *f, uint32_t heap_type)
{
	const struct heap_type *type = &f->scan->types.types.data[heap_type];
	bool has_any =
		type->kind == HEAP_TYPE_INFERRED && !type->is_array && type->layout != TYPE_VOID;
	return has_any ? fact_with_rules(f, type->layout) : NULL;
}

static void ask_witness(struct inferring *f, uint32_t block, struct fact *fact)
{
	size_t len;
	const uint8_t *bytes = inferred_alike_bytes_of(f, block, &len);
	for (size_t i = 0; bytes && i < fact->rules.len; i++) {
		struct alike_rule *rule = &fact->rules.data[i];
		rule->is_broken |= !is_kept(f, rule, block, bytes, len);
	}
}

void inferred_learn_rules(struct inferring *inferring)
{
	struct inferring *f = inferring;
	const struct heap_types *types = &f->scan->types;
	uint32_t count = search_block_count(f->search);
	for (uint32_t block = 0; block < count && !f->failed; block++) {
		struct block_label label = block_label(f->search, block);
		if (heap_types_shape(types, label) != HEAP_SHAPE_NONE ||
			inferred_bit(f->scan->alike.looks, block))
			continue;
		struct fact *fact = ruled_fact(f, heap_types_of_label(types, label));
		if (fact && fact->witnesses < WITNESSES_MOST) {
			fact->witnesses++;
			ask_witness(f, block, fact);
		}
	}
}

static bool inferred_alike_counts(const struct alike_rule *rule)
{
	return !rule->is_broken && (rule->kind != ALIKE_TEXT || rule->is_met);
}

/* A type with one pointer looks like much; of such what is pointed to must say so, too. */
static bool is_backed(
	struct inferring *f, const struct fact *fact, uint32_t class, const uint8_t *bytes)
{
	struct shape_key key = f->scan->classes.classes.data[class].key;
	if (key.head || __builtin_popcountll(key.pointers & fact->map.pointers) > 1)
		return true;
	for (size_t i = 0; i < fact->slots.len; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word, at = slot->offset;
		for (uint64_t k = 0; !slot->when_count && slot->container.form == RUST_NONE &&
				     k < slot->count && at / 8 < SHAPE_WORDS;
			k++, at += slot->stride) {
			if (at % 8 || !(key.pointers >> at / 8 & 1))
				continue;
			memcpy(&word, bytes + at, 8);
			return inferred_pointee(f, word, slot->target) == POINTEE_AGREES;
		}
	}
	return false;
}

bool inferred_alike(struct inferring *inferring, uint32_t block, uint32_t class, uint32_t heap_type)
{
	struct inferring *f = inferring;
	struct fact *fact = ruled_fact(f, heap_type);
	size_t len;
	const uint8_t *bytes = fact ? inferred_alike_bytes_of(f, block, &len) : NULL;
	for (size_t i = 0; bytes && i < fact->rules.len; i++) {
		struct alike_rule *rule = &fact->rules.data[i];
		if (inferred_alike_counts(rule) && !is_kept(f, rule, block, bytes, len))
			return false;
	}
	return bytes && is_backed(f, fact, class, bytes);
}

static bool is_of_values(const struct alike_rule *rule)
{
	return (rule->kind == ALIKE_ENUM || rule->kind == ALIKE_BOOLEAN) && !rule->is_broken;
}

static bool asks_values(const struct fact *fact)
{
	for (size_t i = 0; i < fact->rules.len; i++) {
		if (is_of_values(&fact->rules.data[i]))
			return true;
	}
	return false;
}

bool inferred_keeps_values(
	struct inferring *inferring, uint32_t layout, const uint8_t *bytes, size_t len)
{
	struct inferring *f = inferring;
	struct fact *fact = fact_with_rules(f, layout);
	for (size_t i = 0; fact && i < fact->rules.len; i++) {
		struct alike_rule *rule = &fact->rules.data[i];
		if (is_of_values(rule) && rule->offset <= len && len - rule->offset >= rule->size &&
			!alike_rule_keeps(f->types, rule, bytes + rule->offset))
			return false;
	}
	return true;
}

bool inferred_breaks_values(struct inferring *inferring, uint64_t address, uint32_t layout)
{
	struct inferring *f = inferring;
	struct fact *fact = fact_with_rules(f, layout);
	uint8_t bytes[BLOCK_BYTES];
	if (!fact || !asks_values(fact))
		return false;
	size_t got = address_space_read(f->scan->heap.space, address, bytes, sizeof(bytes));
	return !inferred_keeps_values(f, layout, bytes, got);
}

uint64_t inferred_ask_values(
	struct inferring *inferring, uint32_t block, uint32_t layout, bool is_witness)
{
	struct inferring *f = inferring;
	struct fact *fact = fact_with_rules(f, layout);
	uint64_t broken = 0;
	size_t len;
	const uint8_t *bytes = fact ? inferred_alike_bytes_of(f, block, &len) : NULL;
	for (size_t i = 0; bytes && i < fact->rules.len; i++) {
		struct alike_rule *rule = &fact->rules.data[i];
		if (rule->kind == ALIKE_POINTER || is_kept(f, rule, block, bytes, len))
			continue;
		if (is_witness)
			rule->is_broken = true;
		else if (inferred_alike_counts(rule))
			broken |= 1ull << rule->offset / 8;
	}
	return broken;
}

const char *inferred_basis_name(const struct heap_scan *scan, uint32_t block)
{
	const struct heap_type *type = &scan->types.types.data[heap_scan_type_of(scan, block)];
	if (type->kind != HEAP_TYPE_INFERRED)
		return NULL;
	return scan->alike.looks && inferred_bit(scan->alike.looks, block) ? "look-alike"
									   : "declared";
}

/* Bits that are set, one after another. */
static void count_bits(struct heap_scan *scan, const uint64_t *set, bool unreachable_only)
{
	uint32_t count = search_block_count(scan->search);
	for (uint32_t word = 0; word <= count / 64; word++) {
		for (uint64_t left = set[word]; left; left &= left - 1) {
			uint32_t block = 64 * word + (uint32_t)__builtin_ctzll(left);
			if (unreachable_only &&
				search_kind(scan->search, block) == SEARCH_REACHABLE)
				continue;
			inferred_set_bit(scan->alike.looks, block);
			scan->types.types.data[heap_scan_type_of(scan, block)].alike++;
		}
	}
}

void inferred_count_alike(struct heap_scan *scan)
{
	if (!scan->alike.looks || !scan->alike.settled)
		return;
	count_bits(scan, scan->alike.looks, false);
	count_bits(scan, scan->alike.settled, true);
}
