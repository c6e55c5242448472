/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in pages: zeros, strings and their kinds. */
#include "analysis/memory_strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

static struct memory_strings strings;

static void add(const char *bytes, size_t len)
{
	memory_strings_add(&strings, (const uint8_t *)bytes, len);
}

CASE(memory_strings_kinds, "strings that differ in digits are one kind, the most bytes first")
{
	memory_strings_init(&strings);
	add("user-1\0user-22\0user-3x\0shorter\0\0tiny", 37);
	memory_strings_finish(&strings);
	CHECK_U64(strings.bytes, 37);
	CHECK_U64(strings.zero_bytes, 6);
	CHECK_U64(strings.strings, 4);
	CHECK_U64(strings.string_bytes, 6 + 7 + 7 + 7);
	CHECK_U64(strings.kinds, 3);
	CHECK_STR(strings.rows[0].text, "user-#");
	CHECK_U64(strings.rows[0].count, 2);
	CHECK_U64(strings.rows[0].bytes, 13);
}

CASE(memory_strings_many,
	"of more kinds than are kept, the frequent one stays, and how far it may be off")
{
	memory_strings_init(&strings);
	for (unsigned i = 0; i < 10000; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "kind-%c%c%c", 'a' + (int)(i % 26),
			'a' + (int)(i / 26 % 26), 'a' + (int)(i / 676));
		add(text, (size_t)len + 1);
		add("the frequent one", 17);
	}
	memory_strings_finish(&strings);
	CHECK_U64(strings.kinds, MEMORY_STRINGS_MAX);
	CHECK_STR(strings.rows[0].text, "the frequent one");
	CHECK_U64(strings.rows[0].count, 10000);
	CHECK_U64(strings.rows[0].error, 0);
	CHECK(strings.rows[1].error > 0 && strings.rows[1].error < strings.rows[1].count);
}

CASE(memory_strings_long, "long strings are cut in their names alone")
{
	char text[1000];
	memset(text, 'x', sizeof(text));
	memory_strings_init(&strings);
	add(text, sizeof(text));
	memory_strings_finish(&strings);
	CHECK_U64(strings.rows[0].bytes, sizeof(text));
	CHECK_U64(strlen(strings.rows[0].text), MEMORY_STRING_BYTES_MAX);
}

TAP_MAIN
