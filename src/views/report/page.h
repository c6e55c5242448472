/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms of the views share: everything a view may show of one model. Inside views/ only.
 */
#ifndef VIEWS_PAGE_H
#define VIEWS_PAGE_H

#include "analysis/comparison.h"
#include "analysis/filter.h"
#include "analysis/folding.h"
#include "analysis/growth_change.h"
#include "analysis/realloc_changes.h"
#include "analysis/size_classes.h"
#include "analysis/spot_totals.h"
#include "analysis/summary.h"
#include "analysis/thread_changes.h"
#include "analysis/timeline.h"
#include "analysis/unrecorded.h"
#include "views/views.h"

DEFINE_VEC(size_list, struct size_count)
DEFINE_VEC(thread_list, const struct thread *)

struct page {
	const struct model *model;
	const struct view *view;
	const struct view_options *options;
	struct resolver *resolver;
	enum metric sort;
	size_t limit;      /* rows to show */
	bool for_programs; /* all stacks as they are; people read them folded */

	struct rows all;         /* every row of the model */
	struct filtered left;    /* of these, what a filter leaves */
	struct filtered folded;  /* of these, what people read (folding.h) */
	const struct rows *rows; /* one of these three */
	struct rows merged;      /* the view's own, if it merges */
	struct row_list list;    /* the view's rows, in order, not yet limited */
	struct summary summary;  /* empty in other views */
	struct text notes;       /* what limits the figures: sentences, each with a newline */
	struct unrecorded_groups unrecorded;
	struct size_list sizes; /* in order */
	struct thread_list threads;
	const struct mark *marks; /* in the order of time */
	size_t mark_count;
	struct growth growth;               /* empty in other views */
	struct growth_change growth_change; /* likewise, and without a base */
	struct timeline timeline;           /* empty in other views */
	struct timeline older_timeline;     /* that of the base */
	struct reallocs reallocs;           /* likewise */
	struct spots *spots;                /* NULL in views of other things */
	struct spot_total_vec spot_totals;

	/* Empty unless options->base is set. */
	struct comparison compared;
	struct text verdict; /* on what changed: sentences, each with a newline */
	struct size_changes size_changes;
	struct lifetimes base_lifetimes;
	struct thread_change_vec thread_changes;
	struct realloc_changes realloc_changes;
};

struct answer;
struct table_type;

/* The order in which a view shows things, and what of them. */
struct view {
	const char *name;
	const char *title;  /* of the list, as text */
	enum metric filter; /* rows that have any of it; METRICS: all */
	enum metric sort;   /* unless the user chose another */
	unsigned metrics;   /* bit set of those that can be chosen */
	bool merges;        /* stacks with a common innermost part */
	/* Lists what was left: without what libraries keep for themselves, or that alone. */
	bool of_program, of_libraries;
	size_t text_limit;
	struct error *(*fill)(struct page *page);
	/* Hands over what is its own, in all forms. */
	void (*answer)(const struct page *page, struct answer *answer);
	const struct table_type *table; /* the one that CSV has */
	bool ruled;                     /* the heading stands between lines */
	bool has_sites;                 /* needs stacks with names */
	enum grain grain;               /* what distinguishes spots */
	size_t (*moments)(const struct view_options *options); /* of model_series(), with sites */
	const char *schema;                                    /* NULL: heapwise.report/1 */
	uint32_t needs;      /* of recording.unknown: without it there is nothing to show */
	bool needs_marks;    /* model_marks() */
	bool needs_errors;   /* model_errors() */
	bool needs_resident; /* model_resident() */
	bool needs_lives;    /* model_lifetimes(), model_reallocs() */
	bool inherited;      /* these are of what the process was forked with */
	/* With a base, in place of those above; NULL: as above. */
	struct error *(*fill_change)(struct page *page);
	void (*answer_change)(const struct page *page, struct answer *answer);
	const struct table_type *change_table; /* as `table` */
	const char *no_base;                   /* why it takes none; NULL: it does */
	bool own_change; /* these say all of a change themselves: no comparison of totals */
};

/* The form that is asked for; NULL: no memory. */
struct answer *view_answer_create(const struct view_options *options, const struct sink *sink);

/* Adds to the notes that figures are of the sampled blocks alone, of a sample. */
void page_add_sample_note(struct page *page);

/* Adds a thread's name, and how many others it stands for. */
void text_thread_name(const struct thread *thread, struct text *out);

/* Which views to look at next, as commands. Nothing where none is due. */
void text_next(const struct page *page, struct text *out);

#endif
