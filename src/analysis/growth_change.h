/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps growing in a recording, beside what did in an older one. Places are matched as match.h
 * says, and each is judged in both, as growth.h says, all of its rows together.
 */
#ifndef ANALYSIS_GROWTH_CHANGE_H
#define ANALYSIS_GROWTH_CHANGE_H

#include "analysis/compare/match.h"
#include "analysis/growth.h"
#include "analysis/profile.h"

enum growth_fate {
	GROWTH_NEW,   /* it keeps growing, and did not before */
	GROWTH_STAYS, /* it did before, and does */
	GROWTH_GONE,  /* it did before, and does not any more */
	GROWTH_OTHER, /* it is no suspect, and was none */
	GROWTH_FATES
};

/* A place. Of a recording that has not got it the verdict is GROWTH_NONE and all figures are 0. */
struct growth_change_row {
	enum growth_fate fate;
	struct growth_row older, newer;
};
DEFINE_VEC(growth_change_rows, struct growth_change_row)

struct growth_change_options {
	bool same_recording;         /* two moments of one */
	bool all_frames;             /* as of resolver_create() */
	const struct filter *filter; /* NULL: none */
	unsigned tail_percent;       /* as of growth_build(), of both */
	const char *older_label;     /* what it is called in notes */
};

struct growth_change {
	struct profile sides[2]; /* older, newer */
	struct match *match;
	struct rows rows; /* places of both */
	struct growth judged[2];
	struct growth_change_rows list; /* by fate; suspects by how much they grow or grew */
	size_t counts[GROWTH_FATES];
	/* The older one has enough moments; else it is not known which suspects are new. */
	bool older_known;
	struct text verdict, notes; /* sentences, each with a newline */
};

void growth_change_init(struct growth_change *change);
void growth_change_deinit(struct growth_change *change);

/* Fills one that was initialised. The models have series with sites, and outlive it. */
struct error *growth_change_build(const struct model *older, const struct model *newer,
	const struct growth_change_options *options, struct growth_change *ret) must_check_;

/* Returns "new", "before", "gone"; NULL of others. */
const char *growth_fate_name(enum growth_fate fate);

#endif
