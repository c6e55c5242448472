/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of a page: numbers of one type side by side, little endian. */
#ifndef PAGE_COLUMNS_H
#define PAGE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

/* Where a column, and the first of them, begins: at multiples of this. */
#define PAGE_ALIGNMENT 8u
#define PAGE_COLUMNS_ROOM 64u

enum page_type { PAGE_U8, PAGE_U32, PAGE_F64 };

struct page_column {
	const char *name; /* "frame.line"; static */
	enum page_type type;
	size_t count;
	struct buf data;
};

struct page_columns {
	struct page_column data[PAGE_COLUMNS_ROOM];
	size_t count;
};

void page_columns_init(struct page_columns *columns);
void page_columns_deinit(struct page_columns *columns);

/* Returns a new column, which is valid as long as all of them. At most PAGE_COLUMNS_ROOM. */
struct page_column *page_columns_add(
	struct page_columns *columns, const char *name, enum page_type type);

/* Adds a number to a column of that type; without memory the column's `data` fails. */
void page_column_u8(struct page_column *column, uint8_t value);
void page_column_u32(struct page_column *column, uint32_t value);
void page_column_f64(struct page_column *column, double value);

/* Returns a number of a column of u32 whose `data` did not fail. */
uint32_t page_column_at(const struct page_column *column, size_t index);

/* Writes the object that says where each of them is: equal ones at the same place. */
void page_columns_describe(const struct page_columns *columns, struct json *json);
/* Adds the bytes of all of them, of equal ones once. False: no memory, here or before. */
bool page_columns_put(const struct page_columns *columns, struct buf *out);
/* Adds zeros up to a multiple of PAGE_ALIGNMENT. */
bool page_align(struct buf *out);

#endif
