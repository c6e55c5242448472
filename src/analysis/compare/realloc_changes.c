/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/realloc_changes.h"

#include <stdlib.h>

#include "analysis/summary.h"
#include "base/cleanup.h"

void realloc_changes_init(struct realloc_changes *changes)
{
	*changes = (struct realloc_changes){.base = {.site = 0}};
	for (int i = 0; i < 2; i++)
		reallocs_init(&changes->sides[i]);
	realloc_change_vec_init(&changes->rows);
	text_init(&changes->verdict);
}

void realloc_changes_deinit(struct realloc_changes *changes)
{
	for (int i = 0; i < 2; i++)
		reallocs_deinit(&changes->sides[i]);
	realloc_change_vec_deinit(&changes->rows);
	text_deinit(&changes->verdict);
}

/* What one side has of a place that several of its rows may be. */
static void realloc_changes_put(struct realloc_row *to, const struct realloc_row *from)
{
	if (!to->row) {
		*to = *from;
		return;
	}
	realloc_site_add(&to->sums, &from->sums);
	realloc_row_conclude(to);
}

static struct error *add_side(const struct comparison *comparison, unsigned side, uint32_t *places,
	struct realloc_changes *ret)
{
	const struct match_member *members = match_members_of(comparison->diff.match, side);
	const struct rows *rows = profile_rows(&comparison->sides[side]);
	const struct realloc_rows *reallocs = &ret->sides[side].rows;
	for (size_t i = 0; i < reallocs->len; i++) {
		const struct realloc_row *from = &reallocs->data[i];
		uint32_t group = members[from->row - rows->rows.data].group;
		if (!places[group]) {
			struct realloc_change row = {
				.row = &comparison->diff.rows.rows.data[group]};
			if (!realloc_change_vec_push(&ret->rows, row))
				return error_no_memory();
			places[group] = (uint32_t)ret->rows.len;
		}
		struct realloc_change *row = &ret->rows.data[places[group] - 1];
		realloc_changes_put(side ? &row->value : &row->base, from);
	}
	return NULL;
}

static void realloc_changes_normalize(struct realloc_changes *changes)
{
	const struct realloc_site from = changes->base, *to = &changes->value;
	for (size_t i = 0; i <= changes->rows.len; i++) {
		struct realloc_site *sums =
			i < changes->rows.len ? &changes->rows.data[i].base.sums : &changes->base;
#define SCALE(member) sums->member = diff_scaled(sums->member, to->member, from.member)
		SCALE(calls);
		SCALE(grown);
		SCALE(shrunk);
		SCALE(grown_bytes);
		SCALE(copied_bytes);
		SCALE(chains);
#undef SCALE
	}
}

static int64_t change_of(const struct realloc_change *row)
{
	return (int64_t)(row->value.sums.copied_bytes - row->base.sums.copied_bytes);
}

static uint64_t realloc_changes_amount(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int realloc_changes_compare_rows(const void *left, const void *right)
{
	const struct realloc_change *a = left, *b = right;
	uint64_t x = realloc_changes_amount(change_of(a)), y = realloc_changes_amount(change_of(b));
	if (x == y) {
		x = realloc_changes_amount((int64_t)(a->value.sums.calls - a->base.sums.calls));
		y = realloc_changes_amount((int64_t)(b->value.sums.calls - b->base.sums.calls));
	}
	if (x != y)
		return x > y ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* "Memory possibly copied by realloc grew by 1.99 GiB: from 4.00 MiB to 2.00 GiB; there are 65,536
 * of them, +65,524." */
static void describe_totals(struct realloc_changes *changes)
{
	struct text *out = &changes->verdict;
	uint64_t from = changes->base.copied_bytes, to = changes->value.copied_bytes;
	if (from == to) {
		text_add(out, "Memory possibly copied by realloc is the same: ");
		text_add_bytes(out, to);
	} else {
		text_add(out, "Memory possibly copied by realloc ");
		text_add(out, from < to ? "grew by " : "shrank by ");
		text_add_bytes(out, from < to ? to - from : from - to);
		text_add(out, ": from ");
		text_add_bytes(out, from);
		text_add(out, " to ");
		text_add_bytes(out, to);
	}
	uint64_t calls = changes->value.calls;
	text_add(out, calls == 1 ? "; there is " : "; there are ");
	text_add_count(out, calls);
	text_add(out, calls == 1 ? " realloc, " : " reallocs, ");
	diff_add_change(out, METRIC_ALLOCATIONS, (int64_t)(calls - changes->base.calls));
	text_add(out, ".\n");
}

#define SITES_NAMED 3u

/* Places that began to grow blocks step by step, or stopped it. */
static void describe_stepwise(struct realloc_changes *changes, bool now)
{
	struct text *out = &changes->verdict;
	size_t count = 0;
	for (size_t i = 0; i < changes->rows.len; i++) {
		const struct realloc_change *row = &changes->rows.data[i];
		if (row->base.stepwise == row->value.stepwise || row->value.stepwise != now ||
			count++ >= SITES_NAMED)
			continue;
		if (row->row->place)
			summary_add_place(out, row->row->place);
		else
			text_add(out, "An unnamed allocation site");
		text_add(out, now ? " grows blocks step by step now.\n"
				  : " no longer grows blocks step by step.\n");
	}
	if (count > SITES_NAMED)
		text_printf(out, "%zu more allocation sites %s.\n", count - SITES_NAMED,
			now ? "do so too" : "stopped doing so too");
}

static void add_up(struct realloc_changes *changes)
{
	for (size_t i = 0; i < changes->rows.len; i++) {
		realloc_site_add(&changes->base, &changes->rows.data[i].base.sums);
		realloc_site_add(&changes->value, &changes->rows.data[i].value.sums);
	}
}

struct error *realloc_changes_build(
	const struct comparison *comparison, struct realloc_changes *ret)
{
	const struct rows *both = &comparison->diff.rows;
	_cleanup_free_ uint32_t *places = calloc(both->rows.len + 1, sizeof(*places));
	struct error *error = places ? NULL : error_no_memory();
	for (unsigned i = 0; !error && i < 2; i++) {
		const struct profile *side = &comparison->sides[i];
		error = reallocs_build(
			side->model, side->resolver, profile_rows(side), &ret->sides[i]);
		if (!error)
			error = add_side(comparison, i, places, ret);
	}
	if (error)
		return error;
	add_up(ret);
	if (comparison->diff.options.normalize)
		realloc_changes_normalize(ret);
	if (ret->rows.len)
		qsort(ret->rows.data, ret->rows.len, sizeof(*ret->rows.data),
			realloc_changes_compare_rows);
	describe_totals(ret);
	describe_stepwise(ret, true);
	describe_stepwise(ret, false);
	return ret->verdict.failed ? error_no_memory() : NULL;
}
