/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See summary.h. */
#include "analysis/summary.h"

#include <assert.h>
#include <string.h>

#include "analysis/library_own.h"
#include "analysis/merge.h"
#include "analysis/verdicts/verdict.h"
#include "base/cleanup.h"
#include "base/util.h"

static const struct list_info {
	const char *name;
	enum metric metric;
} lists[] = {
	[SUMMARY_NEVER_FREED] = {"never_freed", METRIC_LIVE_BYTES},
	[SUMMARY_PEAK] = {"peak", METRIC_PEAK_BYTES},
	[SUMMARY_CALLS] = {"calls", METRIC_ALLOCATIONS},
	[SUMMARY_TEMPORARY] = {"temporary", METRIC_TEMPORARY},
};
static_assert(ARRAY_SIZE(lists) == SUMMARY_LISTS, "each list has a row");

enum metric summary_metric(const struct range *range, enum summary_list list)
{
	if (list == SUMMARY_NEVER_FREED && range->from_step)
		return METRIC_KEPT_BYTES;
	return lists[list].metric;
}

const char *summary_list_name(enum summary_list list)
{
	return lists[list].name;
}

void summary_init(struct summary *summary)
{
	*summary = (struct summary){.searched = false};
	text_init(&summary->verdict);
	for (int i = 0; i < SUMMARY_LISTS; i++) {
		row_list_init(&summary->lists[i]);
		rows_init(&summary->merged[i]);
	}
	growth_init(&summary->growth);
	reallocs_init(&summary->reallocs);
}

void summary_deinit(struct summary *summary)
{
	text_deinit(&summary->verdict);
	for (int i = 0; i < SUMMARY_LISTS; i++) {
		row_list_deinit(&summary->lists[i]);
		rows_deinit(&summary->merged[i]);
	}
	growth_deinit(&summary->growth);
	reallocs_deinit(&summary->reallocs);
}

void summary_add_ending(struct text *text, const struct target *target)
{
	switch (target->exit_kind) {
	case EXIT_KIND_STATUS:
		text_printf(text, "ended with status %d", target->exit_value);
		return;
	case EXIT_KIND_SIGNAL: {
		const char *name = sigabbrev_np(target->exit_value);
		text_printf(text, "was killed by signal %d", target->exit_value);
		if (name)
			text_printf(text, " (SIG%s)", name);
		return;
	}
	case EXIT_KIND_EXEC:
		text_add(text, "executed another program (exec)");
		return;
	case EXIT_KIND_RUNNING:
		text_add(text, "is still running");
		return;
	case EXIT_KIND_UNKNOWN:
		text_add(text, "has an unknown exit status");
		return;
	}
}

void summary_add_temporary_rule(struct text *text, const struct recording *recording)
{
	/* Files of heaptrack and mtrace have one order of all threads, and do not tell these apart.
	 */
	bool any_thread = recording->unknown & UNKNOWN_THREADS;
	if (recording->temporary_within <= 1) {
		text_add(text, any_thread ? "before the next allocation of any thread"
					  : "by the same thread before its next allocation");
		return;
	}
	text_add(text, any_thread ? "within " : "by the same thread within ");
	text_add_count(text, recording->temporary_within);
	text_add(text, any_thread ? " allocations of any thread" : " of its allocations");
}

void summary_add_place(struct text *text, const struct shown_frame *frame)
{
	shown_frame_add_shown(text, frame);
	bool line = frame->file, module = !line && frame->module && frame->function;
	if (!line && !module)
		return;
	text_add(text, " (");
	if (line)
		shown_frame_add_line(text, frame);
	else
		text_add_shown(text, frame->module, SIZE_MAX);
	text_add(text, ")");
}

static struct error *build_lists(
	const struct recording *recording, const struct rows *rows, struct summary *summary)
{
	const struct range *range = &recording->range;
	const struct {
		enum summary_list list;
		bool by_place; /* else by weight */
		enum metric filter;
	} plan[] = {
		{SUMMARY_NEVER_FREED, true,
			range->from_step ? METRIC_KEPT_BLOCKS : METRIC_LIVE_BLOCKS},
		{SUMMARY_PEAK, true, METRIC_PEAK_BLOCKS},
		{SUMMARY_CALLS, false, METRIC_ALLOCATIONS},
		{SUMMARY_TEMPORARY, false, METRIC_TEMPORARY},
	};
	struct error *error = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(plan) && !error; i++) {
		enum metric metric = summary_metric(range, plan[i].list);
		struct rows *merged = &summary->merged[plan[i].list];
		struct row_list *list = &summary->lists[plan[i].list];
		/* Of a sum with a sample in it only some are known. */
		if (plan[i].list == SUMMARY_TEMPORARY && recording->sample_bytes)
			continue;
		error = plan[i].by_place ? rows_merge_places(rows, plan[i].filter, merged)
					 : rows_merge(rows, metric, merged);
		if (!error)
			error = rows_select(merged, plan[i].filter, metric, list);
		row_list_leave(list, false);
	}
	return error;
}

/* The kinds as 'heapwise leaks' has them, with no suppressions but the built-in ones. */
static struct error *sum_leaks(
	const struct model *model, struct resolver *beside, struct summary *ret)
{
	const struct leak_search *search = model_leak_search(model);
	_cleanup_(suppressions_cleanup) struct suppressions *suppressions = NULL;
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	_cleanup_(leaks_deinit) struct leaks leaks;
	leaks_init(&leaks);
	if (!search || search->way == LEAK_WAY_NONE)
		return NULL;
	struct error *error = suppressions_create(&suppressions);
	if (!error && strcmp(model_recording(model)->source, "recording") == 0)
		error = suppressions_add_built_in(suppressions);
	if (!error)
		error = resolver_create_beside(model, beside, &resolver);
	if (error)
		return error;
	resolver_add_aliases(resolver);
	const struct leaks_options how = {.separate_libraries = true, .suppressions = suppressions};
	error = leaks_build(model, resolver, &how, &leaks);
	ret->searched = !error && leaks.searched;
	memcpy(ret->leaks, leaks.sums, sizeof(ret->leaks));
	return error;
}

/* What becomes of places over time, and of blocks that are reallocated, where that is known. */
static struct error *evaluate_lives(const struct model *model, struct resolver *resolver,
	const struct rows *rows, struct summary *ret)
{
	size_t moments, sites;
	model_series(model, &moments);
	model_series_sites(model, &sites);
	const struct growth_places places = {.all = rows, .shown = rows};
	struct error *error = NULL;
	ret->has_growth = moments && sites;
	ret->has_reallocs = model_lifetimes(model)->known;
	if (ret->has_growth)
		error = growth_build(model, resolver, &places, GROWTH_TAIL_PERCENT, &ret->growth);
	if (!error && ret->has_reallocs)
		error = reallocs_build(model, resolver, rows, &ret->reallocs);
	return error;
}

struct error *summary_build(const struct model *model, struct resolver *resolver,
	const struct rows *all, const struct rows *rows, struct summary *ret)
{
	library_own_sum(rows, &ret->libraries);
	struct error *error = sum_leaks(model, resolver, ret);
	if (!error)
		error = build_lists(model_recording(model), rows, ret);
	if (!error && resolver)
		error = evaluate_lives(model, resolver, all, ret);
	if (!error)
		error = verdict_add(model, rows, ret, &ret->verdict);
	if (error)
		return error;
	return ret->verdict.failed ? error_no_memory() : NULL;
}
