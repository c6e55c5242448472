/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/comparison.h"

#include <string.h>

#include "analysis/summary.h"

void comparison_init(struct comparison *comparison)
{
	for (int i = 0; i < 2; i++)
		profile_init(&comparison->sides[i]);
	diff_init(&comparison->diff);
	profile_init(&comparison->both);
}

void comparison_deinit(struct comparison *comparison)
{
	/* Its rows are those of `diff`. */
	text_deinit(&comparison->both.notes);
	diff_deinit(&comparison->diff);
	for (int i = 0; i < 2; i++)
		profile_deinit(&comparison->sides[i]);
}

/* "a.hpw", "a.hpw as of peak" */
static void comparison_add_name(const struct model *model, struct text *out)
{
	const struct recording *recording = model_recording(model);
	text_add(out, recording->path);
	if (recording->range.part)
		text_printf(out, " as of %s", recording->range.to);
}

static void comparison_add_notes(const struct comparison *comparison, struct text *out)
{
	const struct text *older = &comparison->sides[0].notes;
	const struct text *newer = &comparison->sides[1].notes;
	bool same = older->len == newer->len &&
		    (!older->len || memcmp(older->data, newer->data, older->len) == 0);
	text_add(out, "Figures are differences: how much more ");
	comparison_add_name(comparison->sides[1].model, out);
	text_add(out, " has than ");
	comparison_add_name(comparison->sides[0].model, out);
	text_add(out, ".\n");
	if (comparison->diff.notes.len)
		text_add_n(out, comparison->diff.notes.data, comparison->diff.notes.len);
	if (older->len && !same)
		text_add_n(out, older->data, older->len);
	if (newer->len)
		text_add_n(out, newer->data, newer->len);
}

/* The filter was applied to each side: what it left is what there is. */
static struct error *make_both(struct comparison *comparison)
{
	struct profile *both = &comparison->both;
	const struct profile *newer = &comparison->sides[1];
	both->model = newer->model;
	both->base = comparison->sides[0].model;
	both->filter = newer->filter;
	*(both->filter ? &both->left.rows : &both->all) = comparison->diff.rows;
	comparison_add_notes(comparison, &both->notes);
	return both->notes.failed ? error_no_memory() : NULL;
}

/* As profile_build() does, of what is compared. */
static struct error *build_side(const struct model *model, enum diff_scope scope, bool all_frames,
	const struct filter *filter, struct profile *ret)
{
	struct error *error = profile_check_heap(model);
	if (error)
		return error;
	if (scope == DIFF_STACKS)
		return profile_build(model, all_frames, filter, ret);
	ret->model = model;
	error = resolver_create(model, all_frames, &ret->resolver);
	if (!error && scope == DIFF_INHERITED)
		error = rows_build_inherited(model, ret->resolver, &ret->all);
	if (error)
		return error;
	summary_add_notes(model, ret->resolver, &ret->notes);
	return ret->notes.failed ? error_no_memory() : profile_filter(ret, filter);
}

struct error *comparison_build(const struct model *older, const struct model *newer,
	const struct diff_options *options, bool all_frames, const struct filter *filter,
	struct comparison *ret)
{
	struct error *error = build_side(older, options->scope, all_frames, filter, &ret->sides[0]);
	if (!error)
		error = build_side(newer, options->scope, all_frames, filter, &ret->sides[1]);
	if (error)
		return error;
	const struct profile *either = &ret->sides[ret->sides[1].all.rows.len ? 1 : 0];
	if (filter && !profile_rows(&ret->sides[0])->rows.len)
		error = filter_check_left(filter, &either->all, profile_rows(&ret->sides[1]));
	if (error)
		return error;
	struct match_side sides[] = {
		{older, profile_rows(&ret->sides[0])}, {newer, profile_rows(&ret->sides[1])}};
	struct diff_options how = *options;
	for (int i = 0; i < 2 && (ret->sides[0].filter || ret->sides[1].filter); i++)
		how.all[i] = &ret->sides[i].all;
	error = diff_build(&sides[0], &sides[1], &how, &ret->diff);
	return error ? error : make_both(ret);
}
