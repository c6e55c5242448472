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
#include "views/report/json_parts.h"

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
	       contents_read(v->survey, v->types, plain, address_of(v, bits), ret);
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
	struct heap_values inner = {.survey = v->survey,
		.types = v->types,
		.bytes = bytes,
		.size = size,
		.address = address,
		.elements = min(v->elements, (size_t)INNER_ELEMENTS),
		.most = v->most,
		.is_short = true,
		.depth = depth,
		.parts = v->parts};
	inner.len = address_space_read(v->survey->heap.space, address, bytes, wanted);
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
	struct text *text; /* NULL: `json` */
	struct json *json;
	bool are_pairs, are_apart, is_cut;
	size_t start; /* of the text */
	uint64_t offsets[2];
	uint32_t parts[2];
};

static void put_json_at(struct adding *a, const char *key, uint32_t type, uint64_t address)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_at(a->values, type, address, a->values->depth + 1, &text);
	if (key)
		json_put_string(a->json, key, text.data ? text.data : "");
	else
		json_string(a->json, text.data ? text.data : "");
}

/* Half of a pair: a key or a value. */
static void take_half(struct adding *a, uint64_t number, uint32_t type, uint64_t address)
{
	bool is_value = number % 2;
	if (a->text) {
		text_add(a->text, is_value ? ": " : number ? ", " : "");
		add_at(a->values, type, address, a->values->depth + 1, a->text);
		return;
	}
	if (!is_value)
		json_object_begin(a->json);
	put_json_at(a, is_value ? "value" : "key", type, address);
	if (is_value)
		json_object_end(a->json);
}

static bool take(void *context, uint64_t number, uint32_t type, uint64_t address)
{
	struct adding *a = context;
	if (a->are_apart &&
		(number % 2 || !a->text || !number || a->text->len - a->start <= a->values->most)) {
		take_half(a, number, type, address);
		return !a->text || !a->text->failed;
	}
	if (a->text && number && a->text->len - a->start > a->values->most) {
		a->is_cut = true;
		return false;
	}
	if (a->json && a->are_pairs) {
		json_object_begin(a->json);
		put_json_at(a, "key", a->parts[0], address + a->offsets[0]);
		put_json_at(a, "value", a->parts[1], address + a->offsets[1]);
		json_object_end(a->json);
	} else if (a->json) {
		put_json_at(a, NULL, type, address);
	} else {
		text_add(a->text, number ? ", " : "");
		add_at(a->values, a->are_pairs ? a->parts[0] : type, address + a->offsets[0],
			a->values->depth + 1, a->text);
		if (a->are_pairs) {
			text_add(a->text, ": ");
			add_at(a->values, a->parts[1], address + a->offsets[1],
				a->values->depth + 1, a->text);
		}
	}
	return !a->text || !a->text->failed;
}

/* So many of the elements are shown. */
static uint64_t shown_of(const struct heap_values *v, const struct contents *c)
{
	return c->kind == CONTENTS_PARTS ? c->count : min(c->count, (uint64_t)v->elements);
}

static struct adding adding_of(
	struct heap_values *v, const struct contents *c, struct text *text, struct json *json)
{
	struct adding a = {.values = v, .text = text, .json = json, .start = text ? text->len : 0};
	a.are_apart = contents_are_apart(c);
	a.are_pairs = c->kind == CONTENTS_PAIRS && !a.are_apart &&
		      find_pair(v, c->type, a.offsets, a.parts);
	if (!a.are_pairs)
		a.offsets[0] = 0;
	return a;
}

static void add_elements(struct heap_values *v, const struct contents *c, struct text *text)
{
	struct adding a = adding_of(v, c, text, NULL);
	if (contents_is_counted(c))
		text_printf(text, "[%" PRIu64 "]", c->count);
	text_add_char(text, '{');
	uint64_t most = shown_of(v, c);
	uint64_t shown = contents_each(v->survey, v->types, c, most, take, &a);
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
		if (!address_space_read(v->survey->heap.space, c->address + i / 8, &byte, 1))
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
	if (c->is_type_told)
		text_add_shown(text, c->name, 200);
	if (c->type == TYPE_VOID)
		return;
	text_add(text, c->is_type_told ? " " : "");
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

void heap_contents_put(struct heap_values *v, const struct contents *c, struct json *json)
{
	json_key(json, "contents");
	json_object_begin(json);
	json_put_string(json, "kind", c->what);
	if (c->kind == CONTENTS_CALLED) {
		json_put_string(json, "function", c->is_empty ? NULL : c->name);
	} else if (c->kind == CONTENTS_ONE) {
		json_put_bool(json, "empty", c->is_empty);
		if (c->has_index && !c->is_empty)
			json_put_u64(json, "index", c->index);
		if (c->is_type_told)
			json_put_string(json, "type", c->is_empty ? NULL : c->name);
	} else if (c->kind != CONTENTS_POINTER) {
		json_put_u64(json, "count", c->count);
	}
	if (contents_is_counted(c) || c->kind == CONTENTS_PARTS) {
		struct adding a = adding_of(v, c, NULL, json);
		json_key(json, a.are_pairs || a.are_apart ? "pairs" : "elements");
		json_array_begin(json);
		uint64_t most = shown_of(v, c);
		uint64_t shown = contents_each(v->survey, v->types, c, most, take, &a);
		json_array_end(json);
		if (shown < c->count)
			json_put_u64(json, shown < most ? "unread" : "more", c->count - shown);
	}
	json_object_end(json);
}
