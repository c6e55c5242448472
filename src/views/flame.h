/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of calls as a flame graph: each function as wide as its figure, below the one that called
 * it. In a comparison a width is what was there before and after together, so that what is gone is
 * seen as well, and colours say which of both has more.
 */
#ifndef VIEWS_FLAME_H
#define VIEWS_FLAME_H

#include "analysis/calltree.h"
#include "analysis/profile.h"
#include "views/views.h"

/* What colours of an SVG mean; in a comparison they always say which of both has more. */
enum flame_colours {
	FLAME_BY_MODULE,
	FLAME_BY_FUNCTION,
	FLAME_BY_SELF, /* how much of its box a function allocated itself */
};

struct flame_options {
	enum metric metric;
	size_t width;    /* of text: columns */
	bool colour;     /* … for terminals with 256 colours */
	bool utf8;       /* … else ASCII, in what the graph is drawn with */
	bool all_frames; /* … with all of a long chain of calls, not only its ends */
	enum flame_colours colour_by;
	const char *title; /* of SVG: its heading; NULL: the program's command */
	double threshold;  /* of SVG: percent of the width; what is narrower is left out */
};

#define FLAME_WIDTH_MIN 20u
#define FLAME_WIDTH_MAX 10000u

/* For a terminal. NULL also when the sink stopped it, here and below. */
struct error *flame_write_text(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink) must_check_;

/* A picture that needs no other file, for browsers: zoom by click, search, tooltips. */
struct error *flame_write_svg(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink) must_check_;

/* "main;read_line;xmalloc 1234", a line a stack, as flamegraph.pl and speedscope read it; of a
 * comparison with both figures, before and after, as difffolded.pl writes it. */
struct error *flame_write_folded(const struct profile *profile, const struct calltree *tree,
	const struct sink *sink) must_check_;

#endif
