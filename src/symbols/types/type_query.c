/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types by names as people write them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/types/type_store.h"
#include "symbols/types_spelling.h"

struct meaning {
	const char *name;
	uint32_t type;
};
DEFINE_VEC(meanings, struct meaning)

struct finding {
	struct types *types;
	const char *spelling, *word;
	struct meanings same, ends;
};

/* The last word of a spelling, which a name has to have. */
static void add_last_word(const char *spelling, struct text *word)
{
	const char *start = spelling;
	unsigned depth = 0;
	for (const char *at = spelling; *at; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if (*at == '>' || *at == ')')
			depth -= depth > 0;
		else if (!depth && (*at == ':' || *at == ' '))
			start = at + 1;
	}
	text_add_n(word, start, strcspn(start, "<("));
}

static bool take_name(void *context, const char *name)
{
	struct finding *f = context;
	/* A std::string has another name. */
	bool may_be = strstr(name, f->word) || !strcmp(f->word, "string");
	enum types_match match = may_be ? types_compare(name, f->spelling) : TYPES_OTHER;
	if (match == TYPES_OTHER)
		return true;
	struct meanings *found = match == TYPES_SAME ? &f->same : &f->ends;
	uint32_t type = types_plain(f->types, types_find(f->types, name));
	if (type != TYPE_VOID)
		f->types->failed |= !meanings_push(found, (struct meaning){name, type});
	return !f->types->failed;
}

static int by_type(const void *a, const void *b)
{
	const struct meaning *x = a, *y = b;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct meaning *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* A type may have several names. Returns how many types there are. */
static size_t keep_one_of_each(struct meanings *found)
{
	size_t count = 0;
	if (found->len)
		qsort(found->data, found->len, sizeof(*found->data), by_type);
	for (size_t i = 0; i < found->len; i++) {
		if (!i || found->data[i].type != found->data[count - 1].type)
			found->data[count++] = found->data[i];
	}
	return count;
}

size_t type_query(
	struct types *types, const char *name, const char **ret, size_t most, uint32_t *ret_type)
{
	_cleanup_(text_deinit) struct text spelling, word;
	text_init(&spelling);
	text_init(&word);
	types_spell(name, &spelling);
	add_last_word(spelling.data ? spelling.data : "", &word);
	types->failed |= spelling.failed || word.failed;
	struct finding f = {.types = types, .spelling = spelling.data, .word = word.data};
	if (word.len && !types->failed)
		types_each_name(types, take_name, &f);
	struct meanings *found = f.same.len ? &f.same : &f.ends;
	size_t count = keep_one_of_each(found);
	if (count)
		qsort(found->data, count, sizeof(*found->data), by_name);
	for (size_t i = 0; i < count && i < most; i++)
		ret[i] = found->data[i].name;
	if (count)
		*ret_type = found->data[count - 1].type;
	meanings_deinit(&f.same);
	meanings_deinit(&f.ends);
	return count;
}
