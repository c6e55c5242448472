/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/frame_table.h"

#include <stdlib.h>
#include <string.h>

/* Encodings of pointers (LSB 5.0 core, 10.5). */
#define ENCODED_FORM 0x0f
#define ENCODED_PCREL 0x10
#define ENCODED_BASE 0x70
/* Version; the section's address and the number of entries in 4 bytes; entries of 4 and 4 bytes,
 * relative to the table. */
static const uint8_t table_head[4] = {1, 0x1b, 0x03, 0x3b};
#define HEAD_BYTES 12u
#define ENTRY_BYTES 8u

struct frame_reader {
	const uint8_t *data;
	size_t at, end;
	uint64_t address; /* of data */
	bool bad;
};

static uint64_t take_bytes(struct frame_reader *r, size_t bytes)
{
	uint64_t value = 0;
	if (r->end - r->at < bytes) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->data + r->at, bytes);
	r->at += bytes;
	return value;
}

static uint64_t take_uleb(struct frame_reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; !r->bad; shift += 7) {
		uint64_t byte = take_bytes(r, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static size_t form_bytes(uint8_t encoding)
{
	switch (encoding & ENCODED_FORM) {
	case 0x00: /* an address */
	case 0x04:
	case 0x0c:
		return 8;
	case 0x02:
	case 0x0a:
		return 2;
	case 0x03:
	case 0x0b:
		return 4;
	default:
		return 0;
	}
}

static uint64_t take_encoded(struct frame_reader *r, uint8_t encoding)
{
	uint64_t place = r->address + r->at;
	size_t bytes = form_bytes(encoding);
	uint64_t value = take_bytes(r, bytes);
	uint8_t base = encoding & ENCODED_BASE;
	if (!bytes || (base && base != ENCODED_PCREL) || encoding & 0x80)
		r->bad = true;
	if (encoding & 0x08 && bytes == 4)
		value = (uint64_t)(int64_t)(int32_t)value;
	return base ? value + place : value;
}

/* How the entries of a CIE give addresses, from behind its id on. */
static uint8_t find_encoding(struct frame_reader r)
{
	uint64_t version = take_bytes(&r, 1);
	const char *letters = (const char *)r.data + r.at;
	while (!r.bad && take_bytes(&r, 1))
		;
	if (r.bad || *letters != 'z')
		return 0;
	take_uleb(&r);
	take_uleb(&r);
	if (version == 1)
		take_bytes(&r, 1);
	else
		take_uleb(&r);
	take_uleb(&r);
	for (letters++; *letters && !r.bad; letters++) {
		uint8_t encoding =
			*letters == 'S' || *letters == 'B' ? 0 : (uint8_t)take_bytes(&r, 1);
		if (*letters == 'R')
			return encoding;
		if (*letters == 'P')
			take_bytes(&r, form_bytes(encoding));
	}
	return 0;
}

/* An entry; `at` is where its record begins, the reader behind its id. */
static bool add_entry(
	struct frame_reader r, size_t at, uint64_t distance, struct frame_entry_vec *entries)
{
	size_t id_at = r.at - 4;
	if (distance > id_at)
		return true;
	struct frame_reader cie = r;
	cie.at = id_at - distance;
	cie.end = r.end;
	uint64_t length = take_bytes(&cie, 4);
	if (cie.bad || length > cie.end - cie.at || take_bytes(&cie, 4))
		return true;
	uint64_t start = take_encoded(&r, find_encoding(cie));
	return r.bad || frame_entry_vec_push(entries, (struct frame_entry){start, r.address + at});
}

static int compare_entries(const void *a, const void *b)
{
	const struct frame_entry *one = a, *other = b;
	return (one->start > other->start) - (one->start < other->start);
}

bool frame_entries_read(const struct elf_file *file, const Elf64_Shdr *section, uint64_t bias,
	struct frame_entry_vec *entries)
{
	struct frame_reader r = {.data = elf_file_at(file, section->sh_offset, section->sh_size),
		.end = section->sh_size,
		.address = section->sh_addr + bias};
	bool ok = true;
	while (r.data && ok && r.end - r.at >= 8) {
		size_t at = r.at;
		uint64_t length = take_bytes(&r, 4);
		if (length < 4 || length > r.end - r.at)
			break;
		struct frame_reader record = r;
		record.end = r.at + length;
		uint64_t distance = take_bytes(&record, 4);
		if (distance)
			ok = add_entry(record, at, distance, entries);
		r.at += length;
	}
	if (entries->len)
		qsort(entries->data, entries->len, sizeof(entries->data[0]), compare_entries);
	return ok;
}

size_t frame_table_bytes(size_t entries)
{
	return HEAD_BYTES + entries * ENTRY_BYTES;
}

static bool put_relative(uint8_t *to, uint64_t address, uint64_t at)
{
	int64_t distance = (int64_t)(address - at);
	int32_t narrow = (int32_t)distance;
	memcpy(to, &narrow, sizeof(narrow));
	return narrow == distance;
}

bool frame_table_make(const struct frame_entry_vec *entries, uint64_t at, uint8_t *ret, size_t room)
{
	uint32_t count = (uint32_t)entries->len;
	if (!count || frame_table_bytes(count) > room)
		return false;
	memset(ret, 0, HEAD_BYTES); /* where .eh_frame is nobody asks */
	memcpy(ret, table_head, sizeof(table_head));
	memcpy(ret + 8, &count, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *to = ret + frame_table_bytes(i);
		if (!put_relative(to, entries->data[i].start, at) ||
			!put_relative(to + 4, entries->data[i].entry, at))
			return false;
	}
	return true;
}
