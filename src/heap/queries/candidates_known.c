/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of which it is certain what they are speak for others with pointers at the same places:
 * what the program has already is likelier than what its debug information merely describes.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/inferred.h"
#include "heap/inferred/inferred_find.h"
#include "heap/queries/candidates_check.h"

/* Of each candidate's type this many blocks are looked at. */
#define LOOKED_AT_MOST 256u
#define NO_OWNER UINT32_MAX

/* Which candidate a type of the heap's is; NOBODYS. */
static uint32_t candidate_of(const struct candidate_check *j, const struct heap_type *type)
{
	if (type->layout == TYPE_VOID || type->is_array || type->header)
		return NO_OWNER;
	/* Of virtual bases it says where they lie. */
	uint32_t plain = types_declared(j->types, types_plain(j->types, type->layout));
	for (uint32_t i = 0; i < j->found->len; i++) {
		const struct candidate *c = &j->found->data[i];
		if (c->type == plain && !c->is_array)
			return i;
	}
	return NO_OWNER;
}

/* Whether all words of the type are pointers in both, or in neither, unless they are NULL; and one
 * is. */
static bool is_alike(const struct sample *a, const struct sample *b, uint64_t words)
{
	uint64_t there = words & a->filled & b->filled;
	return !((a->pointers ^ b->pointers) & there) && a->pointers & b->pointers & there;
}

static void candidates_known_look_at(
	struct candidate_check *j, struct inferring *rules, uint32_t block, struct candidate *c)
{
	struct sample known;
	const char *basis = inferred_basis_name(j->scan, block);
	if (basis && *basis != 'd') /* look-alike */
		return;
	candidates_sample(j, block, &known);
	inferred_ask_values(rules, block, c->type, true);
	for (uint32_t i = 0; i < j->count; i++) {
		if (is_alike(&known, &j->samples[i], candidates_covered(c))) {
			c->known++;
			c->known_pointers |= known.pointers;
			return;
		}
	}
}

/* What is known of a type says what is no value of it. */
static void ask_samples(struct candidate_check *j, struct inferring *rules)
{
	for (size_t i = 0; i < j->found->len; i++) {
		struct candidate *c = &j->found->data[i];
		for (uint32_t k = 0; c->known && k < j->count; k++)
			c->broken |=
				inferred_ask_values(rules, j->samples[k].block, c->type, false);
	}
}

static bool ask_all(struct candidate_check *j, struct inferring *rules)
{
	const struct heap_scan *s = j->scan;
	size_t count = s->types.types.len;
	_cleanup_free_ uint32_t *of_type = malloc((count + 1) * sizeof(*of_type));
	_cleanup_free_ uint32_t *looked = calloc(j->found->len + 1, sizeof(*looked));
	bool any = false;
	if (!of_type || !looked)
		return false;
	for (size_t i = 0; i < count; i++) {
		of_type[i] = candidate_of(j, &s->types.types.data[i]);
		any |= of_type[i] != NO_OWNER;
	}
	uint32_t blocks = any ? search_block_count(s->search) : 0;
	for (uint32_t block = 0; block < blocks; block++) {
		uint32_t number = of_type[heap_scan_type_of(s, block)];
		if (number == NO_OWNER || looked[number] >= LOOKED_AT_MOST ||
			search_block_size(s->search, block) != j->usable)
			continue;
		looked[number]++;
		candidates_known_look_at(j, rules, block, &j->found->data[number]);
	}
	ask_samples(j, rules);
	return !rules->failed;
}

struct error *candidates_find_known(struct candidate_check *candidate_check)
{
	struct heap_scan *scan = candidate_check->scan;
	struct inferring rules = {
		.scan = scan, .types = candidate_check->types, .search = scan->search};
	struct error *error = window_open(scan->heap.space, &rules.window);
	if (!error && !ask_all(candidate_check, &rules))
		error = error_no_memory();
	window_close(&rules.window);
	inferred_free_facts(&rules);
	return error;
}
