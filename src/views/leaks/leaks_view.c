/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/leaks_view.h"

#include <inttypes.h>

#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "model/errors.h"
#include "views/leaks/leaks_page.h"
#include "views/report/figure_text.h"

/* Rows as text. */
#define TEXT_ROWS 100u
/* Valgrind's --num-callers. */
#define MEMCHECK_FRAMES 12u

/* One of the two functions is set, but of those that are tables. */
static const struct form {
	const char *name;
	struct error *(*text)(const struct leaks_page *page, struct text *out);
	struct error *(*stream)(const struct leaks_page *page, const struct sink *sink);
} forms[LEAKS_FORMS] = {
	[LEAKS_TEXT] = {"text", NULL, NULL},
	[LEAKS_JSON] = {"json", NULL, NULL},
	[LEAKS_CSV] = {"csv", NULL, NULL},
	[LEAKS_MEMCHECK] = {"memcheck", leaks_memcheck, NULL},
	[LEAKS_SARIF] = {"sarif", NULL, leaks_sarif},
	[LEAKS_JUNIT] = {"junit", leaks_junit, NULL},
	[LEAKS_GITHUB] = {"github", leaks_github, NULL},
	[LEAKS_VALGRIND] = {"valgrind", NULL, leaks_valgrind},
	[LEAKS_GPERFTOOLS] = {"gperftools", NULL, leaks_gperftools},
};

const char *leaks_form_name(enum leaks_form form)
{
	return forms[form].name;
}

bool leaks_shows(const struct leaks_page *page, const struct leak_row *row)
{
	if (row->class == LEAK_CLASS_NEVER_FREED)
		return true;
	return row->class < LEAK_CLASS_SUPPRESSED &&
	       (page->options->show_kinds >> row->kind & 1) != 0;
}

uint64_t leaks_errors(const struct leaks_page *page)
{
	return page->options->detail == LEAKS_FULL
		       ? leaks_count(&page->leaks, page->options->error_kinds)
		       : 0;
}

const char *leaks_function(const struct leak_stack *stack)
{
	return stack->kind == KIND_UNKNOWN ? "" : alloc_kind_name(stack->kind);
}

/* Exact, where one may want to compare with a size in the source. */
static void add_size(uint64_t size, struct text *out)
{
	if (size < 1u << 20)
		text_printf(out, "%" PRIu64 " B", size);
	else
		text_add_bytes(out, size);
}

/* "block of 4096 B", "one of 12 blocks of 4096 B", "one of 12 blocks (3.4 KiB in all)" */
static void add_block(const struct leak_path *path, struct text *out)
{
	if (path->into) {
		add_size(path->into, out);
		text_add(out, " into ");
	}
	if (path->blocks > 1 && !path->repeats) {
		text_printf(out, "one of %s blocks", FMT_COUNT(path->blocks));
	} else {
		text_add(out, "block");
	}
	if (path->size != UINT64_MAX) {
		text_add(out, " of ");
		add_size(path->size, out);
	} else if (path->blocks > 1) {
		text_printf(out, " (%s in all)", FMT_BYTES(path->bytes));
	}
}

static void add_step(const struct leaks *leaks, const struct leak_path *path, struct text *out)
{
	bool in_holder = path->parent == LEAK_NO_PATH;
	enum leak_place place = leaks->paths.holders.data[path->holder].place;
	text_add(out, " → ");
	/* Where on a stack says nothing to anybody. */
	if (!in_holder || ((place == LEAK_PLACE_DATA || place == LEAK_PLACE_MAPPING) &&
				  (path->offset || path->words > 1))) {
		text_printf(out, "+0x%" PRIx64, path->offset);
		if (in_holder && path->words > 1) {
			text_printf(out, "%s%s more", path->together ? " and at least " : " and ",
				FMT_COUNT(path->words - 1));
		}
		text_add(out, " → ");
	}
	add_block(path, out);
	const struct leak_stack *stack = &leaks->stacks.data[path->stack];
	if (stack->place) {
		bool is_type = model_recording(leaks->model)->types;
		text_add(out, is_type ? " (" : " allocated at ");
		summary_add_place(out, stack->place);
		text_add(out, is_type ? ")" : "");
	}
	if (path->repeats) {
		text_printf(out, " → … (a chain of %s)", FMT_COUNT(path->blocks));
	}
}

void leaks_add_path(const struct leaks *leaks, uint32_t path, struct text *out)
{
	uint32_t steps[LEAK_STEPS_MAX], skipped;
	size_t count = leak_path_steps(&leaks->paths, path, steps, &skipped);
	const struct leak_path *all = leaks->paths.paths.data;
	leak_holder_describe(out, &leaks->paths.holders.data[all[path].holder]);
	for (size_t i = 0; i < count; i++) {
		if (i == 1 && skipped)
			text_printf(out, " → … (%" PRIu32 " more)", skipped);
		add_step(leaks, &all[steps[i]], out);
	}
}

struct error *leaks_add_suppression(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	struct error *error = leaks_suppress_frames(&page->leaks, row, &frames);
	if (!error && row->class < LEAK_CLASS_SUPPRESSED)
		suppress_write(out, (enum suppress_kind)row->kind, frames.data, frames.len);
	return error;
}

void leaks_put_suppression(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	struct error *error = leaks_add_suppression(page, row, out);
	out->failed |= error != NULL;
	error_destroy(error);
}

const struct thread *leaks_example_thread(const struct leaks *leaks, const struct leak_row *row)
{
	size_t count;
	const struct thread *threads = model_threads(leaks->model, &count);
	return row->example.thread.value < count ? &threads[row->example.thread.value] : NULL;
}

bool leaks_example_age(const struct leaks *leaks, const struct leak_row *row, uint64_t *ret_ns)
{
	if (row->example_ns == LEAK_NO_TIME || row->example_ns > leaks->search->time_ns)
		return false;
	*ret_ns = leaks->search->time_ns - row->example_ns;
	return true;
}

static void page_init(struct leaks_page *page)
{
	leaks_init(&page->leaks);
	unrecorded_groups_init(&page->unrecorded);
	text_init(&page->verdict);
	text_init(&page->notes);
}

static void page_deinit(struct leaks_page *page)
{
	leaks_deinit(&page->leaks);
	unrecorded_groups_deinit(&page->unrecorded);
	text_deinit(&page->verdict);
	text_deinit(&page->notes);
}

/* Finds of which kinds errors are sure, and why it is undecided whether there are any: a sure one
 * decides. */
static void find_doubt(struct leaks_page *page)
{
	const struct leaks_view_options *options = page->options;
	unsigned kinds = options->error_kinds;
	page->sure_kinds = evidence_sure_kinds(page->model, kinds, !options->of_moment);
	if (leaks_count(&page->leaks, page->sure_kinds))
		return;
	bool any = leaks_count(&page->leaks, kinds) > 0;
	struct evidence evidence = evidence_of_leaks(page->model, kinds, !options->of_moment);
	evidence_evaluate(&evidence, any, any, &page->doubt);
}

/* Of what holds the blocks that are listed. */
static struct error *find_places(struct leaks_page *page, struct resolver *resolver)
{
	struct leaks *leaks = &page->leaks;
	struct error *error = NULL;
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		size_t count = leaks_shows(page, row) ? row->hold_count : 0;
		for (size_t k = 0; k < count && !error; k++) {
			uint32_t path = leaks->holds.data[row->first_hold + k].path;
			uint32_t holder = leaks->paths.paths.data[path].holder;
			error = leak_holder_find_place(
				resolver, &leaks->paths.holders.data[holder]);
		}
	}
	return error;
}

static struct error *leaks_view_fill(struct leaks_page *page, struct resolver *resolver)
{
	const struct leaks_view_options *options = page->options;
	bool memcheck = options->form == LEAKS_MEMCHECK;
	struct leaks_options how = {
		.frames = options->frames || !memcheck ? options->frames : MEMCHECK_FRAMES,
		.resolution = options->resolution,
		.by_address = memcheck,
		.separate_libraries = options->separate_libraries,
		.suppressions = options->suppressions,
		.at_end = !options->of_moment,
	};
	if (options->suppressions)
		suppressions_limit_lines(options->suppressions, how.frames);
	struct error *error = leaks_build(page->model, resolver, &how, &page->leaks);
	if (!error)
		error = find_places(page, resolver);
	if (!error)
		error = unrecorded_group(page->model, &page->unrecorded);
	if (error)
		return error;
	if (!options->errors_only)
		find_doubt(page);
	page->resolver = resolver;
	if (!options->no_errors) {
		model_errors(page->model, &page->error_count);
		page->error_doubt = evidence_of_errors(page->model);
	}
	leaks_verdict(&page->leaks, &page->verdict);
	leaks_circumstances(&page->leaks, &page->notes);
	summary_add_notes(page->model, resolver, &page->notes);
	return page->verdict.failed || page->notes.failed ? error_no_memory() : NULL;
}

static struct answer *leaks_view_create(const struct leaks_page *page, const struct sink *sink)
{
	const struct leaks_view_options *options = page->options;
	const struct csv_part part = {.column = options->has_heading ? "recording" : NULL,
		.value = model_recording(page->model)->path,
		.has_heading = options->has_heading};
	return options->form == LEAKS_JSON  ? answer_json_create(sink, false)
	       : options->form == LEAKS_CSV ? answer_csv_part_create(sink, &part)
					    : answer_text_create(sink);
}

static struct error *write_answer(struct leaks_page *page, const struct sink *sink)
{
	struct answer *answer = leaks_view_create(page, sink);
	if (answer)
		answer->asked_limit = page->options->limit;
	struct error *error = answer ? leaks_answer(page, answer) : error_no_memory();
	page->left_out = answer ? answer->left_out : 0;
	answer_destroy(answer);
	return error;
}

static struct error *write_page(struct leaks_page *page, const struct sink *sink)
{
	const struct form *form = &forms[page->options->form];
	if (form->stream)
		return form->stream(page, sink);
	if (!form->text)
		return write_answer(page, sink);
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct error *error = form->text(page, &out);
	if (!error && out.failed)
		error = error_no_memory();
	if (!error && out.len)
		sink->write(sink->ctx, out.data, out.len);
	return error;
}

static struct leaks_sums leaks_view_sums(const struct leaks_page *page, bool counts)
{
	struct leaks_sums ret = {.blocks = 0};
	for (unsigned i = 0; counts && page->leaks.searched && i < LEAK_CLASSES; i++) {
		const struct leak_sum *sum = &page->leaks.sums[i];
		bool lost = i < LEAK_KINDS && page->sure_kinds >> i & 1;
		ret.blocks += sum->blocks;
		ret.bytes += sum->bytes;
		ret.lost_blocks += lost ? sum->blocks : 0;
		ret.lost_bytes += lost ? sum->bytes : 0;
	}
	return ret;
}

struct error *leaks_view_write(const struct model *model, const struct leaks_view_options *options,
	const struct sink *sink, struct leaks_outcome *ret)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	const struct recording *recording = model_recording(model);
	if (recording->only_errors)
		return error_create(ERROR_INPUT,
			"%s: contains errors only, and no leak search: see 'heapwise report --view "
			"errors'; 'heapwise check --leak-check=full' has both",
			recording->path);
	if (recording->unknown & UNKNOWN_LIVE_BLOCKS && !recording->no_heap &&
		!model_leak_search(model))
		return error_create(ERROR_INPUT, "%s: %s files contain no leak information",
			recording->path, recording->source);
	if (model_subtracted(model))
		return error_create(ERROR_INPUT,
			"%s: is a difference of two states, which has no leak information; use "
			"'heapwise report'",
			recording->path);
	struct error *error = resolver_create(model, true, &resolver);
	if (error)
		return error;
	resolver_add_aliases(resolver);
	size_t own_limit = options->form == LEAKS_TEXT ? TEXT_ROWS : VIEW_NO_LIMIT;
	_cleanup_(page_deinit) struct leaks_page page = {
		.model = model,
		.options = options,
		.limit = options->limit == VIEW_DEFAULT_LIMIT ? own_limit : options->limit,
	};
	page_init(&page);
	error = leaks_view_fill(&page, resolver);
	if (!error)
		error = write_page(&page, sink);
	bool counts = options->detail == LEAKS_FULL && !options->errors_only;
	*ret = (struct leaks_outcome){.sums = leaks_view_sums(&page, counts),
		.errors = counts ? leaks_count(&page.leaks, page.sure_kinds) : 0,
		.wrong = page.error_count,
		.wrong_doubt = page.error_doubt,
		.doubt = page.doubt,
		.left_out = page.left_out};
	return error;
}

struct error *leaks_view_put(const struct model *model, struct answer *answer)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct error *error = resolver_create(model, true, &resolver);
	if (error)
		return error;
	const struct leaks_view_options options = {.form = LEAKS_JSON,
		.detail = LEAKS_FULL,
		.show_kinds = (1u << LEAK_KINDS) - 1,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE};
	_cleanup_(page_deinit) struct leaks_page page = {.model = model,
		.options = &options,
		.limit = answer->asked_limit ? answer->asked_limit : VIEW_NO_LIMIT};
	page_init(&page);
	error = leaks_view_fill(&page, resolver);
	return error ? error : leaks_put(&page, answer);
}
