/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/budget.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/library_own.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "model/errors.h"

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
	[BUDGET_ERRORS] = {"max-errors", "ErrorsAboveLimit", "memory errors",
		"There were more memory errors than are allowed.", METRIC_ALLOCATIONS},
};

const struct budget_rule_info *budget_rule_info(enum budget_rule rule)
{
	return &infos[rule];
}

void budget_init(struct budget *budget)
{
	*budget = (struct budget){.exceeded = 0};
	text_init(&budget->verdict);
	arena_init(&budget->arena);
}

void budget_deinit(struct budget *budget)
{
	budget_check_vec_deinit(&budget->checks);
	budget_finding_vec_deinit(&budget->findings);
	text_deinit(&budget->verdict);
	arena_deinit(&budget->arena);
}

struct evaluation {
	const struct budget_input *input;
	const struct budget_limits *limits;
	struct budget *ret;
	struct budget_check check;
	struct evidence evidence; /* what its figure rests on */
	unsigned leak_kinds;      /* that count */
	bool by_mean_sizes;       /* the estimate is a number of blocks of unknown sizes */
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

static struct error *budget_add_row(
	struct evaluation *evaluation, const struct row *row, uint64_t value)
{
	struct budget_finding finding = {
		.frames = row->frames,
		.depth = row->depth,
		.place = row->place,
		.kind = row->sums->kind,
		.value = value,
		.blocks = count_of(evaluation->check.rule, row->sums),
	};
	evaluation->check.count++;
	return budget_finding_vec_push(&evaluation->ret->findings, finding) ? NULL
									    : error_no_memory();
}

static bool is_each_stack(enum budget_rule rule)
{
	return rule == BUDGET_PER_STACK || rule == BUDGET_LEAK_PER_STACK;
}

/* The stacks that make the excess. */
static struct error *blame_rows(struct evaluation *evaluation, enum metric metric)
{
	uint64_t excess = evaluation->check.value - evaluation->check.limit, sum = 0;
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	struct error *error = rows_select(evaluation->input->rows, metric, metric, &list);
	if (metric_is_of_live(metric))
		row_list_leave(&list, false);
	for (size_t i = 0; i < list.len && sum < excess && !error; i++) {
		uint64_t value = metric_of_site(metric, list.data[i]->sums);
		sum += value;
		error = budget_add_row(evaluation, list.data[i], value);
	}
	return error;
}

/* "of the baseline: …" for as long as the budget lives; NULL: no memory. */
static const char *of_baseline(struct evaluation *evaluation, const char *why)
{
	static const char before[] = "of the baseline: ";
	size_t len = strlen(why);
	char *ret = arena_alloc(&evaluation->ret->arena, sizeof(before) + len);
	if (!ret)
		return NULL;
	memcpy(ret, before, sizeof(before) - 1);
	memcpy(ret + sizeof(before) - 1, why, len + 1);
	return ret;
}

/* Notes the state that a figure between check.low and check.high has. */
static void budget_decide(struct evaluation *evaluation, bool low_exceeds, bool high_exceeds)
{
	struct budget_check *check = &evaluation->check;
	switch (evidence_evaluate(
		&evaluation->evidence, low_exceeds, high_exceeds, &check->unknown)) {
	case LIMIT_EXCEEDED:
		check->exceeded = true;
		return;
	case LIMIT_UNDECIDED:
		check->undecided = true;
		check->figure_known = !evaluation->evidence.unknown;
		if (!check->unknown)
			check->unknown =
				evaluation->by_mean_sizes
					? "the file does not contain block sizes, so the number of "
					  "blocks is unknown"
					: "the limit lies within the range of the estimate";
		return;
	case LIMIT_KEPT:
		return;
	}
}

static void decide_plain(struct evaluation *evaluation)
{
	const struct budget_check *check = &evaluation->check;
	budget_decide(evaluation, check->low > check->limit, check->high > check->limit);
}

static void take_range(
	struct budget_check *check, uint64_t value, bool estimated, const struct interval *range)
{
	check->value = max(check->value, value);
	check->low = max(check->low, estimated ? range->low : value);
	check->high = max(check->high, estimated ? range->high : value);
	check->estimated |= estimated;
}

static struct error *evaluate_total(struct evaluation *evaluation)
{
	enum metric metric = infos[evaluation->check.rule].metric;
	const struct model *model = evaluation->input->model;
	/* The program can't free what libraries keep for themselves; the peak has it all the same.
	 */
	struct totals left = library_own_left(model_totals(model), evaluation->input->rows);
	const struct totals *totals = &left;
	struct interval range;
	bool estimated =
		interval_of_totals_any_sizes(model_recording(model), metric, totals, &range);
	evaluation->by_mean_sizes = estimated && range.by_mean_sizes;
	take_range(&evaluation->check, metric_of_totals(metric, totals), estimated, &range);
	decide_plain(evaluation);
	return evaluation->check.exceeded ? blame_rows(evaluation, metric) : NULL;
}

static struct error *evaluate_per_stack(struct evaluation *evaluation)
{
	const struct recording *recording = model_recording(evaluation->input->model);
	struct budget_check *check = &evaluation->check;
	static const struct site unsampled = {.live_blocks = 0};
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	struct error *error =
		rows_select(evaluation->input->rows, METRIC_LIVE_BLOCKS, METRIC_LIVE_BYTES, &list);
	row_list_leave(&list, false);
	struct interval range;
	/* So much may a stack have of which no block was sampled. */
	bool estimated = interval_of_site(recording, METRIC_LIVE_BYTES, &unsampled, &range);
	take_range(check, 0, estimated, &range);
	for (size_t i = 0; i < list.len; i++) {
		const struct site *sums = list.data[i]->sums;
		estimated = interval_of_site(recording, METRIC_LIVE_BYTES, sums, &range);
		take_range(check, sums->live_bytes, estimated, &range);
	}
	decide_plain(evaluation);
	for (size_t i = 0; i < list.len && check->exceeded && !error; i++) {
		const struct site *sums = list.data[i]->sums;
		range.low = sums->live_bytes;
		interval_of_site(recording, METRIC_LIVE_BYTES, sums, &range);
		if (range.low > check->limit)
			error = budget_add_row(evaluation, list.data[i], sums->live_bytes);
	}
	return error;
}

static struct error *blame_growth(struct evaluation *evaluation, uint64_t growth)
{
	const struct diff *diff = evaluation->input->diff;
	const struct row_list *lists[] = {&diff->lists[DIFF_NEW], &diff->lists[DIFF_GROWN]};
	uint64_t excess = growth - evaluation->check.limit, sum = 0;
	/* Both lists are sorted: the larger head is next. */
	size_t at[2] = {0, 0};
	struct error *error = NULL;
	while (sum < excess && !error) {
		int64_t best = 0;
		int from = -1;
		for (int i = 0; i < 2; i++) {
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
		error = budget_add_row(evaluation, lists[from]->data[at[from]++], (uint64_t)best);
		sum += (uint64_t)best;
	}
	return error;
}

static uint64_t growth_of(int64_t change)
{
	return change > 0 ? (uint64_t)change : 0;
}

static struct error *evaluate_growth(struct evaluation *evaluation)
{
	const struct limit *limit = &evaluation->limits->limits[BUDGET_GROWTH];
	struct budget_check *check = &evaluation->check;
	struct diff_figure figure;
	diff_of_program(evaluation->input->diff, METRIC_LIVE_BYTES, &figure);
	check->base = figure.base;
	check->limit = limit_value(limit, figure.base);
	check->value = growth_of(figure.change);
	check->estimated = figure.estimated;
	check->low = figure.estimated ? growth_of(figure.sure_low) : check->value;
	check->high = figure.estimated ? growth_of(figure.sure_high) : check->value;
	budget_decide(evaluation, check->low && limit_exceeded(limit, check->low, figure.base),
		check->high && limit_exceeded(limit, check->high, figure.base));
	return check->exceeded ? blame_growth(evaluation, check->value) : NULL;
}

static struct error *add_leak(struct evaluation *evaluation, const struct leak_row *row)
{
	const struct leak_stack *stack = &evaluation->input->leaks->stacks.data[row->stack];
	struct budget_finding finding = {
		.frames = stack->frames,
		.depth = stack->depth,
		.place = stack->place,
		.kind = stack->kind,
		.value = row->bytes,
		.blocks = row->blocks,
	};
	evaluation->check.count++;
	return budget_finding_vec_push(&evaluation->ret->findings, finding) ? NULL
									    : error_no_memory();
}

static bool budget_counts(const struct evaluation *evaluation, const struct leak_row *row)
{
	return row->class < LEAK_CLASS_SUPPRESSED && (evaluation->leak_kinds >> row->kind & 1) != 0;
}

static int compare_leaks(const void *left, const void *right)
{
	const struct leak_row *a = *(const struct leak_row *const *)left;
	const struct leak_row *b = *(const struct leak_row *const *)right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Rows of leaks that count, the largest first, and what they come to. */
static struct error *sum_leaks(
	struct evaluation *evaluation, bool each, const struct leak_row ***ret, size_t *ret_len)
{
	const struct leaks *leaks = evaluation->input->leaks;
	struct budget_check *check = &evaluation->check;
	*ret_len = 0;
	*ret = calloc(leaks->rows.len + 1, sizeof(**ret));
	if (!*ret)
		return error_no_memory();
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		if (!budget_counts(evaluation, row))
			continue;
		(*ret)[(*ret_len)++] = row;
		check->value = each ? max(check->value, row->bytes) : check->value + row->bytes;
	}
	qsort(*ret, *ret_len, sizeof(**ret), compare_leaks);
	return NULL;
}

/* What a file's own sums have more than the rows that it lists. */
static uint64_t unlisted_leaks(const struct evaluation *evaluation)
{
	const struct leaks *leaks = evaluation->input->leaks;
	uint64_t sum = 0;
	for (unsigned kind = 0; kind < LEAK_KINDS && leaks->search && leaks->search->selected;
		kind++) {
		uint64_t listed = 0, all = leaks->search->bytes[kind];
		for (size_t i = 0; i < leaks->rows.len; i++)
			if ((unsigned)leaks->rows.data[i].kind == kind)
				listed += leaks->rows.data[i].bytes;
		if (evaluation->leak_kinds >> kind & 1 && all > listed)
			sum += all - listed;
	}
	return sum;
}

/* The totals of leaks of run->leak_kinds, and the allocation sites that cause the excess. */
static struct error *evaluate_leak_kinds(struct evaluation *evaluation)
{
	struct budget_check *check = &evaluation->check;
	bool each = is_each_stack(check->rule);
	_cleanup_free_ const struct leak_row **rows = NULL;
	size_t len;
	struct error *error = sum_leaks(evaluation, each, &rows, &len);
	if (error)
		return error;
	if (!each)
		check->value += unlisted_leaks(evaluation);
	check->low = check->high = check->value;
	decide_plain(evaluation);
	uint64_t sum = 0;
	for (size_t i = 0; i < len && check->exceeded && !error; i++) {
		if (each ? rows[i]->bytes <= check->limit : sum >= check->value - check->limit)
			break;
		sum += rows[i]->bytes;
		error = add_leak(evaluation, rows[i]);
	}
	return error;
}

/* Where it is undecided for all kinds, those decide that are sure, if they alone exceed the limit.
 */
static struct error *evaluate_leaks(struct evaluation *evaluation)
{
	const struct model *model = evaluation->input->model;
	unsigned kinds = evaluation->limits->leak_kinds;
	if (evaluation->evidence.unknown) {
		budget_decide(evaluation, false, false);
		return NULL;
	}
	const struct evaluation before = *evaluation;
	evaluation->leak_kinds = kinds;
	struct error *error = evaluate_leak_kinds(evaluation);
	unsigned sure = evidence_sure_kinds(model, kinds, true);
	if (error || !evaluation->check.undecided || !sure || sure == kinds)
		return error;
	const struct evaluation undecided = *evaluation;
	*evaluation = before;
	evaluation->leak_kinds = sure;
	evaluation->evidence = evidence_of_leaks(model, sure, true);
	error = evaluate_leak_kinds(evaluation);
	if (!evaluation->check.exceeded)
		*evaluation = undecided;
	return error;
}

/* Adds what a growth rests on besides: where the baseline may be smaller it may be larger. */
static struct error *add_baseline(struct evaluation *evaluation, enum metric metric)
{
	struct evidence *now = &evaluation->evidence;
	struct evidence then =
		evidence_of_metric(evaluation->input->baseline, metric, EVIDENCE_OF_TOTAL);
	const struct {
		const char **to, *from;
	} pairs[] = {
		{&now->unknown, then.unknown}, {&now->more, then.less}, {&now->less, then.more}};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (*pairs[i].to || !pairs[i].from)
			continue;
		*pairs[i].to = of_baseline(evaluation, pairs[i].from);
		if (!*pairs[i].to)
			return error_no_memory();
	}
	return NULL;
}

/* The frames of an error's first known stack, for as long as the budget lives. */
static struct error *add_error(struct evaluation *evaluation, const struct program_error *error)
{
	size_t count;
	const struct error_stack *stacks =
		model_error_stacks(evaluation->input->model, &count) + error->first_stack;
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	struct error *failed = NULL;
	for (size_t i = 0; i < error->stack_count && !frames.len && !failed; i++)
		if (stacks[i].stack)
			failed = resolver_stack(evaluation->input->resolver,
				(struct stack_id){stacks[i].stack}, KIND_UNKNOWN, &frames);
	if (failed)
		return failed;
	const struct shown_frame **kept = arena_alloc(
		&evaluation->ret->arena, (frames.len + 1) * sizeof(struct shown_frame *));
	if (!kept)
		return error_no_memory();
	struct budget_finding finding = {.frames = kept,
		.depth = frames.len,
		.kind = KIND_UNKNOWN,
		.value = 1,
		.blocks = error->count,
		.what = *error->kind ? error->kind : "error"};
	for (size_t i = 0; i < frames.len; i++) {
		kept[i] = frames.data[i];
		if (!finding.place && frames.data[i]->is_program && frames.data[i]->file)
			finding.place = frames.data[i];
	}
	evaluation->check.count++;
	return budget_finding_vec_push(&evaluation->ret->findings, finding) ? NULL
									    : error_no_memory();
}

/* Errors beside leaks, equal ones counted once. All are blamed: none excuses another. */
static struct error *evaluate_errors(struct evaluation *evaluation)
{
	size_t count;
	const struct program_error *errors = model_errors(evaluation->input->model, &count);
	struct budget_check *check = &evaluation->check;
	check->value = check->low = check->high = count;
	decide_plain(evaluation);
	struct error *error = NULL;
	for (size_t i = 0; i < count && check->exceeded && !error; i++)
		error = add_error(evaluation, &errors[i]);
	return error;
}

static void find_evidence_of_errors(struct evaluation *evaluation)
{
	const struct model *model = evaluation->input->model;
	size_t count;
	bool is_known = model_errors(model, &count);
	const char *why = evidence_of_checks(model);
	evaluation->evidence = (struct evidence){.unknown = is_known ? NULL : why,
		.more = why,
		.less = is_known ? evidence_of_errors(model) : why};
}

static struct error *find_evidence(struct evaluation *evaluation)
{
	enum budget_rule rule = evaluation->check.rule;
	const struct model *model = evaluation->input->model;
	if (rule == BUDGET_ERRORS) {
		find_evidence_of_errors(evaluation);
		return NULL;
	}
	if (rule == BUDGET_LEAK || rule == BUDGET_LEAK_PER_STACK) {
		evaluation->evidence =
			evidence_of_leaks(model, evaluation->limits->leak_kinds, true);
		return NULL;
	}
	evaluation->evidence = evidence_of_metric(model, infos[rule].metric,
		is_each_stack(rule) ? EVIDENCE_OF_EACH_STACK : EVIDENCE_OF_TOTAL);
	return rule == BUDGET_GROWTH ? add_baseline(evaluation, infos[rule].metric) : NULL;
}

static struct error *budget_evaluate(struct evaluation *evaluation, enum budget_rule rule)
{
	static struct error *(*const judges[BUDGET_RULES])(struct evaluation *) = {
		[BUDGET_ERRORS] = evaluate_errors,
		[BUDGET_PEAK] = evaluate_total,
		[BUDGET_NEVER_FREED] = evaluate_total,
		[BUDGET_PER_STACK] = evaluate_per_stack,
		[BUDGET_ALLOCATIONS] = evaluate_total,
		[BUDGET_TEMPORARY] = evaluate_total,
		[BUDGET_GROWTH] = evaluate_growth,
		[BUDGET_LEAK] = evaluate_leaks,
		[BUDGET_LEAK_PER_STACK] = evaluate_leaks,
	};
	evaluation->by_mean_sizes = false;
	evaluation->check = (struct budget_check){
		.rule = rule,
		.limit = evaluation->limits->limits[rule].value,
		.figure_known = true,
		.first = evaluation->ret->findings.len,
	};
	struct error *error = find_evidence(evaluation);
	if (!error)
		error = judges[rule](evaluation);
	if (error)
		return error;
	evaluation->ret->exceeded += evaluation->check.exceeded;
	evaluation->ret->unknown += evaluation->check.undecided;
	return budget_check_vec_push(&evaluation->ret->checks, evaluation->check)
		       ? NULL
		       : error_no_memory();
}

void budget_add_check(struct text *text, const struct budget_check *check)
{
	const struct budget_rule_info *info = &infos[check->rule];
	text_printf(text, "%s: ", info->noun);
	if (!check->figure_known) {
		text_add(text, check->unknown);
		return;
	}
	diff_add_value(text, info->metric, check->value);
	if (check->estimated) {
		text_add(text, " (");
		diff_add_value(text, info->metric, check->low);
		text_add(text, " to ");
		diff_add_value(text, info->metric, check->high);
		text_add(text, ")");
	}
	text_add(text, ", at most ");
	diff_add_value(text, info->metric, check->limit);
	if (check->rule == BUDGET_GROWTH) {
		text_add(text, " more than ");
		diff_add_value(text, info->metric, check->base);
	}
	if (check->unknown)
		text_printf(text, "; cannot be decided: %s", check->unknown);
}

bool budget_counts_blocks(const struct budget_check *check, const struct budget_finding *finding)
{
	return finding->blocks || !metric_is_bytes(infos[check->rule].metric) || !finding->value;
}

void budget_add_finding(
	struct text *text, const struct budget_check *check, const struct budget_finding *finding)
{
	const struct budget_rule_info *info = &infos[check->rule];
	if (finding->what) {
		text_add_shown(text, finding->what, SIZE_MAX);
		text_add(text, finding->blocks > 1 ? ", " : "");
		if (finding->blocks > 1)
			text_add_counted(text, finding->blocks, "time", "times");
		return;
	}
	diff_add_value(text, info->metric, finding->value);
	text_add(text, check->rule == BUDGET_GROWTH ? " more" : "");
	if (!metric_is_bytes(info->metric)) {
		text_printf(text, " %s", info->noun);
		return;
	}
	if (!budget_counts_blocks(check, finding))
		return;
	text_add(text, check->rule == BUDGET_GROWTH ? ", now in " : " in ");
	text_add_count(text, finding->blocks);
	text_add(text, finding->blocks == 1 ? " block" : " blocks");
}

/* What was left out of a figure that has it elsewhere. */
static void describe_libraries(
	const struct budget_input *input, const struct budget_limits *limits, struct text *out)
{
	struct site own = {0};
	if (!limits->given[BUDGET_NEVER_FREED] && !limits->given[BUDGET_PER_STACK] &&
		!limits->given[BUDGET_GROWTH])
		return;
	library_own_note(input->rows, out);
	library_own_sum(input->rows, &own);
	if (!own.live_blocks)
		return;
	text_add_bytes(out, own.live_bytes);
	text_add(out, " in ");
	text_add_counted(out, own.live_blocks, "block", "blocks");
	text_add(out, " that libraries keep for themselves are not counted (--count-libraries).\n");
}

/* Says that the program was killed: what it would have allocated later is in no figure. */
static void describe_cut_short(const struct model *model, struct text *out)
{
	if (!evidence_is_cut_short(model))
		return;
	text_add(out, "The program ");
	summary_add_ending(out, model_target(model));
	text_add(out, ": peaks and counts cover only the time until then.\n");
}

static void budget_describe(struct budget *budget)
{
	struct text *out = &budget->verdict;
	size_t count = budget->checks.len;
	if (!budget->exceeded && !budget->unknown)
		text_printf(out, count == 1 ? "Limit met.\n" : "All %zu limits met.\n", count);
	if (budget->exceeded)
		text_printf(out, "%zu of %zu %s exceeded.\n", budget->exceeded, count,
			count == 1 ? "limit" : "limits");
	if (budget->unknown)
		text_printf(out, "%zu of %zu %s could not be checked.\n", budget->unknown, count,
			count == 1 ? "limit" : "limits");
}

struct error *budget_build(
	const struct budget_input *input, const struct budget_limits *limits, struct budget *ret)
{
	struct evaluation evaluation = {.input = input, .limits = limits, .ret = ret};
	for (int rule = 0; rule < BUDGET_RULES; rule++) {
		struct error *error = limits->given[rule]
					      ? budget_evaluate(&evaluation, (enum budget_rule)rule)
					      : NULL;
		if (error)
			return error;
	}
	budget_describe(ret);
	describe_cut_short(input->model, &ret->verdict);
	describe_libraries(input, limits, &ret->verdict);
	return ret->verdict.failed ? error_no_memory() : NULL;
}
