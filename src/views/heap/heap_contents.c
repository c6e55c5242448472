/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	[3]{1: "one", 2: "two", 3: "three"}     a map
 *	#1 2.5                                  a variant
 *	empty                                   an optional, a function
 */
#include "views/heap/heap_contents_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/member_columns.h"

/* An element that is larger is cut. */
#define ELEMENT_BYTES_MOST (64u << 10)
/* Of a container that is inside of another. */
#define INNER_ELEMENTS 8u
#define INNER_DEPTH 3u
#define BITS_SHOWN 256u

static uint64_t address_of(const struct heap_values *v, uint64_t bits)
{
	return v->address + bits / 8;
}

bool heap_contents_read(
	const struct heap_values *v, uint32_t plain, uint64_t bits, struct contents *ret)
{
	return !v->raw && v->address && v->depth < INNER_DEPTH && contents_knows(v->types, plain) &&
	       contents_read(v->scan, v->types, plain, address_of(v, bits), ret);
}

/* The value of what lies at an address. */
static void add_at(
	struct heap_values *v, uint32_t type, uint64_t address, unsigned depth, struct text *text)
{
	uint64_t size = types_get(v->types, types_plain(v->types, type))->size;
	size_t wanted = (size_t)min(size, (uint64_t)ELEMENT_BYTES_MOST);
	_cleanup_free_ uint8_t *bytes = malloc(wanted + 1);
	if (!bytes) {
		text->failed = true;
		return;
	}
	struct heap_values inner = {.scan = v->scan,
		.types = v->types,
		.bytes = bytes,
		.size = size,
		.address = address,
		.elements = min(v->elements, (size_t)INNER_ELEMENTS),
		.most = v->most,
		.is_short = true,
		.depth = depth,
		.parts = v->parts};
	inner.len = address_space_read(v->scan->heap.space, address, bytes, wanted);
	if (inner.len < wanted)
		text_add_char(text, '?');
	else
		heap_values_add(&inner, type, 0, 0, text);
	if (v->error)
		error_destroy(inner.error);
	else
		v->error = inner.error;
}

/* Whether a type is a pair, and where its second part lies. */
static bool find_pair(struct heap_values *v, uint32_t type, uint64_t offsets[2], uint32_t parts[2])
{
	return (contents_member(v->types, type, "first", &offsets[0], &parts[0]) &&
		       contents_member(v->types, type, "second", &offsets[1], &parts[1])) ||
	       (contents_member(v->types, type, "__0", &offsets[0], &parts[0]) &&
		       contents_member(v->types, type, "__1", &offsets[1], &parts[1]));
}

struct adding {
	struct heap_values *values;
	struct text *text; /* NULL: `kept` */
	struct heap_contents *kept;
	bool are_pairs, are_apart, is_cut;
	size_t start; /* of the text */
	uint64_t offsets[2];
	uint32_t parts[2];
};

static char *value_at(struct adding *a, uint32_t type, uint64_t address)
{
	struct text text;
	text_init(&text);
	add_at(a->values, type, address, a->values->depth + 1, &text);
	return text_steal(&text);
}

/* Takes over the texts of a value, or of a pair whose value follows. */
static bool keep_one(struct adding *a, struct heap_content one)
{
	bool has_key = a->are_pairs || a->are_apart;
	bool ok = (one.value || a->are_apart) && (one.key || !has_key) &&
		  heap_content_vec_push(&a->kept->elements, one);
	if (!ok) {
		free(one.key);
		free(one.value);
		a->kept->no_memory = true;
	}
	return ok;
}

static bool heap_contents_keep(struct adding *a, uint32_t type, uint64_t address)
{
	struct heap_content one = {NULL, NULL};
	if (a->are_pairs)
		one.key = value_at(a, a->parts[0], address + a->offsets[0]);
	one.value = value_at(a, a->are_pairs ? a->parts[1] : type,
		a->are_pairs ? address + a->offsets[1] : address);
	return keep_one(a, one);
}

/* Half of a pair: a key, or the value of the one before. */
static bool take_half(struct adding *a, uint64_t number, uint32_t type, uint64_t address)
{
	bool is_value = number % 2;
	if (a->text) {
		text_add(a->text, is_value ? ": " : number ? ", " : "");
		add_at(a->values, type, address, a->values->depth + 1, a->text);
		return !a->text->failed;
	}
	if (!is_value)
		return keep_one(a, (struct heap_content){value_at(a, type, address), NULL});
	char *value = value_at(a, type, address);
	a->kept->elements.data[a->kept->elements.len - 1].value = value;
	a->kept->no_memory = a->kept->no_memory || !value;
	return value != NULL;
}

static bool heap_contents_take(void *context, uint64_t number, uint32_t type, uint64_t address)
{
	struct adding *a = context;
	bool is_full = a->text && number && a->text->len - a->start > a->values->most;
	if (a->are_apart && (number % 2 || !is_full))
		return take_half(a, number, type, address);
	if (!a->text)
		return heap_contents_keep(a, type, address);
	if (is_full) {
		a->is_cut = true;
		return false;
	}
	text_add(a->text, number ? ", " : "");
	add_at(a->values, a->are_pairs ? a->parts[0] : type, address + a->offsets[0],
		a->values->depth + 1, a->text);
	if (a->are_pairs) {
		text_add(a->text, ": ");
		add_at(a->values, a->parts[1], address + a->offsets[1], a->values->depth + 1,
			a->text);
	}
	return !a->text->failed;
}

/* So many of the elements are shown. */
static uint64_t shown_of(const struct heap_values *v, const struct contents *c)
{
	return c->kind == CONTENTS_PARTS ? c->count : min(c->count, (uint64_t)v->elements);
}

static struct adding adding_of(struct heap_values *v, const struct contents *c, struct text *text)
{
	struct adding a = {.values = v, .text = text, .start = text ? text->len : 0};
	a.are_apart = contents_are_apart(c);
	a.are_pairs = c->kind == CONTENTS_PAIRS && !a.are_apart &&
		      find_pair(v, c->type, a.offsets, a.parts);
	if (!a.are_pairs)
		a.offsets[0] = 0;
	return a;
}

static void add_elements(struct heap_values *v, const struct contents *c, struct text *text)
{
	struct adding a = adding_of(v, c, text);
	if (contents_is_counted(c))
		text_printf(text, "[%" PRIu64 "]", c->count);
	text_add_char(text, '{');
	uint64_t most = shown_of(v, c);
	uint64_t shown = contents_each(v->scan, v->types, c, most, heap_contents_take, &a);
	shown -= a.is_cut; /* the one that was refused */
	if (shown < most && !a.is_cut)
		text_printf(
			text, "%s… %" PRIu64 " can't be read", shown ? ", " : "", c->count - shown);
	else if (shown < c->count)
		text_printf(text, "%s… %" PRIu64 " more", shown ? ", " : "", c->count - shown);
	text_add_char(text, '}');
}

/* The first one comes first. */
static void add_bits(const struct heap_values *v, const struct contents *c, struct text *text)
{
	uint64_t shown = min(c->count, (uint64_t)BITS_SHOWN);
	text_printf(text, "[%" PRIu64 "]{", c->count);
	for (uint64_t i = 0; i < shown; i++) {
		uint8_t byte;
		if (!address_space_read(v->scan->heap.space, c->address + i / 8, &byte, 1))
			break;
		text_add_char(text, byte >> i % 8 & 1 ? '1' : '0');
	}
	text_add(text, shown < c->count ? "…}" : "}");
}

static void add_one(struct heap_values *v, const struct contents *c, struct text *text)
{
	if (c->is_empty) {
		text_add(text, c->has_index ? "valueless" : "empty");
		return;
	}
	if (c->has_index)
		text_printf(text, "#%" PRIu64 " ", c->index);
	if (c->is_type_shown)
		text_add_shown(text, c->name, 200);
	if (c->type == TYPE_VOID)
		return;
	text_add(text, c->is_type_shown ? " " : "");
	/* What is there is a part of it, which is no further step inside, unless it lies elsewhere.
	 * Damaged debug information may have parts without end. */
	bool is_part = v->depth && v->parts < TYPES_DEPTH_MAX && strcmp(c->what, "any") != 0;
	v->parts += is_part;
	add_at(v, c->type, c->address, v->depth + !is_part, text);
	v->parts -= is_part;
}

void heap_contents_add(struct heap_values *v, const struct contents *c, struct text *text)
{
	bool was_short = v->is_short;
	switch (c->kind) {
	case CONTENTS_TEXT:
		if (c->unit > 1)
			heap_values_add_wide_text(v, c->address, c->count, c->unit, text);
		else
			heap_values_add_text(v, c->address, c->count, text);
		break;
	case CONTENTS_BITS:
		add_bits(v, c, text);
		break;
	case CONTENTS_CALLED:
		text_add_shown(text, c->is_empty ? "empty" : c->name, 200);
		break;
	case CONTENTS_ONE:
		add_one(v, c, text);
		break;
	case CONTENTS_POINTER:
		heap_values_add(v, c->type, 8 * (c->address - v->address), 0, text);
		break;
	default:
		v->is_short = true;
		add_elements(v, c, text);
		v->is_short = was_short;
	}
}

void heap_contents_empty(struct heap_contents *contents)
{
	for (size_t i = 0; i < contents->elements.len; i++) {
		free(contents->elements.data[i].key);
		free(contents->elements.data[i].value);
	}
	heap_content_vec_clear(&contents->elements);
}

void heap_contents_deinit(struct heap_contents *contents)
{
	heap_contents_empty(contents);
	heap_content_vec_deinit(&contents->elements);
}

/* What a program may want one by one. */
static bool has_elements(const struct contents *c)
{
	return contents_is_counted(c) || c->kind == CONTENTS_PARTS;
}

void heap_contents_fill(struct heap_values *v, const struct contents *c, struct heap_contents *ret)
{
	heap_contents_empty(ret);
	ret->contents = *c;
	ret->unread = ret->more = 0;
	ret->are_pairs = false;
	if (!has_elements(c))
		return;
	struct adding a = adding_of(v, c, NULL);
	uint64_t most = shown_of(v, c);
	a.kept = ret;
	ret->are_pairs = a.are_pairs || a.are_apart;
	uint64_t shown = contents_each(v->scan, v->types, c, most, heap_contents_take, &a);
	*(shown < most ? &ret->unread : &ret->more) = c->count - shown;
}

static const struct column element_columns[] = {
	{"", COLUMN_TEXT, .says = "a value", COLUMN_OF(heap_content, value)}, COLUMNS_END};
static const struct table_type element_type = {
	.columns = element_columns, .row_bytes = sizeof(struct heap_content)};
static const struct column pair_columns[] = {WORD_OF(heap_content, key, "as a value"),
	WORD_OF(heap_content, value, "likewise"), COLUMNS_END};
static const struct table_type pair_type = {
	.columns = pair_columns, .row_bytes = sizeof(struct heap_content)};

enum { KIND, FUNCTION, EMPTY, INDEX, TYPE, COUNT, PAIRS, ELEMENTS, UNREAD, MORE, COLUMNS };
static const struct column columns[] = {
	[KIND] = {"kind", COLUMN_TEXT, .says = "`vector`, `map`, `optional`…"},
	[FUNCTION] = {"function", COLUMN_TEXT, .optional = true,
		.says = "of what can be called: its name, or null"},
	[EMPTY] = {"empty", COLUMN_BOOLEAN, .optional = true,
		.says = "of what holds one thing: there is none"},
	[INDEX] = {"index", COLUMN_INTEGER, .optional = true,
		.says = "of a variant: which alternative"},
	[TYPE] = {"type", COLUMN_TEXT, .optional = true,
		.says = "of an `any`: what is in it, or null"},
	[COUNT] = {"count", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "of elements, parts, bits or characters"},
	[PAIRS] = {"pairs", COLUMN_TABLE, .optional = true, .says = "of maps",
		.nested = &pair_type},
	[ELEMENTS] = {"elements", COLUMN_LIST, .optional = true, .says = "of other containers",
		.nested = &element_type},
	[UNREAD] = {"unread", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "elements that are missing: a link ends, or points to memory that can't be "
			"read"},
	[MORE] = {"more", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "elements that the limit left out"},
	COLUMNS_END};

static void heap_contents_cell_of(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_contents *of = context;
	const struct contents *c = &of->contents;
	bool is_one = c->kind == CONTENTS_ONE, is_called = c->kind == CONTENTS_CALLED;
	bool has_count = !is_one && !is_called && c->kind != CONTENTS_POINTER;
	const bool has[COLUMNS] = {[KIND] = true,
		[FUNCTION] = is_called,
		[EMPTY] = is_one,
		[INDEX] = is_one && c->has_index && !c->is_empty,
		[TYPE] = is_one && c->is_type_shown,
		[COUNT] = has_count,
		[PAIRS] = has_elements(c) && of->are_pairs,
		[ELEMENTS] = has_elements(c) && !of->are_pairs,
		[UNREAD] = of->unread > 0,
		[MORE] = of->more > 0};
	const uint64_t numbers[COLUMNS] = {
		[INDEX] = c->index, [COUNT] = c->count, [UNREAD] = of->unread, [MORE] = of->more};
	(void)row;
	ret->state = has[column] ? CELL_KNOWN : CELL_ABSENT;
	ret->number = numbers[column];
	ret->truth = c->is_empty;
	ret->text = column == KIND ? c->what : c->is_empty ? NULL : c->name;
	ret->nested = (struct table){of->are_pairs ? &pair_type : &element_type, of->elements.data,
		of->elements.len, .limit = TABLE_NO_LIMIT};
}

const struct table_type heap_contents_type = {.columns = columns, .cell = heap_contents_cell_of};
