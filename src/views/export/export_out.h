/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text on its way to a sink: it is handed on in pieces, so that memory does not follow its size. */
#ifndef VIEWS_EXPORT_OUT_H
#define VIEWS_EXPORT_OUT_H

#include "base/error.h"
#include "base/text.h"
#include "views/views.h"

struct export_out {
	const struct sink *sink;
	struct text text; /* to add to */
	bool stopped;     /* by the sink: nothing more is wanted */
};

void export_out_init(struct export_out *out, const struct sink *sink);
void export_out_deinit(struct export_out *out);

/* Hands on what is there, if that is enough for a piece. */
struct error *export_out_flush(struct export_out *out) must_check_;
/* Hands on all that is left. */
struct error *export_out_end(struct export_out *out) must_check_;

/* Adds hexadecimal digits; text_printf() is too slow for what comes with each event. */
void export_add_hex(struct text *text, uint64_t value);

#endif
