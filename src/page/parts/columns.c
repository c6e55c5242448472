/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/columns.h"

#include <assert.h>
#include <string.h>

static const char *const type_names[] = {[PAGE_U8] = "u8", [PAGE_U32] = "u32", [PAGE_F64] = "f64"};

void page_columns_init(struct page_columns *columns)
{
	*columns = (struct page_columns){.count = 0};
}

void page_columns_deinit(struct page_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		buf_deinit(&columns->data[i].data);
	columns->count = 0;
}

struct page_column *page_columns_add(
	struct page_columns *columns, const char *name, enum page_type type)
{
	assert(columns->count < PAGE_COLUMNS_ROOM);
	struct page_column *column = &columns->data[columns->count++];
	*column = (struct page_column){.name = name, .type = type};
	buf_init(&column->data);
	return column;
}

void page_column_u8(struct page_column *column, uint8_t value)
{
	column->count++;
	buf_u8(&column->data, value);
}

void page_column_u32(struct page_column *column, uint32_t value)
{
	column->count++;
	buf_u32(&column->data, value);
}

void page_column_f64(struct page_column *column, double value)
{
	uint64_t bits;
	static_assert(sizeof(bits) == sizeof(value), "a double has 8 bytes");
	memcpy(&bits, &value, sizeof(bits));
	column->count++;
	buf_u64(&column->data, bits);
}

uint32_t page_column_at(const struct page_column *column, size_t index)
{
	const uint8_t *at = column->data.data + index * sizeof(uint32_t);
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static size_t aligned_len(size_t len)
{
	return (len + PAGE_ALIGNMENT - 1) / PAGE_ALIGNMENT * PAGE_ALIGNMENT;
}

/* Returns the first column with the numbers of that one, which may be itself. */
static size_t same_column(const struct page_columns *columns, size_t index)
{
	const struct page_column *column = &columns->data[index];
	for (size_t i = 0; i < index; i++) {
		const struct page_column *other = &columns->data[i];
		if (other->type == column->type && other->data.len == column->data.len &&
			column->data.len &&
			memcmp(other->data.data, column->data.data, column->data.len) == 0)
			return i;
	}
	return index;
}

void page_columns_describe(const struct page_columns *columns, struct json *json)
{
	size_t next = 0, offsets[PAGE_COLUMNS_ROOM];
	json_object_begin(json);
	for (size_t i = 0; i < columns->count; i++) {
		const struct page_column *column = &columns->data[i];
		size_t same = same_column(columns, i);
		offsets[i] = same < i ? offsets[same] : next;
		json_key(json, column->name);
		json_object_begin(json);
		json_key(json, "type");
		json_string(json, type_names[column->type]);
		json_key(json, "offset");
		json_u64(json, offsets[i]);
		json_key(json, "count");
		json_u64(json, column->count);
		json_object_end(json);
		if (same == i)
			next = aligned_len(next + column->data.len);
	}
	json_object_end(json);
}

bool page_align(struct buf *out)
{
	static const uint8_t zeros[PAGE_ALIGNMENT];
	return buf_bytes(out, zeros, aligned_len(out->len) - out->len);
}

bool page_columns_put(const struct page_columns *columns, struct buf *out)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct buf *data = &columns->data[i].data;
		if (data->failed)
			return false;
		if (same_column(columns, i) == i &&
			!(buf_bytes(out, data->data, data->len) && page_align(out)))
			return false;
	}
	return !out->failed;
}
