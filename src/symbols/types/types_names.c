/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of types: found, and written as declarations. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/types/type_store.h"
#include "symbols/types/types_entry.h"

#define NESTING_MAX 32u
#define PARAMETERS_DEPTH 3u

/* What begins with '*' is a pointer in a declarator; before '(' and '[' it is in brackets. */
struct declarator {
	struct text text;
	bool is_pointer;
};

static void put_before(struct declarator *d, const char *what)
{
	struct text text;
	text_init(&text);
	text_add(&text, what);
	if (d->text.len)
		text_add(&text, d->text.data);
	text.failed |= d->text.failed;
	text_deinit(&d->text);
	d->text = text;
}

static void put_brackets(struct declarator *d)
{
	if (!d->is_pointer)
		return;
	put_before(d, "(");
	text_add_char(&d->text, ')');
	d->is_pointer = false;
}

/* A damaged file's function may be its own parameter. */
static void put_parameters(struct types *types, struct declarator *d, const struct type *type)
{
	put_brackets(d);
	text_add_char(&d->text, '(');
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (i)
			text_add(&d->text, ", ");
		if (types->depth >= PARAMETERS_DEPTH)
			continue;
		types->depth++;
		types_declare(types, type->members[i].type, "", &d->text);
		types->depth--;
	}
	text_add(&d->text, type->member_count ? ")" : "void)");
}

static void put_base(struct types *types, uint32_t number, struct text *text)
{
	static const char *const words[] = {
		[TYPE_STRUCT] = "struct ", [TYPE_UNION] = "union ", [TYPE_ENUM] = "enum "};
	const struct type *type = types_get(types, number);
	const char *word = type->kind < ARRAY_SIZE(words) ? words[type->kind] : NULL;
	if (word && (type->is_c || !type->name))
		text_add(text, word);
	if (type->name)
		text_add(text, type->name);
	else
		text_add(text, word ? "{…}" : type->kind == TYPE_UNKNOWN ? "void" : "{…}");
}

/* "const char" or, of a pointer that is const itself, "* const". */
static void put_qualifier(
	struct types *types, struct declarator *d, const struct type *type, struct text *prefix)
{
	const struct type *of = types_get(types, type->target);
	if (of->kind == TYPE_POINTER || of->kind == TYPE_REFERENCE ||
		of->kind == TYPE_MEMBER_POINTER) {
		if (d->text.len)
			put_before(d, " ");
		put_before(d, type->name);
		put_before(d, " ");
		return;
	}
	text_add(prefix, type->name);
	text_add_char(prefix, ' ');
}

static void put_member_pointer(struct types *types, struct declarator *d, const struct type *type)
{
	uint32_t class = type->member_count ? type->members[0].type : TYPE_VOID;
	const char *name = types_get(types, class)->name;
	put_before(d, "::*");
	put_before(d, name ? name : "?");
	d->is_pointer = true;
}

void types_declare(struct types *types, uint32_t number, const char *name, struct text *text)
{
	struct declarator d = {.is_pointer = false};
	_cleanup_(text_deinit) struct text prefix;
	text_init(&d.text);
	text_init(&prefix);
	text_add(&d.text, name);
	unsigned nesting = 0;
	for (; nesting < NESTING_MAX; nesting++) {
		struct type type = *types_get(types, number);
		if (type.kind == TYPE_MEMBER_POINTER) {
			put_member_pointer(types, &d, &type);
			number = type.target;
		} else if (type.kind == TYPE_POINTER || type.kind == TYPE_REFERENCE) {
			put_before(&d, type.kind == TYPE_POINTER ? "*" : "&");
			d.is_pointer = true;
			number = types_target(types, number);
		} else if (type.kind == TYPE_ARRAY) {
			put_brackets(&d);
			if (type.count)
				text_printf(&d.text, "[%llu]", (unsigned long long)type.count);
			else
				text_add(&d.text, "[]");
			number = type.target;
		} else if (type.kind == TYPE_FUNCTION) {
			put_parameters(types, &d, &type);
			number = type.target;
		} else if (type.kind == TYPE_QUALIFIED) {
			put_qualifier(types, &d, &type, &prefix);
			number = type.target;
		} else {
			break;
		}
	}
	if (prefix.len)
		text_add(text, prefix.data);
	put_base(types, number, text);
	if (d.text.len) {
		text_add_char(text, ' ');
		text_add(text, d.text.data);
	}
	text->failed |= d.text.failed || prefix.failed;
	text_deinit(&d.text);
}

/* Enters the names that were added to the outline since. */
static void enter_names(struct types *types)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (; types->named < types->outline.types.len; types->named++) {
		const struct outline_type *one = &types->outline.types.data[types->named];
		Dwarf_Die die = one->die;
		if (!one->name || entry_flag(&die, DW_AT_declaration))
			continue;
		text_clear(&text);
		text_add(&text, one->scope);
		text_add(&text, one->name);
		const char *name = text.failed ? NULL : text.data;
		const char *kept = NULL;
		struct error *error = name ? strings_keep(&types->strings, name, &kept) : NULL;
		bool is_new = false;
		uint32_t *number =
			kept ? type_name_map_insert(&types->by_name, kept, &is_new) : NULL;
		if (error || !number)
			types->failed = true;
		error_destroy(error);
		/* A structure rather than the typedef of the same name. */
		if (number && (is_new || dwarf_tag(&types->outline.types.data[*number].die) ==
						 DW_TAG_typedef))
			*number = (uint32_t)types->named;
	}
}

const uint32_t *types_named(struct types *types, const char *name)
{
	enter_names(types);
	return type_name_map_find(&types->by_name, name);
}

static const char *without_tag(const char *name)
{
	static const char *const tags[] = {"struct ", "class ", "union ", "enum "};
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (!strncmp(name, tags[i], strlen(tags[i])))
			return name + strlen(tags[i]);
	}
	return name;
}

uint32_t types_find(struct types *types, const char *name)
{
	const uint32_t *known = types_named(types, without_tag(name));
	if (!known)
		return TYPE_VOID;
	Dwarf_Die die = types->outline.types.data[*known].die;
	return types_of_die(types, &die);
}

void types_each_name(
	struct types *types, bool (*take)(void *context, const char *name), void *context)
{
	uint32_t position = 0;
	const char *const *name;
	enter_names(types);
	while (type_name_map_next(&types->by_name, &position, &name) && take(context, *name))
		;
}

#define COMPARED_BYTES 40u

static int types_names_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* How many letters are other (Levenshtein), of names of at most this many; else UINT_MAX. */
static unsigned types_names_distance(const char *a, const char *b)
{
	size_t rows = strlen(a), columns = strlen(b);
	unsigned row[COMPARED_BYTES + 1];
	if (rows > COMPARED_BYTES || columns > COMPARED_BYTES)
		return ~0u;
	for (size_t k = 0; k <= columns; k++)
		row[k] = (unsigned)k;
	for (size_t i = 1; i <= rows; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)i;
		for (size_t k = 1; k <= columns; k++) {
			unsigned changed = corner + (types_names_lower(a[i - 1]) !=
							    types_names_lower(b[k - 1]));
			corner = row[k];
			row[k] = min(changed, min(row[k], row[k - 1]) + 1);
		}
	}
	return row[columns];
}

struct like {
	const char *name;
	unsigned score; /* less is nearer */
};
DEFINE_VEC(like_vec, struct like)

static int by_score(const void *a, const void *b)
{
	const struct like *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The part of a name after its namespaces; of templates the whole. */
static const char *last_part(const char *name)
{
	const char *last = name;
	for (const char *at = name; *at && *at != '<'; at++) {
		if (at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

static unsigned score_of(const char *wanted, const char *name)
{
	const char *part = last_part(name);
	if (!strcmp(part, wanted))
		return 0;
	if (strcasestr(part, wanted))
		return 1 + (unsigned)min(strlen(part), (size_t)1000) / 8;
	unsigned letters = types_names_distance(wanted, part);
	return letters <= 1 + strlen(wanted) / 4 ? 2 * letters : ~0u;
}

size_t types_like(struct types *types, const char *name, const char **ret, size_t most)
{
	_cleanup_(like_vec_deinit) struct like_vec found;
	like_vec_init(&found);
	enter_names(types);
	const char *wanted = last_part(without_tag(name));
	uint32_t position = 0;
	const char *const *key;
	while (type_name_map_next(&types->by_name, &position, &key)) {
		unsigned score = score_of(wanted, *key);
		if (score != ~0u && !like_vec_push(&found, (struct like){*key, score}))
			types->failed = true;
	}
	if (found.len)
		qsort(found.data, found.len, sizeof(*found.data), by_score);
	size_t count = min(found.len, most);
	for (size_t i = 0; i < count; i++)
		ret[i] = found.data[i].name;
	return count;
}
