/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"

CASE(text_grows, "a text grows by every way of adding")
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	CHECK(!text.data);
	text_add(&text, "");
	text_add_n(&text, "abcdef", 3);
	text_add_char(&text, '-');
	text_printf(&text, "%d %s", 42, "a string that does not fit what is there");
	CHECK_STR(text.data, "abc-42 a string that does not fit what is there");
	CHECK_U64(text.len, strlen(text.data));
	text_clear(&text);
	for (unsigned i = 0; i < 1000; i++)
		text_printf(&text, "%u,", i % 10);
	CHECK_U64(text.len, 2000);
	CHECK(!text.failed);
}

CASE(text_steals, "a stolen text is the caller's and the text is empty again")
{
	struct text text;
	text_init(&text);
	text_add(&text, "mine");
	_cleanup_free_ char *mine = text_steal(&text);
	CHECK_STR(mine, "mine");
	CHECK(!text.data && text.len == 0);
	_cleanup_free_ char *empty = text_steal(&text);
	CHECK_STR(empty, "");
}

CASE(text_fails_once, "a failed text stays failed and whole")
{
	struct text text;
	text_init(&text);
	text_add(&text, "x");
	/* Hidden from the compiler, which would warn. */
	volatile size_t absurd = SIZE_MAX / 2;
	text_add_n(&text, "y", absurd);
	CHECK(text.failed);
	text_add(&text, "z");
	CHECK_STR(text.data, "x");
	CHECK(!text_steal(&text));
}

struct row {
	uint64_t value;
	const char *expected;
};

static void check_rows(void (*add)(struct text *, uint64_t), const struct row *rows, size_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < count; i++) {
		text_clear(&text);
		add(&text, rows[i].value);
		CHECK_STR(text.data, rows[i].expected);
	}
}

CASE(text_shown, "strings from outside keep to their line and are cut between characters")
{
	static const struct {
		const char *string;
		size_t most;
		const char *shown;
	} table[] = {
		{"", 0, ""},
		{"plain", SIZE_MAX, "plain"},
		{"plain", 5, "plain"},
		{"plain", 4, "plai…"},
		{"plain", 0, "…"},
		{"a\nb\x1b[0m\x7f\t", SIZE_MAX, "a?b?[0m??"},
		{"a\x9b[0m\xc2\x9b\xc2\xa0\xffz\xc3", SIZE_MAX, "a?[0m??\xc2\xa0?z?"},
		{"\xc3\xa4\xc3\xa4", 4, "\xc3\xa4\xc3\xa4"},
		{"\xc3\xa4\xc3\xa4", 3, "\xc3\xa4…"},
		{"\xc3\xa4\xc3\xa4", 1, "…"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct text text;
		text_init(&text);
		text_add_shown(&text, table[i].string, table[i].most);
		CHECK_STR(text.data ? text.data : "", table[i].shown);
		text_deinit(&text);
	}
}

CASE(text_plain, "what is no UTF-8, and control characters, become question marks")
{
	struct text text;
	text_init(&text);
	text_add_plain(&text, "a\tb\xff\xc3\xa4\xc3"
			      "c\x7f<&>");
	CHECK_STR(text.data, "a?b?\xc3\xa4?c?<&>");
	text_clear(&text);
	text_add_xml(&text, "a\tb\xff<&>\"\x01");
	CHECK_STR(text.data, "a\tb?&lt;&amp;&gt;&quot;?");
	text_deinit(&text);
}

CASE(text_cut, "of a character that is cut off nothing after its end is read")
{
	static const char smile[] = "a\xf0\x9f\x98\x80";
	static const char *const shown[] = {"", "a", "a?", "a??", "a???", smile};
	for (size_t len = 1; len < ARRAY_SIZE(shown); len++) {
		struct text text;
		char *cut = malloc(len); /* sanitizers find a read after it */
		text_init(&text);
		CHECK(cut != NULL);
		memcpy(cut, smile, len);
		text_add_plain_n(&text, cut, len);
		CHECK_STR(text.data, shown[len]);
		text_deinit(&text);
		free(cut);
	}
}

CASE(text_bytes, "sizes have three digits, exact below 1 KiB")
{
	static const struct row rows[] = {
		{0, "0 B"},
		{512, "512 B"},
		{1023, "1023 B"},
		{1024, "1.00 KiB"},
		{1290, "1.26 KiB"},
		{10235, "10.0 KiB"},
		{350208, "342 KiB"},
		{1023 << 10, "1023 KiB"},
		{(1 << 20) - 1, "1.00 MiB"},
		{12897484, "12.3 MiB"},
		{5ull << 40, "5.00 TiB"},
		{UINT64_MAX, "16.0 EiB"},
	};
	check_rows(text_add_bytes, rows, ARRAY_SIZE(rows));
}

CASE(text_counts, "counts have thousands separators")
{
	static const struct row rows[] = {
		{0, "0"},
		{999, "999"},
		{1000, "1,000"},
		{1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"},
	};
	check_rows(text_add_count, rows, ARRAY_SIZE(rows));
}

CASE(text_durations, "durations take the unit that fits")
{
	static const struct row rows[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1 µs"},
		{45000, "45 µs"},
		{999499, "999 µs"},
		{999500, "1.00 ms"},
		{12300000, "12.3 ms"},
		{999499999, "999 ms"},
		{999500000, "1.00 s"},
		{3210000000, "3.21 s"},
		{59949999999, "59.9 s"},
		{59950000000, "1 min 00 s"},
		{125000000000, "2 min 05 s"},
		{3599500000000, "1 h 00 min"},
		{3720000000000, "1 h 02 min"},
	};
	check_rows(text_add_duration_ns, rows, ARRAY_SIZE(rows));
}

TAP_MAIN
