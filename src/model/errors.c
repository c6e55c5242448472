/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors that a checker found: see errors.h and build.h. */
#include "model/errors.h"

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "model/build.h"
#include "model/model_impl.h"

#define ROWS_MAX (1u << 20)

const struct program_error *model_errors(const struct model *model, size_t *ret_count)
{
	static const struct program_error none;
	*ret_count = model->errors.len;
	return model->errors.len ? model->errors.data : model->knows_errors ? &none : NULL;
}

const struct error_stack *model_error_stacks(const struct model *model, size_t *ret_count)
{
	*ret_count = model->error_stacks.len;
	return model->error_stacks.data;
}

const struct error_suppression *model_error_suppressions(
	const struct model *model, size_t *ret_count)
{
	*ret_count = model->error_suppressions.len;
	return model->error_suppressions.data;
}

const struct check_coverage *model_check_coverage(const struct model *model)
{
	return model->has_check ? &model->check : NULL;
}

static void add_sums(struct check_coverage *sum, const struct check_coverage *one)
{
	uint64_t *const sums[] = {&sum->blocks, &sum->bytes, &sum->guarded_blocks,
		&sum->guarded_bytes, &sum->stacks, &sum->guarded_stacks, &sum->stacks_uncounted,
		&sum->dropped, &sum->left_out, &sum->unserved};
	const uint64_t parts[] = {one->blocks, one->bytes, one->guarded_blocks, one->guarded_bytes,
		one->stacks, one->guarded_stacks, one->stacks_uncounted, one->dropped,
		one->left_out, one->unserved};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (__builtin_add_overflow(*sums[i], parts[i], sums[i]))
			*sums[i] = UINT64_MAX;
}

void check_coverage_add(struct check_coverage *sum, const struct check_coverage *one)
{
	if (!one->is_there) { /* no figure of it is known but these */
		const struct check_coverage lost = {.dropped = one->dropped,
			.left_out = one->left_out,
			.unserved = one->unserved ? one->unserved : 1};
		add_sums(sum, &lost);
		return;
	}
	if (!sum->is_there) {
		sum->is_there = true;
		sum->backend = one->backend;
		sum->seed = one->seed;
	} else if (strcmp(sum->backend, one->backend) != 0) {
		sum->backend = "of several kinds";
	}
	sum->seeds_differ |= one->seeds_differ || sum->seed != one->seed;
	sum->blocks_unknown |= one->blocks_unknown || (!one->blocks && one->stacks);
	sum->limits |= one->limits;
	add_sums(sum, one);
}

void build_check_coverage(struct model *model, const struct check_coverage *coverage)
{
	model->has_check = true;
	model->check = *coverage;
}

void build_errors(struct model *model)
{
	model->knows_errors = true;
}

static struct error *copy_string(struct model *model, const char **string)
{
	return build_string(model, *string, strlen(*string), string);
}

static struct error *errors_add_stack(struct model *model, const struct error_stack *row)
{
	struct error_stack copy = *row;
	if (row->stack >= model_stack_limit(model))
		return error_create(ERROR_INPUT,
			"an error names stack %" PRIu32 ", which is not known", row->stack);
	struct error *error = copy_string(model, &copy.what);
	if (error)
		return error;
	return error_stack_vec_push(&model->error_stacks, copy) ? NULL : error_no_memory();
}

struct error *build_program_error(struct model *model, const struct program_error *row,
	const struct error_stack *stacks, size_t count)
{
	struct program_error copy = *row;
	if (model->errors.len >= ROWS_MAX)
		return error_create(ERROR_INPUT, "more than %u errors", ROWS_MAX);
	copy.first_stack = model->error_stacks.len;
	copy.stack_count = count;
	struct error *error = copy_string(model, &copy.kind);
	if (!error)
		error = copy_string(model, &copy.what);
	if (!error)
		error = copy_string(model, &copy.thread);
	for (size_t i = 0; i < count && !error; i++)
		error = errors_add_stack(model, &stacks[i]);
	if (error)
		return error;
	model->knows_errors = true;
	return program_error_vec_push(&model->errors, copy) ? NULL : error_no_memory();
}

void build_program_error_count(struct model *model, size_t number, uint64_t count)
{
	if (number < model->errors.len && count)
		model->errors.data[number].count = count;
}

void model_errors_recount(struct model *model, const uint64_t *counts)
{
	size_t kept = 0;
	for (size_t i = 0; i < model->errors.len; i++) {
		if (!counts[i])
			continue;
		model->errors.data[kept] = model->errors.data[i];
		model->errors.data[kept++].count = counts[i];
	}
	model->errors.len = kept;
}

struct error *model_errors_suppressed(
	struct model *model, const struct error_suppression *suppression)
{
	struct error_suppression row = *suppression;
	if (model->error_suppressions.len >= ROWS_MAX)
		return error_create(ERROR_INPUT, "more than %u suppressions", ROWS_MAX);
	struct error *error = copy_string(model, &row.name);
	if (!error)
		error = copy_string(model, &row.from);
	if (error)
		return error;
	return error_suppression_vec_push(&model->error_suppressions, row) ? NULL
									   : error_no_memory();
}

struct error *build_error_suppression(struct model *model, const char *name, uint64_t count)
{
	const struct error_suppression row = {.name = name, .count = count, .from = ""};
	return model_errors_suppressed(model, &row);
}
