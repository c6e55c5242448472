/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes from block to block, each once. Where the class of a block says how many pointers it has,
 * and so many edges leave it, the n-th edge is the n-th pointer and memory need not be read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/inferred_find.h"
#include "heap/nodes.h"

#define SLOTS_MOST 1024u

void inferred_free_facts(struct inferring *inferring)
{
	struct inferring *f = inferring;
	uint32_t position = 0;
	for (struct fact **fact; (fact = fact_map_next(&f->facts, &position, NULL));) {
		if (*fact) {
			slot_vec_deinit(&(*fact)->slots);
			alike_rules_deinit(&(*fact)->rules);
		}
		free(*fact);
	}
	fact_map_deinit(&f->facts);
}

struct fact *inferred_fact(struct inferring *inferring, uint32_t type)
{
	struct inferring *f = inferring;
	bool is_new;
	struct fact **fact = fact_map_insert(&f->facts, type, &is_new);
	if (fact && is_new)
		*fact = NULL;
	if (fact && *fact)
		return *fact;
	struct fact *fresh = fact ? calloc(1, sizeof(*fresh)) : NULL;
	f->failed |= !fresh;
	if (!fresh)
		return NULL;
	*fact = fresh;
	fresh->size = types_get(f->types, type)->size;
	fresh->single = fresh->array = HEAP_TYPE_NONE;
	fresh->last_class = HEAP_TYPE_NONE;
	inferred_word_map(f->types, type, &fresh->map);
	f->failed |= !slots_find(f->types, type, SLOTS_MOST, &fresh->slots);
	return fresh;
}

/* What an allocator may give more than `wanted`. */
static bool is_close(const struct inferring *f, uint64_t wanted, uint64_t usable)
{
	uint64_t spare = f->loose && usable / 4 > LAYOUT_SPARE ? usable / 4 : LAYOUT_SPARE;
	return wanted <= usable && usable - wanted <= spare;
}

/* Whether its last member is as long as the block likes. */
static bool has_open_end(const struct types *types, uint32_t type)
{
	for (unsigned i = 0; i < TYPES_DEPTH_MAX; i++) {
		const struct type *of = types_get(types, types_plain(types, type));
		if (of->kind == TYPE_ARRAY)
			return !of->count;
		if (!type_has_members(of) || of->kind == TYPE_UNION || !of->member_count)
			return false;
		type = of->members[of->member_count - 1].type;
	}
	return false;
}

/* Data words of an array's elements, one behind the other. */
static uint64_t tiled(const struct fact *fact)
{
	uint64_t bits = 0, words = fact->size / 8;
	if (fact->size % 8 || !words)
		return fact->map.data & 1;
	for (uint64_t at = 0; at < CLASS_WORDS; at += words)
		bits |= fact->map.data << at;
	return bits;
}

/* Whether elements behind the first have pointers where they should; a larger structure that
 * begins with one of the type has not. */
static bool is_repeated(const struct fact *fact, uint64_t pointers)
{
	uint64_t words = fact->size / 8;
	if (!fact->map.pointers)
		return !pointers;
	return fact->size % 8 == 0 && words < CLASS_WORDS && pointers >> words & fact->map.pointers;
}

enum form { FORM_NONE, FORM_SINGLE, FORM_ARRAY };

/* What blocks of that size with these pointers can be. */
static enum form form_of(struct inferring *f, uint32_t type, const struct fact *fact,
	uint64_t usable, uint64_t pointers)
{
	const struct type *of = types_get(f->types, type);
	if (!fact->size || fact->size > usable)
		return FORM_NONE;
	bool is_plain = !type_has_members(of);
	if (!is_plain && (is_close(f, fact->size, usable) || has_open_end(f->types, type))) {
		uint64_t words = fact->size / 8;
		uint64_t own = words < CLASS_WORDS ? (1ull << words) - 1 : UINT64_MAX;
		return pointers & fact->map.data & own ? FORM_NONE : FORM_SINGLE;
	}
	/* What is behind the last one would be something else. */
	if (!is_plain && (!is_close(f, usable / fact->size * fact->size, usable) ||
				 !is_repeated(fact, pointers)))
		return FORM_NONE;
	/* Strings end somewhere, and behind them is what was there before. */
	if (is_plain && of->size < 8)
		return pointers & 1 ? FORM_NONE : FORM_ARRAY;
	return pointers & tiled(fact) ? FORM_NONE : FORM_ARRAY;
}

static void name_type(struct inferring *f, uint32_t type, bool is_array, struct text *name)
{
	const struct type *of = types_get(f->types, type);
	if (type_has_members(of) && of->name)
		cxx_add_plain_name(name, of->name);
	else
		types_declare(f->types, type, "", name);
	if (is_array)
		text_add(name, "[]");
}

static uint32_t add_type(struct inferring *f, enum heap_type_kind kind, const char *name,
	uint32_t layout, bool is_array)
{
	struct heap_types *types = &f->survey->types;
	uint32_t number;
	struct error *error = name ? heap_types_add(types, kind, name, &number) : error_no_memory();
	f->failed |= error != NULL;
	error_destroy(error);
	if (f->failed)
		return HEAP_TYPE_NONE;
	struct heap_type *type = &types->types.data[number];
	if (type->layout == TYPE_VOID) {
		type->layout = layout;
		type->is_array = is_array;
	}
	/* Another type of the same name. */
	return type->layout == layout ? number : HEAP_TYPE_NONE;
}

static uint32_t heap_type_of(struct inferring *f, uint32_t type, struct fact *fact, enum form form)
{
	uint32_t *known = form == FORM_ARRAY ? &fact->array : &fact->single;
	bool *fails = form == FORM_ARRAY ? &fact->array_fails : &fact->single_fails;
	if (*known != HEAP_TYPE_NONE || *fails)
		return *known;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	name_type(f, type, form == FORM_ARRAY, &name);
	*known = add_type(f, HEAP_TYPE_INFERRED, name.data, type, form == FORM_ARRAY);
	*fails = *known == HEAP_TYPE_NONE;
	return *known;
}

/* "std::vector buffer" becomes "std::vector buffer of Shape*". */
static uint32_t refine(struct inferring *f, uint32_t known, uint32_t type, bool is_array)
{
	uint32_t element = type;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, f->survey->types.types.data[known].name);
	text_add(&name, " of ");
	uint32_t held = is_array ? TYPE_VOID : nodes_element(f->types, type);
	if (held != TYPE_VOID)
		element = held;
	name_type(f, types_plain(f->types, element), false, &name);
	return add_type(f, HEAP_TYPE_CONTAINER, name.data, type, is_array);
}

void inferred_push(struct inferring *inferring, uint32_t block, uint32_t class, uint32_t type)
{
	struct inferring *f = inferring;
	uint32_t layout = f->survey->types.types.data[type].layout;
	struct fact *fact = layout == TYPE_VOID ? NULL : inferred_fact(f, layout);
	if (fact && fact->slots.len)
		f->failed |= !inferred_works_push(&f->work, (struct inferred_work){block, class});
}

bool inferred_fits(struct inferring *inferring, uint32_t type, uint32_t class)
{
	struct inferring *f = inferring;
	struct heap_type of = f->survey->types.types.data[type];
	struct fact *fact = of.layout == TYPE_VOID ? NULL : inferred_fact(f, of.layout);
	const struct heap_class *alike = &f->survey->classes.classes.data[class];
	struct class_key key = alike->key;
	/* Where the type has a pointer, and these have neither one nor NULL, they are something
	 * else.
	 */
	if (!fact || fact->map.pointers & ~key.pointers & ~alike->nulls)
		return false;
	/* What may be of any size looks like nothing. */
	return !has_open_end(f->types, of.layout) &&
	       form_of(f, of.layout, fact, key.size, key.pointers) == FORM_SINGLE;
}

bool inferred_is_single(
	struct inferring *inferring, uint32_t type, uint64_t usable, uint64_t pointers)
{
	struct fact *fact = inferred_fact(inferring, type);
	return fact && form_of(inferring, type, fact, usable, pointers) == FORM_SINGLE;
}

/* What is known of a class by one of its blocks; guesses teach nothing. */
static void learn(struct inferring *f, uint32_t class, uint32_t type)
{
	if (f->basis == BASIS_LOOKS)
		return;
	if (f->of_class[class] == HEAP_TYPE_NONE)
		f->of_class[class] = type;
	else if (f->of_class[class] != type)
		inferred_set_bit(f->is_mixed, class);
	if (++f->claims[class] != SETTLED_BLOCKS || inferred_bit(f->is_mixed, class) ||
		!f->survey->classes.classes.data[class].key.pointers ||
		!inferred_fits(f, type, class))
		return;
	f->alike[class] = type;
	inferred_set_bit(f->is_settled, class);
	f->has_settled = true;
}

/* The type of the heap's that a block is, as one of `type`; HEAP_TYPE_NONE: it can't be. */
static uint32_t find_type(
	struct inferring *f, uint32_t block, uint32_t type, uint32_t site, uint32_t part)
{
	struct heap_types *types = &f->survey->types;
	struct fact *fact = inferred_fact(f, type);
	bool has_class = site < types->class_count;
	if (!fact || (has_class && fact->last_class == site))
		return fact ? fact->last_found : HEAP_TYPE_NONE;
	uint64_t pointers = has_class ? f->survey->classes.classes.data[site].key.pointers : 0;
	uint64_t usable = search_block_size(f->search, block);
	enum form form = form_of(f, type, fact, usable, pointers);
	bool is_part = part != HEAP_TYPE_NONE;
	/* Elements of a vector: it is an array even of one. */
	if (is_part && fact->size && fact->size <= usable &&
		!strstr(types->types.data[part].name, " node"))
		form = FORM_ARRAY;
	uint32_t found = HEAP_TYPE_NONE;
	if (form != FORM_NONE)
		found = is_part ? refine(f, part, type, form == FORM_ARRAY)
				: heap_type_of(f, type, fact, form);
	if (has_class && !is_part) {
		fact->last_class = site;
		fact->last_found = found;
	}
	return found;
}

void inferred_say_block(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	struct survey *s = f->survey;
	search_block_set_site(f->search, block, heap_types_site(&s->types, type));
	if (f->basis != BASIS_DECLARED)
		inferred_set_bit(
			f->basis == BASIS_LOOKS ? s->alike.looks : s->alike.settled, block);
}

bool inferred_claim(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	struct heap_types *types = &f->survey->types;
	uint32_t site = search_block_site(f->search, block);
	uint32_t known = heap_types_of_site(types, site);
	if (known == HEAP_TYPE_NONE ? inferred_bit(f->is_settled, site)
				    : !inferred_can_be_part(f, known, type))
		return false;
	uint32_t found = find_type(f, block, type, site, known);
	if (found == HEAP_TYPE_NONE)
		return false;
	bool has_class = site < types->class_count;
	inferred_say_block(f, block, found);
	if (has_class)
		learn(f, site, found);
	inferred_push(f, block, has_class ? site : HEAP_TYPE_NONE, found);
	return true;
}

static void claim_at(struct inferring *f, uint64_t address, uint32_t type)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block != SPACE_NONE && !offset)
		inferred_claim(f, block, type);
}

static bool is_idle(const struct fact *fact, size_t slot)
{
	return slot < SLOTS_WATCHED && fact->idle[slot] >= IDLE_MOST;
}

static void watch(struct fact *fact, size_t slot, bool is_news)
{
	if (slot < SLOTS_WATCHED)
		fact->idle[slot] = is_news ? 0 : (uint16_t)(fact->idle[slot] + 1);
}

/* The edges of a block as the pointers of its class; false: they are not the same ones. */
static bool follow_edges(struct inferring *f, uint32_t block, uint32_t class, struct fact *fact)
{
	const uint32_t *edges = f->graph->edges.data;
	uint32_t from = f->graph->heads.data[block], end = graph_edges_end(f->graph, block);
	uint64_t pointers = f->survey->classes.classes.data[class].key.pointers;
	if (search_block_size(f->search, block) > 8ull * CLASS_WORDS ||
		end - from != (uint32_t)__builtin_popcountll(pointers))
		return false;
	for (uint32_t i = from; i < end; i++) {
		if (edges[i] & GRAPH_INTERIOR)
			return false;
	}
	size_t slot = 0;
	for (uint32_t i = from; i < end; i++, pointers &= pointers - 1) {
		uint64_t offset = 8 * (uint64_t)__builtin_ctzll(pointers);
		while (slot < fact->slots.len && fact->slots.data[slot].offset < offset)
			slot++;
		if (slot < fact->slots.len && fact->slots.data[slot].offset == offset &&
			!is_idle(fact, slot))
			watch(fact, slot,
				inferred_claim(
					f, GRAPH_BLOCK(edges[i]), fact->slots.data[slot].target));
	}
	return true;
}

static void follow_bytes(
	struct inferring *f, const uint8_t *bytes, size_t len, const struct fact *fact)
{
	for (size_t i = 0; i < fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word;
		if (slot->offset > len || len - slot->offset < 8)
			continue;
		memcpy(&word, bytes + slot->offset, 8);
		claim_at(f, word, slot->target);
	}
}

/* The elements of an array by large pieces. */
static void follow_memory(struct inferring *f, uint64_t address, uint64_t size, uint64_t count,
	const struct fact *fact)
{
	uint64_t piece = size < 65536 ? 65536 / size : 1;
	_cleanup_free_ uint8_t *bytes = size <= (1u << 20) ? malloc(piece * size) : NULL;
	if (!bytes)
		return;
	for (uint64_t at = 0; at < count && f->reads && f->elements && !f->failed; at += piece) {
		uint64_t elements = count - at < piece ? count - at : piece;
		size_t got = address_space_read(f->survey->heap.space, address + at * size, bytes,
			(size_t)(elements * size));
		f->reads--;
		for (uint64_t i = 0; i < elements && i * size < got && f->elements; i++) {
			f->elements--;
			follow_bytes(f, bytes + i * size, got - i * size, fact);
		}
	}
}

void inferred_follow(struct inferring *inferring, uint32_t block, uint32_t class)
{
	struct inferring *f = inferring;
	const struct heap_types *types = &f->survey->types;
	uint32_t site = search_block_site(f->search, block);
	uint32_t number = heap_types_of_site(types, site);
	if (inferred_bit(f->is_done, block) || number == HEAP_TYPE_NONE)
		return;
	inferred_set_bit(f->is_done, block);
	struct heap_type type = types->types.data[number];
	struct fact *fact = type.layout == TYPE_VOID ? NULL : inferred_fact(f, type.layout);
	if (!fact || !fact->slots.len || !fact->size)
		return;
	if (inferred_is_deque_table(&type)) {
		inferred_follow_deque(f, block, fact);
		return;
	}
	uint64_t usable = search_block_size(f->search, block);
	if (!type.is_array && class < types->class_count && follow_edges(f, block, class, fact))
		return;
	follow_memory(f, search_block_address(f->search, block), fact->size,
		type.is_array ? usable / fact->size : 1, fact);
}

void inferred_follow_all(struct inferring *inferring)
{
	struct inferring *f = inferring;
	while (f->work.len && !f->failed) {
		struct inferred_work work = f->work.data[--f->work.len];
		inferred_follow(f, work.block, work.class);
	}
}
