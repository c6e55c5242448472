/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/compress.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/util.h"
#include "lib/tap.h"

CASE(codec_integers, "integers read back as written, and are little endian")
{
	_cleanup_(buf_deinit) struct buf buf;
	buf_init(&buf);
	buf_u8(&buf, 0xfe);
	buf_u16(&buf, 0x1234);
	buf_u32(&buf, 0xdeadbeef);
	buf_u64(&buf, 0x0123456789abcdef);
	buf_bytes(&buf, "tail", 4);
	CHECK(!buf.failed);
	CHECK_U64(buf.len, 19);
	CHECK_MEM(buf.data, "\xfe\x34\x12\xef\xbe\xad\xde\xef\xcd\xab\x89\x67\x45\x23\x01tail", 19);
	struct cursor cursor;
	cursor_init(&cursor, "x", buf.data, buf.len, 0);
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	const uint8_t *tail;
	CHECK_OK(cursor_u8(&cursor, &u8));
	CHECK_OK(cursor_u16(&cursor, &u16));
	CHECK_OK(cursor_u32(&cursor, &u32));
	CHECK_OK(cursor_u64(&cursor, &u64));
	CHECK_OK(cursor_skip(&cursor, 1));
	CHECK_OK(cursor_bytes(&cursor, 3, &tail));
	CHECK(u8 == 0xfe && u16 == 0x1234 && u32 == 0xdeadbeef && u64 == 0x0123456789abcdef);
	CHECK_MEM(tail, "ail", 3);
	CHECK_U64(cursor_left(&cursor), 0);
}

CASE(codec_short, "a read beyond the end names the file and the offset and moves nothing")
{
	struct cursor cursor;
	uint64_t u64 = 7;
	uint8_t u8 = 7;
	const uint8_t *bytes = NULL;
	cursor_init(&cursor, "a.hpw", "1234567", 7, 1000);
	CHECK_OK(cursor_skip(&cursor, 3));
	CHECK_ERROR(cursor_u64(&cursor, &u64), ERROR_INPUT,
		"a.hpw: offset 1003: 8 bytes are due, 4 are left");
	CHECK_ERROR(cursor_bytes(&cursor, UINT64_MAX, &bytes), ERROR_INPUT, "offset 1003");
	CHECK_ERROR(cursor_skip(&cursor, 5), ERROR_INPUT, "offset 1003");
	CHECK(u64 == 7 && !bytes);
	CHECK_U64(cursor_offset(&cursor), 1003);
	cursor_init(&cursor, "none", NULL, 0, 0);
	CHECK_ERROR(cursor_u8(&cursor, &u8), ERROR_INPUT, "none: offset 0");
	CHECK_ERROR(cursor_varint(&cursor, &u64), ERROR_INPUT, "cut off");
	CHECK(!cursor_try_varint(&cursor, &u64));
	CHECK(u64 == 7 && u8 == 7);
}

CASE(codec_varints, "every length of varint reads back, shortest form written")
{
	_cleanup_(buf_deinit) struct buf buf;
	buf_init(&buf);
	for (unsigned bits = 0; bits <= 64; bits++) {
		uint64_t edge = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
		for (uint64_t value = edge - (edge > 0); value - edge + 1 <= 2; value++) {
			buf_clear(&buf);
			buf_varint(&buf, value);
			unsigned used = value ? 64 - (unsigned)__builtin_clzll(value) : 1;
			CHECK_U64(buf.len, (used + 6) / 7);
			struct cursor cursor;
			cursor_init(&cursor, "x", buf.data, buf.len, 0);
			uint64_t back;
			CHECK_OK(cursor_varint(&cursor, &back));
			CHECK(back == value && cursor_left(&cursor) == 0);
			/* Without its last byte it is cut off. */
			cursor_init(&cursor, "x", buf.data, buf.len - 1, 0);
			CHECK_ERROR(cursor_varint(&cursor, &back), ERROR_INPUT, "cut off");
		}
	}
}

CASE(codec_bad_varints, "overlong and overflowing varints are refused")
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *message;
	} rows[] = {
		{"\x80\x00", 2, "shortest form"},
		{"\xff\x80\x00", 3, "shortest form"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, "too large"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, "too long"},
		{"\xff\xff\xff", 3, "cut off"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cursor cursor;
		uint64_t value = 3;
		cursor_init(&cursor, "x", rows[i].bytes, rows[i].len, 50);
		CHECK(!cursor_try_varint(&cursor, &value));
		CHECK_ERROR(cursor_varint(&cursor, &value), ERROR_INPUT, rows[i].message);
		CHECK(value == 3 && cursor_offset(&cursor) == 50);
	}
}

CASE(codec_zigzag, "signed numbers of small magnitude become small")
{
	static const int64_t values[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
	static const uint64_t coded[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		CHECK_U64(zigzag_encode(values[i]), coded[i]);
		CHECK(zigzag_decode(coded[i]) == values[i]);
	}
}

CASE(codec_buf_fails, "a failed buffer stays failed and whole")
{
	_cleanup_(buf_deinit) struct buf buf;
	buf_init(&buf);
	buf_u8(&buf, 1);
	CHECK(!buf_reserve(&buf, SIZE_MAX / 2));
	buf_varint(&buf, 1);
	buf_bytes(&buf, "x", 1);
	CHECK(buf.failed && buf.len == 1);
}

CASE(codec_compress, "packed bytes come back, appended to what was there")
{
	enum { LEN = 300000 };
	_cleanup_free_ uint8_t *raw = malloc(LEN);
	for (uint32_t i = 0; i < LEN; i++)
		raw[i] = (uint8_t)(hash_u64(i / 7) % 13);
	_cleanup_(compressor_deinit) struct compressor compressor;
	compressor_init(&compressor);
	_cleanup_(buf_deinit) struct buf packed;
	buf_init(&packed);
	_cleanup_free_ uint8_t *back = calloc(1, LEN);
	for (int level = 1; level < 4; level++) {
		buf_clear(&packed);
		buf_u8(&packed, 42);
		CHECK_OK(compressor_pack(&compressor, level, raw, LEN, &packed));
		CHECK(packed.data[0] == 42 && packed.len < LEN / 2);
		memset(back, 0, LEN);
		CHECK_OK(
			compressor_unpack(&compressor, packed.data + 1, packed.len - 1, back, LEN));
		CHECK_MEM(back, raw, LEN);
	}
	buf_clear(&packed);
	CHECK_OK(zstd_compress(1, "", 0, &packed));
	_cleanup_free_ uint8_t *empty = NULL;
	CHECK_OK(zstd_decompress(packed.data, packed.len, 0, &empty));
	CHECK(empty);
}

CASE(codec_bad_frames, "frames that lie about their size or are cut are refused")
{
	_cleanup_(buf_deinit) struct buf packed;
	buf_init(&packed);
	CHECK_OK(zstd_compress(1, "0123456789", 10, &packed));
	size_t len = packed.len;
	uint8_t *raw = NULL;
	CHECK_ERROR(zstd_decompress(packed.data, len, 9, &raw), ERROR_INPUT, "cannot unpack");
	CHECK_ERROR(zstd_decompress(packed.data, len, 11, &raw), ERROR_INPUT, "instead of 11");
	for (size_t cut = 0; cut < len; cut++)
		CHECK_ERROR(zstd_decompress(packed.data, cut, 10, &raw), ERROR_INPUT, "frame");
	buf_u8(&packed, 0);
	CHECK_ERROR(zstd_decompress(packed.data, len + 1, 10, &raw), ERROR_INPUT, "frame");
	buf_clear(&packed);
	CHECK_OK(zstd_compress(1, "01234", 5, &packed));
	CHECK_OK(zstd_compress(1, "56789", 5, &packed));
	CHECK_ERROR(zstd_decompress(packed.data, packed.len, 10, &raw), ERROR_INPUT, "frame");
	CHECK(!raw);
}

CASE(codec_checksum, "the checksum is XXH3-64 with seed 0")
{
	/* As published in xxHash's own sanity tests. */
	CHECK_U64(checksum64("", 0), 0x2d06800538d394c2);
	CHECK(checksum64("a", 1) != checksum64("b", 1));
	CHECK_U64(hash_u64(0), 0);
	CHECK(hash_u64(1) >> 32 && (uint32_t)hash_u64(1));
}

TAP_MAIN
