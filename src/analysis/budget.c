/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/budget.h"

#include <stdlib.h>

#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/util.h"

static const struct budget_rule_info infos[BUDGET_RULES] = {
	[BUDGET_PEAK] = {"max-peak", "PeakAboveLimit", "peak",
		"More memory was live at the peak than is allowed.", METRIC_PEAK_BYTES},
	[BUDGET_NEVER_FREED] = {"max-never-freed", "NeverFreedAboveLimit", "never freed",
		"More memory was never freed than is allowed.", METRIC_LIVE_BYTES},
	[BUDGET_PER_STACK] = {"max-per-stack", "NeverFreedByStack", "never freed by one stack",
		"One stack allocated more that was never freed than is allowed.",
		METRIC_LIVE_BYTES},
	[BUDGET_ALLOCATIONS] = {"max-allocations", "AllocationsAboveLimit", "allocations",
		"There were more allocations than are allowed.", METRIC_ALLOCATIONS},
	[BUDGET_TEMPORARY] = {"max-temporary", "TemporaryAboveLimit", "temporary allocations",
		"There were more temporary allocations than are allowed.", METRIC_TEMPORARY},
	[BUDGET_GROWTH] = {"max-growth", "GrowthAboveLimit", "growth",
		"More memory is live than in the baseline, by more than is allowed.",
		METRIC_LIVE_BYTES},
	[BUDGET_LEAK] = {"max-leak", "LeakAboveLimit", "leaked",
		"More memory was leaked than is allowed.", METRIC_LIVE_BYTES},
	[BUDGET_LEAK_PER_STACK] = {"max-leak-per-stack", "LeakByStack", "leaked by one stack",
		"One stack leaked more than is allowed.", METRIC_LIVE_BYTES},
};

const struct budget_rule_info *budget_rule_info(enum budget_rule rule)
{
	return &infos[rule];
}

void budget_init(struct budget *budget)
{
	*budget = (struct budget){.exceeded = 0};
	text_init(&budget->verdict);
}

void budget_deinit(struct budget *budget)
{
	budget_check_vec_deinit(&budget->checks);
	budget_finding_vec_deinit(&budget->findings);
	text_deinit(&budget->verdict);
}

struct judging {
	const struct budget_input *input;
	const struct budget_limits *limits;
	struct budget *ret;
	struct budget_check check;
};

static uint64_t count_of(enum budget_rule rule, const struct site *site)
{
	switch (rule) {
	case BUDGET_PEAK:
		return site->peak_blocks;
	case BUDGET_ALLOCATIONS:
	case BUDGET_TEMPORARY:
		return site->allocations;
	default:
		return site->live_blocks;
	}
}

static struct error *add_row(struct judging *judging, const struct row *row, uint64_t value)
{
	struct budget_finding finding = {
		.frames = row->frames,
		.depth = row->depth,
		.place = row->place,
		.kind = row->sums.kind,
		.value = value,
		.blocks = count_of(judging->check.rule, &row->sums),
	};
	judging->check.count++;
	return budget_finding_vec_push(&judging->ret->findings, finding) ? NULL : error_no_memory();
}

static bool is_each_stack(enum budget_rule rule)
{
	return rule == BUDGET_PER_STACK || rule == BUDGET_LEAK_PER_STACK;
}

static bool is_live(enum metric metric)
{
	return metric == METRIC_LIVE_BYTES || metric == METRIC_LIVE_BLOCKS;
}

/* The stacks that make the excess. */
static struct error *blame_rows(struct judging *judging, enum metric metric)
{
	uint64_t excess = judging->check.value - judging->check.limit, sum = 0;
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	struct error *error = rows_select(judging->input->rows, metric, metric, &list);
	if (is_live(metric))
		row_list_leave(&list, false);
	for (size_t i = 0; i < list.len && sum < excess && !error; i++) {
		uint64_t value = metric_of_site(metric, &list.data[i]->sums);
		sum += value;
		error = add_row(judging, list.data[i], value);
	}
	return error;
}

/* Whether the rule's metric is known; says why not. */
static bool is_known(struct judging *judging)
{
	enum metric metric = infos[judging->check.rule].metric;
	const struct recording *recording = model_recording(judging->input->model);
	const struct model *baseline = judging->input->baseline;
	if (!metric_is_known(metric, recording))
		judging->check.unknown =
			metric == METRIC_TEMPORARY && recording->sample_bytes
				? "which allocations are temporary is not known of a sample"
				: "a file of this kind does not say it";
	else if (judging->check.rule == BUDGET_GROWTH &&
		 !metric_is_known(metric, model_recording(baseline)))
		judging->check.unknown = "a file of the baseline's kind does not say it";
	return !judging->check.unknown;
}

static struct error *judge_total(struct judging *judging)
{
	enum metric metric = infos[judging->check.rule].metric;
	const struct recording *recording = model_recording(judging->input->model);
	/* Nobody can free what libraries keep for themselves; the peak has it all the same. */
	struct totals left =
		library_own_left(model_totals(judging->input->model), judging->input->rows);
	const struct totals *totals = &left;
	struct interval range;
	uint64_t value = metric_of_totals(metric, totals);
	judging->check.value = value;
	if (interval_of_totals(recording, metric, totals, &range))
		value = range.low;
	judging->check.exceeded = value > judging->check.limit;
	return judging->check.exceeded ? blame_rows(judging, metric) : NULL;
}

static struct error *judge_per_stack(struct judging *judging)
{
	const struct recording *recording = model_recording(judging->input->model);
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	struct error *error =
		rows_select(judging->input->rows, METRIC_LIVE_BLOCKS, METRIC_LIVE_BYTES, &list);
	row_list_leave(&list, false);
	for (size_t i = 0; i < list.len && !error; i++) {
		const struct site *sums = &list.data[i]->sums;
		struct interval range = {.low = sums->live_bytes};
		interval_of_site(recording, METRIC_LIVE_BYTES, sums, &range);
		judging->check.value = max(judging->check.value, sums->live_bytes);
		if (range.low > judging->check.limit)
			error = add_row(judging, list.data[i], sums->live_bytes);
	}
	judging->check.exceeded = judging->check.count > 0;
	return error;
}

static struct error *blame_growth(struct judging *judging, uint64_t growth)
{
	const struct diff *diff = judging->input->diff;
	const struct row_list *lists[] = {&diff->lists[DIFF_NEW], &diff->lists[DIFF_GROWN]};
	uint64_t excess = growth - judging->check.limit, sum = 0;
	/* Both lists are sorted: the larger head is next. */
	size_t at[2] = {0, 0};
	struct error *error = NULL;
	while (sum < excess && !error) {
		int64_t best = 0;
		int from = -1;
		for (int i = 0; i < 2; i++) {
			while (at[i] < lists[i]->len && lists[i]->data[at[i]]->library)
				at[i]++;
			int64_t change = at[i] < lists[i]->len ? row_value(lists[i]->data[at[i]],
									 METRIC_LIVE_BYTES)
							       : 0;
			if (change > best) {
				best = change;
				from = i;
			}
		}
		if (from < 0)
			break;
		error = add_row(judging, lists[from]->data[at[from]++], (uint64_t)best);
		sum += (uint64_t)best;
	}
	return error;
}

/* Takes what libraries keep for themselves out of both sides of a difference. */
static void leave_libraries(const struct judging *judging, struct diff_figure *figure)
{
	struct site now = {0}, before = {0};
	library_own_sum(judging->input->rows, &now);
	library_own_sum(judging->input->baseline_rows, &before);
	int64_t more = (int64_t)(now.live_bytes - before.live_bytes);
	figure->base -= min(before.live_bytes, figure->base);
	figure->value -= min(now.live_bytes, figure->value);
	figure->change -= more;
	figure->low -= more;
	figure->high -= more;
}

static struct error *judge_growth(struct judging *judging)
{
	const struct limit *limit = &judging->limits->limits[BUDGET_GROWTH];
	struct diff_figure figure;
	diff_of_totals(judging->input->diff, METRIC_LIVE_BYTES, &figure);
	leave_libraries(judging, &figure);
	int64_t certain = figure.estimated ? figure.low : figure.change;
	judging->check.base = figure.base;
	judging->check.limit = limit_value(limit, figure.base);
	judging->check.value = figure.change > 0 ? (uint64_t)figure.change : 0;
	judging->check.exceeded =
		certain > 0 && limit_exceeded(limit, (uint64_t)certain, figure.base);
	return judging->check.exceeded ? blame_growth(judging, judging->check.value) : NULL;
}

static struct error *add_leak(struct judging *judging, const struct leak_row *row)
{
	const struct leak_stack *stack = &judging->input->leaks->stacks.data[row->stack];
	struct budget_finding finding = {
		.frames = stack->frames,
		.depth = stack->depth,
		.place = stack->place,
		.kind = stack->kind,
		.value = row->bytes,
		.blocks = row->blocks,
	};
	judging->check.count++;
	return budget_finding_vec_push(&judging->ret->findings, finding) ? NULL : error_no_memory();
}

static bool counts(const struct judging *judging, const struct leak_row *row)
{
	return row->class < LEAK_CLASS_SUPPRESSED &&
	       (judging->limits->leak_kinds >> row->kind & 1) != 0;
}

static int compare_leaks(const void *left, const void *right)
{
	const struct leak_row *a = *(const struct leak_row *const *)left;
	const struct leak_row *b = *(const struct leak_row *const *)right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static struct error *judge_leaks(struct judging *judging)
{
	const struct leaks *leaks = judging->input->leaks;
	struct budget_check *check = &judging->check;
	if (!leaks || !leaks->searched) {
		check->unknown = "nobody searched for leaks: 'heapwise run --leak-check=full' does";
		return NULL;
	}
	if (model_recording(judging->input->model)->no_heap) {
		check->unknown = "there is no heap in it that could be searched";
		return NULL;
	}
	_cleanup_free_ const struct leak_row **rows = calloc(leaks->rows.len + 1, sizeof(*rows));
	if (!rows)
		return error_no_memory();
	size_t len = 0;
	bool each = is_each_stack(check->rule);
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		if (!counts(judging, row))
			continue;
		rows[len++] = row;
		check->value = each ? max(check->value, row->bytes) : check->value + row->bytes;
	}
	qsort(rows, len, sizeof(*rows), compare_leaks);
	check->exceeded = check->value > check->limit;
	uint64_t sum = 0;
	struct error *error = NULL;
	for (size_t i = 0; i < len && check->exceeded && !error; i++) {
		if (each ? rows[i]->bytes <= check->limit : sum >= check->value - check->limit)
			break;
		sum += rows[i]->bytes;
		error = add_leak(judging, rows[i]);
	}
	return error;
}

/* Why a limit that the figures keep might be exceeded all the same; NULL: it is kept. */
static const char *doubt(const struct judging *judging)
{
	enum budget_rule rule = judging->check.rule;
	/* A search has seen what there was, whatever was recorded of it. */
	if (rule == BUDGET_LEAK || rule == BUDGET_LEAK_PER_STACK)
		return NULL;
	const char *ret = limit_doubt(model_recording(judging->input->model), false);
	if (!ret && rule == BUDGET_GROWTH)
		ret = limit_doubt(model_recording(judging->input->baseline), true);
	return ret;
}

static struct error *judge(struct judging *judging, enum budget_rule rule)
{
	static struct error *(*const judges[BUDGET_RULES])(struct judging *) = {
		[BUDGET_PEAK] = judge_total,
		[BUDGET_NEVER_FREED] = judge_total,
		[BUDGET_PER_STACK] = judge_per_stack,
		[BUDGET_ALLOCATIONS] = judge_total,
		[BUDGET_TEMPORARY] = judge_total,
		[BUDGET_GROWTH] = judge_growth,
		[BUDGET_LEAK] = judge_leaks,
		[BUDGET_LEAK_PER_STACK] = judge_leaks,
	};
	judging->check = (struct budget_check){
		.rule = rule,
		.limit = judging->limits->limits[rule].value,
		.first = judging->ret->findings.len,
	};
	/* A search for leaks is judged by what it found. */
	bool known = judges[rule] == judge_leaks || is_known(judging);
	struct error *error = known ? judges[rule](judging) : NULL;
	if (error)
		return error;
	if (!judging->check.exceeded && !judging->check.unknown)
		judging->check.unknown = doubt(judging);
	judging->ret->exceeded += judging->check.exceeded;
	judging->ret->unknown += judging->check.unknown != NULL;
	return budget_check_vec_push(&judging->ret->checks, judging->check) ? NULL
									    : error_no_memory();
}

void budget_add_check(struct text *text, const struct budget_check *check)
{
	const struct budget_rule_info *info = &infos[check->rule];
	text_printf(text, "%s: ", info->noun);
	if (check->unknown) {
		text_add(text, check->unknown);
		return;
	}
	diff_add_value(text, info->metric, check->value);
	text_add(text, ", at most ");
	diff_add_value(text, info->metric, check->limit);
	if (check->rule == BUDGET_GROWTH) {
		text_add(text, " more than ");
		diff_add_value(text, info->metric, check->base);
	}
}

void budget_add_finding(
	struct text *text, const struct budget_check *check, const struct budget_finding *finding)
{
	const struct budget_rule_info *info = &infos[check->rule];
	diff_add_value(text, info->metric, finding->value);
	text_add(text, check->rule == BUDGET_GROWTH ? " more" : "");
	if (!metric_is_bytes(info->metric)) {
		text_printf(text, " %s", info->noun);
		return;
	}
	text_add(text, check->rule == BUDGET_GROWTH ? ", now in " : " in ");
	text_add_count(text, finding->blocks);
	text_add(text, finding->blocks == 1 ? " block" : " blocks");
}

/* What was left out of a figure that has it elsewhere. */
static void say_libraries(
	const struct budget_input *input, const struct budget_limits *limits, struct text *out)
{
	struct site own = {0};
	library_own_sum(input->rows, &own);
	if (!own.live_blocks ||
		!(limits->given[BUDGET_NEVER_FREED] || limits->given[BUDGET_PER_STACK] ||
			limits->given[BUDGET_GROWTH]))
		return;
	text_add_bytes(out, own.live_bytes);
	text_add(out, " in ");
	text_add_counted(out, own.live_blocks, "block", "blocks");
	text_add(out, " that libraries keep for themselves are not counted (--count-libraries).\n");
}

static void say(struct budget *budget)
{
	struct text *out = &budget->verdict;
	size_t count = budget->checks.len;
	if (!budget->exceeded && !budget->unknown)
		text_printf(out, count == 1 ? "The limit is kept.\n" : "All %zu limits are kept.\n",
			count);
	if (budget->exceeded)
		text_printf(out, "%zu of %zu %s exceeded.\n", budget->exceeded, count,
			count == 1 ? "limit is" : "limits are");
	if (budget->unknown)
		text_printf(out, "%zu of %zu %s not be judged.\n", budget->unknown, count,
			count == 1 ? "limit could" : "limits could");
}

struct error *budget_build(
	const struct budget_input *input, const struct budget_limits *limits, struct budget *ret)
{
	struct judging judging = {.input = input, .limits = limits, .ret = ret};
	for (int rule = 0; rule < BUDGET_RULES; rule++) {
		struct error *error =
			limits->given[rule] ? judge(&judging, (enum budget_rule)rule) : NULL;
		if (error)
			return error;
	}
	say(ret);
	say_libraries(input, limits, &ret->verdict);
	return ret->verdict.failed ? error_no_memory() : NULL;
}
