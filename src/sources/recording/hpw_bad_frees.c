/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_bad_frees.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "format/hpw.h"
#include "format/kinds.h"
#include "sources/events/hpw_columns.h"

/* In the order of the columns. */
struct row {
	uint64_t stamp, thread, address, count, what, kind, stack, site, first_thread, first_stack;
};
_Static_assert(sizeof(struct row) == HPW_BAD_FREES_COLUMNS * sizeof(uint64_t), "one for one");

bool hpw_bad_frees_takes(uint16_t type)
{
	return type == HPW_BAD_FREES;
}

void hpw_bad_frees_deinit(struct hpw_bad_frees *frees)
{
	hpw_bad_free_map_deinit(&frees->rows);
}

static const char *function_name(uint64_t kind)
{
	static const char *const names[HW_FREE_KINDS] = {
		[HW_FREE] = "free()",
		[HW_FREE_REALLOC] = "realloc()",
		[HW_DELETE] = "operator delete",
		[HW_DELETE_ARRAY] = "operator delete[]",
		[HW_FREE_REALLOC_ZERO] = "realloc() to size 0",
		[HW_FREE_PYTHON] = "CPython's free()",
		[HW_FREE_PYTHON_REALLOC] = "CPython's realloc()",
	};
	return kind < HW_FREE_KINDS ? names[kind] : "an unknown free function";
}

/* "free() of a block that had been freed already, at 0x…". */
static void hpw_bad_frees_describe(
	const struct row *row, const struct site *site, char *ret, size_t size)
{
	const char *function = function_name(row->kind);
	switch (row->what) {
	case HPW_BAD_FREE_TWICE:
		snprintf(ret, size, "%s of a block that was already freed (0x%" PRIx64 ")",
			function, row->address);
		break;
	case HPW_BAD_FREE_MISMATCHED:
		snprintf(ret, size, "%s of a block from %s (0x%" PRIx64 ")", function,
			site ? alloc_kind_name(site->kind) : "another function", row->address);
		break;
	default:
		snprintf(ret, size, "%s of 0x%" PRIx64 ", which is not a recorded block", function,
			row->address);
	}
}

static const char *hpw_bad_frees_kind_of(uint64_t what)
{
	return what == HPW_BAD_FREE_TWICE        ? "DoubleFree"
	       : what == HPW_BAD_FREE_MISMATCHED ? "MismatchedFree"
						 : "InvalidFree";
}

/* A number of the row that is one more than an index, or 0: the entry, NULL if there is none. */
static const struct site *site_of(const struct model *model, const struct row *row)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	return row->site && row->site - 1 < count ? &sites[row->site - 1] : NULL;
}

static const struct thread *thread_of(const struct model *model, uint64_t index)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	return index < count ? &threads[index] : NULL;
}

static uint32_t stack_of(const struct model *model, uint64_t stack)
{
	return stack < model_stack_limit(model) ? (uint32_t)stack : 0;
}

static struct error *hpw_bad_frees_add(struct model *model, const struct row *row)
{
	static const char unknown[] = "the stack is unknown: record with --free-stacks";
	char what[160], first[96];
	const struct site *site = site_of(model, row);
	const struct thread *thread = thread_of(model, row->thread);
	hpw_bad_frees_describe(row, site, what, sizeof(what));
	uint32_t here = stack_of(model, row->stack), before = stack_of(model, row->first_stack);
	struct error_stack stacks[3] = {{.what = here ? "" : unknown, .stack = here}};
	size_t count = 1;
	if (row->what == HPW_BAD_FREE_TWICE) {
		const struct thread *by =
			row->first_thread ? thread_of(model, row->first_thread - 1) : NULL;
		int used = snprintf(first, sizeof(first), "it was freed first");
		if (by && by != thread)
			used += snprintf(first + used, sizeof(first) - (size_t)used,
				" by thread %" PRIu32, by->tid);
		if (!before)
			snprintf(first + used, sizeof(first) - (size_t)used, "; %s", unknown);
		stacks[count++] = (struct error_stack){.what = first, .stack = before};
	}
	if (site)
		stacks[count++] = (struct error_stack){
			.what = "the block was allocated", .stack = site->stack.value};
	const struct program_error error = {.kind = hpw_bad_frees_kind_of(row->what),
		.what = what,
		.thread = thread ? thread->name : "",
		.tid = thread ? thread->tid : 0,
		.count = row->count};
	return build_program_error(model, &error, stacks, count);
}

/* Equal rows of several chunks become one. */
static struct error *hpw_bad_frees_take(struct hpw_bad_frees *frees, const struct row *row)
{
	struct row key = *row;
	key.stamp = key.address = key.count = 0;
	bool is_new;
	size_t *place =
		hpw_bad_free_map_insert(&frees->rows, hash_bytes(&key, sizeof(key)), &is_new);
	if (!place)
		return error_no_memory();
	size_t count;
	const struct program_error *errors = model_errors(frees->model, &count);
	if (row->what != HPW_BAD_FREE_MISMATCHED)
		frees->unknown += row->count;
	if (is_new) {
		*place = count;
		return hpw_bad_frees_add(frees->model, row);
	}
	build_program_error_count(frees->model, *place, errors[*place].count + row->count);
	return NULL;
}

struct error *hpw_bad_frees_decode(struct hpw_bad_frees *frees, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_BAD_FREES_COLUMNS];
	size_t rows = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_BAD_FREES_COLUMNS);
	if (!error)
		error = hpw_columns_rows(
			columns, HPW_BAD_FREES_COLUMNS, (1u << HPW_BAD_FREES_COLUMNS) - 1, &rows);
	if (!error && rows > HPW_BAD_FREES_MAX - frees->rows_read)
		error = error_create(ERROR_INPUT, "more than %u invalid frees", HPW_BAD_FREES_MAX);
	for (size_t i = 0; !error && i < rows; i++) {
		uint64_t values[HPW_BAD_FREES_COLUMNS];
		for (size_t k = 0; !error && k < ARRAY_SIZE(values); k++)
			error = hpw_column_next(&columns[k], &values[k]);
		struct row row;
		memcpy(&row, values, sizeof(row));
		if (!error && (!row.count || row.count > UINT64_MAX / HPW_BAD_FREES_MAX))
			error = error_create(ERROR_INPUT, "%" PRIu64 " frees in a row", row.count);
		if (!error)
			error = hpw_bad_frees_take(frees, &row);
	}
	frees->rows_read += rows;
	return error;
}
