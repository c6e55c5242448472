/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/queries/candidates_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/inferred.h"

/* Blocks of a group that are looked at, evenly over all of them. */
#define SAMPLES_MOST 32u
/* What an allocator may give more than was asked for. */
#define SPARE_MOST 16u
#define HEADERS 3u
/* More than some pointers in their places, less than what is pointed to can speak against it. */
#define KNOWN_SCORE 20
#define DECLARED_SCORE 16

void candidates_sample(
	const struct candidate_check *candidate_check, uint32_t block, struct sample *ret)
{
	const struct address_space *space = candidate_check->scan->heap.space;
	const struct search *search = candidate_check->scan->search;
	*ret = (struct sample){.block = block};
	size_t wanted =
		(size_t)min(candidate_check->usable & ~(uint64_t)7, (uint64_t)sizeof(ret->words));
	ret->len =
		address_space_read(space, search_block_address(search, block), ret->words, wanted) /
		8;
	for (size_t i = 0; i < ret->len; i++) {
		uint64_t word = ret->words[i], bit = 1ull << i;
		/* Pointers to characters may be odd. */
		const struct process_map *map = word ? address_space_map(space, word) : NULL;
		ret->filled |= word ? bit : 0;
		ret->pointers |= map ? bit : 0;
		if (map && !map->writable && address_space_module(space, word))
			ret->modules |= bit;
		if (map && map->executable)
			ret->code |= bit;
	}
}

static void take_sample(struct candidate_check *j, uint32_t block)
{
	struct sample *sample = &j->samples[j->count++];
	candidates_sample(j, block, sample);
	j->pointers |= sample->pointers;
	j->data |= sample->filled & ~sample->pointers;
	j->no_code |= sample->pointers & ~sample->code;
	j->elsewhere |= ~sample->modules;
}

static void take_samples(struct candidate_check *j, uint32_t block, uint32_t type)
{
	const struct search *search = j->scan->search;
	if (block != SPACE_NONE) {
		j->usable = search_block_size(search, block);
		take_sample(j, block);
		return;
	}
	uint64_t all = j->scan->types.types.data[type].blocks, step = all / SAMPLES_MOST + 1;
	uint32_t count = search_block_count(search);
	uint64_t seen = 0;
	for (uint32_t i = 0; i < count && j->count < SAMPLES_MOST; i++) {
		if (heap_scan_type_of(j->scan, i) != type || seen++ % step)
			continue;
		j->usable = search_block_size(search, i);
		take_sample(j, i);
	}
}

/* What a type says of words, `count` times from a header on. */
static uint64_t candidates_repeat(uint64_t bits, uint64_t size, uint64_t header, uint64_t count)
{
	uint64_t all = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = header + i * size;
		if (at / 8 >= SHAPE_WORDS)
			break;
		all |= bits << at / 8;
	}
	return all;
}

/* What a block that is pointed to says of the declaration: bit `word` of the candidate. */
static void classify_target(struct candidate_check *j, uint64_t address, uint32_t target,
	unsigned word, struct candidate *c)
{
	struct heap_layout layout;
	uint64_t offset;
	uint32_t block = search_block_at(j->scan->search, address, &offset);
	if (block == SPACE_NONE || offset)
		return;
	if (types_get(j->types, target)->size > search_block_size(j->scan->search, block))
		c->denied |= 1ull << word;
	if (!heap_layout_of(j->scan, block, &layout))
		return;
	if (types_begins_with(j->types, types_plain(j->types, layout.type), target))
		c->agreeing |= 1ull << word;
	else if (types_get(j->types, target)->kind != TYPE_NUMBER)
		c->denied |= 1ull << word;
}

/* All words of a slot of an object that is at an offset of the blocks. */
static void classify_slot(
	struct candidate_check *j, struct candidate *c, uint64_t object, const struct slot *slot)
{
	uint64_t at = object + slot->offset;
	for (uint64_t i = 0; !slot->when_count && slot->container.form == RUST_NONE &&
			     i < slot->count && at / 8 < SHAPE_WORDS;
		i++, at += slot->stride) {
		for (uint32_t k = 0; k < j->count && at % 8 == 0; k++) {
			if (j->samples[k].pointers >> at / 8 & 1)
				classify_target(j, j->samples[k].words[at / 8], slot->target,
					(unsigned)(at / 8), c);
		}
	}
}

static void classify_targets(struct candidate_check *j, struct candidate *c)
{
	for (uint64_t element = 0; element < c->count; element++) {
		for (size_t i = 0; i < j->slots.len; i++) {
			classify_slot(j, c, c->header + element * c->size, &j->slots.data[i]);
		}
		if (c->header + element * c->size >= 8ull * SHAPE_WORDS)
			break;
	}
	/* Where some agree the others are of what derives from it. */
	c->denied &= ~c->agreeing;
}

/* new[] writes the number of elements before the first. */
static bool has_count(const struct candidate_check *j, const struct candidate *c)
{
	for (uint32_t i = 0; i < j->count; i++) {
		if (j->samples[i].len < c->header / 8 ||
			j->samples[i].words[c->header / 8 - 1] != c->count)
			return false;
	}
	return true;
}

static int candidates_bits(uint64_t set)
{
	return __builtin_popcountll(set);
}

uint64_t candidates_covered(const struct candidate *c)
{
	uint64_t words = (c->header + c->size * c->count) / 8;
	return words < SHAPE_WORDS ? (1ull << words) - 1 : UINT64_MAX;
}

/* Pointers in bytes, unions and numbers are possible, and not likely. */
static void candidates_weigh(const struct candidate_check *j, struct candidate *c)
{
	uint64_t undeclared =
		j->pointers & candidates_covered(c) & ~c->declared & ~c->known_pointers;
	c->score = 4 * candidates_bits(c->pointers) + 8 * candidates_bits(c->agreeing) -
		   candidates_bits(c->nulls) - 2 * candidates_bits(undeclared) -
		   12 * candidates_bits(c->strays) - 20 * candidates_bits(c->numbers) -
		   10 * candidates_bits(c->denied);
	c->score -= 10 * candidates_bits(c->broken);
	if (c->known && !c->broken)
		c->score += KNOWN_SCORE;
	if (c->declared_by)
		c->score += DECLARED_SCORE;
	if (!c->is_array)
		c->score += c->pointers ? 3 : 6;
	if (j->usable - (c->header + c->size * c->count) < 8)
		c->score += 1;
}

/* Without one pointer in its place only the size speaks for it. */
static void candidates_classify_all(
	struct candidate_check *j, const struct word_map *map, struct candidate *c)
{
	uint64_t pointers = candidates_repeat(map->pointers, c->size, c->header, c->count);
	if (candidates_repeat(map->vtables, c->size, c->header, c->count) & j->elsewhere)
		return;
	uint64_t data = candidates_repeat(map->data, c->size, c->header, c->count) & ~pointers;
	if (c->header) {
		data |= 1ull << (c->header / 8 - 1);
		if (!has_count(j, c))
			return;
	}
	c->pointers = pointers & j->pointers;
	c->numbers = pointers & j->data;
	c->nulls = pointers & ~j->pointers & ~j->data;
	c->strays = data & j->pointers;
	/* In unions and bytes there may be pointers, too. */
	uint64_t wild = candidates_covered(c) & ~(pointers | data);
	if (j->pointers && !c->pointers && map->pointers && !(wild & j->pointers))
		return;
	if (candidates_bits(c->numbers) > 1 || candidates_bits(c->strays) > 1 ||
		(c->numbers && c->strays))
		return;
	classify_targets(j, c);
	c->denied |= candidates_repeat(map->code, c->size, c->header, c->count) & j->no_code &
		     ~candidates_repeat(map->vtables, c->size, c->header, c->count);
	c->declared = pointers;
	j->failed |= !candidate_vec_push(j->found, *c);
}

static bool is_close(const struct candidate_check *j, uint64_t wanted)
{
	uint64_t spare = j->usable <= 24 ? j->usable : SPARE_MOST;
	return wanted && wanted <= j->usable && j->usable - wanted < spare;
}

static bool take_type(void *context, uint32_t number)
{
	struct candidate_check *j = context;
	struct type type = *types_get(j->types, number);
	if ((type.kind != TYPE_STRUCT && type.kind != TYPE_CLASS) || !type.size ||
		type.size > j->usable || !type.name)
		return true;
	bool has_map = false;
	struct word_map map = {.pointers = 0};
	for (uint64_t header = 0; header <= 8ull * (HEADERS - 1) && !j->failed; header += 8) {
		uint64_t count = (j->usable - header) / type.size;
		bool is_single = !header && is_close(j, type.size);
		if (is_single)
			count = 1;
		else if (!count || (!header && count < 2) || type.size % 8 ||
			 !is_close(j, header + count * type.size))
			continue;
		if (!has_map) {
			inferred_word_map(j->types, number, &map);
			bool is_whole;
			j->failed |= !slots_find(j->types, number, &j->slots, &is_whole);
			has_map = true;
		}
		struct candidate c = {.type = number,
			.size = type.size,
			.count = count,
			.header = header,
			.is_array = !is_single};
		candidates_classify_all(j, &map, &c);
	}
	return !j->failed;
}

/* Of those that are laid out alike what people write comes before what templates make of it. */
static int by_score(const void *a, const void *b, void *context)
{
	const struct candidate *x = a, *y = b;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	const char *of_x = types_get(context, x->type)->name,
		   *of_y = types_get(context, y->type)->name;
	size_t len_x = of_x ? strlen(of_x) : SIZE_MAX, len_y = of_y ? strlen(of_y) : SIZE_MAX;
	if (len_x != len_y)
		return len_x < len_y ? -1 : 1;
	int order = of_x && of_y ? strcmp(of_x, of_y) : 0;
	if (order)
		return order;
	return (x->type > y->type) - (x->type < y->type);
}

struct error *candidates_find(struct heap_scan *scan, uint32_t block, uint32_t type,
	struct candidate_vec *ret, uint32_t *ret_sampled)
{
	struct candidate_check j = {.scan = scan,
		.types = scan->layouts.types,
		.found = ret,
		.samples = calloc(SAMPLES_MOST, sizeof(*j.samples))};
	candidate_vec_init(ret);
	if (!j.samples)
		return error_no_memory();
	take_samples(&j, block, type);
	if (j.count)
		types_each(j.types, take_type, &j);
	j.failed |= !candidates_find_declared(&j);
	struct error *error = candidates_find_known(&j);
	for (size_t i = 0; i < ret->len; i++)
		candidates_weigh(&j, &ret->data[i]);
	if (ret->len)
		qsort_r(ret->data, ret->len, sizeof(*ret->data), by_score, j.types);
	*ret_sampled = j.count;
	slot_vec_deinit(&j.slots);
	free(j.samples);
	if (!error && (j.failed || types_failed(j.types)))
		error = error_no_memory();
	return error;
}

struct holding {
	struct types *types;
	uint32_t layout;
	struct slot_vec slots;
	struct holding_members *found;
	bool failed;
};

/* Members of members are reported where they are declared. */
static bool take_holder(void *context, uint32_t number)
{
	struct holding *h = context;
	struct type type = *types_get(h->types, number);
	for (uint32_t i = 0; type_has_members(&type) && i < type.member_count; i++) {
		const struct type_member *member = &type.members[i];
		uint32_t plain = types_plain(h->types, member->type);
		for (unsigned k = 0;
			k < TYPES_DEPTH_MAX && types_get(h->types, plain)->kind == TYPE_ARRAY; k++)
			plain = types_plain(h->types, types_target(h->types, plain));
		if (types_get(h->types, plain)->kind != TYPE_POINTER ||
			types_plain(h->types, types_target(h->types, plain)) != h->layout)
			continue;
		h->failed |= !holding_members_push(
			h->found, (struct holding_member){number, member->bits / 8});
	}
	return !h->failed;
}

bool candidates_holders(struct heap_scan *scan, uint32_t layout, struct holding_members *ret)
{
	struct holding h = {.types = scan->layouts.types, .found = ret};
	h.layout = types_plain(h.types, layout);
	holding_members_init(ret);
	types_each(h.types, take_holder, &h);
	return !h.failed && !types_failed(h.types);
}
