/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an offset in a type to the member there. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/types/type_store.h"

/* Unions in unions whose members are tried. */
#define UNIONS_MAX 3u

/* More than its content such a template has only to be aligned. */
#define CONTENT_SPARE 16u
#define BASES_MOST 8u

/* The argument of the template that a type is described in: of "A<B>::C" that is B. */
static bool argument_around(struct types *types, const char *name, uint32_t *ret)
{
	const char *inner = name ? strrchr(name, ':') : NULL;
	if (!inner || inner - name < 2 || inner[-2] != '>' || strchr(inner, '<'))
		return false;
	_cleanup_free_ char *outer = strndup(name, (size_t)(inner - 1 - name));
	types->failed |= !outer;
	uint32_t number = outer ? types_find(types, outer) : TYPE_VOID;
	return types_argument(types, number, 0, ret);
}

/* Whether a union is there for the content alone: beside it are bytes, or classes that are empty.
 */
static bool keeps_only(const struct types *types, const struct type *type, uint32_t content)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		uint32_t plain = types_plain(types, type->members[i].type);
		const struct type *of = types_get(types, plain);
		bool is_bytes =
			of->size == 1 ||
			(of->kind == TYPE_ARRAY &&
				types_get(types, types_plain(types, of->target))->size == 1);
		if (plain != content && !is_bytes && !(type_has_members(of) && !of->member_count))
			return false;
	}
	return true;
}

/* Whether a type is another one, or derives from it. */
static bool is_or_derives(const struct types *types, uint32_t type, uint32_t from, unsigned depth)
{
	const struct type *of = types_get(types, type);
	bool is = type == from;
	for (uint32_t i = 0; !is && depth < BASES_MOST && i < of->member_count; i++)
		is = of->members[i].kind == MEMBER_BASE &&
		     is_or_derives(types, types_plain(types, of->members[i].type), from, depth + 1);
	return is;
}

uint32_t types_content(struct types *types, uint32_t plain)
{
	struct type type = *types_get(types, plain);
	const struct type_member *only = NULL;
	uint32_t content;
	if ((type.kind != TYPE_STRUCT && type.kind != TYPE_CLASS) || !type.size || type.is_rust)
		return TYPE_VOID;
	for (uint32_t i = 0; i < type.member_count; i++) {
		if (type.members[i].kind == MEMBER_BASE)
			continue;
		if (only || type.members[i].kind != MEMBER_PLAIN || type.members[i].bits)
			return TYPE_VOID;
		only = &type.members[i];
	}
	if (!only || (!types_argument(types, plain, 0, &content) &&
			     !argument_around(types, type.name, &content)))
		return TYPE_VOID;
	struct type bytes = *types_get(types, types_plain(types, only->type));
	uint64_t size = types_get(types, content)->size;
	bool is_bytes = bytes.kind == TYPE_ARRAY &&
			types_get(types, types_plain(types, bytes.target))->size == 1;
	content = types_plain(types, content);
	bool is_place =
		is_bytes || (bytes.kind == TYPE_UNION && keeps_only(types, &bytes, content));
	if (!is_place || !size || size > type.size || type.size - size >= CONTENT_SPARE)
		return TYPE_VOID;
	/* A template that its own argument derives from holds none. */
	return is_or_derives(types, content, plain, 0) ? TYPE_VOID : content;
}

static bool has_offset(const struct types *types, const struct type_member *member, uint64_t offset)
{
	if (member->kind == MEMBER_VIRTUAL_BASE || member->bits / 8 > offset)
		return false;
	uint64_t size = member->bit_size ? (member->bits % 8 + member->bit_size + 7) / 8
					 : types_get(types, member->type)->size;
	return offset - member->bits / 8 < size;
}

static void types_place_locate(struct types *types, uint32_t number, uint64_t offset,
	struct types_place *ret, struct text *path, unsigned unions);

/* The member around an offset; of a union the first that has a pointer there, else the first. */
static const struct type_member *member_around(
	struct types *types, const struct type *type, uint64_t offset, unsigned unions)
{
	const struct type_member *first = NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		if (!has_offset(types, member, offset))
			continue;
		/* Members may lie in the padding of a base class. */
		if (type->kind != TYPE_UNION) {
			if (!first || member->bits / 8 > first->bits / 8)
				first = member;
			continue;
		}
		if (unions >= UNIONS_MAX)
			return member;
		struct types_place place;
		types_place_locate(
			types, member->type, offset - member->bits / 8, &place, NULL, unions + 1);
		if (types_get(types, place.type)->kind == TYPE_POINTER && !place.into)
			return member;
		first = first ? first : member;
	}
	return first;
}

static void types_place_add_member(const struct type_member *member, struct text *path)
{
	if (!path || !member->name || member->kind == MEMBER_BASE)
		return;
	if (path->len)
		text_add_char(path, '.');
	text_add(path, member->name);
}

static void types_place_locate(struct types *types, uint32_t number, uint64_t offset,
	struct types_place *ret, struct text *path, unsigned unions)
{
	*ret = (struct types_place){.type = types_plain(types, number), .into = offset};
	for (unsigned depth = 0; depth < TYPES_DEPTH_MAX; depth++) {
		struct type type = *types_get(types, ret->type);
		uint64_t element = types_get(types, type.target)->size;
		if (type.kind == TYPE_ARRAY && element && ret->into < type.size) {
			if (path)
				text_printf(
					path, "[%llu]", (unsigned long long)(ret->into / element));
			ret->into %= element;
			ret->type = types_plain(types, type.target);
			continue;
		}
		uint32_t content = types_content(types, ret->type);
		if (content != TYPE_VOID && ret->into < types_get(types, content)->size) {
			ret->owner = ret->type;
			ret->type = content;
			continue;
		}
		const struct type_member *member =
			type_has_members(&type) ? member_around(types, &type, ret->into, unions)
						: NULL;
		if (!member)
			break;
		types_place_add_member(member, path);
		ret->into -= member->bits / 8;
		ret->owner = ret->type;
		ret->type = types_plain(types, member->type);
		if (member->bit_size)
			break;
	}
}

void types_locate(struct types *types, uint32_t number, uint64_t offset, struct types_place *ret,
	struct text *path)
{
	types_place_locate(types, number, offset, ret, path, 0);
}

bool types_open_end(const struct types *types, uint32_t number, uint32_t *ret_element,
	uint64_t *ret_at, struct text *path)
{
	*ret_at = 0;
	for (unsigned depth = 0; depth < TYPES_DEPTH_MAX; depth++) {
		const struct type *of = types_get(types, types_plain(types, number));
		*ret_element = types_plain(types, of->target);
		if (of->kind == TYPE_ARRAY)
			return !of->count && depth;
		if (!type_has_members(of) || of->kind == TYPE_UNION || !of->member_count)
			return false;
		const struct type_member *last = &of->members[of->member_count - 1];
		types_place_add_member(last, path);
		*ret_at += last->bits / 8;
		number = last->type;
	}
	return false;
}
