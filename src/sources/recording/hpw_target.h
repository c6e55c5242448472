/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TARGET, pair by pair. */
#ifndef SOURCES_HPW_TARGET_H
#define SOURCES_HPW_TARGET_H

#include <endian.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"

struct hpw_target_pair {
	uint64_t key; /* enum hpw_target_key, or one of a newer writer */
	const uint8_t *bytes;
	size_t len;
};

static inline struct error *hpw_target_next(struct cursor *cursor, struct hpw_target_pair *ret)
{
	uint64_t len;
	struct error *error = cursor_varint(cursor, &ret->key);
	if (!error)
		error = cursor_varint(cursor, &len);
	if (!error)
		error = cursor_bytes(cursor, len, &ret->bytes);
	if (!error)
		ret->len = (size_t)len;
	return error;
}

/* Precondition: it has 8 bytes. */
static inline uint64_t hpw_target_number(const struct hpw_target_pair *pair)
{
	uint64_t value;
	memcpy(&value, pair->bytes, sizeof(value));
	return le64toh(value);
}

/* Appends the pairs that name nothing: numbers of processes, how was recorded. */
struct error *hpw_target_nameless(struct cursor *from, struct buf *to) must_check_;
/* Appends the rows of a SMALL without their commands. */
struct error *hpw_small_nameless(struct cursor *from, struct buf *to) must_check_;

#endif
