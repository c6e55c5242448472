/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Column sets being filled: FORMAT.md, "Columns". */
#ifndef CAPTURE_COLUMNS_H
#define CAPTURE_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define COLUMNS_MAX 32

struct columns {
	struct buf column[COLUMNS_MAX];
	unsigned count;
	uint32_t left; /* bits 1 << column: it is not there */
};

static inline void columns_init(struct columns *c, unsigned count)
{
	c->count = count;
	c->left = 0;
	for (unsigned i = 0; i < count; i++)
		buf_init(&c->column[i]);
}

static inline void columns_add(struct columns *c, unsigned column, uint64_t value)
{
	buf_varint(&c->column[column], value);
}

/* The set has no such column, which had nothing added. */
static inline void columns_leave(struct columns *c, unsigned column)
{
	c->left |= 1u << column;
}

/* Appends the set to *ret and releases it. */
static inline bool columns_finish(struct columns *c, struct buf *ret)
{
	bool ok = true;
	buf_varint(ret, c->count - (unsigned)__builtin_popcount(c->left));
	for (unsigned i = 0; i < c->count; i++) {
		if (c->left >> i & 1)
			continue;
		buf_varint(ret, i);
		buf_varint(ret, c->column[i].len);
		ok = ok && !c->column[i].failed;
	}
	for (unsigned i = 0; i < c->count; i++) {
		buf_bytes(ret, c->column[i].data, c->column[i].len);
		buf_deinit(&c->column[i]);
	}
	return ok && !ret->failed;
}

#endif
