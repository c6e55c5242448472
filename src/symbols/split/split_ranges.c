/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See split_ranges.h. */
#include "symbols/split/split_ranges.h"

#include <dwarf.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define RANGES_HEADER_BYTES 12u /* of .debug_rnglists */

/* A list of ranges (DWARF 5, 2.17.3) that is read. */
struct list {
	struct split_bytes bytes, addresses;
	size_t at;
	bool bad;
};

static uint64_t list_number(struct list *list)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 8 * sizeof(value); shift += 7) {
		if (list->at >= list->bytes.len)
			break;
		uint8_t byte = list->bytes.data[list->at++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	list->bad = true;
	return 0;
}

static uint64_t list_address(struct list *list)
{
	uint64_t value = split_number(list->bytes, list->at, 8);
	list->bad |= list->bytes.len - list->at < 8;
	list->at += list->bad ? 0 : 8;
	return value;
}

static uint64_t list_addressx(struct list *list)
{
	uint64_t index = list_number(list);
	list->bad |= index >= list->addresses.len / 8;
	return list->bad ? 0 : split_number(list->addresses, index * 8, 8);
}

/* Writes a list of ranges with whole addresses (DWARF 5, 2.17.3). */
static void add_list(struct buf *out, struct list *list, uint64_t base)
{
	while (!list->bad && list->at < list->bytes.len) {
		uint64_t low, high;
		switch (list->bytes.data[list->at++]) {
		case DW_RLE_base_addressx:
			base = list_addressx(list);
			continue;
		case DW_RLE_base_address:
			base = list_address(list);
			continue;
		case DW_RLE_startx_endx:
			low = list_addressx(list);
			high = list_addressx(list);
			break;
		case DW_RLE_startx_length:
			low = list_addressx(list);
			high = low + list_number(list);
			break;
		case DW_RLE_offset_pair:
			low = base + list_number(list);
			high = base + list_number(list);
			break;
		case DW_RLE_start_end:
			low = list_address(list);
			high = list_address(list);
			break;
		case DW_RLE_start_length:
			low = list_address(list);
			high = low + list_number(list);
			break;
		default: /* the end, or nothing that is known */
			list->bad = true;
			continue;
		}
		if (list->bad)
			break;
		buf_u8(out, DW_RLE_start_end);
		buf_u64(out, low);
		buf_u64(out, high);
	}
	buf_u8(out, DW_RLE_end_of_list);
}

void split_add_ranges(
	struct image *image, struct split_bytes table, struct split_bytes addresses, uint64_t base)
{
	uint64_t count = split_number(table, 8, 4);
	if (table.len < RANGES_HEADER_BYTES || split_number(table, 4, 2) != 5 ||
		count > (table.len - RANGES_HEADER_BYTES) / 4)
		return;
	struct split_bytes lists =
		split_slice(table, RANGES_HEADER_BYTES, table.len - RANGES_HEADER_BYTES);
	_cleanup_(buf_deinit) struct buf offsets;
	_cleanup_(buf_deinit) struct buf out;
	buf_init(&offsets);
	buf_init(&out);
	for (uint64_t i = 0; i < count; i++) {
		buf_u32(&offsets, (uint32_t)(count * 4 + out.len));
		struct list list = {.bytes = lists,
			.addresses = addresses,
			.at = split_number(lists, i * 4, 4)};
		list.bad = list.at > lists.len;
		add_list(&out, &list, base);
	}
	image_begin(image, ".debug_rnglists");
	buf_u32(&image->bytes, (uint32_t)(RANGES_HEADER_BYTES - 4 + offsets.len + out.len));
	buf_bytes(&image->bytes, table.data + 4, RANGES_HEADER_BYTES - 4);
	buf_bytes(&image->bytes, offsets.data, offsets.len);
	buf_bytes(&image->bytes, out.data, out.len);
	image->bytes.failed |= offsets.failed || out.failed;
}

/* Pairs of addresses, up to one of zeros; the base is added unless the list has its own. */
void split_add_old_ranges(struct image *image, struct split_bytes table, uint64_t base)
{
	bool own = false;
	image_begin(image, ".debug_ranges");
	for (size_t at = 0; at + 16 <= table.len; at += 16) {
		uint64_t low = split_number(table, at, 8), high = split_number(table, at + 8, 8);
		bool is_end = !low && !high, is_base = low == UINT64_MAX;
		uint64_t add = is_end || is_base || own ? 0 : base;
		own = (own || is_base) && !is_end;
		buf_u64(&image->bytes, low + add);
		buf_u64(&image->bytes, high + add);
	}
}
