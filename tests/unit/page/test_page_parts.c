/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages are made of: base64, strings with numbers, columns and where they are, the shell. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lib/tap.h"
#include "page/page.h"
#include "page/parts/columns.h"
#include "page/parts/packed.h"
#include "page/parts/shell.h"
#include "page/parts/strings.h"

static bool add_to_text(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

static void check_base64(const char *bytes, const char *expected)
{
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	CHECK(page_put_base64((const uint8_t *)bytes, strlen(bytes), &sink));
	CHECK_STR(out.data ? out.data : "", expected);
	CHECK_U64(page_base64_len(strlen(bytes)), strlen(expected));
	text_deinit(&out);
}

CASE(page_base64, "base64 is that of RFC 4648, section 10")
{
	check_base64("", "");
	check_base64("f", "Zg==");
	check_base64("fo", "Zm8=");
	check_base64("foo", "Zm9v");
	check_base64("foob", "Zm9vYg==");
	check_base64("fooba", "Zm9vYmE=");
	check_base64("foobar", "Zm9vYmFy");
	check_base64("\xff\xef\xbe", "/+++");
}

CASE(page_base64_long, "more than fits into one piece keeps its length")
{
	enum { LEN = 200000 };
	struct text out;
	text_init(&out);
	uint8_t *bytes = calloc(1, LEN);
	CHECK(bytes != NULL);
	const struct sink sink = {add_to_text, &out};
	CHECK(page_put_base64(bytes, LEN, &sink));
	CHECK_U64(out.len, page_base64_len(LEN));
	CHECK_U64(strspn(out.data, "A"), page_base64_len(LEN) - 1);
	free(bytes);
	text_deinit(&out);
}

/* Bytes of which nothing can be packed. */
static uint8_t *make_noise(size_t len)
{
	uint8_t *noise = malloc(len);
	uint64_t state = 1;
	for (size_t i = 0; noise && i < len; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		noise[i] = (uint8_t)(state >> 56);
	}
	return noise;
}

CASE(page_pack_within, "what would be far too large is not packed, but measured")
{
	enum { LEN = 16 << 20 };
	uint8_t *noise = make_noise(LEN);
	CHECK(noise != NULL);
	struct buf packed;
	buf_init(&packed);
	size_t len;
	CHECK_OK(page_pack_within(noise, LEN, LEN / 2, &packed, &len));
	CHECK_U64(packed.len, 0);
	CHECK(len > LEN - LEN / 50 && len < LEN + LEN / 50);
	CHECK_OK(page_pack_within(noise, 3, 1, &packed, &len));
	CHECK(len > 3 && packed.len == len);
	buf_clear(&packed);
	CHECK_OK(page_pack_within(noise, LEN, SIZE_MAX, &packed, &len));
	CHECK(len > LEN - LEN / 100 && packed.len == len);
	buf_deinit(&packed);
	free(noise);
}

static bool stop(void *ctx, const char *data, size_t len)
{
	(void)ctx, (void)data, (void)len;
	return false;
}

CASE(page_base64_stops, "a sink that wants no more is asked once")
{
	const struct sink sink = {stop, NULL};
	CHECK(!page_put_base64((const uint8_t *)"foo", 3, &sink));
}

CASE(page_string_numbers, "equal strings have one number; none and the empty one have 0")
{
	struct page_strings strings;
	page_strings_init(&strings);
	char word[] = "malloc";
	uint32_t first, again, other, empty, none;
	CHECK(page_strings_add(&strings, word, &first));
	word[0] = 'p';
	CHECK(page_strings_add(&strings, "malloc", &again));
	CHECK(page_strings_add(&strings, word, &other));
	CHECK(page_strings_add(&strings, "", &empty));
	CHECK(page_strings_add(&strings, NULL, &none));
	CHECK_U64(first, 1);
	CHECK_U64(again, 1);
	CHECK_U64(other, 2);
	CHECK_U64(empty, 0);
	CHECK_U64(none, 0);
	CHECK_U64(strings.list.len, 3);
	CHECK_STR(strings.list.data[0], "");
	CHECK_STR(strings.list.data[1], "malloc");
	page_strings_deinit(&strings);
}

CASE(page_column_places, "columns begin at multiples of 8, and are where the header says")
{
	static struct json json; /* too large for a small stack */
	struct page_columns columns;
	struct text header;
	struct buf bytes;
	page_columns_init(&columns);
	text_init(&header);
	buf_init(&bytes);
	page_column_u8(page_columns_add(&columns, "a", PAGE_U8), 7);
	page_column_u32(page_columns_add(&columns, "b", PAGE_U32), 0x01020304);
	page_column_f64(page_columns_add(&columns, "c", PAGE_F64), -1.5);
	page_columns_add(&columns, "d", PAGE_U32);
	json_init(&json, add_to_text, &header);
	page_columns_describe(&columns, &json);
	CHECK(json_finish(&json));
	CHECK_CONTAINS(header.data, "\"b\": {\"type\": \"u32\", \"offset\": 8, \"count\": 1}");
	CHECK_CONTAINS(header.data, "\"c\": {\"type\": \"f64\", \"offset\": 16, \"count\": 1}");
	CHECK_CONTAINS(header.data, "\"d\": {\"type\": \"u32\", \"offset\": 24, \"count\": 0}");
	CHECK(page_columns_put(&columns, &bytes));
	static const uint8_t expected[24] = {
		7, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf};
	CHECK_U64(bytes.len, sizeof(expected));
	CHECK_MEM(bytes.data, expected, sizeof(expected));
	buf_deinit(&bytes);
	text_deinit(&header);
	page_columns_deinit(&columns);
}

CASE(page_column_equal, "equal columns of one type are at one place")
{
	static struct json json; /* too large for a small stack */
	struct page_columns columns;
	struct text header;
	struct buf bytes;
	page_columns_init(&columns);
	text_init(&header);
	buf_init(&bytes);
	page_column_f64(page_columns_add(&columns, "a", PAGE_F64), 1.5);
	page_column_u32(page_columns_add(&columns, "b", PAGE_U32), 9);
	page_column_f64(page_columns_add(&columns, "c", PAGE_F64), 1.5);
	page_column_u32(page_columns_add(&columns, "d", PAGE_U32), 8);
	json_init(&json, add_to_text, &header);
	page_columns_describe(&columns, &json);
	CHECK(json_finish(&json));
	CHECK_CONTAINS(header.data, "\"a\": {\"type\": \"f64\", \"offset\": 0, \"count\": 1}");
	CHECK_CONTAINS(header.data, "\"c\": {\"type\": \"f64\", \"offset\": 0, \"count\": 1}");
	CHECK_CONTAINS(header.data, "\"d\": {\"type\": \"u32\", \"offset\": 16, \"count\": 1}");
	CHECK(page_columns_put(&columns, &bytes));
	CHECK_U64(bytes.len, 24);
	CHECK_U64(page_column_at(&columns.data[3], 0), 8);
	buf_deinit(&bytes);
	text_deinit(&header);
	page_columns_deinit(&columns);
}

CASE(page_shell_halves, "the shell has a place for the data, and is no page without it")
{
	struct page_shell shell = page_shell();
	CHECK(shell.before_len > 0 && shell.after_len > 0);
	CHECK(memcmp(shell.before, "<!", 2) == 0);
	CHECK(!page_is_one(shell.before, shell.before_len));
	CHECK(!page_is_one(shell.after, shell.after_len));
	static const char page[] =
		"…<script type=\"text/plain\" id=\"heapwise-data\">AAAA</script>";
	CHECK(page_is_one(page, sizeof(page)));
	CHECK(!page_is_one("", 0));
}

TAP_MAIN
