/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_arrays.h"

#include <stdlib.h>

#include "heap/blocks/block_numbers.h"
#include "heap/inferred/inferred_embedded.h"
#include "heap/inferred/inferred_places.h"
#include "heap/limits.h"

/* Where pointers lead to this many elements, or places in them, and none to anything else, it is an
 * array: pools have such at any distance from each other. */
#define AGREEING_MOST 256u
/* If then this many places are something else it is none, and more than one in this many are. */
#define AGAINST_LEAST 4u
#define STALE_PART 16u

struct doubt {
	uint32_t block, type, number;
	uint32_t agreeing; /* places in all elements but the first that pointers lead to */
	/* Pointers that were met when it was known to be an array by those; places of them that are
	 * something else. */
	uint64_t late;
	uint32_t late_against;
	uint64_t bytes; /* of elements; 0: all that there is room for */
	enum inferred_basis basis;
	bool is_linked;  /* elements may have a pointer to their own type */
	bool is_against; /* pointers lead to something else */
	bool is_over;    /* nothing is asked any more */
	bool is_early;   /* … since this many agreed */
	bool is_not;     /* it is none */
};
DEFINE_VEC(suspects, struct doubt)

/* A place in a block that was known to be an array. */
struct late_place {
	uint64_t offset;
	uint32_t block, type;
};
static inline uint64_t late_hash(struct late_place place)
{
	return hash_u64(place.offset ^ ((uint64_t)place.block << 32 | place.type));
}
static inline bool late_equal(struct late_place a, struct late_place b)
{
	return a.offset == b.offset && a.block == b.block && a.type == b.type;
}
DEFINE_MAP(late_map, struct late_place, bool, late_hash, late_equal)

struct inferred_arrays {
	struct suspects suspects;
	struct block_numbers of_block;
	/* Those that are asked for, and how many these are; [1]: whose elements are linked. Some
	 * are over by now, or belong to the other ones. */
	struct space_u32 queues[2];
	size_t open[2];
	size_t early;         /* those that are over early */
	struct late_map late; /* places that speak against such */
};

struct inferred_arrays *inferred_arrays_create(void)
{
	return calloc(1, sizeof(struct inferred_arrays));
}

void inferred_arrays_destroy(struct inferred_arrays *arrays)
{
	if (!arrays)
		return;
	suspects_deinit(&arrays->suspects);
	block_numbers_deinit(&arrays->of_block);
	late_map_deinit(&arrays->late);
	space_u32_deinit(&arrays->queues[0]);
	space_u32_deinit(&arrays->queues[1]);
	free(arrays);
}

static struct doubt *find_doubt(const struct inferring *f, uint32_t block)
{
	struct inferred_arrays *a = f->arrays;
	uint32_t *index = a && a->suspects.len ? block_numbers_find(&a->of_block, block) : NULL;
	return index ? &a->suspects.data[*index] : NULL;
}

static bool is_linked(struct inferring *f, uint32_t type)
{
	const struct fact *fact = inferred_fact(f, type);
	for (size_t i = 0; fact && i < fact->slots.len; i++) {
		if (types_are_same(f->types, fact->slots.data[i].target, type))
			return true;
	}
	return false;
}

/* It is to be asked for. */
static void inferred_arrays_queue(struct inferring *f, uint32_t index)
{
	struct inferred_arrays *a = f->arrays;
	bool is_linked = a->suspects.data[index].is_linked;
	f->failed |= !space_u32_push(&a->queues[is_linked], index);
	a->open[is_linked]++;
}

/* A larger one that begins with it is what the block may rather be an array of, if it is known as
 * well as that. */
static void turn_to(struct inferring *f, uint32_t index, uint32_t type, uint32_t number)
{
	struct doubt *doubt = &f->arrays->suspects.data[index];
	bool is_same = types_are_same(f->types, doubt->type, type);
	if (doubt->is_over || f->basis > doubt->basis ||
		(!is_same && !embedded_has(f->types, type, 0, doubt->type)))
		return;
	doubt->basis = f->basis;
	if (is_same)
		return;
	f->arrays->open[doubt->is_linked]--;
	doubt->type = type;
	doubt->number = number;
	doubt->is_linked = is_linked(f, type);
	inferred_arrays_queue(f, index);
}

bool inferred_doubt_array(struct inferring *inferring, uint32_t block, uint32_t type,
	uint32_t number, bool *ret_is_not)
{
	struct inferring *f = inferring;
	struct inferred_arrays *a = f->arrays;
	bool is_new;
	uint32_t *index = block_numbers_insert(&a->of_block, block, &is_new);
	*ret_is_not = false;
	if (index && !is_new) {
		const struct doubt *doubt = &a->suspects.data[*index];
		turn_to(f, *index, type, number);
		*ret_is_not = doubt->is_not;
		return !doubt->is_over;
	}
	struct doubt fresh = {.block = block,
		.type = type,
		.number = number,
		.basis = f->basis,
		.is_linked = is_linked(f, type)};
	f->failed |= !index;
	if (!index)
		return true;
	*index = (uint32_t)a->suspects.len;
	f->failed |= !suspects_push(&a->suspects, fresh);
	if (!f->failed)
		inferred_arrays_queue(f, *index);
	f->has_settled = true;
	return true;
}

void inferred_end_array(struct inferring *inferring, uint32_t block, uint64_t bytes)
{
	struct doubt *doubt = find_doubt(inferring, block);
	if (doubt && doubt->bytes < bytes)
		doubt->bytes = bytes;
}

uint32_t inferred_array_in_doubt(const struct inferring *inferring, uint32_t block)
{
	const struct doubt *doubt = find_doubt(inferring, block);
	return doubt && !doubt->is_over ? doubt->type : TYPE_VOID;
}

bool inferred_is_against(
	const struct inferring *inferring, uint32_t element, uint64_t offset, uint32_t type)
{
	struct types *types = inferring->types;
	uint64_t size = types_get(types, element)->size, own = types_get(types, type)->size;
	uint64_t in = size ? offset % size : offset;
	/* Who has a smaller view of an element has it from its start. */
	return !(!in && own < size) && !embedded_has(types, element, in, type);
}

static void end_doubt(struct inferring *f, struct doubt *doubt, bool is_array)
{
	f->arrays->open[doubt->is_linked]--;
	doubt->is_over = true;
	doubt->is_not = !is_array;
	if (!is_array)
		return;
	struct vector_end *end = doubt->bytes ? vector_end_map_insert(&f->scan->types.vector_ends,
							doubt->block, NULL)
					      : NULL;
	f->failed |= doubt->bytes && !end;
	if (end)
		*end = (struct vector_end){doubt->bytes, doubt->bytes};
	enum inferred_basis basis = f->basis;
	f->basis = doubt->basis;
	inferred_assign_array(f, doubt->block, doubt->number);
	f->basis = basis;
}

void inferred_count_in_array(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type)
{
	struct inferring *f = inferring;
	struct doubt *doubt = find_doubt(f, block);
	if (!doubt || doubt->is_over || doubt->is_against)
		return;
	doubt->is_against = inferred_is_against(f, doubt->type, offset, type);
	/* Whatever it is, it begins with what the first would be. */
	bool is_other = offset >= types_get(f->types, doubt->type)->size;
	if (!doubt->is_against && is_other && ++doubt->agreeing == AGREEING_MOST) {
		doubt->is_early = true;
		f->arrays->early++;
		end_doubt(f, doubt, true);
	}
}

void inferred_count_late(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type)
{
	struct inferring *f = inferring;
	struct doubt *doubt = offset && f->arrays && f->arrays->early ? find_doubt(f, block) : NULL;
	if (!doubt || !doubt->is_early)
		return;
	doubt->late++;
	if (!inferred_is_against(f, doubt->type, offset, type))
		return;
	bool is_new = false;
	struct late_place place = {offset, block, type};
	f->failed |= !late_map_insert(&f->arrays->late, place, &is_new);
	doubt->late_against += is_new;
}

void inferred_check_arrays(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_arrays *a = f->arrays;
	for (size_t i = 0; a && a->early && i < a->suspects.len; i++) {
		const struct doubt *doubt = &a->suspects.data[i];
		if (!doubt->is_early || doubt->late_against < AGAINST_LEAST ||
			doubt->late_against <= (doubt->agreeing + doubt->late) / STALE_PART)
			continue;
		block_reset_label(f->search, doubt->block);
		heap_limit_reach(f->scan, REACHED_ARRAY_PLACES);
	}
}

static bool is_unknown(const struct inferring *f, uint32_t block)
{
	struct block_label label = block_label(f->search, block);
	return heap_types_of_label(&f->scan->types, label) == HEAP_TYPE_NONE;
}

/* Whether nothing speaks against it: no pointer, nor what is there, if no pointer speaks for it and
 * its length is unknown. */
static bool fits_all(struct inferring *f, const struct doubt *doubt)
{
	bool is_agreed;
	return !inferred_places_against(f, doubt->block, doubt->type, &is_agreed) &&
	       (is_agreed || doubt->agreeing || doubt->bytes ||
		       inferred_fits_array(f, doubt->block, doubt->type, doubt->is_linked));
}

bool inferred_take_arrays(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_arrays *a = f->arrays;
	bool is_linked = !a->open[0], any = false;
	/* What was not followed yet may speak against them. */
	if (inferred_has_work(f))
		return false;
	struct space_u32 *asked = &a->queues[is_linked];
	for (size_t i = 0; i < asked->len && !f->failed; i++) {
		struct doubt *doubt = &a->suspects.data[asked->data[i]];
		if (doubt->is_over || doubt->is_linked != is_linked)
			continue;
		bool is_array = is_unknown(f, doubt->block) && fits_all(f, doubt);
		end_doubt(f, doubt, is_array);
		any = true;
	}
	/* Evidence about one may lead to others, which are asked for next time. */
	space_u32_clear(asked);
	return any && !f->failed;
}
