/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python/python_texts.h"

#include <string.h>

#define LENGTH_MAX (1ull << 40)
#define BASES_MAX 64u

/* PyASCIIObject: words. */
#define TEXT_LENGTH 2u
#define TEXT_STATE 4u
#define TEXT_WORDS 5u
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT(state) ((state) >> 5 & 1)
#define STATE_ASCII(state) ((state) >> 6 & 1)
/* From 3.14 on whether it is interned takes 16 bits. */
#define STATE_MOVED 14u
/* sizeof(PyUnicodeObject): 80, from 3.12 on 64. It ends with where the characters are, if they are
 * not right after; those of ASCII are even before that. */
#define TEXT_BYTES_OLD 80u
#define ASCII_BYTES_OLD 48u
#define ASCII_BYTES 40u
/* PyUnicodeObject of Python 2: words. */
#define OLD_LENGTH 2u
#define OLD_CHARACTERS 3u
#define CHARACTER_MAX 0x10ffffu

/* Size of `str` itself, which a type may be derived from; 0: it is not. */
static uint64_t text_bytes(struct python *python, uint64_t type)
{
	for (unsigned i = 0; i < BASES_MAX && type; i++) {
		const struct python_type *one = python_type(python, type);
		if (!one)
			return 0;
		if (!strcmp(one->name, "str"))
			return one->own_bytes;
		if (!python_type_base(python, type, &type))
			return 0;
	}
	return 0;
}

static bool find_old(struct python *python, uint64_t object, struct python_text *ret)
{
	uint64_t words[4], last = 1;
	if (address_space_read(python->space, object, words, sizeof(words)) != sizeof(words) ||
		words[OLD_LENGTH] > LENGTH_MAX)
		return false;
	*ret = (struct python_text){words[OLD_CHARACTERS], words[OLD_LENGTH], 4};
	/* How wide characters are differs by build: after the last one is a zero. */
	uint32_t first = 0;
	uint64_t end = ret->address + 4 * ret->length;
	if (address_space_read(python->space, ret->address, &first, 4) != 4 ||
		first > CHARACTER_MAX || address_space_read(python->space, end, &last, 4) != 4 ||
		(uint32_t)last)
		ret->width = 2;
	return true;
}

bool python_text_find(struct python *python, uint64_t object, struct python_text *ret)
{
	uint64_t words[TEXT_WORDS];
	const struct python_type *type = python_type_of(python, object);
	if (!type || !(type->flags & PYTHON_FLAG_TEXT))
		return false;
	uint64_t bytes = text_bytes(python, type->address);
	if (!bytes)
		return find_old(python, object, ret);
	if (address_space_read(python->space, object, words, sizeof(words)) != sizeof(words) ||
		words[TEXT_LENGTH] > LENGTH_MAX)
		return false;
	uint32_t state = (uint32_t)words[TEXT_STATE];
	if (!STATE_KIND(state))
		state >>= STATE_MOVED;
	*ret = (struct python_text){.length = words[TEXT_LENGTH], .width = STATE_KIND(state)};
	if (!STATE_COMPACT(state)) {
		if (!address_space_word(python->space, object + bytes - 8, &ret->address))
			return false;
	} else if (STATE_ASCII(state)) {
		ret->address = object + (bytes >= TEXT_BYTES_OLD ? ASCII_BYTES_OLD : ASCII_BYTES);
	} else {
		ret->address = object + bytes - 8;
	}
	return ret->width == 1 || ret->width == 2 || ret->width == 4;
}

bool python_bytes_find(
	struct python *python, uint64_t object, uint64_t *ret_address, uint64_t *ret_length)
{
	const struct python_type *type = python_type_of(python, object);
	if (!type || !(type->flags & PYTHON_FLAG_BYTES) ||
		!address_space_word(python->space, object + 16, ret_length) ||
		*ret_length > LENGTH_MAX)
		return false;
	/* 33 from Python 3 on, 37 in Python 2: they begin before the zero that is counted. */
	uint64_t own = python_type_is(python, type->address, "bytes") ? 33 : 37;
	*ret_address = object + own - 1;
	return true;
}

void python_text_add_character(struct text *text, uint32_t c)
{
	if (c < 0x80) {
		text_add_char(text, (char)c);
	} else if (c < 0x800) {
		text_add_char(text, (char)(0xc0 | c >> 6));
		text_add_char(text, (char)(0x80 | (c & 63)));
	} else if (c > CHARACTER_MAX || (c >= 0xd800 && c < 0xe000)) {
		text_add_char(text, '?');
	} else if (c < 0x10000) {
		text_add_char(text, (char)(0xe0 | c >> 12));
		text_add_char(text, (char)(0x80 | (c >> 6 & 63)));
		text_add_char(text, (char)(0x80 | (c & 63)));
	} else {
		text_add_char(text, (char)(0xf0 | c >> 18));
		text_add_char(text, (char)(0x80 | (c >> 12 & 63)));
		text_add_char(text, (char)(0x80 | (c >> 6 & 63)));
		text_add_char(text, (char)(0x80 | (c & 63)));
	}
}

#define PORTION 1024u

static bool add_characters(
	struct python *python, const struct python_text *from, uint64_t count, struct text *ret)
{
	uint8_t bytes[PORTION];
	for (uint64_t done = 0; done < count;) {
		uint64_t left = (count - done) * from->width;
		size_t len = left < PORTION ? (size_t)left : PORTION;
		if (address_space_read(
			    python->space, from->address + done * from->width, bytes, len) != len)
			return false;
		for (size_t at = 0; at < len; at += from->width) {
			uint32_t c = 0;
			memcpy(&c, bytes + at, from->width);
			python_text_add_character(ret, c);
		}
		done += len / from->width;
	}
	return true;
}

bool python_text_add(
	struct python *python, uint64_t object, size_t most, struct text *ret, uint64_t *ret_rest)
{
	struct python_text text;
	if (!python_text_find(python, object, &text)) {
		text.width = 1;
		if (!python_bytes_find(python, object, &text.address, &text.length))
			return false;
	}
	uint64_t count = text.length < most ? text.length : most;
	*ret_rest = text.length - count;
	return add_characters(python, &text, count, ret);
}
