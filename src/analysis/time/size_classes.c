/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/size_classes.h"

#include <stdlib.h>

#include "analysis/diff.h"
#include "base/util.h"

uint64_t size_class_most(unsigned class)
{
	return class < 64 ? (uint64_t)1 << class : UINT64_MAX;
}

void size_classes_fill(const struct model *model, struct size_classes *ret)
{
	size_t count;
	const struct size_count *sizes = model_sizes(model, &count);
	*ret = (struct size_classes){.first = SIZE_CLASSES};
	for (size_t i = 0; i < count; i++) {
		uint64_t size = sizes[i].size;
		unsigned number = size > 1 ? 64 - (unsigned)__builtin_clzll(size - 1) : 0;
		struct size_sums *class = &ret->classes[number];
		class->allocations += sizes[i].allocations;
		class->bytes += size * sizes[i].allocations;
		ret->first = min(ret->first, number);
		ret->end = max(ret->end, number + 1);
		ret->highest = max(ret->highest, class->allocations);
	}
}

void size_changes_init(struct size_changes *changes)
{
	*changes = (struct size_changes){.base = {.first = SIZE_CLASSES}};
	size_change_vec_init(&changes->sizes);
}

void size_changes_deinit(struct size_changes *changes)
{
	size_change_vec_deinit(&changes->sizes);
}

static struct size_sums sums_of(const struct size_count *row)
{
	return (struct size_sums){row->allocations, row->size * row->allocations};
}

/* Both lists ascend. */
static struct error *size_classes_pair(
	const struct model *older, const struct model *newer, struct size_change_vec *ret)
{
	size_t counts[2], i = 0, k = 0;
	const struct size_count *a = model_sizes(older, &counts[0]);
	const struct size_count *b = model_sizes(newer, &counts[1]);
	while (i < counts[0] || k < counts[1]) {
		bool in_older = i < counts[0] && (k >= counts[1] || a[i].size <= b[k].size);
		bool in_newer = k < counts[1] && (i >= counts[0] || b[k].size <= a[i].size);
		struct size_change row = {.size = in_older ? a[i].size : b[k].size};
		if (in_older)
			row.base = sums_of(&a[i++]);
		if (in_newer)
			row.value = sums_of(&b[k++]);
		if (!size_change_vec_push(ret, row))
			return error_no_memory();
	}
	return NULL;
}

static void size_classes_add(struct size_sums *sums, const struct size_sums *more)
{
	sums->allocations += more->allocations;
	sums->bytes += more->bytes;
}

static void size_classes_scale(
	struct size_sums *sums, const struct size_sums *to, const struct size_sums *from)
{
	sums->allocations = diff_scaled(sums->allocations, to->allocations, from->allocations);
	sums->bytes = diff_scaled(sums->bytes, to->bytes, from->bytes);
}

static void size_classes_normalize(struct size_changes *changes)
{
	struct size_sums from = {0}, to = {0};
	for (size_t i = 0; i < changes->sizes.len; i++) {
		size_classes_add(&from, &changes->sizes.data[i].base);
		size_classes_add(&to, &changes->sizes.data[i].value);
	}
	for (size_t i = 0; i < changes->sizes.len; i++)
		size_classes_scale(&changes->sizes.data[i].base, &to, &from);
	changes->base.highest = 0;
	for (unsigned i = 0; i < SIZE_CLASSES; i++) {
		size_classes_scale(&changes->base.classes[i], &to, &from);
		changes->base.highest =
			max(changes->base.highest, changes->base.classes[i].allocations);
	}
}

static uint64_t size_classes_distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

static uint64_t size_classes_weight_of(const struct size_change *row, enum metric sort)
{
	return sort == METRIC_ALLOCATED_BYTES
		       ? size_classes_distance(row->base.bytes, row->value.bytes)
		       : size_classes_distance(row->base.allocations, row->value.allocations);
}

static int size_classes_compare(const void *left, const void *right, void *ctx)
{
	const struct size_change *a = left, *b = right;
	enum metric sort = *(const enum metric *)ctx;
	uint64_t x = size_classes_weight_of(a, sort), y = size_classes_weight_of(b, sort);
	if (x != y)
		return x > y ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

struct error *size_changes_build(const struct model *older, const struct model *newer,
	enum metric sort, bool normalized, struct size_changes *ret)
{
	size_classes_fill(older, &ret->base);
	size_classes_fill(newer, &ret->value);
	struct error *error = size_classes_pair(older, newer, &ret->sizes);
	if (error)
		return error;
	if (normalized)
		size_classes_normalize(ret);
	if (ret->sizes.len)
		qsort_r(ret->sizes.data, ret->sizes.len, sizeof(*ret->sizes.data),
			size_classes_compare, &sort);
	return NULL;
}
