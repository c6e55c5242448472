/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_subset.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/block_slack.h"
#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_pools.h"

/* This many holders are looked through; larger ones are not. */
#define HOLDERS_MOST (1u << 16)
#define HOLDER_BYTES (1u << 16)

enum certainty {
	CERTAIN, /* nothing that is found later changes it */
	FOUND,   /* it is certain now */
	OPEN,
};

struct subset_search {
	struct inferring *f;
	const struct inferred_subset *subset;
	uint32_t *types; /* of each block of the subset; HEAP_TYPE_NONE: only what it looks like */
	uint8_t *states; /* enum certainty */
	uint8_t *bytes;  /* of a holder */
	unsigned holders;
};

/* What is known before blocks are walked. False: it depends on others what the block is. */
static bool inferred_subset_begin(struct subset_search *t, size_t i, enum inferred_basis basis)
{
	struct inferring *f = t->f;
	uint32_t block = t->subset->reverse->blocks.data[i];
	struct block_label label = block_label(f->search, block);
	uint32_t class = heap_types_shape(&f->scan->types, label);
	t->types[i] = heap_types_of_label(&f->scan->types, label);
	t->states[i] = t->types[i] == HEAP_TYPE_NONE ? OPEN : CERTAIN;
	bool is_pool =
		t->types[i] != HEAP_TYPE_NONE && f->scan->types.types.data[t->types[i]].is_pool;
	/* What is found later may make it a pool. */
	if (inferred_bit(f->is_left, block) || (!is_pool && inferred_has_place_in(f, block)))
		return false;
	if (t->states[i] == CERTAIN)
		return !block_label_is_family(label);
	if (f->alike[class] == HEAP_TYPE_NONE)
		return true;
	if (basis != BASIS_SETTLED || !inferred_bit(f->is_settled, class) ||
		!inferred_alike(f, block, class, f->alike[class]))
		return false;
	t->types[i] = f->alike[class];
	t->states[i] = FOUND;
	return true;
}

/* The word at an offset of a holder points to a block. False: one says this, another that. */
static bool inferred_subset_claim(struct subset_search *t, size_t holder, uint64_t offset, size_t i)
{
	struct inferring *f = t->f;
	const struct heap_type *type = &f->scan->types.types.data[t->types[holder]];
	struct fact *fact = type->layout == TYPE_VOID ? NULL : inferred_fact(f, type->layout);
	if (!fact || !fact->size)
		return true;
	/* What members hold is not looked at here. */
	struct fact *open = fact->open == TYPE_VOID ? NULL : inferred_fact(f, fact->open);
	if (fact->has_choices || (open && open->has_choices))
		return false;
	const struct slot *slot = inferred_slot_in(f, fact, type->is_array, offset);
	uint32_t found =
		slot ? inferred_type_for(f, t->subset->reverse->blocks.data[i], slot->target)
		     : HEAP_TYPE_NONE;
	if (found == HEAP_TYPE_NONE || t->types[i] == found)
		return true;
	/* What may be an array is asked for what others lead to in it. */
	if (t->types[i] != HEAP_TYPE_NONE ||
		inferred_may_be_chunk(f, t->subset->reverse->blocks.data[i], found))
		return false;
	t->types[i] = found;
	t->states[i] = FOUND;
	return true;
}

/* All words of a holder that point to the start of a block. */
static bool look_through(struct subset_search *t, size_t holder, size_t i)
{
	struct search *search = t->f->search;
	uint32_t number = t->subset->reverse->blocks.data[holder];
	uint64_t size = search_block_size(search, number);
	uint64_t target = search_block_address(search, t->subset->reverse->blocks.data[i]);
	if (++t->holders > HOLDERS_MOST || size > HOLDER_BYTES)
		return false;
	size_t n = address_space_read(t->f->scan->heap.space, search_block_address(search, number),
		t->bytes, (size_t)size);
	bool ok = true;
	for (size_t at = 0; at + 8 <= n && ok; at += 8) {
		uint64_t word;
		memcpy(&word, t->bytes + at, 8);
		ok = word != target || inferred_subset_claim(t, holder, at, i);
	}
	return ok;
}

/* Asks those that point to a block and are known since blocks are walked: what others declare was
 * followed before. */
static bool ask_holders(struct subset_search *t, size_t i, bool *any)
{
	const struct reverse *reverse = t->subset->reverse;
	enum certainty before = t->states[i];
	bool ok = true;
	for (uint32_t k = reverse->heads[i]; k < reverse->heads[i + 1] && ok; k++) {
		size_t holder = reverse_place(reverse, reverse->sources[k]);
		if (t->states[holder] == FOUND)
			ok = look_through(t, holder, i);
	}
	*any |= t->states[i] != before;
	return ok;
}

/* Without pointers it is like nothing, and what points to it is known: it stays unknown. */
static bool is_unreferenced(const struct subset_search *t, size_t i)
{
	uint32_t class = block_first_shape(t->f->search, t->subset->reverse->blocks.data[i]);
	return !t->f->scan->classes.classes.data[class].key.pointers;
}

static bool inferred_subset_find_all(struct subset_search *t, enum inferred_basis basis)
{
	bool ok = true, any = true;
	size_t count = t->subset->reverse->blocks.len;
	for (size_t i = 0; i < count && ok; i++)
		ok = inferred_subset_begin(t, i, basis);
	while (ok && any) {
		any = false;
		for (size_t i = 0; i < count && ok; i++)
			ok = t->states[i] != OPEN || ask_holders(t, i, &any);
	}
	/* Others may have come in between, which say something else. */
	for (size_t i = 0; i < count && ok; i++) {
		uint32_t block = t->subset->reverse->blocks.data[i], type = t->types[i];
		uint32_t class =
			heap_types_shape(&t->f->scan->types, block_label(t->f->search, block));
		if (t->states[i] == OPEN)
			ok = is_unreferenced(t, i);
		else if (t->states[i] == FOUND && !inferred_bit(t->f->is_settled, class))
			ok = ask_holders(t, i, &any);
		if (ok && type != HEAP_TYPE_NONE)
			ok = !block_slack_may_have(t->f->scan, block, type);
	}
	return ok && !t->f->failed;
}

static void describe_all(struct subset_search *t)
{
	struct inferring *f = t->f;
	f->basis = BASIS_SETTLED;
	for (size_t i = 0; i < t->subset->reverse->blocks.len; i++) {
		if (t->states[i] == FOUND)
			inferred_assign_block(f, t->subset->reverse->blocks.data[i], t->types[i]);
	}
	f->basis = BASIS_DECLARED;
}

void inferred_type_subset(
	struct inferring *inferring, struct inferred_subset *subset, enum inferred_basis basis)
{
	size_t count = subset->reverse->blocks.len;
	_cleanup_free_ uint32_t *types = malloc((count + 1) * sizeof(*types));
	_cleanup_free_ uint8_t *states = malloc(count + 1);
	_cleanup_free_ uint8_t *bytes = malloc(HOLDER_BYTES);
	struct subset_search t = {inferring, subset, types, states, bytes, 0};
	/* Without memory for it all are walked. */
	subset->is_complete = types && states && bytes && inferred_subset_find_all(&t, basis);
	if (subset->is_complete)
		describe_all(&t);
}
