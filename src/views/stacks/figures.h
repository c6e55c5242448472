/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures and names as the views of stacks show them, in each of their forms. Inside views/ only.
 */
#ifndef VIEWS_FIGURES_H
#define VIEWS_FIGURES_H

#include "analysis/grain.h"
#include "analysis/profile.h"
#include "base/json.h"
#include "table/table.h"

#define NO_STACK_NAME "(no stack was recorded)"

/* "1.20 MiB", "1,234"; of a comparison with its sign: "+1.20 MiB". */
void text_add_figure(struct text *out, enum metric metric, int64_t value, bool compared);
/* The same with spaces before it, up to `width` characters. */
void text_add_figure_cell(
	struct text *out, enum metric metric, int64_t value, bool compared, int width);
/* " 12.3%" in eight characters. */
void text_add_percent(struct text *out, int64_t value, uint64_t whole);

/* What all documents of stacks have: target, recording, notes, filter, metric, whole. */
void json_put_profile(struct json *json, const struct profile *profile, enum metric metric);

/* All metrics of a row. */
struct sums_rows {
	const struct recording *recording; /* what it does not know is unknown */
	const struct row *sums;
	bool whole; /* not less what it is compared with */
};
extern const struct table_type sums_type;
/* A place: name, function, file, line, module, offset. */
struct spot_rows {
	enum grain grain;
	const struct spot *spot; /* NULL: no stack was recorded */
};
extern const struct table_type spot_type;

/* An object with all metrics; NULL: null. */
void json_put_sums(struct json *json, const char *key, const struct row *sums,
	const struct recording *recording);
/* The members of a place, into an object that is open. */
void json_put_spot(struct json *json, enum grain grain, const struct spot *spot);

#endif
