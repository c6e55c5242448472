/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/block_type.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/stacks/frame_maker.h"
#include "base/cleanup.h"
#include "symbols/types.h"

/* Callers of functions that hand memory on, and frames of allocators. */
#define CALLERS_MAX 8u

struct block_types {
	struct resolver *resolver;
	struct types *types; /* NULL: not asked for yet */
};

struct error *block_types_create(struct resolver *resolver, struct block_types **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_no_memory();
	(*ret)->resolver = resolver;
	return NULL;
}

void block_types_destroy(struct block_types *types)
{
	if (types)
		types_destroy(types->types);
	free(types);
}

void block_member_init(struct block_member *member)
{
	*member = (struct block_member){.is_padding = false};
	text_init(&member->type);
	text_init(&member->member);
	text_init(&member->by);
}

void block_member_deinit(struct block_member *member)
{
	text_deinit(&member->type);
	text_deinit(&member->member);
	text_deinit(&member->by);
}

/* The last member that ends before an offset, which is in none. */
static const char *find_before(const struct type *type, uint64_t offset)
{
	const struct type_member *last = NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *one = &type->members[i];
		uint64_t at = one->bits / 8;
		if (at < offset && (!last || at >= last->bits / 8) &&
			one->kind != MEMBER_VIRTUAL_BASE)
			last = one;
	}
	return last ? last->name : NULL;
}

static void describe_member(struct types *types, const struct types_allocation *found,
	uint64_t bytes, uint64_t offset, struct block_member *ret)
{
	struct types_place place;
	uint64_t size = types_get(types, found->type)->size;
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	types_declare(types, found->type, "", &ret->type);
	types_locate(types, found->type, offset % size, &place, &path);
	const struct type *there = types_get(types, place.type);
	ret->is_padding = type_has_members(there);
	ret->is_sure = found->is_declared_there;
	if (bytes > size) /* an array of them */
		text_printf(&ret->member, "[%" PRIu64 "]%s", offset / size, path.len ? "." : "");
	text_add(&ret->member, path.len ? path.data : "");
	const char *before = ret->is_padding ? find_before(there, place.into) : NULL;
	if (before)
		text_printf(&ret->member, "%s%s", ret->member.len ? "." : "", before);
	text_add(&ret->by, found->variable ? found->variable : "");
}

static struct error *find_at(struct block_types *t, struct code_address code, uint64_t bytes,
	uint64_t offset, bool *ret_settled, struct block_member *ret)
{
	struct types_allocation found;
	types_add_module(t->types, code.module);
	*ret_settled = types_allocation(t->types, code.module, code.address, bytes, &found);
	if (found.type != TYPE_VOID)
		describe_member(t->types, &found, bytes, offset, ret);
	bool failed =
		types_failed(t->types) || ret->type.failed || ret->member.failed || ret->by.failed;
	return failed ? error_no_memory() : NULL;
}

struct error *block_types_find(struct block_types *t, struct stack_id stack, uint64_t bytes,
	uint64_t offset, struct block_member *ret)
{
	bool settled = !bytes || offset >= bytes;
	struct error *error = NULL;
	if (!settled && !t->types)
		error = types_create(resolver_symbols(t->resolver), &t->types);
	for (unsigned i = 0; !error && !settled && i < CALLERS_MAX && stack.value; i++) {
		struct code_address code;
		error = resolver_code(t->resolver, &stack, &code);
		if (!error && code.module == NO_MODULE)
			return NULL;
		if (!error)
			error = find_at(t, code, bytes, offset, &settled, ret);
	}
	return error;
}

void block_member_add(const struct block_member *member, uint64_t offset, struct text *text)
{
	if (!member->type.len)
		return;
	text_printf(
		text, "offset %" PRIu64 " of it is %s", offset, member->is_sure ? "" : "perhaps ");
	if (member->is_padding)
		text_printf(text, "padding%s", member->member.len ? " after " : "");
	text_printf(text, "%s, of %s (", member->member.len ? member->member.data : "",
		member->type.data);
	if (member->by.len)
		text_printf(text, "to which %s points", member->by.data);
	else
		text_add(text, "to which the function returns a pointer");
	text_add(text, member->is_sure ? ")" : ", the only one of that size there)");
}
