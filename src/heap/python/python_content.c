/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python_content.h"

#include <inttypes.h>
#include <string.h>

#include "heap/python/python_texts.h"

#define DEPTH_MAX 16u
#define PORTION 512u

struct writing {
	struct python *python;
	const struct python_limits *limits;
	struct text *out;
	uint64_t path[DEPTH_MAX]; /* containers that are being written */
	unsigned depth;
	bool cut;
};

uint64_t python_object_at(struct python *python, uint64_t address)
{
	/* What the garbage collector, the interpreter and its debugging keep before an object. */
	static const uint8_t before[] = {0, 16, 32, 48, 64};
	for (unsigned i = 0; i < sizeof(before); i++) {
		if (python_type_of(python, address + before[i]))
			return address + before[i];
	}
	return 0;
}

static void add_cut(struct writing *w)
{
	text_add(w->out, "…");
	w->cut = true;
}

/* Which quotes Python takes: single ones, unless only they are in it. */
static char find_quote(struct python *python, const struct python_text *text, uint64_t count)
{
	uint8_t bytes[PORTION];
	bool has_single = false, has_double = false;
	for (uint64_t at = 0; at < count * text->width;) {
		uint64_t left = count * text->width - at;
		size_t len = left < PORTION ? (size_t)left : PORTION;
		if (address_space_read(python->space, text->address + at, bytes, len) != len)
			break;
		for (size_t i = 0; i < len; i += text->width) {
			uint32_t c = 0;
			memcpy(&c, bytes + i, text->width);
			has_single |= c == '\'';
			has_double |= c == '"';
		}
		at += len;
	}
	return has_single && !has_double ? '"' : '\'';
}

/* `plain_only`: as Python writes bytes, and Python 2 all texts. */
static void add_escaped(struct text *out, uint32_t c, char quote, bool plain_only)
{
	static const char plain[] = "\n\r\t\\", names[] = "nrt\\";
	const char *special = c && c < 128 ? strchr(plain, (int)c) : NULL;
	if (special)
		text_printf(out, "\\%c", names[special - plain]);
	else if (c == (unsigned char)quote)
		text_printf(out, "\\%c", quote);
	else if (c > 0x10ffff)
		text_add_char(out, '?');
	else if (python_is_printable(c) && !(plain_only && c > 126))
		python_text_add_character(out, c);
	else if (c < 0x100)
		text_printf(out, "\\x%02" PRIx32, c);
	else if (c < 0x10000)
		text_printf(out, "\\u%04" PRIx32, c);
	else
		text_printf(out, "\\U%08" PRIx32, c);
}

static bool python_content_add_text(
	struct writing *w, uint64_t object, const struct python_type *type)
{
	struct python_text text = {.width = 1};
	uint8_t bytes[PORTION];
	bool is_bytes = type->flags & PYTHON_FLAG_BYTES;
	bool is_new = is_bytes && python_type_is(w->python, type->address, "bytes");
	bool is_old = !is_bytes && python_type_is(w->python, type->address, "unicode");
	if (is_bytes ? !python_bytes_find(w->python, object, &text.address, &text.length)
		     : !python_text_find(w->python, object, &text))
		return false;
	uint64_t count = text.length < w->limits->characters ? text.length : w->limits->characters;
	char quote = find_quote(w->python, &text, count);
	text_add(w->out, is_new ? "b" : is_old ? "u" : "");
	text_add_char(w->out, quote);
	uint64_t at = 0;
	while (at < count * text.width) {
		uint64_t left = count * text.width - at;
		size_t len = left < PORTION ? (size_t)left : PORTION;
		if (address_space_read(w->python->space, text.address + at, bytes, len) != len)
			break;
		for (size_t i = 0; i < len; i += text.width) {
			uint32_t c = 0;
			memcpy(&c, bytes + i, text.width);
			add_escaped(w->out, c, quote, is_bytes || is_old);
		}
		at += len;
	}
	text_add_char(w->out, quote);
	if (at < text.length * text.width)
		add_cut(w);
	return true;
}

static void add_object(struct writing *w, uint64_t object);

/* Whether it is on its way already: it contains itself. */
static bool is_open(const struct writing *w, uint64_t object)
{
	for (unsigned i = 0; i < w->depth; i++) {
		if (w->path[i] == object)
			return true;
	}
	return false;
}

/* `as_pairs`: "('a', 1)" instead of "'a': 1". */
static void add_items(struct writing *w, struct python_items *items, bool as_pairs)
{
	uint64_t key, value;
	size_t count = 0;
	while (python_items_next(items, &key, &value)) {
		text_add(w->out, count ? ", " : "");
		if (count++ == w->limits->items || w->out->len > w->limits->bytes) {
			add_cut(w);
			break;
		}
		text_add(w->out, as_pairs ? "(" : "");
		add_object(w, key);
		if (!items->has_values)
			continue;
		text_add(w->out, as_pairs ? ", " : ": ");
		add_object(w, value);
		text_add(w->out, as_pairs ? ")" : "");
	}
	if (items->unread) {
		text_add(w->out, count ? ", " : "");
		add_cut(w);
	}
}

static bool add_container(struct writing *w, uint64_t object, const struct python_type *type)
{
	struct python_items items;
	if (!python_items_begin(w->python, object, type, &items))
		return false;
	bool is_list = type->flags & PYTHON_FLAG_LIST, is_tuple = type->flags & PYTHON_FLAG_TUPLE;
	bool is_dict = type->flags & PYTHON_FLAG_DICT;
	static const char *const plain[] = {"list", "tuple", "dict", "set"};
	bool named = true;
	for (unsigned i = 0; i < 4; i++)
		named &= strcmp(type->name, plain[i]) != 0;
	const char *dot = strrchr(type->name, '.');
	bool is_ordered = is_dict && dot && !strcmp(dot, ".OrderedDict");
	bool as_pairs = is_ordered && !python_is_since_3_12(w->python);
	bool bare = !is_list && !is_tuple && (!is_dict || is_ordered) && !items.count;
	if (named || bare) {
		text_add_plain(w->out, dot ? dot + 1 : type->name);
		text_add(w->out, bare ? "()" : "(");
	}
	if (bare)
		return true;
	text_add(w->out, is_list || as_pairs ? "[" : is_tuple ? "(" : "{");
	if (is_open(w, object)) {
		text_add(w->out, "...");
	} else if (items.count && (w->depth >= w->limits->depth || w->depth >= DEPTH_MAX)) {
		add_cut(w);
	} else {
		w->path[w->depth++] = object;
		add_items(w, &items, as_pairs);
		w->depth--;
	}
	text_add(w->out, is_tuple && items.count == 1 ? "," : "");
	text_add(w->out, is_list || as_pairs ? "]" : is_tuple ? ")" : "}");
	text_add(w->out, named ? ")" : "");
	return true;
}

/* What is written out. False: the object is of another type. */
static bool add_known(struct writing *w, uint64_t object, const struct python_type *type)
{
	if (!strcmp(type->name, "NoneType")) {
		text_add(w->out, "None");
		return true;
	}
	if (type->flags & (PYTHON_FLAG_TEXT | PYTHON_FLAG_BYTES) &&
		python_content_add_text(w, object, type))
		return true;
	return python_number_add(w->python, object, type, w->out, &w->cut) ||
	       add_container(w, object, type);
}

static void add_object(struct writing *w, uint64_t object)
{
	const struct python_type *found = python_type_of(w->python, object);
	if (!found) {
		text_printf(w->out, "<? at 0x%" PRIx64 ">", object);
		return;
	}
	const struct python_type type = *found;
	if (add_known(w, object, &type))
		return;
	found = type.flags & PYTHON_FLAG_TYPE ? python_type(w->python, object) : NULL;
	text_add(w->out, found ? "<class '" : "<");
	text_add_plain(w->out, found ? found->name : type.name);
	if (found)
		text_add(w->out, "'>");
	else
		text_printf(w->out, " at 0x%" PRIx64 ">", object);
}

void python_describe(struct python *python, uint64_t object, const struct python_limits *limits,
	struct text *ret, bool *ret_cut)
{
	struct writing w = {.python = python, .limits = limits, .out = ret};
	add_object(&w, object);
	*ret_cut = w.cut;
}
