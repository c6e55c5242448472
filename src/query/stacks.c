/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/stacks.h"

#include <stdlib.h>

#include "analysis/names.h"
#include "base/cleanup.h"

void stacks_deinit(struct stacks *stacks)
{
	if (!stacks->model)
		return;
	if (stacks->compared) {
		/* Its rows are those of `compared`. */
		comparison_deinit(stacks->compared);
		filtered_deinit(&stacks->profile.folded);
		text_deinit(&stacks->profile.notes);
	} else {
		profile_deinit(&stacks->profile);
	}
	free(stacks->compared);
	*stacks = (struct stacks){.model = NULL};
}

static struct error *check_known(const struct model *model, enum metric metric)
{
	const struct recording *recording = model_recording(model);
	struct error *error = profile_check_heap(model);
	if (error || metric == METRICS || metric_is_known(metric, recording))
		return error;
	if (recording->only_errors)
		return error_create(ERROR_INPUT,
			"%s: contains errors only, and no allocations: see 'heapwise report --view "
			"errors'; 'heapwise check --mode exact' records both",
			recording->path);
	if (metric == METRIC_TEMPORARY && recording->sample_bytes)
		return error_create(ERROR_INPUT,
			"%s is a sample: temporary allocations are unknown; use --metric "
			"allocations",
			recording->path);
	return error_create(ERROR_INPUT, "%s: %s files contain no %s; use --metric %s",
		recording->path, recording->source, metric_name(metric),
		metric_name(metric_or_known(metric, recording)));
}

struct error *stacks_metric(
	const struct model *model, bool given, enum metric metric, enum metric *ret)
{
	if (!given && metric != METRICS)
		metric = metric_or_known(metric, model_recording(model));
	struct error *error = check_known(model, metric);
	if (!error)
		*ret = metric;
	return error;
}

/* Builds the profile of both; `older` NULL: of what the model subtracts. */
static struct error *stacks_compare(const struct query *query, const struct operand *older,
	const struct stacks_wanted *wanted, struct stacks *ret)
{
	const struct model *base = older ? older->model : model_subtracted(ret->model);
	ret->compared = malloc(sizeof(*ret->compared));
	if (!ret->compared)
		return error_no_memory();
	comparison_init(ret->compared);
	struct diff_options options = {
		/* Views of all metrics sort by none. */
		.metric = wanted->metric == METRICS ? METRIC_LIVE_BYTES : wanted->metric,
		.same_recording = !older || operand_is_of(older, ret->model),
		.normalize = wanted->normalize,
		/* All stacks are shown. */
		.count_libraries = wanted->count_libraries || !wanted->normalize,
	};
	struct error *error = comparison_build(
		base, ret->model, &options, wanted->all_frames, &query->filter, ret->compared);
	ret->profile = ret->compared->both;
	text_init(&ret->compared->both.notes); /* they are the profile's now */
	return error;
}

static struct error *build_single(
	const struct query *query, const struct stacks_wanted *wanted, struct stacks *ret)
{
	struct error *error =
		profile_build(ret->model, wanted->all_frames, &query->filter, &ret->profile);
	if (!error && ret->profile.filter)
		error = filter_check_left(
			&query->filter, &ret->profile.all, profile_rows(&ret->profile));
	return error;
}

struct error *stacks_build(const struct query *query, const struct model *model,
	const struct operand *base, const struct stacks_wanted *wanted, struct stacks *ret)
{
	const struct operand *older = base && base->model ? base : NULL;
	struct query_task task;
	*ret = (struct stacks){.model = model};
	profile_init(&ret->profile);
	struct error *error = older ? check_known(older->model, wanted->metric) : NULL;
	if (error)
		return error;
	query_task_begin(query->context, &task, "looking up names");
	error = older || model_subtracted(model) ? stacks_compare(query, older, wanted, ret)
						 : build_single(query, wanted, ret);
	query_task_end(query->context, &task);
	if (!error && wanted->folds && !wanted->all_frames)
		error = profile_fold(&ret->profile);
	return error;
}

struct error *stacks_select(const struct stacks *stacks, enum metric metric, struct row_list *ret)
{
	return rows_select(profile_rows(&stacks->profile), metric, metric, ret);
}

struct error *stacks_intern_spots(const struct stacks *stacks, struct spots *spots)
{
	const struct rows *rows = profile_rows(&stacks->profile);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		for (size_t k = 0; !error && k < rows->rows.data[i].depth; k++) {
			const struct spot *spot;
			error = spots_find(spots, rows->rows.data[i].frames[k], &spot);
		}
	return error;
}

struct error *stacks_find(const struct stacks *stacks, struct spots *spots, const char *name,
	bool **ret, size_t *ret_count)
{
	struct error *error = stacks_intern_spots(stacks, spots);
	_cleanup_free_ bool *found = calloc(spots_count(spots) + 1, sizeof(*found));
	if (!error && !found)
		error = error_no_memory();
	if (!error)
		error = names_find(spots, name, found, ret_count);
	if (!error)
		*ret = steal_ptr(found);
	return error;
}
