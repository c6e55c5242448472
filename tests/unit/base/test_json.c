/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"

static bool add_to_text(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

static struct json json; /* too large for a small stack */
static struct text out;

static void begin(void)
{
	text_init(&out);
	json_init(&json, add_to_text, &out);
}

static void check_document(const char *expected)
{
	CHECK(json_finish(&json));
	CHECK_STR(out.data, expected);
	text_deinit(&out);
}

CASE(json_raw_documents, "a document in another one is as it was, between commas")
{
	static const char inner[] = "{\n \"a\": [1, 2]\n}\n";
	begin();
	json_object_begin(&json);
	json_key(&json, "inner");
	json_raw(&json, inner, sizeof(inner) - 1);
	json_key(&json, "list");
	json_array_begin(&json);
	json_raw(&json, "1", 1);
	json_raw(&json, "{}", 2);
	json_array_end(&json);
	json_object_end(&json);
	check_document("{\n \"inner\": {\n \"a\": [1, 2]\n}\n,\n \"list\": [1, {}]\n}\n");
}

CASE(json_shape, "a document has its commas, lines and nesting")
{
	begin();
	json_object_begin(&json);
	json_key(&json, "schema");
	json_string(&json, "x/1");
	json_key(&json, "empty");
	json_array_begin(&json);
	json_array_end(&json);
	json_key(&json, "rows");
	json_array_begin(&json);
	for (int i = 0; i < 2; i++) {
		json_object_begin(&json);
		json_key(&json, "a");
		json_i64(&json, -i);
		json_key(&json, "b");
		json_null(&json);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_key(&json, "values");
	json_array_begin(&json);
	json_bool(&json, true);
	json_u64(&json, UINT64_MAX);
	json_array_begin(&json);
	json_bool(&json, false);
	json_array_end(&json);
	json_array_end(&json);
	json_object_end(&json);
	check_document("{\n \"schema\": \"x/1\",\n \"empty\": [],\n \"rows\": [\n"
		       "  {\"a\": 0, \"b\": null},\n  {\"a\": -1, \"b\": null}],\n"
		       " \"values\": [true, 18446744073709551615, [false]]\n}\n");
}

static void check_string(const char *bytes, size_t len, const char *expected)
{
	begin();
	json_string_n(&json, bytes, len);
	check_document(expected);
}

#define CHECK_STRING(literal, expected)                                                            \
	check_string(literal, sizeof(literal) - 1, "\"" expected "\"\n")

CASE(json_escapes, "control characters, quotes and backslashes are escaped")
{
	CHECK_STRING("", "");
	CHECK_STRING("a\"b\\c/d", "a\\\"b\\\\c/d");
	CHECK_STRING("\b\f\n\r\t", "\\b\\f\\n\\r\\t");
	CHECK_STRING("a\0b\x1f\x7f", "a\\u0000b\\u001f\\u007f");
	CHECK_STRING("µ € 😀", "µ € 😀");
}

#define BAD "\xef\xbf\xbd"

CASE(json_utf8, "bytes that are not UTF-8 become U+FFFD")
{
	CHECK_STRING("a\xff"
		     "b",
		"a" BAD "b");
	CHECK_STRING("\x80", BAD);
	/* Cut off, by the end and by a plain character. */
	CHECK_STRING("\xe2\x82", BAD);
	CHECK_STRING("\xe2\x82x", BAD "x");
	CHECK_STRING("\xf0\x9f\x98", BAD);
	/* Overlong, surrogate, beyond the last. */
	CHECK_STRING("\xc0\xaf", BAD BAD);
	CHECK_STRING("\xe0\x80\xaf", BAD BAD BAD);
	CHECK_STRING("\xed\xa0\x80", BAD BAD BAD);
	CHECK_STRING("\xf4\x90\x80\x80", BAD BAD BAD BAD);
	/* The outermost good ones. */
	CHECK_STRING(
		"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xc2\xa0", "\xf4\x8f\xbf\xbf\xed\x9f\xbf\xc2\xa0");
	/* ESC [ in one, to a terminal. */
	CHECK_STRING("\xc2\x9b"
		     "31m",
		"\\u009b31m");
}

CASE(json_doubles, "doubles are short, exact, and null when there is no number")
{
	begin();
	json_array_begin(&json);
	json_double(&json, 0.1);
	json_double(&json, 1.0 / 3);
	json_double(&json, -2);
	json_double(&json, 1e300);
	json_double(&json, NAN);
	json_double(&json, -INFINITY);
	json_array_end(&json);
	check_document("[0.1, 0.3333333333333333, -2, 1e+300, null, null\n]\n");
}

struct counter {
	size_t calls, bytes, largest, stop_after;
};

static bool count_bytes(void *ctx, const char *data, size_t len)
{
	struct counter *counter = ctx;
	(void)data;
	counter->calls++;
	counter->bytes += len;
	if (len > counter->largest)
		counter->largest = len;
	return counter->calls != counter->stop_after;
}

static bool write_much(struct counter *counter)
{
	json_init(&json, count_bytes, counter);
	json_array_begin(&json);
	for (int i = 0; i < 100000; i++)
		json_string(&json, "0123456789");
	json_array_end(&json);
	return json_finish(&json);
}

CASE(json_streams, "much output comes in bounded pieces and stops when told")
{
	struct counter all = {0}, stopped = {.stop_after = 2};
	CHECK(write_much(&all));
	/* 12 bytes each with ", " between; "[", "\n]\n". */
	CHECK_U64(all.bytes, 100000 * 12 + 99999 * 2 + 4);
	CHECK_U64(all.largest, JSON_BUFFER_BYTES);
	CHECK(!write_much(&stopped));
	CHECK_U64(stopped.calls, 2);
}

static void write_repeated(bool kept)
{
	json_init(&json, add_to_text, &out);
	if (kept)
		json_repeats_begin(&json);
	json_array_begin(&json);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t number = i * i % 7;
		if (json_again(&json, number))
			continue;
		json_object_begin(&json);
		json_key(&json, "a{\"");
		json_u64(&json, number);
		json_key(&json, "b");
		json_array_begin(&json);
		json_null(&json);
		json_array_end(&json);
		json_object_end(&json);
		json_keep(&json, number);
	}
	json_array_end(&json);
	CHECK(json_finish(&json));
	json_repeats_end(&json);
}

CASE(json_repeats, "objects that come again are written as they were")
{
	text_init(&out);
	write_repeated(false);
	struct text expected = out;
	text_init(&out);
	write_repeated(true);
	CHECK_STR(out.data, expected.data);
	text_deinit(&out);
	text_deinit(&expected);
}

TAP_MAIN
