/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/export/export_out.h"

#define PIECE_BYTES ((size_t)64 << 10)

void export_out_init(struct export_out *out, const struct sink *sink)
{
	*out = (struct export_out){.sink = sink};
	text_init(&out->text);
}

void export_out_deinit(struct export_out *out)
{
	text_deinit(&out->text);
}

static struct error *hand_on(struct export_out *out, size_t at_least)
{
	if (out->text.failed)
		return error_no_memory();
	if (out->text.len < at_least)
		return NULL;
	if (!out->stopped && out->text.len)
		out->stopped = !out->sink->write(out->sink->ctx, out->text.data, out->text.len);
	text_clear(&out->text);
	return NULL;
}

struct error *export_out_flush(struct export_out *out)
{
	return hand_on(out, PIECE_BYTES);
}

struct error *export_out_end(struct export_out *out)
{
	return hand_on(out, 0);
}

void export_add_hex(struct text *text, uint64_t value)
{
	char digits[16];
	size_t at = sizeof(digits);
	do {
		digits[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	text_add_n(text, digits + at, sizeof(digits) - at);
}
