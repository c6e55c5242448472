/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours of text, for terminals that have some. Inside views/ only. */
#ifndef VIEWS_PAINT_H
#define VIEWS_PAINT_H

#include "base/text.h"

enum paint { PAINT_NONE, PAINT_TITLE, PAINT_LARGE, PAINT_SMALL };

/* From 0 to 1 of the whole: a tenth is large, a hundredth small. */
static inline enum paint paint_of(double share)
{
	double size = share < 0 ? -share : share;
	return size >= 0.1 ? PAINT_LARGE : size < 0.01 ? PAINT_SMALL : PAINT_NONE;
}

/* What is added between these two is painted; nothing is added without `colour`. */
static inline void paint_begin(struct text *out, bool colour, enum paint paint)
{
	static const char *const codes[] = {
		[PAINT_NONE] = "",
		[PAINT_TITLE] = "\033[1m",
		[PAINT_LARGE] = "\033[1;33m",
		[PAINT_SMALL] = "\033[2m",
	};
	if (colour)
		text_add(out, codes[paint]);
}

static inline void paint_end(struct text *out, bool colour, enum paint paint)
{
	if (colour && paint != PAINT_NONE)
		text_add(out, "\033[0m");
}

#endif
