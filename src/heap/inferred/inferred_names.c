/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What blocks of a type of debug information's are called. */
#include "heap/cxx.h"
#include "heap/inferred/inferred_find.h"

#define NAMES_MOST 4u

/* A type without a name is identified by its first members: "struct {next, number}". */
static void name_by_members(const struct types *types, const struct type *of, struct text *name)
{
	unsigned count = 0;
	text_add(name, of->kind == TYPE_UNION ? "union {" : "struct {");
	for (uint32_t i = 0; i < of->member_count && count <= NAMES_MOST; i++) {
		const struct type_member *member = &of->members[i];
		const char *own =
			member->name && member->kind != MEMBER_BASE
				? member->name
				: types_get(types, types_plain(types, member->type))->name;
		text_add(name, count ? ", " : "");
		text_add(name, count++ == NAMES_MOST || !own ? "…" : own);
	}
	text_add(name, "}");
}

void inferred_add_name(struct inferring *inferring, uint32_t type, bool is_array, struct text *name)
{
	struct inferring *f = inferring;
	const struct type *of = types_get(f->types, type);
	if (of->is_rust && of->name)
		rust_add_name(name, of->name);
	else if (type_has_members(of) && of->name)
		cxx_add_plain_name(name, of->name);
	else if (type_has_members(of))
		name_by_members(f->types, of, name);
	else
		types_declare(f->types, type, "", name);
	if (is_array)
		text_add(name, "[]");
}
