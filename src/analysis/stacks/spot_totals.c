/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/spot_totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

DEFINE_VEC(row_numbers, uint32_t)

struct summing {
	struct spots *spots;
	struct spot_total_vec *totals; /* by spot id */
	struct row_numbers last;       /* row that was last added to its cum, from 1 */
	struct spot_vec stack;
};

/* Room for all spots that are there by now. */
static struct error *spot_totals_grow(struct summing *at)
{
	while (at->totals->len < spots_count(at->spots)) {
		struct spot_total total = {.spot = spots_at(at->spots, at->totals->len),
			.flat = row_empty(),
			.cum = row_empty()};
		if (!spot_total_vec_push(at->totals, total) || !row_numbers_push(&at->last, 0))
			return error_no_memory();
	}
	return NULL;
}

static struct error *spot_totals_add_row(struct summing *at, const struct row *row, uint32_t number)
{
	struct error *error = spots_stack(at->spots, row->frames, row->depth, &at->stack);
	if (!error)
		error = spot_totals_grow(at);
	if (error)
		return error;
	struct arena *arena = spots_arena(at->spots);
	for (size_t i = 0; i < at->stack.len; i++) {
		uint32_t id = at->stack.data[i]->id;
		if (i == 0 && !row_add(&at->totals->data[id].flat, row, arena))
			return error_no_memory();
		if (at->last.data[id] == number)
			continue;
		at->last.data[id] = number;
		if (!row_add(&at->totals->data[id].cum, row, arena))
			return error_no_memory();
	}
	return NULL;
}

static uint64_t spot_totals_amount(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

struct spot_order {
	enum metric metric;
	bool by_cum;
};

static int spot_totals_compare(const void *left, const void *right, void *ctx)
{
	const struct spot_total *a = left, *b = right;
	const struct spot_order *order = ctx;
	bool by_cum = order->by_cum;
	uint64_t x = spot_totals_amount(row_value(by_cum ? &a->cum : &a->flat, order->metric));
	uint64_t y = spot_totals_amount(row_value(by_cum ? &b->cum : &b->flat, order->metric));
	if (x == y) {
		x = spot_totals_amount(row_value(by_cum ? &a->flat : &a->cum, order->metric));
		y = spot_totals_amount(row_value(by_cum ? &b->flat : &b->cum, order->metric));
	}
	if (x != y)
		return x > y ? -1 : 1;
	int names = strcmp(a->spot->name, b->spot->name);
	return names ? names : a->spot->id < b->spot->id ? -1 : 1;
}

struct error *spot_totals_build(const struct rows *rows, struct spots *spots, enum metric sort,
	bool by_cum, struct spot_total_vec *ret)
{
	struct spot_order order = {.metric = sort, .by_cum = by_cum};
	struct summing at = {.spots = spots, .totals = ret};
	row_numbers_init(&at.last);
	spot_vec_init(&at.stack);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		error = spot_totals_add_row(&at, &rows->rows.data[i], (uint32_t)i + 1);
	row_numbers_deinit(&at.last);
	spot_vec_deinit(&at.stack);
	if (!error && ret->len)
		qsort_r(ret->data, ret->len, sizeof(*ret->data), spot_totals_compare, &order);
	return error;
}
