/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gzip and zstd packed, as streams, whole and damaged; and lines of it. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/packing.h"
#include "base/util.h"
#include "lib/tap.h"
#include "sources/recording/stream.h"

static void keep(void *ctx, const char *data, size_t len)
{
	CHECK(buf_bytes(ctx, data, len));
}

/* `count` times "line N\n", as one member. */
static void pack_lines(enum packing packing, unsigned count, struct buf *ret)
{
	struct packer *packer = NULL;
	CHECK_OK(packer_create(packing, &packer));
	for (unsigned i = 0; i < count; i++) {
		char line[32];
		int len = snprintf(line, sizeof(line), "line %u\n", i);
		CHECK_OK(packer_run(packer, line, (size_t)len, false, keep, ret));
	}
	CHECK_OK(packer_run(packer, NULL, 0, true, keep, ret));
	packer_destroy(packer);
}

static void check_lines(const struct buf *packed, unsigned from, unsigned count)
{
	struct input input;
	struct stream stream;
	char *line;
	size_t len;
	input_of_buffer(&input, "file", packed->data, packed->len);
	CHECK_OK(stream_open(&stream, &input, 1u << 30));
	for (unsigned i = from; i < from + count; i++) {
		char expected[32];
		snprintf(expected, sizeof(expected), "line %u", i);
		CHECK_OK(stream_line(&stream, 100, &line, &len));
		if (i % 1000 == 0 || !line || strcmp(line, expected) != 0)
			CHECK_STR(line, expected);
	}
	CHECK_OK(stream_line(&stream, 100, &line, &len));
	CHECK(!line);
	stream_close(&stream);
}

static const enum packing all[] = {PACKING_NONE, PACKING_GZIP, PACKING_ZSTD};

CASE(packed_lines, "what was packed is unpacked, line by line")
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_deinit) struct buf packed;
		buf_init(&packed);
		pack_lines(all[i], 200000, &packed);
		CHECK(packing_of(packed.data, packed.len) == all[i]);
		check_lines(&packed, 0, 200000);
	}
}

CASE(packed_members, "members in a row are one file, as gzip and zstd have it")
{
	for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_deinit) struct buf packed;
		buf_init(&packed);
		for (unsigned k = 0; k < 3; k++)
			pack_lines(all[i], 1, &packed);
		struct input input;
		struct stream stream;
		input_of_buffer(&input, "file", packed.data, packed.len);
		CHECK_OK(stream_open(&stream, &input, 1000));
		_cleanup_(buf_deinit) struct buf out;
		buf_init(&out);
		CHECK_OK(stream_rest(&stream, &out));
		CHECK_U64(out.len, 3 * strlen("line 0\n"));
		stream_close(&stream);
	}
}

/* Of every length up to the whole, or of a few; never a crash, and never a silent end. */
CASE(packed_cut, "what is cut off says so, wherever it was cut")
{
	for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_deinit) struct buf packed;
		buf_init(&packed);
		pack_lines(all[i], 50, &packed);
		for (size_t len = 4; len < packed.len; len++) {
			struct input input;
			struct stream stream;
			_cleanup_(buf_deinit) struct buf out;
			buf_init(&out);
			input_of_buffer(&input, "file", packed.data, len);
			CHECK_OK(stream_open(&stream, &input, 1000000));
			CHECK_ERROR(stream_rest(&stream, &out), ERROR_INPUT, "is cut off");
			stream_close(&stream);
		}
	}
}

CASE(packed_damage, "damage is an error with the place, not other bytes")
{
	for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_deinit) struct buf packed;
		buf_init(&packed);
		pack_lines(all[i], 5000, &packed);
		memset(packed.data + packed.len / 2, 0xff, 16);
		struct input input;
		struct stream stream;
		_cleanup_(buf_deinit) struct buf out;
		buf_init(&out);
		input_of_buffer(&input, "file", packed.data, packed.len);
		CHECK_OK(stream_open(&stream, &input, 1000000));
		struct error *error = stream_rest(&stream, &out);
		/* zstd without a checksum may give other text; gzip has one. */
		CHECK(error || all[i] == PACKING_ZSTD);
		if (error)
			CHECK(strstr(error->message, "file: offset "));
		error_destroy(error);
		stream_close(&stream);
	}
}

CASE(packed_bomb,
	"what unpacks to far more than a file of its size is refused, before it fills memory")
{
	for (size_t i = 1; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_deinit) struct buf packed;
		buf_init(&packed);
		struct packer *packer = NULL;
		static const char zeros[1u << 20];
		CHECK_OK(packer_create(all[i], &packer));
		for (unsigned k = 0; k < 300; k++)
			CHECK_OK(packer_run(packer, zeros, sizeof(zeros), false, keep, &packed));
		CHECK_OK(packer_run(packer, NULL, 0, true, keep, &packed));
		packer_destroy(packer);
		/* Of gzip's size it would be allowed: what is tested is a smaller one. */
		struct input input;
		struct stream stream;
		_cleanup_(buf_deinit) struct buf out;
		buf_init(&out);
		input_of_buffer(&input, "file", packed.data, packed.len);
		CHECK_OK(stream_open(&stream, &input, 64u << 20));
		CHECK_ERROR(stream_rest(&stream, &out), ERROR_INPUT, "unpacks to more than 64 MiB");
		CHECK(out.len <= 65u << 20);
		stream_close(&stream);
	}
}

CASE(long_line, "a line that is longer than its format allows is an error with its number")
{
	static const char text[] = "one\ntwo\nthis one is too long\n";
	struct input input;
	struct stream stream;
	char *line;
	size_t len;
	input_of_buffer(&input, "file", text, strlen(text));
	CHECK_OK(stream_open(&stream, &input, 1000));
	CHECK_OK(stream_line(&stream, 10, &line, &len));
	CHECK_OK(stream_line(&stream, 10, &line, &len));
	CHECK_STR(line, "two");
	CHECK_OK(stream_line(&stream, 30, &line, &len));
	stream_close(&stream);
	static char endless[5000];
	memset(endless, 'x', sizeof(endless));
	input_of_buffer(&input, "file", endless, sizeof(endless));
	CHECK_OK(stream_open(&stream, &input, 10000));
	CHECK_ERROR(stream_line(&stream, 1000, &line, &len), ERROR_INPUT, "line 1");
	stream_close(&stream);
}

TAP_MAIN
