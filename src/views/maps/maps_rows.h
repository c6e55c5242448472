/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of the tables of maps_view.h, and the sentences about them. */
#ifndef VIEWS_MAPS_MAPS_ROWS_H
#define VIEWS_MAPS_MAPS_ROWS_H

#include "views/maps_view.h"

/* Figures of a region, an owner, or all of a process. */
struct maps_row {
	const struct maps_subject *subject;
	const struct mapping_region *region; /* NULL: of several */
	size_t region_index;
	enum look_owner owner;
	const char *whose; /* or NULL */
	size_t regions, mappings;
	uint64_t *values; /* at each kept look */
	size_t looks;
	uint64_t figures[LOOK_FIGURES]; /* at the last look */
	uint32_t known;
	struct mapping_fit fit;
	struct look_node_vec nodes; /* of a region, at the last look; ascending */
	struct maps_change change;  /* if subject->changes is not NULL */
};
DEFINE_VEC(maps_row_vec, struct maps_row)

/* A look of a process. */
struct maps_moment {
	const struct maps_subject *subject;
	size_t look;
	double seconds;
	uint64_t bytes;
};
DEFINE_VEC(maps_moment_vec, struct maps_moment)

/* A kind of memory in a process. */
struct maps_total {
	const struct maps_subject *subject;
	const struct mapping_total *total;
	struct mapping_fit fit;
};
DEFINE_VEC(maps_total_vec, struct maps_total)

struct maps_rows {
	struct maps_row_vec processes, owners, regions;
	struct maps_moment_vec moments;
	struct maps_total_vec totals; /* those that are known at some look */
};

/* Whether it has more resident bytes than at the first look. */
static inline bool maps_row_grew(const struct maps_row *row)
{
	return row->fit.shape != MAPPING_UNKNOWN && row->fit.change > 0;
}

static inline bool maps_row_changed(const struct maps_row *row)
{
	return row->fit.shape != MAPPING_SAME;
}

/* Adds what a row does: "grows by 1.20 MiB a minute (1.1 to 1.3 MiB)", "grew once by 4 MiB". */
void maps_add_shape(const struct maps_row *row, struct text *out);

/* Adds the name of a kind of memory: "swapped", "huge pages", "node 1". */
void maps_add_kind(const struct mapping_total *total, struct text *out);

/* Adds what grew in a process, in sentences and lines. */
void maps_add_findings(
	const struct maps_rows *rows, const struct maps_row *process, struct text *out);

/* Adds the command that looks inside of a region; nothing if there is none. */
void maps_add_command(const struct maps_row *row, struct text *out);

#endif
