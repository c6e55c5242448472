/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that are smaller than their blocks. A block begins with the vtable of a class, which does
 * not describe the rest of the block: the object may be the first member of a structure without a
 * table of its own, the first element of an array, or have room after it that the program asked
 * for. Which structure it is says a pointer that is declared to lead to one; where none is, the
 * only structure in all debug information that begins so and fits. An array has the same table
 * before each element. Else the object is named with what it has after it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/blocks/requested_size.h"
#include "heap/cxx.h"
#include "heap/inferred/inferred_find.h"

/* Members at the beginning of one type, and those of these. */
#define STEPS_MOST 256u
/* The least that is more than each block is aligned to. */
#define ALIGNED_LEAST (2ull * CHUNK_ALIGN)
#define NAMELESS_SPACE "(anonymous namespace)"

/* Whether there is an object of a class where a type begins, and not only as its base. */
static bool begins_with(struct types *types, uint32_t type, uint32_t class, bool is_member,
	unsigned depth, unsigned *steps)
{
	uint32_t plain = types_plain(types, type), content = types_content(types, plain);
	struct type of = *types_get(types, plain);
	if (depth > TYPES_DEPTH_MAX || ++*steps > STEPS_MOST ||
		of.size < types_get(types, class)->size)
		return false;
	if (types_are_same(types, plain, class))
		return is_member;
	if (content != TYPE_VOID || of.kind == TYPE_ARRAY)
		return begins_with(types, content != TYPE_VOID ? content : of.target, class, true,
			depth + 1, steps);
	for (uint32_t i = 0; type_has_members(&of) && i < of.member_count; i++) {
		const struct type_member *member = &of.members[i];
		if (member->bits || member->kind > MEMBER_BASE || member->bit_size)
			continue;
		if (begins_with(types, member->type, class,
			    is_member || member->kind == MEMBER_PLAIN, depth + 1, steps))
			return true;
	}
	return false;
}

static bool is_larger_than(struct types *types, uint32_t type, uint32_t class)
{
	unsigned steps = 0;
	return types_get(types, type)->size > types_get(types, class)->size &&
	       begins_with(types, type, class, false, 0, &steps);
}

static bool is_called(const struct type *type, const char *plain)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	if (type->name)
		cxx_add_plain_name(&name, type->name);
	return name.data && !strcmp(name.data, plain);
}

/* As begins_with(), for a class that is only known by its name: compilers leave that to the library
 * which has the class's functions. */
static bool begins_with_name(struct types *types, uint32_t type, const char *plain, bool is_member,
	unsigned depth, unsigned *steps)
{
	struct type of = *types_get(types, types_plain(types, type));
	if (depth > TYPES_DEPTH_MAX || ++*steps > STEPS_MOST)
		return false;
	if (of.is_declared)
		return is_member && is_called(&of, plain);
	if (of.kind == TYPE_ARRAY)
		return begins_with_name(types, of.target, plain, true, depth + 1, steps);
	for (uint32_t i = 0; type_has_members(&of) && i < of.member_count; i++) {
		const struct type_member *member = &of.members[i];
		if (member->bits || member->kind > MEMBER_BASE || member->bit_size)
			continue;
		if (begins_with_name(types, member->type, plain,
			    is_member || member->kind == MEMBER_PLAIN, depth + 1, steps))
			return true;
	}
	return false;
}

bool inferred_is_larger(const struct inferring *inferring, uint32_t known, uint32_t type)
{
	const struct heap_type *of = &inferring->scan->types.types.data[known];
	unsigned steps = 0;
	if (of->kind != HEAP_TYPE_CXX || of->is_array)
		return false;
	return of->layout != TYPE_VOID
		       ? is_larger_than(inferring->types, type, of->layout)
		       : begins_with_name(inferring->types, type, of->name, false, 0, &steps);
}

/* Blocks of classes that are one group, whose object is smaller than they are. */
struct group {
	uint32_t class;  /* that stands for the group */
	uint32_t layout; /* of the object */
	uint64_t least;  /* so much at least was asked for */
	uint32_t found;  /* the only structure so far that fits; TYPE_VOID */
	bool has_several;
	bool is_slight; /* an allocator may give as much without reason */
};
DEFINE_VEC(groups, struct group)

struct finding_larger {
	struct inferring *f;
	struct groups groups;
};

static bool has_size(const struct finding_larger *l, const struct group *group, uint64_t size)
{
	const struct heap_shape *of = &l->f->scan->classes.classes.data[group->class];
	return size >= group->least && size <= of->key.size;
}

static bool inferred_larger_wants(void *context, uint64_t size)
{
	const struct finding_larger *l = context;
	for (size_t i = 0; i < l->groups.len; i++) {
		if (has_size(l, &l->groups.data[i], size))
			return true;
	}
	return false;
}

/* Whether a type explains pointers after the object. */
static bool inferred_larger_explains(
	struct finding_larger *l, const struct group *group, uint32_t type)
{
	struct fact *fact = inferred_fact(l->f, type);
	uint64_t words = (types_get(l->f->types, group->layout)->size + 7) / 8;
	uint64_t own = words < SHAPE_WORDS ? (1ull << words) - 1 : UINT64_MAX;
	const struct heap_shape *of = &l->f->scan->classes.classes.data[group->class];
	return fact && fact->map.pointers & of->key.pointers & ~own;
}

static bool take_type(void *context, uint32_t number)
{
	struct finding_larger *l = context;
	struct types *types = l->f->types;
	uint64_t size = types_get(types, number)->size;
	for (size_t i = 0; i < l->groups.len; i++) {
		struct group *group = &l->groups.data[i];
		if (!has_size(l, group, size) || !is_larger_than(types, number, group->layout) ||
			!inferred_fits_layout(l->f, number, group->class) ||
			(group->is_slight && !inferred_larger_explains(l, group, number)))
			continue;
		group->has_several |=
			group->found != TYPE_VOID && !types_are_same(types, group->found, number);
		group->found = number;
	}
	return !l->f->failed;
}

/* Whether all of them begin with the object's table of functions. */
static bool are_elements(const struct inferring *f, const struct heap_shape *of, uint64_t size)
{
	uint64_t count = of->key.size / size, word;
	if (count < 2 || size % 8 ||
		(size / 8 < SHAPE_WORDS && !(of->key.pointers >> size / 8 & 1)))
		return false;
	/* The bytes after the last one were not requested. */
	uint64_t i = 1,
		 least = heap_requested_size(&f->scan->heap, of->example, of->key.size).least;
	for (; i < count; i++) {
		if (!address_space_word(f->scan->heap.space, of->example + i * size, &word) ||
			word != of->key.head)
			break;
	}
	return i > 1 && i * size >= least;
}

static uint32_t inferred_larger_named(
	struct inferring *f, uint32_t class, uint32_t layout, bool is_array)
{
	const struct heap_types *types = &f->scan->types;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, types->types.data[types->of_shape[class]].name);
	text_add(&name, is_array ? "[]" : " with more after it");
	uint32_t number = inferred_add_type(f, HEAP_TYPE_CXX, name.data, layout, is_array);
	if (number != HEAP_TYPE_NONE)
		f->scan->types.types.data[number].has_more = !is_array;
	return number;
}

/* What blocks of a class were found to be that something declares. */
static uint32_t inferred_larger_declared(const struct inferring *f, uint32_t class)
{
	return inferred_bit(f->is_mixed, class) ? HEAP_TYPE_NONE : f->of_shape[class];
}

/* The heap's type that all blocks of a group are. */
static uint32_t inferred_larger_classify(struct inferring *f, const struct group *group)
{
	const struct heap_shape *of = &f->scan->classes.classes.data[group->class];
	uint64_t size = types_get(f->types, group->layout)->size;
	uint32_t found = HEAP_TYPE_NONE;
	if (group->found != TYPE_VOID && !group->has_several)
		found = inferred_single_type(f, group->found, of->example);
	if (found != HEAP_TYPE_NONE || group->is_slight)
		return found;
	bool is_array = are_elements(f, of, size);
	const struct heap_types *types = &f->scan->types;
	/* Several files may have one of this name, each another. */
	if (!is_array &&
		strstr(types->types.data[types->of_shape[group->class]].name, NAMELESS_SPACE))
		return HEAP_TYPE_NONE;
	return inferred_larger_named(f, group->class, group->layout, is_array);
}

/* What glibc leaves at the end of a block that it cut out of a larger one to align it (malloc.c,
 * _int_memalign()): up to a chunk of the smallest size, where others leave less. */
static uint64_t left_by_aligning(
	const struct heap_scan *s, const struct heap_shape *of, uint64_t size)
{
	const struct heap_area *area = heap_areas_find(&s->heap.areas, of->example);
	bool is_aligned = area && area->allocator == HEAP_GLIBC && of->example % ALIGNED_LEAST == 0;
	/* Sizes of types are multiples of how they are aligned. */
	return is_aligned && size % ALIGNED_LEAST == 0 ? CHUNK_ALIGN : 0;
}

/* The object's layout, where all blocks of a class are of one that is smaller than they are. */
static uint32_t small_object(
	const struct inferring *f, uint32_t class, struct search_requested *asked)
{
	const struct heap_scan *s = f->scan;
	uint32_t number = s->types.of_shape[class];
	const struct heap_type *type =
		number == HEAP_TYPE_NONE ? NULL : &s->types.types.data[number];
	const struct heap_shape *of = &s->classes.classes.data[class];
	if (!type || type->kind != HEAP_TYPE_CXX || type->layout == TYPE_VOID || type->is_array)
		return TYPE_VOID;
	uint64_t size = types_get(f->types, type->layout)->size;
	*asked = heap_requested_size(&s->heap, of->example, of->key.size);
	uint64_t left = left_by_aligning(s, of, size);
	asked->least -= left < asked->least ? left : asked->least;
	return size && size < asked->mostly ? type->layout : TYPE_VOID;
}

static bool find_groups(struct finding_larger *l)
{
	struct inferring *f = l->f;
	bool ok = true;
	for (uint32_t class = 0; class < f->scan->types.shape_count && ok; class ++) {
		struct search_requested asked;
		uint32_t layout = small_object(f, class, &asked);
		if (layout == TYPE_VOID || f->scan->classes.classes.data[class].group != class)
			continue;
		uint64_t size = types_get(f->types, layout)->size;
		uint64_t least = asked.least > size ? asked.least : size + 1;
		ok = groups_push(&l->groups, (struct group){
						     .class = class,
						     .layout = layout,
						     .least = least,
						     .is_slight = size >= asked.least,
					     });
	}
	return ok;
}

static void look_for_structures(struct finding_larger *l)
{
	if (l->groups.len)
		types_each_sized(l->f->types, inferred_larger_wants, take_type, l);
}

/* Says of classes what their blocks are; `is_new`: these. */
static void assign_classes(struct inferring *f, const uint32_t *of_group, uint64_t *is_new)
{
	struct heap_scan *s = f->scan;
	for (uint32_t class = 0; class < s->types.shape_count; class ++) {
		struct search_requested asked;
		uint32_t group = s->classes.classes.data[class].group;
		uint32_t layout = small_object(f, class, &asked),
			 found = inferred_larger_declared(f, class);
		if (layout == TYPE_VOID)
			continue;
		found = found == HEAP_TYPE_NONE ? inferred_larger_declared(f, group) : found;
		found = found == HEAP_TYPE_NONE ? of_group[group] : found;
		if (found == HEAP_TYPE_NONE)
			continue;
		s->types.of_shape[class] = found;
		if (s->types.types.data[found].kind == HEAP_TYPE_INFERRED)
			inferred_set_bit(is_new, class);
	}
}

/* Of these nothing declares what they are. */
static void follow_blocks(struct inferring *f, const uint64_t *is_new, struct in_order *in_order)
{
	uint32_t count = search_block_count(f->search);
	in_order->walk = (struct space_walk){f->graph->space, 0, 0};
	f->basis = BASIS_LOOKS;
	for (uint32_t block = 0; block < count && !f->failed; block++) {
		uint32_t class = heap_types_shape(&f->scan->types, block_label(f->search, block));
		if (class == HEAP_SHAPE_NONE || !inferred_bit(is_new, class))
			continue;
		inferred_set_bit(f->scan->alike.looks, block);
		f->is_done[block / 64] &= ~(1ull << block % 64);
		in_order->walk.block = block;
		inferred_follow(f, block, in_order);
		inferred_follow_all(f);
	}
	f->basis = BASIS_DECLARED;
}

void inferred_take_larger(struct inferring *inferring, struct in_order *in_order)
{
	struct inferring *f = inferring;
	struct finding_larger l = {.f = f};
	size_t classes = f->scan->types.shape_count;
	_cleanup_free_ uint32_t *of_group = malloc((classes + 1) * sizeof(*of_group));
	_cleanup_free_ uint64_t *is_new = calloc(classes / 64 + 1, sizeof(*is_new));
	f->failed |= !of_group || !is_new || !find_groups(&l);
	if (!f->failed && l.groups.len) {
		look_for_structures(&l);
		for (size_t i = 0; i < classes; i++)
			of_group[i] = HEAP_TYPE_NONE;
		for (size_t i = 0; i < l.groups.len && !f->failed; i++)
			of_group[l.groups.data[i].class] =
				inferred_larger_classify(f, &l.groups.data[i]);
		assign_classes(f, of_group, is_new);
		follow_blocks(f, is_new, in_order);
	}
	groups_deinit(&l.groups);
}
