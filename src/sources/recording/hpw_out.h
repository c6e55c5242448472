/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of a chunk that is made anew from one that was read. */
#ifndef SOURCES_HPW_OUT_H
#define SOURCES_HPW_OUT_H

#include "base/buf.h"
#include "base/vec.h"

struct hpw_out_column {
	uint64_t number;
	struct buf data;
};

DEFINE_VEC(hpw_out_vec, struct hpw_out_column)

/* All 0: none. */
struct hpw_out {
	struct hpw_out_vec columns;
	struct buf lost; /* what is added to a column that there is no memory for */
};

void hpw_out_deinit(struct hpw_out *out);
/* Returns the column of that number, of a few, a new one if it is not there; good until the next
 * call. */
struct buf *hpw_out_column(struct hpw_out *out, uint64_t number);
/* Another column, whose number is not there yet; good until the next call. */
struct buf *hpw_out_add(struct hpw_out *out, uint64_t number);
/* Adds the column set to `ret`; false: no memory. */
bool hpw_out_finish(const struct hpw_out *out, struct buf *ret);

#endif
