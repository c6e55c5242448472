/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures as arguments of text_printf(), which live until the end of the block:
 *
 *	text_printf(out, "%s in %s blocks", FMT_BYTES(bytes), FMT_COUNT(blocks));
 *
 * Inside views/ only.
 */
#ifndef VIEWS_FIGURE_TEXT_H
#define VIEWS_FIGURE_TEXT_H

#include "base/text.h"

#define FMT_BYTES(value) figure_text_format(&(struct figure_text){{0}}, text_add_bytes, value)
#define FMT_COUNT(value) figure_text_format(&(struct figure_text){{0}}, text_add_count, value)
#define FMT_DURATION(value)                                                                        \
	figure_text_format(&(struct figure_text){{0}}, text_add_duration_ns, value)

/* The longest is a number of 20 digits with its commas. */
struct figure_text {
	char text[48];
};

static inline const char *figure_text_format(
	struct figure_text *room, void (*add)(struct text *text, uint64_t value), uint64_t value)
{
	struct text text = {.data = room->text, .cap = sizeof(room->text)};
	add(&text, value);
	return room->text;
}

#endif
