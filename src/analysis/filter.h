/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which stacks are shown, and which of their frames: pprof's words and rules
 * (https://github.com/google/pprof, profile/filter.go). A frame fits if its function (whole
 * or as text shows it), its file or the path of its module does.
 *
 *   focus      keeps stacks with a frame that fits
 *   ignore     drops stacks with a frame that fits
 *   hide       takes frames that fit out; a stack without frames left is dropped
 *   show       takes all others out, likewise
 *   show-from  cuts what is outward of the outermost frame that fits; drops stacks without any
 *   kind       keeps blocks that came from these functions
 *
 * in this order. Figures of what is dropped are in no row then; shares stay those of the process.
 */
#ifndef ANALYSIS_FILTER_H
#define ANALYSIS_FILTER_H

#include "analysis/pattern.h"
#include "analysis/rows.h"
#include "base/text.h"

enum filter_part {
	FILTER_FOCUS,
	FILTER_IGNORE,
	FILTER_HIDE,
	FILTER_SHOW,
	FILTER_SHOW_FROM,
	FILTER_PARTS
};

/* All 0: everything is shown. */
struct filter {
	struct pattern *patterns[FILTER_PARTS]; /* NULL: not given */
	bool by_kind, kinds[ALLOC_KINDS];
};

void filter_deinit(struct filter *filter);

/* Returns "focus", "show-from"… */
const char *filter_part_name(enum filter_part part);

/* Sets the pattern of a part, in place of an earlier one. Returns ERROR_USAGE if it is invalid. */
struct error *filter_set(
	struct filter *filter, enum filter_part part, const char *pattern) must_check_;
/* Adds the kinds of that name, "malloc", "operator new[]"…; false: there are none. */
bool filter_add_kind(struct filter *filter, const char *name);
/* Adds "malloc, calloc, …". */
void filter_add_kind_names(struct text *text);

/* Adds "--focus 'read_' --kind malloc", as a command line says it; nothing if nothing is given. */
void filter_add_options(const struct filter *filter, struct text *text);

/* Returns whether any pattern is given; NULL and an all-zero filter have none. */
bool filter_is_given(const struct filter *filter);

/* Returns whether it chooses by names of functions, files and modules. */
bool filter_has_patterns(const struct filter *filter);

/* What a filter leaves. */
struct filtered {
	struct rows rows;
	uint32_t *row_of; /* by number of the row that it was: of the one it is in, or ROWS_NONE */
};

void filtered_init(struct filtered *filtered);
void filtered_deinit(struct filtered *filtered);

/*
 * Fills an empty one with what is left of `from`, which must outlive it. Stacks that read the same
 * then are one row. Adds to `notes` what is shown, and which
 * patterns fit nothing: sentences, each with a newline. ERROR_USAGE: a pattern takes too long
 * (pattern_check()).
 */
struct error *filter_apply(const struct filter *filter, const struct rows *from,
	struct filtered *ret, struct text *notes) must_check_;

/*
 * Returns ERROR_INPUT if the filter leaves nothing of a non-empty `from`, with the patterns that
 * match no frame; NULL otherwise.
 */
struct error *filter_check_left(
	const struct filter *filter, const struct rows *from, const struct rows *left) must_check_;

#endif
