/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/kin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/types/virtual_bases.h"

/* How the nearest way led to a type, and for which of the survey's. */
struct visit {
	uint32_t of;
	enum kin_how how;
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
	uint32_t of;             /* type of the survey's */
	struct visit_map visits; /* by plain types */
	bool failed;             /* no memory */
};

/* Whether a type was come to already, as near as now and no deeper: what is in it was found then.
 * So each is gone through a few times at most, however often it is a member of others. */
static bool was_visited(struct seeking *s, uint32_t plain, enum kin_how how, unsigned depth)
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

static bool is_nearer(const struct kin *a, const struct kin *b)
{
	return a->how < b->how;
}

/* How a type has the wanted one inside, reached so far by base classes alone (KIN_DERIVED) or by
 * others; what is nearest wins. */
static bool seek(
	struct seeking *s, uint32_t number, struct kin so_far, unsigned depth, struct kin *ret)
{
	uint32_t plain = types_plain(s->types, number), content = types_content(s->types, plain);
	struct type type = *types_get(s->types, plain);
	struct kin found;
	bool any = depth > 0 && types_are_same(s->types, plain, s->wanted);
	if (any)
		*ret = so_far;
	if (any || depth > TYPES_DEPTH_MAX || was_visited(s, plain, so_far.how, depth))
		return any;
	if (content != TYPE_VOID || type.kind == TYPE_ARRAY) {
		so_far.how = KIN_INSIDE;
		return seek(
			s, content != TYPE_VOID ? content : type.target, so_far, depth + 1, ret);
	}
	for (uint32_t i = 0; type_has_members(&type) && i < type.member_count; i++) {
		const struct type_member *member = &type.members[i];
		struct kin next = so_far;
		if (member->kind == MEMBER_VIRTUAL_BASE && next.how == KIN_DERIVED)
			next.how = KIN_VIRTUAL;
		else if (member->kind == MEMBER_BASE && next.how == KIN_DERIVED)
			next.offset += member->bits / 8;
		else if (member->kind != MEMBER_BASE && member->kind != MEMBER_VIRTUAL_BASE)
			next.how = KIN_INSIDE;
		if (seek(s, member->type, next, depth + 1, &found) &&
			(!any || is_nearer(&found, ret))) {
			*ret = found;
			any = true;
		}
	}
	return any;
}

static bool find(struct seeking *s, const struct heap_type *of, struct kin *ret)
{
	bool same = types_are_same(s->types, types_plain(s->types, of->layout), s->wanted);
	s->of = ret->type;
	ret->offset = 0;
	ret->how = of->is_array ? KIN_ELEMENTS : KIN_SAME;
	if (!same &&
		!seek(s, of->layout, (struct kin){.type = ret->type, .how = KIN_DERIVED}, 0, ret))
		return false;
	if (!same && of->is_array)
		ret->how = KIN_INSIDE;
	if (ret->how != KIN_DERIVED)
		ret->offset = 0;
	ret->layout = s->wanted;
	if (ret->how == KIN_SAME)
		ret->layout = of->layout;
	else if (ret->how == KIN_DERIVED)
		ret->layout = virtual_bases_within(
			s->types, types_plain(s->types, of->layout), ret->offset, s->wanted);
	return true;
}

static int nearest_first(const void *a, const void *b, void *context)
{
	const struct heap_type *types = context;
	const struct kin *x = a, *y = b;
	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	uint64_t of_x = types[x->type].blocks, of_y = types[y->type].blocks;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return strcmp(types[x->type].name, types[y->type].name);
}

static struct error *number_types(
	const struct survey *survey, struct error *error, struct kin_set *set)
{
	set->type_count = (uint32_t)survey->types.types.len;
	set->of_type = calloc((size_t)set->type_count + 1, sizeof(*set->of_type));
	if (!error && !set->of_type)
		error = error_no_memory();
	for (size_t i = 0; !error && i < set->kin.len; i++)
		set->of_type[set->kin.data[i].type] = (uint32_t)i + 1;
	return error;
}

struct error *heap_kin_find(const struct survey *survey, uint32_t layout, struct kin_set *ret)
{
	const struct heap_type_vec *all = &survey->types.types;
	struct seeking s = {.types = survey->layouts.types};
	struct error *error = NULL;
	*ret = (struct kin_set){.of_type = NULL};
	s.wanted = s.types ? types_plain(s.types, layout) : TYPE_VOID;
	for (uint32_t i = 0; s.types && i < all->len && !error; i++) {
		struct kin kin = {.type = i};
		bool is_kin = all->data[i].blocks && all->data[i].layout != TYPE_VOID &&
			      find(&s, &all->data[i], &kin);
		if (s.failed || (is_kin && !kin_vec_push(&ret->kin, kin)))
			error = error_no_memory();
	}
	visit_map_deinit(&s.visits);
	if (ret->kin.len)
		qsort_r(ret->kin.data, ret->kin.len, sizeof(*ret->kin.data), nearest_first,
			all->data);
	return number_types(survey, error, ret);
}

struct error *heap_kin_alone(const struct survey *survey, uint32_t type, struct kin_set *ret)
{
	*ret = (struct kin_set){.of_type = NULL};
	bool ok = kin_vec_push(&ret->kin, (struct kin){.type = type,
						  .how = KIN_SAME,
						  .layout = survey->types.types.data[type].layout});
	return number_types(survey, ok ? NULL : error_no_memory(), ret);
}

void heap_kin_deinit(struct kin_set *set)
{
	kin_vec_deinit(&set->kin);
	free(set->of_type);
	set->of_type = NULL;
}

/* `hows`: bits of enum kin_how. */
static void keep(struct kin_set *set, unsigned hows)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->kin.len; i++) {
		struct kin kin = set->kin.data[i];
		set->of_type[kin.type] = 0;
		if (!(hows >> kin.how & 1))
			continue;
		set->kin.data[kept++] = kin;
		set->of_type[kin.type] = (uint32_t)kept;
	}
	set->kin.len = kept;
}

void heap_kin_keep_objects(struct kin_set *set)
{
	keep(set, 1u << KIN_SAME | 1u << KIN_DERIVED);
}

void heap_kin_keep_arrays(struct kin_set *set)
{
	keep(set, 1u << KIN_ELEMENTS);
}

uint64_t heap_kin_blocks(const struct survey *survey, const struct kin_set *set)
{
	uint64_t blocks = 0;
	for (size_t i = 0; i < set->kin.len; i++)
		blocks += survey->types.types.data[set->kin.data[i].type].blocks;
	return blocks;
}

#define KINDS_SAID 8u

void heap_kin_describe(const struct survey *survey, const struct kin_set *set, struct text *text)
{
	for (size_t i = 0; i < set->kin.len && i < KINDS_SAID; i++) {
		const struct heap_type *type = &survey->types.types.data[set->kin.data[i].type];
		text_printf(text, "%s%" PRIu64 " ", i ? ", " : "", type->blocks);
		text_add_shown(text, type->name, 200);
	}
	if (set->kin.len > KINDS_SAID)
		text_printf(text, " and of %zu more types", set->kin.len - KINDS_SAID);
}
