/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors beside leaks in the forms of the leaks view: frees that were wrong, which count as
 * memcheck counts them. What another checker found is in its own files' models and told likewise.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/errors_settle.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/errors.h"
#include "views/report/figure_text.h"
#include "views/report/json_parts.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

static struct errors_shown shown_of(const struct leaks_page *page)
{
	return (struct errors_shown){page->model, page->resolver, page->limit,
		page->options->all_frames, page->options->write_suppressions};
}

static const struct program_error *error_at(const struct leaks_page *page, size_t number)
{
	size_t count;
	return &model_errors(page->model, &count)[number];
}

const struct program_error *leaks_error_at(const struct leaks_page *page, size_t number)
{
	return error_at(page, number);
}

static size_t shown_count(const struct leaks_page *page)
{
	return min(page->error_count, page->limit);
}

/* "DoubleFree" */
static const char *leaks_errors_kind_of(const struct program_error *error)
{
	return *error->kind ? error->kind : "error";
}

static void add_message(const struct program_error *error, struct text *out)
{
	text_add(out, *error->what ? error->what : leaks_errors_kind_of(error));
	if (error->count > 1)
		text_printf(out, ", %s times", FMT_COUNT(error->count));
}

/* The frames of an error's stack number `i`; empty where it has none. False: no memory. */
static bool stack_at(const struct leaks_page *page, const struct program_error *error, size_t i,
	struct frame_vec *ret)
{
	size_t count;
	const struct errors_shown shown = shown_of(page);
	const struct error_stack *stacks = model_error_stacks(page->model, &count);
	uint32_t stack = i < error->stack_count ? stacks[error->first_stack + i].stack : 0;
	frame_vec_clear(ret);
	return !stack || errors_frames(&shown, stack, ret);
}

bool leaks_error_stack(const struct leaks_page *page, size_t number, size_t i,
	struct frame_vec *ret, const char **ret_what)
{
	size_t count;
	const struct program_error *error = error_at(page, number);
	*ret_what = model_error_stacks(page->model, &count)[error->first_stack + i].what;
	return stack_at(page, error, i, ret);
}

/* The first stack that is known: of a free, unless nobody took it, else of the allocation. */
static bool first_stack(
	const struct leaks_page *page, const struct program_error *error, struct frame_vec *ret)
{
	bool ok = true;
	frame_vec_clear(ret);
	for (size_t i = 0; i < error->stack_count && ok && !ret->len; i++)
		ok = stack_at(page, error, i, ret);
	return ok;
}

/* Whether it is of the functions that Valgrind gives to the program in place of libc's. */
static bool is_of_checker(const struct shown_frame *frame)
{
	return frame->module && !strncmp(frame->module, "vgpreload_", strlen("vgpreload_"));
}

/* The frame to blame; NULL: none is known. */
static const struct shown_frame *leaks_errors_place_of(const struct frame_vec *frames)
{
	const struct shown_frame *any = NULL;
	for (size_t i = 0; i < frames->len; i++) {
		if (frames->data[i]->is_program && !is_of_checker(frames->data[i]))
			return frames->data[i];
		if (!any && frames->data[i]->mark == MARK_NONE)
			any = frames->data[i];
	}
	return any;
}

void leaks_errors_text(const struct leaks_page *page, struct text *out)
{
	const struct errors_shown shown = shown_of(page);
	if (!page->error_count)
		return;
	text_add(out, page->options->quiet ? "" : "\nErrors\n");
	errors_add(&shown, out);
	text_add(out, page->options->quiet ? "\n" : "");
}

static void add_bodies(
	const struct leaks_page *page, const struct program_error *error, struct text *out)
{
	size_t count;
	const struct error_stack *stacks = model_error_stacks(page->model, &count);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	for (size_t i = 0; i < error->stack_count; i++) {
		const char *what = stacks[error->first_stack + i].what;
		if (*what)
			text_printf(out, "    %s\n", what);
		if (!stack_at(page, error, i, &frames))
			out->failed = true;
		text_stack(frames.data, frames.len, false, out);
	}
}

/* Errors whose functions agree have a number behind the name, as results of SARIF have. */
static void add_case_number(uint64_t fingerprint, struct fingerprint_map *seen, struct text *name)
{
	bool is_new;
	uint32_t *number = fingerprint_map_insert(seen, fingerprint, &is_new);
	if (!number) {
		name->failed = true;
		return;
	}
	*number = is_new ? 1 : *number + 1;
	if (*number > 1)
		text_printf(name, " #%" PRIu32, *number);
}

static void add_case(const struct leaks_page *page, const struct program_error *error,
	struct fingerprint_map *seen, struct text *out)
{
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	_cleanup_(text_deinit) struct text words, name, body;
	frame_vec_init(&frames);
	text_init(&words);
	text_init(&name);
	text_init(&body);
	if (!first_stack(page, error, &frames))
		out->failed = true;
	const struct shown_frame *place = leaks_errors_place_of(&frames);
	uint64_t fingerprint = 0;
	ci_fingerprint(
		leaks_errors_kind_of(error), KIND_UNKNOWN, frames.data, frames.len, &fingerprint);
	text_printf(&name, "%s in %s [%08" PRIx32 "]", leaks_errors_kind_of(error),
		place && place->function ? place->function : "an unknown function",
		(uint32_t)(fingerprint >> 32));
	add_case_number(fingerprint, seen, &name);
	out->failed |= name.failed;
	add_message(error, &words);
	add_bodies(page, error, &body);
	text_add(out, "    <testcase");
	ci_add_attribute(out, "classname", "heapwise.errors");
	ci_add_attribute(out, "name", name.data ? name.data : "");
	text_add(out, ">\n      <failure");
	ci_add_attribute(out, "type", leaks_errors_kind_of(error));
	ci_add_attribute(out, "message", words.data ? words.data : "");
	text_add(out, ">");
	text_add_xml(out, body.data ? body.data : "");
	text_add(out, "</failure>\n    </testcase>\n");
}

void leaks_errors_junit(const struct leaks_page *page, struct text *out)
{
	_cleanup_(fingerprint_map_deinit) struct fingerprint_map seen;
	fingerprint_map_init(&seen);
	for (size_t i = 0; i < shown_count(page); i++)
		add_case(page, error_at(page, i), &seen, out);
}

size_t leaks_errors_shown(const struct leaks_page *page)
{
	return shown_count(page);
}

size_t leaks_errors_cases(const struct leaks_page *page)
{
	return shown_count(page);
}

void leaks_errors_github(const struct leaks_page *page, struct text *out)
{
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	for (size_t i = 0; i < shown_count(page); i++) {
		const struct program_error *error = error_at(page, i);
		_cleanup_(text_deinit) struct text message;
		text_init(&message);
		add_message(error, &message);
		text_add(&message, "\n");
		add_bodies(page, error, &message);
		if (!first_stack(page, error, &frames))
			out->failed = true;
		ci_add_annotation(out, "error", page->model, leaks_errors_place_of(&frames),
			leaks_errors_kind_of(error), message.data ? message.data : "");
	}
}

const char *leaks_error_word(const struct program_error *error)
{
	return leaks_errors_kind_of(error);
}

struct error *leaks_error_sarif(const struct leaks_page *page, size_t number, struct json *json,
	const struct leaks_sarif_rule *rule, struct fingerprint_map *seen)
{
	const struct program_error *error = error_at(page, number);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	_cleanup_(text_deinit) struct text message;
	frame_vec_init(&frames);
	text_init(&message);
	add_message(error, &message);
	uint64_t fingerprint;
	if (!first_stack(page, error, &frames) || message.failed ||
		!ci_fingerprint(leaks_errors_kind_of(error), KIND_UNKNOWN, frames.data, frames.len,
			&fingerprint))
		return error_no_memory();
	json_object_begin(json);
	json_put_string(json, "ruleId", rule->id);
	json_put_u64(json, "ruleIndex", rule->index);
	json_put_string(json, "level", "error");
	sarif_put_text(json, "message", message.data);
	struct error *failed = sarif_put_fingerprint(json, fingerprint, seen);
	sarif_put_place(json, page->model, leaks_errors_place_of(&frames));
	sarif_put_stack(json, page->model, frames.data, frames.len);
	json_key(json, "properties");
	json_object_begin(json);
	json_put_string(json, "kind", leaks_errors_kind_of(error));
	json_put_u64(json, "count", error->count);
	json_object_end(json);
	json_object_end(json);
	return failed;
}

struct error *leaks_errors_sarif(
	const struct leaks_page *page, struct json *json, size_t rule, struct fingerprint_map *seen)
{
	const struct leaks_sarif_rule own = {LEAKS_ERROR_RULE, rule};
	struct error *error = NULL;
	for (size_t i = 0; i < shown_count(page) && !error; i++)
		error = leaks_error_sarif(page, i, json, &own, seen);
	return error;
}

static const struct column decided_columns[] = {
	{"decided", COLUMN_BOOLEAN, .says = "whether it is certain that these are all"},
	{"doubt", COLUMN_TEXT, .says = "why it is not, or null"}, COLUMNS_END};

static void decided_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks_page *page = context;
	(void)row, (void)column;
	ret->truth = !page->error_doubt;
	ret->text = page->error_doubt;
}

static const struct table_type decided_type = {.columns = decided_columns, .cell = decided_cell};

const struct table_type leaks_errors_group = {.name = "other_errors",
	.says = "frees that were wrong, which `--error-exitcode` counts too",
	.parts = (const struct table_type *const[]){
		&decided_type, &report_errors_count_type, &report_errors_type, NULL}};

void leaks_errors_put(const struct leaks_page *page, struct answer *answer)
{
	const struct errors_shown shown = shown_of(page);
	answer_group_begin(answer, &leaks_errors_group);
	answer_record_of(answer, &decided_type, page);
	errors_put(&shown, answer);
	answer_group_end(answer);
}

const char *leaks_error_kind(const struct program_error *error)
{
	return strcmp(error->kind, "DoubleFree") != 0 ? leaks_errors_kind_of(error) : "InvalidFree";
}

/* memcheck's first line for it; what another checker found is told in its words. */
static const char *memcheck_words(const struct program_error *error)
{
	if (!strstr(error->kind, "Free"))
		return *error->what ? error->what : leaks_errors_kind_of(error);
	return !strcmp(error->kind, "MismatchedFree") ? "Mismatched free() / delete / delete []"
						      : "Invalid free() / delete / delete[] / "
							"realloc()";
}

static void leaks_errors_begin(const struct leaks_page *page, struct text *out)
{
	text_printf(out, "==%" PRIu32 "== ", model_target(page->model)->pid);
}

static void add_memcheck_stack(
	const struct leaks_page *page, const struct frame_vec *frames, struct text *out)
{
	bool first = true;
	for (size_t i = 0; i < frames->len; i++) {
		const struct shown_frame *frame = frames->data[i];
		if (frame->mark != MARK_NONE)
			continue;
		leaks_errors_begin(page, out);
		text_printf(out, "   %s 0x%" PRIX64 ": %s", first ? "at" : "by",
			frame->address ? frame->address - 1 : 0,
			frame->function ? frame->function : "???");
		if (frame->file && frame->line)
			text_printf(
				out, " (%s:%" PRIu32 ")", path_last_part(frame->file), frame->line);
		else if (frame->module_path)
			text_printf(out, " (in %s)", frame->module_path);
		text_add(out, "\n");
		first = false;
	}
}

static void add_suppression(
	const struct leaks_page *page, const struct program_error *error, struct text *out)
{
	struct error *failed = errors_write_suppression(page->resolver, page->model, error, out);
	out->failed |= failed != NULL;
	error_destroy(failed);
}

void leaks_errors_memcheck(const struct leaks_page *page, struct text *out)
{
	size_t all;
	const struct error_stack *stacks = model_error_stacks(page->model, &all);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	for (size_t i = 0; i < shown_count(page); i++) {
		const struct program_error *error = error_at(page, i);
		leaks_errors_begin(page, out);
		text_printf(out, "%s\n", memcheck_words(error));
		for (size_t k = 0; k < error->stack_count; k++) {
			const char *what = stacks[error->first_stack + k].what;
			if (*what) {
				leaks_errors_begin(page, out);
				text_printf(out, " (%s)\n", what);
			}
			if (!stack_at(page, error, k, &frames))
				out->failed = true;
			add_memcheck_stack(page, &frames, out);
		}
		if (strstr(error->kind, "Free")) {
			leaks_errors_begin(page, out);
			text_printf(out, " %s\n",
				*error->what ? error->what : leaks_errors_kind_of(error));
		}
		leaks_errors_begin(page, out);
		text_add(out, "\n");
		if (page->options->write_suppressions)
			add_suppression(page, error, out);
	}
}
