/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/check_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/evidence.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "views/errors_view.h"

/* Rows that are shown; --output and report --view errors have all. */
#define ROWS_SHOWN 20u

void check_summary_init(struct check_summary *summary)
{
	*summary = (struct check_summary){.processes = 0};
	check_rows_init(&summary->rows);
	kind_sums_init(&summary->all);
	kind_sums_init(&summary->left);
	text_init(&summary->doubts);
	text_init(&summary->killed);
}

void check_summary_deinit(struct check_summary *summary)
{
	for (size_t i = 0; i < summary->rows.len; i++)
		free(summary->rows.data[i].what);
	check_rows_deinit(&summary->rows);
	kind_sums_free(&summary->all);
	kind_sums_free(&summary->left);
	text_deinit(&summary->doubts);
	text_deinit(&summary->killed);
}

static struct error *add_row(
	struct check_summary *summary, const struct program_error *error, const char *what)
{
	summary->result.errors += error->count;
	summary->result.different++;
	summary->result.ended |= error->ends;
	for (size_t i = 0; i < summary->rows.len; i++) {
		if (!strcmp(summary->rows.data[i].what, what)) {
			summary->rows.data[i].count += error->count;
			return NULL;
		}
	}
	struct check_row row = {.severity = errors_view_severity(error->kind),
		.count = error->count,
		.what = strdup(what)};
	if (row.what && check_rows_push(&summary->rows, row))
		return NULL;
	free(row.what);
	return error_no_memory();
}

static void add_coverage(
	struct check_summary *summary, enum exit_kind exit_kind, const struct check_coverage *one)
{
	summary->processes += exit_kind != EXIT_KIND_EXEC;
	if (one && one->is_there)
		check_coverage_add(&summary->coverage, one);
}

/* "app (4711)" */
static void add_process(const struct target *target, struct text *out)
{
	text_add_shown(
		out, target->command_len ? path_last_part(target->command[0]) : "?", SIZE_MAX);
	text_printf(out, " (%" PRIu32 ")", target->pid);
}

static void add_doubt(struct check_summary *summary, const struct model *model)
{
	const char *doubt = evidence_of_errors(model);
	if (!doubt)
		return;
	summary->result.unchecked++;
	add_process(model_target(model), &summary->doubts);
	text_printf(&summary->doubts, ": %s\n", doubt);
}

/* What the program did then may be an error that could not be found. */
static void add_killed(struct check_summary *summary, const struct model *model)
{
	const struct target *target = model_target(model);
	if (target->exit_kind != EXIT_KIND_SIGNAL || ++summary->killed_count > ROWS_SHOWN)
		return;
	const char *name = sigabbrev_np(target->exit_value);
	add_process(target, &summary->killed);
	text_printf(&summary->killed, " was killed by signal %d (SIG%s)\n", target->exit_value,
		name ? name : "?");
}

struct error *check_summary_add_all(struct check_summary *summary, const struct model *model)
{
	return kind_sums_add(&summary->all, model);
}

uint64_t check_summary_suppressed(const struct check_summary *summary, size_t *ret_kinds)
{
	return kind_sums_missing(&summary->all, &summary->left, ret_kinds);
}

struct error *check_summary_add(struct check_summary *summary, const struct model *model)
{
	size_t count;
	const struct program_error *errors = model_errors(model, &count);
	struct errors_view_places *places;
	struct error *error = errors_view_places_open(model, &places);
	if (error)
		return error;
	for (size_t i = 0; i < count && !error; i++) {
		_cleanup_(text_deinit) struct text what;
		text_init(&what);
		errors_view_place(places, i, &what);
		error = what.failed ? error_no_memory() : add_row(summary, &errors[i], what.data);
	}
	errors_view_places_close(places);
	if (!error)
		error = kind_sums_add(&summary->left, model);
	add_coverage(summary, model_target(model)->exit_kind, model_check_coverage(model));
	add_doubt(summary, model);
	add_killed(summary, model);
	return error;
}

static int by_severity(const void *a, const void *b)
{
	const struct check_row *x = a, *y = b;
	if (x->severity != y->severity)
		return x->severity < y->severity ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->what, y->what);
}

/* "3 suppressed (2 kinds)" */
static void add_suppressed(uint64_t times, size_t kinds, struct text *out)
{
	text_add_count(out, times);
	text_printf(out, " suppressed (%zu kind%s)", kinds, kinds == 1 ? "" : "s");
}

static void add_heading(const struct check_summary *summary, struct text *out)
{
	size_t kinds;
	uint64_t suppressed = check_summary_suppressed(summary, &kinds);
	if (!summary->result.errors && suppressed) {
		text_add(out, "No errors but ");
		add_suppressed(suppressed, kinds, out);
	} else if (!summary->result.errors) {
		text_add(out, summary->coverage.is_there ? "No errors were found"
							 : "Nothing was checked");
	} else {
		text_add_counted(out, summary->result.errors, "error", "errors");
		if (summary->rows.len != summary->result.errors)
			text_printf(out, " at %zu place%s", summary->rows.len,
				summary->rows.len == 1 ? "" : "s");
		if (suppressed) {
			text_add(out, " and ");
			add_suppressed(suppressed, kinds, out);
		}
	}
	if (summary->processes > 1) {
		text_add(out, ", in ");
		text_add_counted(out, summary->processes, "process", "processes");
	}
	text_add(out, summary->rows.len ? ", the worst first:\n" : ".\n");
}

void check_summary_text(struct check_summary *summary, struct text *out)
{
	struct check_rows *rows = &summary->rows;
	add_heading(summary, out);
	if (rows->len)
		qsort(rows->data, rows->len, sizeof(rows->data[0]), by_severity);
	for (size_t i = 0; i < rows->len && i < ROWS_SHOWN; i++) {
		text_add(out, "  ");
		text_add_count(out, rows->data[i].count);
		text_printf(out, " × %s\n", rows->data[i].what);
	}
	if (rows->len > ROWS_SHOWN)
		text_printf(out, "  … and %zu more places\n", rows->len - ROWS_SHOWN);
	text_add_n(out, summary->killed.data ? summary->killed.data : "", summary->killed.len);
	if (summary->killed_count > ROWS_SHOWN)
		text_printf(out, "… and %" PRIu64 " more were killed by signals\n",
			summary->killed_count - ROWS_SHOWN);
	if (summary->coverage.is_there)
		errors_view_coverage(&summary->coverage, out);
	text_add_n(out, summary->doubts.data ? summary->doubts.data : "", summary->doubts.len);
	text_add(out, "Not looked for: uninitialised values, and accesses outside of variables on "
		      "stacks or in data.\n");
}
