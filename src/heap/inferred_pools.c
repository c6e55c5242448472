/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred_pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred_arrays.h"
#include "heap/inferred_embedded.h"
#include "heap/limits.h"

/* Fewer structures may be members of something without a description. */
#define PLACES_LEAST 4u
/* Of so many places at most one may be something else: pointers that lead to what was there before.
 */
#define BROKEN_PART 16u
/* A smaller structure may be anything. */
#define PLACE_BYTES_LEAST 8u
/* Of a structure so much is compared with what the type says. */
#define COMPARED_BYTES (8u * CLASS_WORDS)
/* No page at the beginning of address spaces is mapped. */
#define ADDRESS_LEAST 4096u
/* What is read at a time. */
#define PIECE_BYTES (64u << 10)
/* What structures may be part of is tried so often for a block; of an array that one may be an
 * element of at so many places. */
#define TRIES_MOST (1u << 14)
#define ELEMENTS_MOST 16u

struct place {
	uint64_t offset;
	uint32_t type;
	uint32_t block;  /* index of inferred_pools.blocks */
	uint32_t next;   /* of its block's; NO_PLACE: none */
	uint32_t waits;  /* the next of those that are to be followed in its piece of memory */
	uint8_t basis;   /* enum inferred_basis */
	bool is_waiting; /* to be followed */
	bool is_read;    /* what stands there was looked at: */
	bool fits;       /* … it can be of the type */
	bool has_words;  /* … it is not all 0, which could be of any type */
};
DEFINE_VEC(places, struct place)

#define NO_PLACE UINT32_MAX

/* A block with places in it. */
struct pool_block {
	uint32_t block;
	uint32_t first; /* index of inferred_pools.places */
	bool is_touched, is_taken;
};
DEFINE_VEC(pool_blocks, struct pool_block)

static inline uint64_t block_hash(uint32_t block)
{
	return hash_u64(block);
}
static inline bool block_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(pool_block_map, uint32_t, uint32_t, block_hash, block_equal)

struct place_key {
	uint64_t offset;
	uint32_t block, type;
};
static inline uint64_t place_hash(struct place_key key)
{
	return hash_u64(
		key.offset * 0x9e3779b97f4a7c15ull ^ ((uint64_t)key.block << 32 | key.type));
}
static inline bool place_equal(struct place_key a, struct place_key b)
{
	return a.offset == b.offset && a.block == b.block && a.type == b.type;
}
DEFINE_MAP(place_map, struct place_key, bool, place_hash, place_equal)

static inline uint64_t piece_hash(uint64_t piece)
{
	return hash_u64(piece);
}
static inline bool piece_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(piece_map, uint64_t, uint32_t, piece_hash, piece_equal)
DEFINE_VEC(pieces, uint64_t)

struct inferred_pools {
	struct places places;
	struct place_map known;
	struct pool_blocks blocks;
	struct pool_block_map of_block;
	/* Pieces of memory with places whose pointers are to be followed, by number, and the first
	 * of these. Places lead to each other in any order: a piece is read once for all that are
	 * known in it, and for those that these lead to in it. */
	struct piece_map waiting;
	struct pieces queue; /* of such pieces, from `queue_first` on */
	size_t queue_first;
	uint8_t *bytes;           /* of the piece that was read last: … */
	uint64_t start;           /* … its address, */
	size_t len;               /* … and as much as could be read */
	struct space_u32 touched; /* blocks with new places */
	struct embedded_vec embedded;
	bool has_embedded;
};

struct inferred_pools *inferred_pools_create(void)
{
	return calloc(1, sizeof(struct inferred_pools));
}

void inferred_pools_destroy(struct inferred_pools *pools)
{
	if (!pools)
		return;
	places_deinit(&pools->places);
	place_map_deinit(&pools->known);
	pool_blocks_deinit(&pools->blocks);
	pool_block_map_deinit(&pools->of_block);
	piece_map_deinit(&pools->waiting);
	pieces_deinit(&pools->queue);
	free(pools->bytes);
	space_u32_deinit(&pools->touched);
	embedded_vec_deinit(&pools->embedded);
	free(pools);
}

static bool is_bytes(const struct types *types, uint32_t plain)
{
	const struct type *of = types_get(types, plain);
	return of->kind == TYPE_NUMBER && of->size == 1;
}

/* Whether anything may lie at an offset of a block, by what is known of it: nothing is, it is of
 * characters, it has such behind its members, or it is a pool. */
static bool can_hold(const struct inferring *f, uint32_t block, uint64_t offset)
{
	const struct heap_types *types = &f->survey->types;
	uint32_t number = heap_types_of_site(types, search_block_site(f->search, block));
	if (number == HEAP_TYPE_NONE)
		return true;
	const struct heap_type *type = &types->types.data[number];
	uint32_t element;
	uint64_t at;
	if (type->is_pool)
		return true;
	if (type->kind != HEAP_TYPE_INFERRED || type->layout == TYPE_VOID)
		return false;
	if (type->is_array)
		return is_bytes(f->types, types_plain(f->types, type->layout));
	return types_open_end(f->types, type->layout, &element, &at, NULL) && offset >= at &&
	       is_bytes(f->types, element);
}

static bool is_mapped(const struct inferring *f, uint64_t word)
{
	return word >= ADDRESS_LEAST && address_space_map(f->survey->heap.space, word);
}

/* Whether bytes can be an object of a type: pointers lead somewhere, numbers don't, and a bool or
 * an enumeration has a value of its type. */
static bool fits_bytes(struct inferring *f, const struct fact *fact, uint32_t type,
	const uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; 8ul * (i + 1) <= len; i++) {
		uint64_t word;
		memcpy(&word, bytes + 8ul * i, 8);
		bool is_pointer = fact->map.pointers >> i & 1, is_data = fact->map.data >> i & 1;
		if ((is_pointer && word && !is_mapped(f, word)) ||
			(is_data && word % 8 == 0 && is_mapped(f, word)))
			return false;
	}
	return inferred_keeps_values(f, type, bytes, len);
}

/* Whether there is room for one. */
static bool can_begin(const struct fact *fact, uint64_t usable, uint64_t offset)
{
	return fact->size <= usable && offset <= usable - fact->size &&
	       !(offset % 8 && fact->map.pointers);
}

static bool fits(struct inferring *f, uint32_t block, uint64_t offset, uint32_t type)
{
	uint8_t bytes[COMPARED_BYTES];
	struct fact *fact = inferred_fact(f, type);
	if (!fact || !can_begin(fact, search_block_size(f->search, block), offset))
		return false;
	size_t wanted = fact->size < sizeof(bytes) ? (size_t)fact->size : sizeof(bytes);
	size_t got = pages_read(
		&f->pages, search_block_address(f->search, block) + offset, bytes, wanted);
	return got == wanted && fits_bytes(f, fact, type, bytes, got);
}

/* The block with places, a new one if there was none in it. NULL: no memory. */
static struct pool_block *find_block(struct inferred_pools *p, uint32_t block)
{
	bool is_new;
	uint32_t *index = pool_block_map_insert(&p->of_block, block, &is_new);
	if (!index)
		return NULL;
	if (is_new) {
		*index = (uint32_t)p->blocks.len;
		struct pool_block fresh = {block, NO_PLACE, false, false};
		if (!pool_blocks_push(&p->blocks, fresh))
			return NULL;
	}
	return &p->blocks.data[*index];
}

/* There is something new in the block. */
static void touch(struct inferring *f, uint32_t index)
{
	struct inferred_pools *p = f->pools;
	if (!p->blocks.data[index].is_touched)
		f->failed |= !space_u32_push(&p->touched, index);
	p->blocks.data[index].is_touched = true;
}

/* Later follows the pointers of a place. */
static bool wait_for(struct inferring *f, uint32_t number)
{
	struct inferred_pools *p = f->pools;
	struct place *place = &p->places.data[number];
	uint32_t block = p->blocks.data[place->block].block;
	uint64_t piece = (search_block_address(f->search, block) + place->offset) / PIECE_BYTES;
	bool is_new;
	if (place->is_waiting)
		return true;
	place->is_waiting = true;
	uint32_t *first = piece_map_insert(&p->waiting, piece, &is_new);
	if (!first)
		return false;
	bool is_idle = is_new || *first == NO_PLACE;
	place->waits = is_idle ? NO_PLACE : *first;
	*first = number;
	return !is_idle || pieces_push(&p->queue, piece);
}

static bool add_place(struct inferring *f, struct place_key key)
{
	struct inferred_pools *p = f->pools;
	struct pool_block *in = find_block(p, key.block);
	if (!in)
		return false;
	uint32_t number = (uint32_t)p->places.len;
	struct place place = {.offset = key.offset,
		.type = key.type,
		.block = (uint32_t)(in - p->blocks.data),
		.next = in->first,
		.basis = (uint8_t)f->basis};
	in->first = number;
	return number != NO_PLACE && places_push(&p->places, place) && wait_for(f, number);
}

void inferred_take_place(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type)
{
	struct inferring *f = inferring;
	const struct type *of = types_get(f->types, type);
	if (!f->pools || f->basis == BASIS_LOOKS || !type_has_members(of) ||
		of->size < PLACE_BYTES_LEAST || of->size >= search_block_size(f->search, block))
		return;
	if (!can_hold(f, block, offset)) {
		inferred_count_late(f, block, offset, type);
		return;
	}
	bool is_new;
	struct place_key key = {offset, block, type};
	bool *known = place_map_insert(&f->pools->known, key, &is_new);
	f->failed |= !known;
	if (!known || !is_new)
		return;
	inferred_count_in_array(f, block, offset, type);
	if (can_hold(f, block, offset))
		f->failed |= !add_place(f, key);
}

bool inferred_has_places(const struct inferring *inferring)
{
	const struct inferred_pools *p = inferring->pools;
	return p && p->queue_first < p->queue.len;
}

bool inferred_has_place_in(const struct inferring *inferring, uint32_t block)
{
	return inferring->pools && pool_block_map_find(&inferring->pools->of_block, block);
}

/* The word of a place in what may be no pool at all: only what leads into such is remembered. */
static void follow_careful(struct inferring *f, uint64_t word, uint32_t type)
{
	uint64_t offset;
	uint32_t block = word ? search_block_at(f->search, word, &offset) : SPACE_NONE;
	if (block == SPACE_NONE || !can_hold(f, block, offset) ||
		(!offset && inferred_type_for(f, block, type) != HEAP_TYPE_NONE))
		return;
	inferred_take_place(f, block, offset, type);
}

/* `address`: where the bytes stand. Containers lead on where it is known that they are some. */
static void follow_slots(struct inferring *f, const struct fact *fact, const uint8_t *bytes,
	size_t len, uint64_t address, bool is_pool)
{
	for (size_t i = 0; i < fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word, at = slot->offset;
		if (slot->container.form != RUST_NONE && !is_pool)
			continue;
		for (uint64_t k = 0; k < slot->count && at < len && len - at >= 8;
			k++, at += slot->stride) {
			memcpy(&word, bytes + at, 8);
			if (!slots_holds_in(slot, bytes, len, at))
				continue;
			if (is_pool)
				inferred_claim_slot(f, slot, word, address + at);
			else
				follow_careful(f, word, slot->target);
		}
	}
}

/* The bytes of a place: of the piece that is at hand, or (in `own`) read for it. */
static const uint8_t *bytes_of(
	struct inferring *f, uint64_t address, uint8_t *own, size_t size, size_t *ret_len)
{
	const struct inferred_pools *p = f->pools;
	*ret_len = size;
	if (address >= p->start && address - p->start <= p->len &&
		p->len - (size_t)(address - p->start) >= size)
		return p->bytes + (address - p->start);
	*ret_len = pages_read(&f->pages, address, own, size);
	return own;
}

/* Looks at what stands at a place: whether it can be of the type, and where it leads. */
static void follow_place(struct inferring *f, uint32_t number)
{
	struct inferred_pools *p = f->pools;
	struct place *place = &p->places.data[number];
	const struct pool_block in = p->blocks.data[place->block];
	struct fact *fact = inferred_fact(f, place->type);
	uint64_t usable = search_block_size(f->search, in.block), offset = place->offset;
	place->is_read = true;
	touch(f, place->block);
	if (!fact || !can_begin(fact, usable, offset))
		return;
	uint8_t fixed[COMPARED_BYTES];
	size_t size = (size_t)fact->size, len;
	_cleanup_free_ uint8_t *large = size > sizeof(fixed) ? malloc(size) : NULL;
	uint8_t *own = size > sizeof(fixed) ? large : fixed;
	f->failed |= !own;
	if (!own)
		return;
	const uint8_t *bytes =
		bytes_of(f, search_block_address(f->search, in.block) + offset, own, size, &len);
	size_t compared = size < sizeof(fixed) ? size : sizeof(fixed);
	place->fits = len >= compared && fits_bytes(f, fact, place->type, bytes, compared);
	for (size_t i = 0; i < compared && i < len; i++)
		place->has_words |= bytes[i] != 0;
	enum inferred_basis basis = f->basis;
	f->basis = (enum inferred_basis)place->basis;
	/* From here on places may be elsewhere. */
	if (place->fits)
		follow_slots(f, fact, bytes, len,
			search_block_address(f->search, in.block) + offset, in.is_taken);
	f->basis = basis;
}

static void read_piece(struct inferring *f, uint64_t piece, uint32_t number)
{
	struct inferred_pools *p = f->pools;
	const struct place *place = &p->places.data[number];
	uint64_t address =
		place->offset + search_block_address(f->search, p->blocks.data[place->block].block);
	const struct process_map *map = address_space_map(f->survey->heap.space, address);
	p->len = 0;
	if (!p->bytes)
		p->bytes = malloc(PIECE_BYTES);
	f->failed |= !p->bytes;
	if (!p->bytes || !map)
		return;
	p->start = piece * PIECE_BYTES > map->start ? piece * PIECE_BYTES : map->start;
	p->len = address_space_read(f->survey->heap.space, p->start, p->bytes,
		(size_t)((piece + 1) * PIECE_BYTES - p->start));
}

void inferred_follow_places(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	uint64_t piece = p->queue.data[p->queue_first++];
	bool is_read = false;
	if (p->queue_first == p->queue.len) {
		pieces_clear(&p->queue);
		p->queue_first = 0;
	}
	for (;;) {
		uint32_t *first = piece_map_find(&p->waiting, piece);
		if (!first || *first == NO_PLACE || f->failed)
			break;
		uint32_t number = *first;
		*first = p->places.data[number].waits;
		p->places.data[number].is_waiting = false;
		if (!is_read)
			read_piece(f, piece, number);
		is_read = true;
		follow_place(f, number);
	}
	f->reads -= f->reads > 0;
}

/* Of a block the places that count: none in another one. */
struct judging {
	struct inferring *f;
	uint32_t block;
	struct pool_objects objects; /* ascending by offset */
	size_t broken;               /* places that are something else, or overlap */
	size_t sure;
};

static uint64_t size_of(const struct judging *j, uint32_t type)
{
	return types_get(j->f->types, type)->size;
}

struct sorted_place {
	uint64_t offset, size;
	uint32_t type;
	bool fits, has_words;
};
DEFINE_VEC(sorted_places, struct sorted_place)

static int by_offset(const void *a, const void *b)
{
	const struct sorted_place *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return (x->type > y->type) - (x->type < y->type);
}

static bool gather(struct judging *j, const struct pool_block *in, struct sorted_places *ret)
{
	const struct places *places = &j->f->pools->places;
	for (uint32_t i = in->first; i != NO_PLACE; i = places->data[i].next) {
		const struct place *place = &places->data[i];
		if (!place->is_read)
			continue;
		if (!sorted_places_push(
			    ret, (struct sorted_place){place->offset, size_of(j, place->type),
					 place->type, place->fits, place->has_words}))
			return false;
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_offset);
	return true;
}

/* Members of others are no objects of their own; what overlaps them otherwise is none at all. */
static bool take_objects(struct judging *j, const struct sorted_places *places)
{
	bool ok = true;
	for (size_t i = 0; i < places->len && ok; i++) {
		const struct sorted_place *place = &places->data[i];
		const struct pool_object *last =
			j->objects.len ? &j->objects.data[j->objects.len - 1] : NULL;
		if (!place->fits) {
			j->broken++;
		} else if (last && place->offset - last->offset < size_of(j, last->type)) {
			j->broken += !embedded_has(
				j->f->types, last->type, place->offset - last->offset, place->type);
		} else {
			ok = pool_objects_push(&j->objects,
				(struct pool_object){place->offset, place->type, place->has_words});
		}
	}
	return ok;
}

/* Whether a larger structure may begin at an offset: what is known to lie there is part of it. */
static bool agrees(struct judging *j, size_t object, uint64_t start, uint32_t whole)
{
	const struct pool_objects *all = &j->objects;
	uint64_t end = start + size_of(j, whole);
	size_t i = object;
	while (i && all->data[i - 1].offset + size_of(j, all->data[i - 1].type) > start)
		i--;
	for (; i < all->len && all->data[i].offset < end; i++) {
		if (all->data[i].offset < start ||
			!embedded_has(
				j->f->types, whole, all->data[i].offset - start, all->data[i].type))
			return false;
	}
	return true;
}

/* Whether an object may be a member of one that `in` says. */
static bool may_be_member(
	struct judging *j, size_t object, const struct embedded *in, unsigned *tries)
{
	uint64_t usable = search_block_size(j->f->search, j->block);
	uint64_t size = size_of(j, in->whole), offset = j->objects.data[object].offset;
	if (size > usable)
		return false;
	/* Before that the larger one would not end in the block. */
	uint64_t least = offset > usable - size ? offset - (usable - size) : 0;
	uint64_t first =
		least > in->at && in->stride ? (least - in->at + in->stride - 1) / in->stride : 0;
	for (uint64_t i = first; i < in->count; i++) {
		uint64_t before = in->at + i * in->stride;
		if (before > offset)
			break;
		if (i >= ELEMENTS_MOST || ++*tries > TRIES_MOST)
			return true;
		if (agrees(j, object, offset - before, in->whole) &&
			fits(j->f, j->block, offset - before, in->whole))
			return true;
	}
	return false;
}

static bool is_sure(struct judging *j, size_t object, unsigned *tries)
{
	const struct embedded_vec *all = &j->f->pools->embedded;
	size_t first, count = embedded_of(all, j->f->types, j->objects.data[object].type, &first);
	for (size_t i = first; i < first + count; i++) {
		if (may_be_member(j, object, &all->data[i], tries))
			return false;
	}
	return true;
}

static bool know_embedded(struct inferring *f)
{
	struct inferred_pools *p = f->pools;
	bool is_whole = true;
	if (!p->has_embedded)
		f->failed |= !embedded_find(f->types, &p->embedded, &is_whole);
	if (!is_whole)
		survey_reach(f->survey, REACHED_TYPE_STEPS);
	p->has_embedded = true;
	return !f->failed;
}

static void count_sure(struct judging *j)
{
	unsigned tries = 0;
	for (size_t i = 0; i < j->objects.len; i++) {
		struct pool_object *object = &j->objects.data[i];
		object->is_sure = object->is_sure && is_sure(j, i, &tries);
		j->sure += object->is_sure;
	}
	if (tries > TRIES_MOST)
		survey_reach(j->f->survey, REACHED_POOL_TRIES);
}

/* Whether a block is a pool, by all places that are known in it. */
static bool judge(struct judging *j, const struct pool_block *in)
{
	_cleanup_(sorted_places_deinit) struct sorted_places places = {.data = NULL};
	if (!gather(j, in, &places) || !take_objects(j, &places)) {
		j->f->failed = true;
		return false;
	}
	if (j->objects.len < PLACES_LEAST || j->broken > j->objects.len / BROKEN_PART ||
		!know_embedded(j->f))
		return false;
	count_sure(j);
	return j->sure >= PLACES_LEAST;
}

/* Up to `most` types of objects that it is sure of; returns how many there are, at most one more.
 */
static size_t find_kinds(const struct judging *j, uint32_t *ret, size_t most)
{
	size_t kinds = 0;
	for (size_t i = 0; i < j->objects.len && kinds <= most; i++) {
		const struct pool_object *object = &j->objects.data[i];
		bool is_known = !object->is_sure;
		for (size_t k = 0; k < kinds && !is_known; k++)
			is_known = types_are_same(j->f->types, ret[k], object->type);
		if (!is_known && kinds < most)
			ret[kinds] = object->type;
		kinds += !is_known;
	}
	return kinds;
}

/* Whether there are others, of which it is not sure what they are. */
static bool has_others(const struct judging *j, const uint32_t *kinds, size_t count)
{
	for (size_t i = 0; i < j->objects.len; i++) {
		bool is_known = false;
		for (size_t k = 0; k < count; k++)
			is_known |= types_are_same(j->f->types, kinds[k], j->objects.data[i].type);
		if (!is_known)
			return true;
	}
	return false;
}

/* "pool of Rec", "pool of Name and Rec", "pool of several structures" */
static void add_name(const struct judging *j, struct text *name)
{
	_cleanup_(text_deinit) struct text first;
	_cleanup_(text_deinit) struct text second;
	uint32_t types[2] = {TYPE_VOID, TYPE_VOID};
	size_t kinds = find_kinds(j, types, 2);
	text_init(&first);
	text_init(&second);
	if (kinds <= 2)
		inferred_add_name(j->f, types[0], false, &first);
	if (kinds == 2)
		inferred_add_name(j->f, types[1], false, &second);
	bool is_turned = first.data && second.data && strcmp(first.data, second.data) > 0;
	const char *one = is_turned ? second.data : first.data;
	const char *other = is_turned ? first.data : second.data;
	text_add(name, "pool of ");
	text_add(name, kinds > 2 ? "several structures" : one ? one : "");
	text_add(name, kinds == 2 ? " and " : "");
	text_add(name, kinds == 2 && other ? other : "");
	text_add(name, kinds <= 2 && has_others(j, types, kinds) ? " and others" : "");
	name->failed |= first.failed || second.failed;
}

/* What is declared to begin with something, and has characters behind it, is that, and a pool
 * beside it. */
static bool keeps_name(const struct inferring *f, uint32_t block)
{
	const struct heap_types *types = &f->survey->types;
	uint32_t number = heap_types_of_site(types, search_block_site(f->search, block));
	const struct heap_type *type = number == HEAP_TYPE_NONE ? NULL : &types->types.data[number];
	return type && !type->is_pool && !type->is_array;
}

static void say(struct judging *j)
{
	struct inferring *f = j->f;
	_cleanup_(text_deinit) struct text name;
	uint32_t number;
	text_init(&name);
	if (keeps_name(f, j->block))
		return;
	add_name(j, &name);
	f->failed |= name.failed;
	if (f->failed)
		return;
	struct error *error =
		heap_types_add(&f->survey->types, HEAP_TYPE_INFERRED, name.data, &number);
	f->failed |= error != NULL;
	error_destroy(error);
	if (error)
		return;
	f->survey->types.types.data[number].is_pool = true;
	enum inferred_basis basis = f->basis;
	f->basis = BASIS_DECLARED;
	inferred_say_block(f, j->block, number);
	f->basis = basis;
}

/* Now that it is known to be a pool, what lies in it leads on to anything. */
static void follow_all_of(struct inferring *f, const struct pool_block *in)
{
	struct inferred_pools *p = f->pools;
	for (uint32_t i = in->first; i != NO_PLACE && !f->failed; i = p->places.data[i].next) {
		if (p->places.data[i].fits)
			f->failed |= !wait_for(f, i);
	}
}

size_t inferred_places_against(const struct inferring *inferring, uint32_t block, uint32_t element)
{
	const struct inferred_pools *p = inferring->pools;
	const uint32_t *index = pool_block_map_find(&p->of_block, block);
	uint32_t next = index ? p->blocks.data[*index].first : NO_PLACE;
	size_t against = 0, agreeing = 0;
	for (; next != NO_PLACE; next = p->places.data[next].next) {
		const struct place *place = &p->places.data[next];
		if (!place->is_read || !place->fits || !place->has_words)
			continue;
		bool is_against =
			inferred_is_against(inferring, element, place->offset, place->type);
		against += is_against;
		agreeing += !is_against;
	}
	return against > agreeing / BROKEN_PART ? against : 0;
}

/* Whether a block may be a pool: what may be an array is none unless places speak against it. */
static bool is_candidate(const struct inferring *f, const struct pool_block *in)
{
	uint32_t element = inferred_array_in_doubt(f, in->block);
	return !in->is_taken && can_hold(f, in->block, UINT64_MAX) &&
	       (element == TYPE_VOID ||
		       inferred_places_against(f, in->block, element) >= PLACES_LEAST);
}

bool inferred_take_pools(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	bool any = false;
	for (size_t i = 0; p && i < p->touched.len && !f->failed; i++) {
		struct pool_block *in = &p->blocks.data[p->touched.data[i]];
		struct judging j = {.f = f, .block = in->block};
		in->is_touched = false;
		if (is_candidate(f, in) && judge(&j, in)) {
			in->is_taken = any = true;
			say(&j);
			follow_all_of(f, in);
		}
		pool_objects_deinit(&j.objects);
	}
	if (p)
		space_u32_clear(&p->touched);
	return any && !f->failed;
}

static bool keep(struct inferring *f, struct judging *j)
{
	struct pools *pools = &f->survey->pools;
	struct pool pool = {j->block, pools->objects.len, j->objects.len};
	for (size_t i = 0; i < j->objects.len; i++) {
		if (!pool_objects_push(&pools->objects, j->objects.data[i]))
			return false;
	}
	return pool_vec_push(&pools->pools, pool);
}

static int by_block(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

/* Of what speaks against it since nothing was known. */
static void unsay(struct inferring *f, uint32_t block)
{
	const struct heap_types *types = &f->survey->types;
	uint32_t number = heap_types_of_site(types, search_block_site(f->search, block));
	if (number != HEAP_TYPE_NONE && types->types.data[number].is_pool)
		search_block_set_site(f->search, block, search_block_first_site(f->search, block));
}

void inferred_keep_pools(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct inferred_pools *p = f->pools;
	for (size_t i = 0; p && i < p->blocks.len && !f->failed; i++) {
		const struct pool_block *in = &p->blocks.data[i];
		struct judging j = {.f = f, .block = in->block};
		if (in->is_taken && can_hold(f, in->block, UINT64_MAX) && judge(&j, in)) {
			say(&j);
			f->failed |= !keep(f, &j);
		} else if (in->is_taken) {
			unsay(f, in->block);
		}
		pool_objects_deinit(&j.objects);
	}
	struct pool_vec *pools = &f->survey->pools.pools;
	if (pools->len)
		qsort(pools->data, pools->len, sizeof(*pools->data), by_block);
}
