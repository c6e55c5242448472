/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers as text for people and as JSON for programs: a table of views, each with both forms.
 * Views print nothing: bytes go to a sink. Equal input gives equal bytes.
 *
 * JSON is "heapwise.report/1", described in docs/schema/report-1.md, or the view's own.
 */
#ifndef VIEWS_VIEWS_H
#define VIEWS_VIEWS_H

#include "analysis/metric.h"
#include "analysis/timeline.h"
#include "base/error.h"
#include "base/sink.h"
#include "base/text.h"
#include "model/model.h"

struct view;
struct filter;

#define VIEW_NO_LIMIT SIZE_MAX
/* The view's own choice: 20 rows (3 for each list of the summary, these in brief) as text, all as
 * JSON. */
#define VIEW_DEFAULT_LIMIT 0

/* What a view is compared with. */
struct view_base {
	const struct model *model; /* with what the view needs, as the one that is shown */
	const char *label;         /* "old.hpw@3s" */
	bool same_recording;       /* both are moments of one */
	bool normalize;            /* its figures are scaled so that totals agree */
};

struct view_options {
	enum metric sort; /* METRICS: the view's own choice */
	size_t limit;
	bool json;
	bool csv; /* the view's table alone; not together with json */
	bool all_frames;
	bool count_libraries;        /* what they keep for themselves counts as the program's */
	bool by_cum;                 /* tables of flat and cum in the order of cum */
	bool colour;                 /* text for a terminal that has some */
	bool write_suppressions;     /* view errors as text: an entry for each */
	const struct filter *filter; /* NULL: everything */
	unsigned tail_percent;       /* of time that growth is not judged by, at the end */
	struct timeline_options timeline;
	const struct view_base *base; /* NULL: none */
	/* Increased by how many rows of tables the limit left out; NULL: nobody asks. */
	size_t *left_out;
};

/* Whether it is laid out for programs: all rows, all frames, no colours. */
static inline bool view_is_for_programs(const struct view_options *options)
{
	return options->json || options->csv;
}

/* NULL if there is none of that name. */
const struct view *view_find(const char *name);
/* Adds "summary, sites, …". */
void view_add_names(struct text *text);
/* Adds the metrics that the view can be sorted by. */
void view_add_metrics(struct text *text, const struct view *view);
/* Whether it shows model_inherited(). */
bool view_shows_inherited(const struct view *view);
/* Of how many moments it needs a series with sites; 0: none. */
size_t view_needs_moments(const struct view *view, const struct view_options *options);
/* Of how many of these one has to have its sites; 0: all. */
size_t view_moments_every(const struct view *view, const struct view_options *options);
/* Whether it has figures of flat and cum. */
bool view_has_cum(const struct view *view);
/* Whether it shows model_marks(). */
bool view_needs_marks(const struct view *view);
/* Whether it needs model_lifetimes() and model_reallocs(). */
bool view_needs_lives(const struct view *view);
/* Whether it shows stacks that can be filtered. */
bool view_can_filter(const struct view *view);
/* Why it can't be compared with another recording; NULL: it can. */
const char *view_no_base(const struct view *view);
bool view_can_sort(const struct view *view, enum metric metric);

/* Writes the whole view. NULL also when the sink stopped it: the sink knows. */
struct error *view_write(const struct view *view, const struct model *model,
	const struct view_options *options, const struct sink *sink);

#endif
