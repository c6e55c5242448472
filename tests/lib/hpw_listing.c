/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "lib/hpw_builder.h"

static size_t put_hex(struct text *text, const struct buf *file, size_t at, size_t len,
	const char *format_meaning, uint64_t number)
{
	text_printf(text, "%06zx ", at);
	for (size_t i = 0; i < len && at + i < file->len; i++)
		text_printf(text, i && i % 32 == 0 ? "\n       %02x" : " %02x", file->data[at + i]);
	text_add(text, "  # ");
	text_printf(text, "%s", format_meaning);
	if (number != UINT64_MAX)
		text_printf(text, " %" PRIu64, number);
	text_add_char(text, '\n');
	return at + len;
}

static uint64_t little(const struct buf *file, size_t at, size_t bytes)
{
	uint64_t value = 0;
	for (size_t i = bytes; i-- > 0;)
		value = value << 8 | file->data[at + i];
	return value;
}

static uint64_t read_varint(const struct buf *file, size_t *at)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = file->data[(*at)++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

/* A column set: its head, then each column. */
static void list_columns(struct text *text, const struct buf *file, size_t at)
{
	size_t head = at;
	uint64_t count = read_varint(file, &at), number[BUILDER_COLUMNS_MAX],
		 bytes[BUILDER_COLUMNS_MAX];
	builder_must(count <= BUILDER_COLUMNS_MAX);
	for (uint64_t i = 0; i < count; i++) {
		number[i] = read_varint(file, &at);
		bytes[i] = read_varint(file, &at);
	}
	put_hex(text, file, head, at - head, "number and bytes of each column; columns:", count);
	for (uint64_t i = 0; i < count; i++)
		at = put_hex(text, file, at, (size_t)bytes[i], "column", number[i]);
}

static void list_chunk(struct text *text, const struct buf *file, size_t at)
{
	static const char *const names[] = {"?", "TARGET", "MODULES", "STACKS", "SITES", "EVENTS",
		"THREADS", "SITE_STATS", "SIZES", "LIVE", "SUMMARY", "INDEX", "CODE_NAMES",
		"UNRECORDED", [HPW_SUMS] = "SUMS", [HPW_DEATHS] = "DEATHS", [HPW_SMALL] = "SMALL",
		[HPW_CODE] = "CODE", [HPW_LEAK_SEARCH] = "LEAK_SEARCH",
		[HPW_LEAK_ROOTS] = "LEAK_ROOTS", [HPW_LEAK_GROUPS] = "LEAK_GROUPS",
		[HPW_LEAK_RECORDS] = "LEAK_RECORDS"};
	uint64_t type = little(file, at + 4, 2), stored = little(file, at + 8, 4);
	builder_must(type < sizeof(names) / sizeof(names[0]) && names[type]);
	text_printf(text, "\n%s\n", names[type]);
	at = put_hex(text, file, at, 4, "\"hwck\"", UINT64_MAX);
	at = put_hex(text, file, at, 2, "type", type);
	at = put_hex(text, file, at, 2, "flags", little(file, at, 2));
	at = put_hex(text, file, at, 4, "stored bytes", stored);
	at = put_hex(text, file, at, 4, "raw bytes", little(file, at, 4));
	at = put_hex(text, file, at, 8, "checksum of the payload", UINT64_MAX);
	at = put_hex(text, file, at, 8, "checksum of this header", UINT64_MAX);
	if (type == HPW_TARGET || type == HPW_MODULES || type == HPW_SUMMARY || type == HPW_SMALL ||
		type == HPW_LEAK_SEARCH)
		put_hex(text, file, at, (size_t)stored, "payload", UINT64_MAX);
	else
		list_columns(text, file, at);
}

void builder_listing(const struct buf *file, struct text *ret)
{
	text_add(ret, "# Offset, bytes, meaning. FORMAT.md explains each.\n\nheader\n");
	size_t at = put_hex(ret, file, 0, 8, "magic \"HEAPWISE\"", UINT64_MAX);
	at = put_hex(ret, file, at, 4, "version: major, minor", UINT64_MAX);
	at = put_hex(ret, file, at, 4, "required features", UINT64_MAX);
	at = put_hex(ret, file, at, 8, "reserved", UINT64_MAX);
	at = put_hex(ret, file, at, 8, "checksum of the header", UINT64_MAX);
	while (file->len - at >= sizeof(struct hpw_chunk_header)) {
		list_chunk(ret, file, at);
		at += sizeof(struct hpw_chunk_header) + (size_t)little(file, at + 8, 4);
	}
	if (file->len == at)
		return;
	text_add(ret, "\ntrailer\n");
	at = put_hex(ret, file, at, 8, "offset of the index:", little(file, at, 8));
	at = put_hex(ret, file, at, 8, "checksum of that", UINT64_MAX);
	put_hex(ret, file, at, 8, "\"HWINDEX\" and a zero byte", UINT64_MAX);
}
