/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/choices.h"

#include <string.h>

#include "base/util.h"
#include "heap/types/nodes.h"

/* rest: in which the other alternatives are; NULL: there is one, if the number is 1. */
static const struct choice_form {
	const char *class, *content, *which, *first, *rest;
	bool libcxx; /* names are those after its inline namespace */
} forms[] = {
	{"std::_Optional_payload_base<", "_M_payload", "_M_engaged", "_M_value", NULL, false},
	{"std::__detail::__variant::_Variant_storage<", "_M_u", "_M_index", "_M_first", "_M_rest",
		false},
	{"__optional_destruct_base<", NULL, "__engaged_", "__val_", NULL, true},
	{"__variant_detail::__base<", "__data", "__index", "__head", "__tail", true},
};

static bool is_form(const struct choice_form *form, const char *name)
{
	const char *own = form->libcxx ? nodes_libcxx_name(name) : name;
	return own && !strncmp(own, form->class, strlen(form->class));
}

/* NULL: a member without a name. */
static const struct type_member *find_member(const struct type *type, const char *name)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		bool is_it = name ? member->name && !strcmp(member->name, name) : !member->name;
		if (is_it && member->kind == MEMBER_PLAIN && !member->bit_size)
			return member;
	}
	return NULL;
}

bool choices_find(const struct types *types, uint32_t plain, struct choice *ret)
{
	const struct type *type = types_get(types, plain);
	const struct choice_form *form = NULL;
	if (!type->name || strncmp(type->name, "std::", 5) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forms) && !form; i++)
		form = is_form(&forms[i], type->name) ? &forms[i] : NULL;
	const struct type_member *content = form ? find_member(type, form->content) : NULL;
	const struct type_member *which = form ? find_member(type, form->which) : NULL;
	if (!content || !which)
		return false;
	const struct type *number = types_get(types, types_plain(types, which->type));
	*ret = (struct choice){.content = types_plain(types, content->type),
		.at = content->bits / 8,
		.which = which->bits / 8,
		.bytes = (uint8_t)number->size,
		.value = form->rest ? 0 : 1,
		.form = form};
	return number->kind == TYPE_NUMBER &&
	       (number->size == 1 || number->size == 2 || number->size == 4);
}

bool choices_next(const struct types *types, struct choice *choice, uint32_t *ret)
{
	const struct type *content = types_get(types, choice->content);
	const struct type_member *first = find_member(content, choice->form->first);
	if (content->kind != TYPE_UNION || !first)
		return false;
	const struct type_member *rest =
		choice->form->rest ? find_member(content, choice->form->rest) : NULL;
	*ret = types_plain(types, first->type);
	choice->content = rest ? types_plain(types, rest->type) : TYPE_VOID;
	return true;
}
