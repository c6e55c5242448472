/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/subtypes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/types/virtual_bases.h"

/* How the nearest way led to a type, and for which of the scan's. */
struct visit {
	uint32_t of;
	enum subtypes_how how;
	unsigned depth;
};
static inline uint64_t visit_hash(uint32_t type)
{
	return hash_u64(type);
}
static inline bool visit_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(visit_map, uint32_t, struct visit, visit_hash, visit_equal)

struct seeking {
	struct types *types;
	uint32_t wanted;         /* plain */
	uint32_t of;             /* type of the scan's */
	struct visit_map visits; /* by plain types */
	bool failed;             /* no memory */
};

/* Whether a type was come to already, as near as now and no deeper: what is in it was found then.
 * So each is walked a few times at most, however often it is a member of others. */
static bool was_visited(struct seeking *s, uint32_t plain, enum subtypes_how how, unsigned depth)
{
	bool is_new;
	struct visit *visit = visit_map_insert(&s->visits, plain, &is_new);
	if (!visit) {
		s->failed = true;
		return true;
	}
	if (!is_new && visit->of == s->of && visit->how <= how && visit->depth <= depth)
		return true;
	*visit = (struct visit){s->of, how, depth};
	return false;
}

static bool is_nearer(const struct subtypes *a, const struct subtypes *b)
{
	return a->how < b->how;
}

/* How a type has the wanted one inside, reached so far by base classes alone (SUBTYPES_DERIVED) or
 * by others; what is nearest wins. */
static bool subtypes_seek(struct seeking *s, uint32_t number, struct subtypes so_far,
	unsigned depth, struct subtypes *ret)
{
	uint32_t plain = types_plain(s->types, number), content = types_content(s->types, plain);
	struct type type = *types_get(s->types, plain);
	struct subtypes found;
	bool any = depth > 0 && types_are_same(s->types, plain, s->wanted);
	if (any)
		*ret = so_far;
	if (any || depth > TYPES_DEPTH_MAX || was_visited(s, plain, so_far.how, depth))
		return any;
	if (content != TYPE_VOID || type.kind == TYPE_ARRAY) {
		so_far.how = SUBTYPES_INSIDE;
		return subtypes_seek(
			s, content != TYPE_VOID ? content : type.target, so_far, depth + 1, ret);
	}
	for (uint32_t i = 0; type_has_members(&type) && i < type.member_count; i++) {
		const struct type_member *member = &type.members[i];
		struct subtypes next = so_far;
		if (member->kind == MEMBER_VIRTUAL_BASE && next.how == SUBTYPES_DERIVED)
			next.how = SUBTYPES_VIRTUAL;
		else if (member->kind == MEMBER_BASE && next.how == SUBTYPES_DERIVED)
			next.offset += member->bits / 8;
		else if (member->kind != MEMBER_BASE && member->kind != MEMBER_VIRTUAL_BASE)
			next.how = SUBTYPES_INSIDE;
		if (subtypes_seek(s, member->type, next, depth + 1, &found) &&
			(!any || is_nearer(&found, ret))) {
			*ret = found;
			any = true;
		}
	}
	return any;
}

static bool subtypes_find(struct seeking *s, const struct heap_type *of, struct subtypes *ret)
{
	bool same = types_are_same(s->types, types_plain(s->types, of->layout), s->wanted);
	s->of = ret->type;
	ret->offset = 0;
	ret->how = of->is_array ? SUBTYPES_ELEMENTS : SUBTYPES_SAME;
	if (!same && !subtypes_seek(s, of->layout,
			     (struct subtypes){.type = ret->type, .how = SUBTYPES_DERIVED}, 0, ret))
		return false;
	if (!same && of->is_array)
		ret->how = SUBTYPES_INSIDE;
	if (ret->how != SUBTYPES_DERIVED)
		ret->offset = 0;
	ret->layout = s->wanted;
	if (ret->how == SUBTYPES_SAME)
		ret->layout = of->layout;
	else if (ret->how == SUBTYPES_DERIVED)
		ret->layout = virtual_bases_within(
			s->types, types_plain(s->types, of->layout), ret->offset, s->wanted);
	return true;
}

static int nearest_first(const void *a, const void *b, void *context)
{
	const struct heap_type *types = context;
	const struct subtypes *x = a, *y = b;
	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	uint64_t of_x = types[x->type].blocks, of_y = types[y->type].blocks;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return strcmp(types[x->type].name, types[y->type].name);
}

static struct error *number_types(
	const struct heap_scan *scan, struct error *error, struct subtype_set *set)
{
	set->type_count = (uint32_t)scan->types.types.len;
	set->of_type = calloc((size_t)set->type_count + 1, sizeof(*set->of_type));
	if (!error && !set->of_type)
		error = error_no_memory();
	for (size_t i = 0; !error && i < set->subtypes.len; i++)
		set->of_type[set->subtypes.data[i].type] = (uint32_t)i + 1;
	return error;
}

struct error *heap_subtypes_find(
	const struct heap_scan *scan, uint32_t layout, struct subtype_set *ret)
{
	const struct heap_type_vec *all = &scan->types.types;
	struct seeking s = {.types = scan->layouts.types};
	struct error *error = NULL;
	*ret = (struct subtype_set){.of_type = NULL};
	s.wanted = s.types ? types_plain(s.types, layout) : TYPE_VOID;
	for (uint32_t i = 0; s.types && i < all->len && !error; i++) {
		struct subtypes subtypes = {.type = i};
		bool is_subtypes = all->data[i].blocks && all->data[i].layout != TYPE_VOID &&
				   subtypes_find(&s, &all->data[i], &subtypes);
		if (s.failed || (is_subtypes && !subtypes_vec_push(&ret->subtypes, subtypes)))
			error = error_no_memory();
	}
	visit_map_deinit(&s.visits);
	if (ret->subtypes.len)
		qsort_r(ret->subtypes.data, ret->subtypes.len, sizeof(*ret->subtypes.data),
			nearest_first, all->data);
	return number_types(scan, error, ret);
}

struct error *heap_subtypes_of_type(
	const struct heap_scan *scan, uint32_t type, struct subtype_set *ret)
{
	*ret = (struct subtype_set){.of_type = NULL};
	bool ok = subtypes_vec_push(
		&ret->subtypes, (struct subtypes){.type = type,
					.how = SUBTYPES_SAME,
					.layout = scan->types.types.data[type].layout});
	return number_types(scan, ok ? NULL : error_no_memory(), ret);
}

void heap_subtypes_deinit(struct subtype_set *set)
{
	subtypes_vec_deinit(&set->subtypes);
	free(set->of_type);
	set->of_type = NULL;
}

/* `hows`: bits of enum subtypes_how. */
static void subtypes_keep(struct subtype_set *set, unsigned hows)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->subtypes.len; i++) {
		struct subtypes subtypes = set->subtypes.data[i];
		set->of_type[subtypes.type] = 0;
		if (!(hows >> subtypes.how & 1))
			continue;
		set->subtypes.data[kept++] = subtypes;
		set->of_type[subtypes.type] = (uint32_t)kept;
	}
	set->subtypes.len = kept;
}

void heap_subtypes_keep_objects(struct subtype_set *set)
{
	subtypes_keep(set, 1u << SUBTYPES_SAME | 1u << SUBTYPES_DERIVED);
}

void heap_subtypes_keep_arrays(struct subtype_set *set)
{
	subtypes_keep(set, 1u << SUBTYPES_ELEMENTS);
}

uint64_t heap_subtypes_blocks(const struct heap_scan *scan, const struct subtype_set *set)
{
	uint64_t blocks = 0;
	for (size_t i = 0; i < set->subtypes.len; i++)
		blocks += scan->types.types.data[set->subtypes.data[i].type].blocks;
	return blocks;
}

#define KINDS_NAMED 8u

void heap_subtypes_describe(
	const struct heap_scan *scan, const struct subtype_set *set, struct text *text)
{
	for (size_t i = 0; i < set->subtypes.len && i < KINDS_NAMED; i++) {
		const struct heap_type *type = &scan->types.types.data[set->subtypes.data[i].type];
		text_printf(text, "%s%" PRIu64 " ", i ? ", " : "", type->blocks);
		text_add_shown(text, type->name, 200);
	}
	if (set->subtypes.len > KINDS_NAMED)
		text_printf(text, " and of %zu more types", set->subtypes.len - KINDS_NAMED);
}
