/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that is written to a sink in pieces, so that memory does not grow with the file. */
#ifndef VIEWS_EXPORT_OUT_H
#define VIEWS_EXPORT_OUT_H

#include "base/error.h"
#include "base/text.h"
#include "views/views.h"

struct export_out {
	const struct sink *sink;
	struct text text; /* to add to */
	bool stopped;     /* the sink wants no more */
};

void export_out_init(struct export_out *out, const struct sink *sink);
void export_out_deinit(struct export_out *out);

/* Writes the text to the sink, if it is long enough for a piece. */
struct error *export_out_flush(struct export_out *out) must_check_;
/* Writes the rest to the sink. */
struct error *export_out_end(struct export_out *out) must_check_;

/* Adds hexadecimal digits; text_printf() is too slow for fields of each event. */
void export_add_hex(struct text *text, uint64_t value);

#endif
