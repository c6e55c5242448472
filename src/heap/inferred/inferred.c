/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a block can be that a declared pointer leads to, and what follows from that for others. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred/inferred_arrays.h"
#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_places.h"
#include "heap/inferred/inferred_pools.h"
#include "heap/limits.h"
#include "heap/types/nodes.h"
#include "heap/types/virtual_bases.h"

/* Which glibc may give more than was asked for. */
#define SPARE_WORDS 2u
/* As above, where an alignment was requested: what is left after a block is cut off only if it is
 * more than a chunk of the smallest size (malloc.c, _int_memalign()). */
#define ALIGNED_SPARE 47u
/* Numbers that are no bytes. */
#define NUMBER_BYTES_LEAST 2u
/* No pool gives out smaller pieces. */
#define CHUNK_BYTES_LEAST 64u

void inferred_free_facts(struct inferring *inferring)
{
	struct inferring *f = inferring;
	uint32_t position = 0;
	for (struct fact **fact; (fact = fact_map_next(&f->facts, &position, NULL));) {
		if (*fact) {
			slot_vec_deinit(&(*fact)->slots);
			space_u32_deinit(&(*fact)->enclosing);
			alike_rules_deinit(&(*fact)->rules);
		}
		free(*fact);
	}
	fact_map_deinit(&f->facts);
}

static bool has_open_end(const struct types *types, uint32_t type)
{
	uint32_t element;
	uint64_t at;
	return types_open_end(types, type, &element, &at, NULL);
}

static void learn_open_end(const struct types *types, uint32_t type, struct fact *fact)
{
	uint32_t element;
	if (!types_open_end(types, type, &element, &fact->open_at, NULL))
		return;
	const struct type *of = types_get(types, element);
	if (of->size && (type_has_members(of) || of->kind == TYPE_POINTER ||
				of->kind == TYPE_REFERENCE || of->kind == TYPE_ARRAY))
		fact->open = element;
}

void inferred_find_slots(struct inferring *inferring, uint32_t type, struct slot_vec *ret)
{
	bool is_whole = true;
	inferring->failed |= !slots_find(inferring->types, type, ret, &is_whole);
	if (!is_whole)
		heap_limit_reach(inferring->scan, REACHED_TYPE_STEPS);
}

static struct fact *find_fact(struct inferring *f, uint32_t type)
{
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
	fresh->align = types_get(f->types, type)->align;
	fresh->single = fresh->array = fresh->part = HEAP_TYPE_NONE;
	fresh->last_class = fresh->last_part = HEAP_TYPE_NONE;
	learn_open_end(f->types, type, fresh);
	inferred_word_map(f->types, type, &fresh->map);
	inferred_find_slots(f, type, &fresh->slots);
	for (size_t i = 0; i < fresh->slots.len; i++)
		fresh->has_choices |= fresh->slots.data[i].when_count ||
				      fresh->slots.data[i].internal != TYPE_VOID ||
				      fresh->slots.data[i].container.form != RUST_NONE;
	return fresh;
}

struct fact *inferred_find_fact(struct inferring *inferring, uint32_t type)
{
	size_t slot = type % FACTS_RECENT;
	inferring->recent[slot].fact = find_fact(inferring, type);
	inferring->recent[slot].type = type;
	return inferring->recent[slot].fact;
}

#define PAGE_BYTES 4096u

bool inferred_is_close(const struct inferring *inferring, uint64_t wanted, uint64_t usable)
{
	const struct inferring *f = inferring;
	uint64_t spare = f->loose && usable / 4 > LAYOUT_SPARE ? usable / 4 : LAYOUT_SPARE;
	/* glibc's blocks that are a mapping each end where a page does; no other block has such a
	 * size. */
	if (usable >= PAGE_BYTES && (usable + CHUNK_ALIGN) % PAGE_BYTES == 0 && spare < PAGE_BYTES)
		spare = PAGE_BYTES;
	return wanted <= usable && usable - wanted <= spare;
}

bool inferred_is_close_to(
	const struct inferring *inferring, const struct fact *fact, uint64_t usable)
{
	bool is_aligned = fact->align > CHUNK_ALIGN && fact->size < usable;
	/* Where there is room for two it may be an array as well. */
	if (is_aligned && usable - fact->size <= ALIGNED_SPARE && usable / fact->size < 2)
		return true;
	return inferred_is_close(inferring, fact->size, usable);
}

/* Whether a block has the size of an array of a type. Of elements that are smaller than what an
 * alignment may leave, their number is unknown. */
static bool is_close_to_array(const struct inferring *f, const struct fact *fact, uint64_t usable)
{
	bool is_aligned = fact->align > CHUNK_ALIGN && fact->size > ALIGNED_SPARE;
	return (is_aligned && usable % fact->size <= ALIGNED_SPARE) ||
	       inferred_is_close(f, usable / fact->size * fact->size, usable);
}

/* One, with what an alignment left, or two without pointers: nothing tells. */
static bool is_one_or_two(const struct fact *fact, uint64_t usable)
{
	return fact->align > CHUNK_ALIGN && usable / fact->size == 2 &&
	       usable - fact->size <= ALIGNED_SPARE && !fact->map.pointers;
}

/* Words of an array's elements, one after another, without those of the first `from`. What an
 * allocator gives beside what was asked for, after the last one, is stale. */
static uint64_t inferred_tiled(
	const struct fact *fact, uint64_t of_one, uint64_t from, uint64_t usable)
{
	uint64_t bits = 0, words = fact->size / 8;
	if (fact->size % 8 || !words)
		return from ? 0 : of_one & 1;
	uint64_t end = usable / fact->size * words, sure = usable / 8;
	sure = sure > words + SPARE_WORDS ? sure - SPARE_WORDS : words;
	end = end < sure ? end : sure;
	for (uint64_t at = from * words; at < SHAPE_WORDS && at < end; at += words)
		bits |= of_one << at;
	return end < SHAPE_WORDS ? bits & ((1ull << end) - 1) : bits;
}

/* What a block of a class has: its size, its pointers, and what is NULL in all of them. Pointers
 * are known of the first SHAPE_WORDS: where an element is as long, an example tells. */
struct look {
	uint64_t usable, pointers, nulls;
	uint64_t example; /* the address of one; 0: none */
};

/* Whether elements after the first have pointers where they should; a larger structure that
 * begins with one of the type has not. */
static bool is_repeated(
	struct inferring *f, uint32_t type, const struct fact *fact, const struct look *look)
{
	uint64_t words = fact->size / 8;
	if (!fact->map.pointers) {
		uint64_t all = fact->size % 8 ? UINT64_MAX
					      : inferred_tiled(fact, UINT64_MAX, 0, look->usable);
		return !(look->pointers & all);
	}
	if (fact->size % 8)
		return false;
	if (words >= SHAPE_WORDS)
		return look->example && inferred_repeats(f, look->example, look->usable, type);
	if (look->pointers >> words & fact->map.pointers)
		return true;
	/* It may be a later one, if in those between there is NULL. */
	uint64_t after = inferred_tiled(fact, fact->map.pointers, 1, look->usable);
	return look->pointers & after && !(after & ~look->pointers & ~look->nulls);
}

/* Whether all elements of an array have pointers or NULL where they should. */
static bool can_be_elements(const struct inferring *f, uint32_t type, const struct fact *fact,
	const struct heap_shape *class)
{
	uint64_t words = inferred_tiled(fact, fact->map.pointers, 0, class->key.size);
	return !type_has_members(types_get(f->types, type)) ||
	       inferred_can_be_pointers(f, class, class->example, words);
}

enum form { FORM_NONE, FORM_SINGLE, FORM_ARRAY };

/* What blocks that look so can be. */
static enum form form_of(
	struct inferring *f, uint32_t type, const struct fact *fact, const struct look *look)
{
	const struct type *of = types_get(f->types, type);
	uint64_t usable = look->usable, pointers = look->pointers;
	if (!fact->size || fact->size > usable)
		return FORM_NONE;
	bool is_plain = !type_has_members(of);
	if (!is_plain && (inferred_is_close_to(f, fact, usable) || has_open_end(f->types, type))) {
		uint64_t words = fact->size / 8;
		uint64_t own = words < SHAPE_WORDS ? (1ull << words) - 1 : UINT64_MAX;
		return pointers & fact->map.data & own ? FORM_NONE : FORM_SINGLE;
	}
	/* What is after the last one would be something else. */
	if (!is_plain && (!is_close_to_array(f, fact, usable) ||
				 !is_repeated(f, type, fact, look) || is_one_or_two(fact, usable)))
		return FORM_NONE;
	/* A number that is larger than a word, with room for one of them: of small ones allocators
	 * give room for several. */
	if (of->kind == TYPE_NUMBER && fact->size > 8 && usable / fact->size == 1)
		return pointers & fact->map.data & ((1ull << fact->size / 8) - 1) ? FORM_NONE
										  : FORM_SINGLE;
	/* Strings end somewhere, and after them is what was there before. */
	if (is_plain && of->size < 8)
		return pointers & 1 ? FORM_NONE : FORM_ARRAY;
	return pointers & inferred_tiled(fact, fact->map.data, 0, usable) ? FORM_NONE : FORM_ARRAY;
}

uint32_t inferred_add_type(struct inferring *inferring, enum heap_type_kind kind, const char *name,
	uint32_t layout, bool is_array)
{
	struct inferring *f = inferring;
	struct heap_types *types = &f->scan->types;
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

/* `example`: the address of one. */
static uint32_t heap_type_of(
	struct inferring *f, uint32_t type, struct fact *fact, enum form form, uint64_t example)
{
	uint32_t *known = form == FORM_ARRAY ? &fact->array : &fact->single;
	bool *fails = form == FORM_ARRAY ? &fact->array_fails : &fact->single_fails;
	if (*known != HEAP_TYPE_NONE || *fails)
		return *known;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	inferred_add_name(f, type, form == FORM_ARRAY, &name);
	type = virtual_bases_place(f->types, f->scan->heap.space, type, example);
	*known = inferred_add_type(f, HEAP_TYPE_INFERRED, name.data, type, form == FORM_ARRAY);
	*fails = *known == HEAP_TYPE_NONE;
	return *known;
}

uint32_t inferred_single_type(struct inferring *inferring, uint32_t type, uint64_t example)
{
	struct fact *fact = inferred_fact(inferring, type);
	return fact ? heap_type_of(inferring, type, fact, FORM_SINGLE, example) : HEAP_TYPE_NONE;
}

uint32_t inferred_array_type(struct inferring *inferring, uint32_t type, uint64_t example)
{
	struct fact *fact = inferred_fact(inferring, type);
	return fact ? heap_type_of(inferring, type, fact, FORM_ARRAY, example) : HEAP_TYPE_NONE;
}

uint32_t inferred_counted_type(
	struct inferring *inferring, uint32_t type, uint64_t header, uint64_t example)
{
	struct inferring *f = inferring;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	inferred_add_name(f, type, true, &name);
	text_add(&name, " with their number");
	struct fact *fact = inferred_fact(f, type);
	if (fact && fact->counted == TYPE_VOID)
		fact->counted = virtual_bases_place(f->types, f->scan->heap.space, type, example);
	type = fact ? fact->counted : type;
	uint32_t number = inferred_add_type(f, HEAP_TYPE_INFERRED, name.data, type, true);
	struct heap_type *of = number == HEAP_TYPE_NONE ? NULL : &f->scan->types.types.data[number];
	if (of && !of->header)
		of->header = (uint32_t)header;
	return of && of->header == header ? number : HEAP_TYPE_NONE;
}

/* "std::vector buffer" becomes "std::vector buffer of Shape*". */
static uint32_t inferred_refine(struct inferring *f, uint32_t known, uint32_t type, bool is_array)
{
	uint32_t element = type;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, f->scan->types.types.data[known].name);
	text_add(&name, " of ");
	uint32_t held = is_array ? TYPE_VOID : nodes_element(f->types, type);
	if (held != TYPE_VOID)
		element = held;
	inferred_add_name(f, types_plain(f->types, element), false, &name);
	return inferred_add_type(f, HEAP_TYPE_CONTAINER, name.data, type, is_array);
}

void inferred_push(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	uint32_t layout = f->scan->types.types.data[type].layout;
	struct fact *fact = layout == TYPE_VOID ? NULL : inferred_fact(f, layout);
	if (fact && (fact->slots.len || fact->open != TYPE_VOID))
		f->failed |= !inferred_works_push(&f->work, block);
}

bool inferred_fits_layout(struct inferring *inferring, uint32_t layout, uint32_t class)
{
	/* What may be of any size looks like nothing. */
	return layout != TYPE_VOID && !has_open_end(inferring->types, layout) &&
	       inferred_looks_like(inferring, layout, class) &&
	       !inferred_may_be_more(inferring, layout, class);
}

bool inferred_fits(struct inferring *inferring, uint32_t type, uint32_t class)
{
	uint32_t layout = inferring->scan->types.types.data[type].layout;
	return inferred_fits_layout(inferring, layout, class);
}

bool inferred_looks_like(struct inferring *inferring, uint32_t type, uint32_t class)
{
	struct inferring *f = inferring;
	struct fact *fact = inferred_fact(f, type);
	const struct heap_shape *alike = &f->scan->classes.classes.data[class];
	struct shape_key key = alike->key;
	struct look look = {key.size, key.pointers, alike->nulls, alike->example};
	/* Where the type has a pointer, and these have neither one nor NULL, they are something
	 * else.
	 */
	if (!fact || fact->map.pointers & ~key.pointers & ~alike->nulls)
		return false;
	return form_of(f, type, fact, &look) == FORM_SINGLE;
}

bool inferred_is_single(
	struct inferring *inferring, uint32_t type, uint64_t usable, uint64_t pointers)
{
	struct fact *fact = inferred_fact(inferring, type);
	struct look look = {usable, pointers, 0, 0};
	return fact && form_of(inferring, type, fact, &look) == FORM_SINGLE;
}

/* What is known of a class by one of its blocks; guesses teach nothing. */
static void inferred_learn(struct inferring *f, uint32_t class, uint32_t type)
{
	if (f->basis == BASIS_LOOKS)
		return;
	if (f->of_shape[class] == HEAP_TYPE_NONE) {
		f->of_shape[class] = type;
	} else if (f->of_shape[class] != type) {
		inferred_set_bit(f->is_mixed, class);
		f->is_settled[class / 64] &= ~(1ull << class % 64);
	}
	if (++f->claims[class] != SETTLED_BLOCKS || inferred_bit(f->is_mixed, class) ||
		!f->scan->classes.classes.data[class].key.pointers ||
		!inferred_fits(f, type, class))
		return;
	f->alike[class] = type;
	inferred_set_bit(f->is_settled, class);
	f->has_settled = true;
}

/* inferred_is_larger() or inferred_can_be_part(), asked for many parts one after another. Most are
 * of types that are neither, and must not displace what was found for the last one. */
static bool know_part(struct inferring *f, uint32_t known, uint32_t type, struct fact *fact)
{
	const struct heap_type *part = &f->scan->types.types.data[known];
	if (part->kind != HEAP_TYPE_CXX &&
		(part->kind != HEAP_TYPE_CONTAINER || part->layout != TYPE_VOID))
		return false;
	if (fact->last_part != known) {
		fact->last_part = known;
		fact->last_part_is_node = strstr(part->name, " node") != NULL;
		fact->last_is_larger = inferred_is_larger(f, known, type);
		fact->last_part_can = fact->last_is_larger || inferred_can_be_part(f, known, type);
		fact->part_is_known[0] = fact->part_is_known[1] = false;
	}
	return fact->last_part_can;
}

static uint32_t inferred_refined(
	struct inferring *f, uint32_t known, uint32_t type, bool is_array, struct fact *fact)
{
	if (!fact->part_is_known[is_array]) {
		fact->part_is_known[is_array] = true;
		fact->last_part_type[is_array] = inferred_refine(f, known, type, is_array);
	}
	return fact->last_part_type[is_array];
}

/* The type of the heap's that a block is, as one of `type`; HEAP_TYPE_NONE: it can't be. */
static uint32_t find_type(struct inferring *f, uint32_t block, uint32_t type, struct fact *fact,
	struct block_label label, uint32_t part)
{
	struct heap_types *types = &f->scan->types;
	uint32_t number = heap_types_shape(types, label);
	bool has_class = number != HEAP_SHAPE_NONE;
	if (has_class && fact->last_class == number)
		return fact->last_found;
	const struct heap_shape *class = has_class ? &f->scan->classes.classes.data[number] : NULL;
	uint64_t usable = search_block_size(f->search, block);
	struct look look = {usable, class ? class->key.pointers : 0, class ? class->nulls : 0, 0};
	if (fact->size >= 8ul * SHAPE_WORDS)
		look.example = search_block_address(f->search, block);
	enum form form = form_of(f, type, fact, &look);
	bool is_part = part != HEAP_TYPE_NONE;
	/* Elements of a vector: it is an array even of one. */
	if (is_part && fact->size && fact->size <= usable && !fact->last_part_is_node)
		form = FORM_ARRAY;
	bool is_more =
		class && !is_part && form != FORM_NONE && inferred_may_be_more(f, type, number);
	if (is_more)
		inferred_set_bit(f->is_mixed, number);
	if (is_more ||
		(class && !is_part && form == FORM_ARRAY && !can_be_elements(f, type, fact, class)))
		form = FORM_NONE;
	uint32_t found = HEAP_TYPE_NONE;
	if (form != FORM_NONE && is_part)
		found = inferred_refined(f, part, type, form == FORM_ARRAY, fact);
	else if (form != FORM_NONE)
		found = form == FORM_ARRAY ? fact->array : fact->single;
	if (form != FORM_NONE && !is_part && found == HEAP_TYPE_NONE)
		found = heap_type_of(f, type, fact, form, search_block_address(f->search, block));
	if (has_class && !is_part) {
		fact->last_class = number;
		fact->last_found = found;
		fact->last_is_more = is_more;
	}
	return found;
}

uint32_t inferred_type_for(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	struct fact *fact = inferred_fact(f, type);
	struct block_label label = block_label(f->search, block);
	return fact ? find_type(f, block, type, fact, label, HEAP_TYPE_NONE) : HEAP_TYPE_NONE;
}

void inferred_assign_block(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	struct heap_scan *s = f->scan;
	block_set_label(f->search, block, heap_types_label(&s->types, type));
	if (f->basis != BASIS_DECLARED)
		inferred_set_bit(
			f->basis == BASIS_LOOKS ? s->alike.looks : s->alike.settled, block);
}

enum inferred_basis inferred_basis_of(const struct inferring *inferring, uint32_t block)
{
	const struct heap_scan *s = inferring->scan;
	if (!s->alike.looks || !s->alike.settled)
		return BASIS_DECLARED;
	return inferred_bit(s->alike.looks, block)     ? BASIS_LOOKS
	       : inferred_bit(s->alike.settled, block) ? BASIS_SETTLED
						       : BASIS_DECLARED;
}

bool inferred_may_be_chunk(const struct inferring *inferring, uint32_t block, uint32_t type)
{
	const struct heap_type *of = &inferring->scan->types.types.data[type];
	return search_block_size(inferring->search, block) >= CHUNK_BYTES_LEAST && of->is_array &&
	       of->layout != TYPE_VOID &&
	       types_get(inferring->types, of->layout)->size >= NUMBER_BYTES_LEAST;
}

void inferred_assign_array(struct inferring *inferring, uint32_t block, uint32_t type)
{
	struct inferring *f = inferring;
	struct block_label label = block_label(f->search, block);
	inferred_assign_block(f, block, type);
	uint32_t class = heap_types_shape(&f->scan->types, label);
	if (class != HEAP_SHAPE_NONE)
		inferred_learn(f, class, type);
	inferred_push(f, block, type);
}

static bool inferred_claim_claim(struct inferring *f, uint32_t block, uint32_t type)
{
	struct heap_types *types = &f->scan->types;
	struct block_label label = block_label(f->search, block);
	uint32_t known = heap_types_of_label(types, label);
	struct fact *fact = inferred_fact(f, type);
	if (!fact || (known != HEAP_TYPE_NONE && !know_part(f, known, type, fact)))
		return false;
	bool is_larger = known != HEAP_TYPE_NONE && fact->last_is_larger;
	uint32_t found = find_type(f, block, type, fact, label, is_larger ? HEAP_TYPE_NONE : known);
	if (found == HEAP_TYPE_NONE) {
		if (heap_types_shape(types, label) == fact->last_class && fact->last_is_more)
			inferred_push_beginning(f, block, type);
		return false;
	}
	if (is_larger)
		f->is_done[block / 64] &= ~(1ull << block % 64);
	if (block_label_is_family(label)) {
		heap_types_set_family(types, label, found);
		f->has_settled = true;
		return true;
	}
	if (known == HEAP_TYPE_NONE && inferred_may_be_chunk(f, block, found)) {
		bool is_not, is_open = inferred_doubt_array(f, block, type, found, &is_not);
		if (is_open || is_not)
			inferred_push_beginning(f, block, type);
		if (is_open || is_not)
			return false;
	}
	inferred_assign_array(f, block, found);
	return true;
}

bool inferred_claim(struct inferring *inferring, uint32_t block, uint32_t type)
{
	bool is_new_type = inferred_claim_claim(inferring, block, type);
	if (!is_new_type)
		inferred_take_place(inferring, block, 0, type);
	return is_new_type;
}
