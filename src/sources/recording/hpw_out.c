/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_out.h"

void hpw_out_deinit(struct hpw_out *out)
{
	for (size_t i = 0; i < out->columns.len; i++)
		buf_deinit(&out->columns.data[i].data);
	hpw_out_vec_deinit(&out->columns);
	buf_deinit(&out->lost);
}

struct buf *hpw_out_column(struct hpw_out *out, uint64_t number)
{
	for (size_t i = out->columns.len; i > 0; i--)
		if (out->columns.data[i - 1].number == number)
			return &out->columns.data[i - 1].data;
	return hpw_out_add(out, number);
}

struct buf *hpw_out_add(struct hpw_out *out, uint64_t number)
{
	struct hpw_out_column *column = hpw_out_vec_push_uninit(&out->columns);
	if (!column) {
		out->lost.failed = true;
		return &out->lost;
	}
	column->number = number;
	buf_init(&column->data);
	return &column->data;
}

bool hpw_out_finish(const struct hpw_out *out, struct buf *ret)
{
	bool good = !out->lost.failed;
	buf_varint(ret, out->columns.len);
	for (size_t i = 0; i < out->columns.len; i++) {
		buf_varint(ret, out->columns.data[i].number);
		buf_varint(ret, out->columns.data[i].data.len);
		good = good && !out->columns.data[i].data.failed;
	}
	for (size_t i = 0; i < out->columns.len; i++)
		buf_bytes(ret, out->columns.data[i].data.data, out->columns.data[i].data.len);
	return good && !ret->failed;
}
