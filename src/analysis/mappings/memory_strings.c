/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/memory_strings.h"

#include <stdlib.h>
#include <string.h>

void memory_strings_init(struct memory_strings *strings)
{
	strings->bytes = strings->zero_bytes = strings->string_bytes = strings->strings = 0;
	strings->kinds = 0;
}

static bool is_printable(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f;
}

/* "user-1234" becomes "user-#"; returns its length. */
static size_t kind_make(const uint8_t *bytes, size_t len, char ret[MEMORY_STRING_BYTES_MAX + 1])
{
	size_t made = 0;
	for (size_t i = 0; i < len && made < MEMORY_STRING_BYTES_MAX; i++) {
		bool is_digit = bytes[i] >= '0' && bytes[i] <= '9';
		if (is_digit && made && ret[made - 1] == '#')
			continue;
		memcpy(&ret[made++], is_digit ? (const uint8_t *)"#" : &bytes[i], 1);
	}
	ret[made] = 0;
	return made;
}

static struct memory_string *kind_find(struct memory_strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->kinds; i++) {
		if (!strcmp(strings->rows[i].text, text))
			return &strings->rows[i];
	}
	return NULL;
}

/* Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data
 * streams", 2005: the rarest makes room, and its count is how far the new one's may be off. */
static struct memory_string *kind_add(struct memory_strings *strings, const char *text)
{
	struct memory_string *row = &strings->rows[0];
	if (strings->kinds < MEMORY_STRINGS_MAX) {
		row = &strings->rows[strings->kinds++];
		*row = (struct memory_string){.count = 0};
	} else {
		for (size_t i = 1; i < strings->kinds; i++)
			row = strings->rows[i].count < row->count ? &strings->rows[i] : row;
		row->error = row->count;
		row->bytes = 0;
	}
	strcpy(row->text, text);
	return row;
}

static void string_note(struct memory_strings *strings, const uint8_t *bytes, size_t len)
{
	char text[MEMORY_STRING_BYTES_MAX + 1];
	kind_make(bytes, len, text);
	struct memory_string *row = kind_find(strings, text);
	if (!row)
		row = kind_add(strings, text);
	row->count++;
	row->bytes += len;
	strings->strings++;
	strings->string_bytes += len;
}

void memory_strings_add(struct memory_strings *strings, const uint8_t *bytes, size_t len)
{
	size_t start = 0;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && is_printable(bytes[i]))
			continue;
		if (i - start >= MEMORY_STRINGS_LEAST)
			string_note(strings, bytes + start, i - start);
		strings->zero_bytes += i < len && !bytes[i];
		start = i + 1;
	}
	strings->bytes += len;
}

static int by_bytes(const void *left, const void *right)
{
	const struct memory_string *a = left, *b = right;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

void memory_strings_finish(struct memory_strings *strings)
{
	qsort(strings->rows, strings->kinds, sizeof(strings->rows[0]), by_bytes);
}
