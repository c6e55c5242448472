/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/budget_view.h"

#include "analysis/library_own.h"
#include "analysis/profile.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "table/answer.h"
#include "views/gates/budget_page.h"
#include "views/gates/ci_parts.h"

#define TEXT_FINDINGS 10u

static struct answer *json_create(const struct sink *sink)
{
	return answer_json_create(sink, false);
}

static const struct form {
	const char *name;
	void (*text)(const struct budget_page *page, struct text *out);
	struct error *(*stream)(const struct budget_page *page, const struct sink *sink);
	struct answer *(*answer)(const struct sink *sink); /* a table: how it is laid out */
} forms[BUDGET_FORMS] = {
	[BUDGET_TEXT] = {"text", .answer = answer_text_create},
	[BUDGET_JSON] = {"json", .answer = json_create},
	[BUDGET_CSV] = {"csv", .answer = answer_csv_create},
	[BUDGET_SARIF] = {"sarif", .stream = budget_sarif},
	[BUDGET_JUNIT] = {"junit", .text = budget_junit},
	[BUDGET_GITHUB] = {"github", .text = budget_github},
	[BUDGET_MARKDOWN] = {"markdown", .text = budget_markdown},
};

const char *budget_form_name(enum budget_form form)
{
	return form < BUDGET_FORMS ? forms[form].name : NULL;
}

bool budget_fingerprint(
	const struct budget_check *check, const struct budget_finding *finding, uint64_t *ret)
{
	return ci_fingerprint(budget_rule_info(check->rule)->option, finding->kind, finding->frames,
		finding->depth, ret);
}

void budget_add_message(
	struct text *text, const struct budget_check *check, const struct budget_finding *finding)
{
	budget_add_finding(text, check, finding);
	if (finding->kind != KIND_UNKNOWN)
		text_printf(text, ", from %s", alloc_kind_name(finding->kind));
	if (finding->place) {
		text_add(text, " in ");
		summary_add_place(text, finding->place);
	}
}

/* Everything that is looked at for a budget. */
struct looked {
	struct profile now, before;
	struct diff diff;
	struct resolver *resolver; /* of leaks and errors, which need all frames */
	struct leaks leaks;
	struct budget budget;
};

static void looked_init(struct looked *looked)
{
	profile_init(&looked->now);
	profile_init(&looked->before);
	diff_init(&looked->diff);
	looked->resolver = NULL;
	leaks_init(&looked->leaks);
	budget_init(&looked->budget);
}

static void looked_deinit(struct looked *looked)
{
	budget_deinit(&looked->budget);
	leaks_deinit(&looked->leaks);
	resolver_destroy(looked->resolver);
	diff_deinit(&looked->diff);
	profile_deinit(&looked->before);
	profile_deinit(&looked->now);
}

static struct error *budget_view_compare(
	const struct budget_view_options *options, struct looked *looked)
{
	struct error *error = profile_build(options->baseline, false, NULL, &looked->before);
	if (error)
		return error;
	struct match_side older = {options->baseline, &looked->before.all},
			  newer = {looked->now.model, &looked->now.all};
	struct diff_options how = {
		.metric = METRIC_LIVE_BYTES,
		.same_recording = options->same_recording,
		.count_libraries = options->count_libraries,
	};
	error = diff_build(&older, &newer, &how, &looked->diff);
	return error ? error : match_note_unnamed(looked->diff.match, &looked->now.notes);
}

static struct error *find_leaks(const struct budget_view_options *options, struct looked *looked)
{
	struct leaks_options how = {
		.separate_libraries = true, .suppressions = options->suppressions};
	return leaks_build(looked->now.model, looked->resolver, &how, &looked->leaks);
}

static struct error *budget_view_look(
	const struct model *model, const struct budget_view_options *options, struct looked *looked)
{
	struct error *error = profile_build(model, false, NULL, &looked->now);
	bool leaks =
		options->limits.given[BUDGET_LEAK] || options->limits.given[BUDGET_LEAK_PER_STACK];
	if (!error && options->count_libraries)
		library_own_forget(&looked->now.all);
	if (!error && options->baseline)
		error = budget_view_compare(options, looked);
	bool needs_all = leaks || options->limits.given[BUDGET_ERRORS];
	if (!error && needs_all)
		error = resolver_create(model, true, &looked->resolver);
	if (!error && needs_all)
		resolver_add_aliases(looked->resolver);
	if (!error && leaks)
		error = find_leaks(options, looked);
	struct budget_input input = {
		.model = model,
		.rows = &looked->now.all,
		.baseline = options->baseline,
		.diff = options->baseline ? &looked->diff : NULL,
		.leaks = leaks ? &looked->leaks : NULL,
		.resolver = looked->resolver,
	};
	return error ? error : budget_build(&input, &options->limits, &looked->budget);
}

static struct error *write_page(const struct budget_page *page, const struct sink *sink)
{
	const struct form *form = &forms[page->options->form];
	if (form->answer) {
		struct answer *answer = form->answer(sink);
		struct error *error = answer ? budget_answer(page, answer) : error_no_memory();
		answer_destroy(answer);
		return error;
	}
	if (form->stream)
		return form->stream(page, sink);
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	form->text(page, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

struct error *budget_view_write(const struct model *model,
	const struct budget_view_options *options, const struct sink *sink, size_t *ret_exceeded,
	size_t *ret_unknown)
{
	_cleanup_(looked_deinit) struct looked looked;
	looked_init(&looked);
	struct error *error = budget_view_look(model, options, &looked);
	if (error)
		return error;
	*ret_exceeded = looked.budget.exceeded;
	*ret_unknown = looked.budget.unknown;
	bool few = options->form == BUDGET_TEXT || options->form == BUDGET_MARKDOWN;
	size_t own_limit = few ? TEXT_FINDINGS : VIEW_NO_LIMIT;
	struct budget_page page = {
		.model = model,
		.options = options,
		.budget = &looked.budget,
		.notes = looked.now.notes,
		.limit = options->limit == VIEW_DEFAULT_LIMIT ? own_limit : options->limit,
	};
	return write_page(&page, sink);
}
