/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures and names as the views of stacks show them, in each of their forms. Inside views/ only.
 */
#ifndef VIEWS_FIGURES_H
#define VIEWS_FIGURES_H

#include "analysis/calltree.h"
#include "analysis/profile.h"
#include "table/answer.h"
#include "views/views.h"

#define NO_STACK_NAME "(no stack was recorded)"

/* "1.20 MiB", "1,234"; of a comparison with its sign: "+1.20 MiB". */
void text_add_figure(struct text *out, enum metric metric, int64_t value, bool compared);
/* The same with spaces before it, up to `width` characters. */
void text_add_figure_cell(
	struct text *out, enum metric metric, int64_t value, bool compared, int width);
/* " 12.3%" in eight characters. */
void text_add_percent(struct text *out, int64_t value, uint64_t whole);

/* Lays out an answer. It begins as all of stacks do: the program, its recording, notes, then the
 * filter and the metric (stacks_metric_type), in text the heading and the notes; the rest is put.
 */
typedef struct error *stacks_put(void *context, struct answer *answer);
struct error *stacks_answer(const struct profile *profile, const struct view_options *options,
	const struct answer_type *type, stacks_put *put, void *context,
	const struct sink *sink) must_check_;
extern const struct table_type stacks_metric_type;
/* What pages of docs/schema say of it. */
#define STACKS_HEAD_SAYS                                                                           \
	"`target`, `recording`, `notes` and quantities are as in [heapwise.report/1](report-1.md)"
#define GRAIN_COLUMN                                                                               \
	{                                                                                          \
		"by", COLUMN_TEXT,                                                                 \
			.says = "what tells frames apart: `functions`, `lines`, `files`, "         \
				"`addresses` or `modules`"                                         \
	}

/* Without its sign. */
static inline uint64_t figure_amount(struct figure figure)
{
	int64_t value = figure_value(figure);
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Two columns, `at` and the one after it: a figure; the base's, in a comparison. figure_cell()
 * fills one of them. */
#define FIGURE_PAIR(at, name, what)                                                                \
	[at] = {name, COLUMN_SIGNED, .says = what},                                                \
	[(at) + 1] = {name "_base", COLUMN_INTEGER, .optional = true,                              \
		.says = "in a comparison: the older "                                              \
			"figure, the one before it "                                               \
			"is the difference"}
void figure_cell(
	const struct profile *profile, struct figure figure, bool is_base, struct cell *ret);

/* All metrics of a row. */
struct sums_rows {
	const struct recording *recording; /* what it does not know is unknown */
	const struct row *sums;
	bool whole; /* not less what it is compared with */
};
extern const struct table_type sums_type;
/* A function, line, address, file or module: name, function, file, line, module, offset. */
struct spot_rows {
	enum grain grain;
	const struct spot *spot; /* NULL: no stack was recorded */
};
extern const struct table_type spot_type;
/* Pages of docs/schema describe it once. */
extern const struct table_type *const spot_parts[];

/* Make a record of these types the cell's. sums NULL: not known. */
void sums_cell(struct sums_rows *rows, const struct row *sums, struct cell *ret);
void spot_cell(struct spot_rows *rows, const struct spot *spot, struct cell *ret);

#endif
