/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/profile.h"

#include "analysis/library_own.h"
#include "analysis/summary.h"

void profile_init(struct profile *profile)
{
	*profile = (struct profile){.model = NULL};
	rows_init(&profile->all);
	filtered_init(&profile->left);
	filtered_init(&profile->folded);
	text_init(&profile->notes);
}

void profile_deinit(struct profile *profile)
{
	rows_deinit(&profile->all);
	filtered_deinit(&profile->left);
	filtered_deinit(&profile->folded);
	text_deinit(&profile->notes);
	resolver_destroy(profile->resolver);
}

struct error *profile_filter(struct profile *profile, const struct filter *filter)
{
	if (!filter_is_given(filter))
		return NULL;
	profile->filter = filter;
	struct error *error = filter_apply(filter, &profile->all, &profile->left, &profile->notes);
	return !error && profile->notes.failed ? error_no_memory() : error;
}

struct error *profile_check_heap(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	if (!recording->no_heap || !(recording->unknown & UNKNOWN_LIVE_BLOCKS))
		return NULL;
	return error_create(ERROR_INPUT, "%s: %s", recording->path,
		recording->remark ? recording->remark
				  : "nothing is known of its blocks: no heap was found");
}

struct error *profile_build(const struct model *model, bool all_frames, const struct filter *filter,
	struct profile *ret)
{
	ret->model = model;
	struct error *error = resolver_create(model, all_frames, &ret->resolver);
	if (!error)
		error = rows_build(model, ret->resolver, &ret->all);
	if (!error && library_own_counts(model))
		library_own_forget(&ret->all);
	if (error)
		return error;
	summary_add_notes(model, ret->resolver, &ret->notes);
	text_add_n(&ret->notes, ret->all.remarks.len ? ret->all.remarks.data : "",
		ret->all.remarks.len);
	return ret->notes.failed ? error_no_memory() : profile_filter(ret, filter);
}

struct error *profile_fold(struct profile *profile)
{
	const struct rows *rows = profile_rows(profile);
	bool same;
	struct error *error = folding_rows(rows, FOLDING_TAKES_OUT, &profile->folded, &same);
	if (error)
		return error;
	profile->folds = true;
	folding_add_note(rows, &profile->notes);
	return profile->notes.failed ? error_no_memory() : NULL;
}

const struct rows *profile_rows(const struct profile *profile)
{
	return profile->folds    ? &profile->folded.rows
	       : profile->filter ? &profile->left.rows
				 : &profile->all;
}

uint64_t profile_whole(const struct profile *profile, enum metric metric)
{
	uint64_t base = profile->base ? metric_of_totals(metric, model_totals(profile->base)) : 0;
	return base ? base : metric_of_totals(metric, model_totals(profile->model));
}
