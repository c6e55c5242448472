/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compared views of sizes, lifetimes and threads, as text and as JSON. */
#include <inttypes.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/histogram_axis.h"

static void add_count(struct text *out, uint64_t value, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_count(&cell, value);
	text_printf(out, "%*s", width, cell.data ? cell.data : "");
}

static void add_bytes(struct text *out, uint64_t value, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_bytes(&cell, value);
	text_printf(out, "%*s", width, cell.data ? cell.data : "");
}

/* Before, now, and the difference. */
static void add_counts(struct text *out, uint64_t base, uint64_t value)
{
	add_count(out, base, 14);
	add_count(out, value, 14);
	text_add_change_cell(out, METRIC_ALLOCATIONS, base, value, 14);
}

static void add_size_sums(
	struct text *out, const struct size_sums *base, const struct size_sums *value)
{
	add_counts(out, base->allocations, value->allocations);
	add_bytes(out, value->bytes, 13);
	text_add_change_cell(out, METRIC_ALLOCATED_BYTES, base->bytes, value->bytes, 13);
}

static void add_size_classes(const struct size_changes *changes, struct text *out)
{
	unsigned first = min(changes->base.first, changes->value.first);
	unsigned end = max(changes->base.end, changes->value.end);
	text_printf(out, "%16s%14s%14s%15s%13s%14s\n", "up to", "before", "allocations", "±",
		"bytes", "±");
	for (unsigned i = first; i < end; i++) {
		text_printf(out, "%*s≤ ", 4, "");
		add_bytes(out, size_class_most(i), 10);
		add_size_sums(out, &changes->base.classes[i], &changes->value.classes[i]);
		text_add_char(out, '\n');
	}
}

static bool is_same_size(const struct size_change *row)
{
	return row->base.allocations == row->value.allocations;
}

void text_change_sizes(const struct page *page, struct text *out)
{
	const struct size_change_vec *sizes = &page->size_changes.sizes;
	size_t changed = 0;
	while (changed < sizes->len && !is_same_size(&sizes->data[changed]))
		changed++;
	size_t shown = min(changed, page->limit);
	text_change_heading(page, out);
	text_printf(out, "\n%s\n", page->view->title);
	add_size_classes(&page->size_changes, out);
	text_printf(out, "\n%16s%14s%14s%15s%13s%14s\n", "size", "before", "allocations", "±",
		"bytes", "±");
	for (size_t i = 0; i < shown; i++) {
		const struct size_change *row = &sizes->data[i];
		add_count(out, row->size, 14);
		text_add(out, " B");
		add_size_sums(out, &row->base, &row->value);
		text_add(out,
			change_remark(row->base.allocations != 0, row->value.allocations != 0));
		text_add_char(out, '\n');
	}
	text_change_rest(shown, changed, sizes->len, "size", "sizes", out);
}

static const struct json_member size_members[] = {
	{"allocations", offsetof(struct size_sums, allocations)},
	{"bytes", offsetof(struct size_sums, bytes)},
};

static void put_size(struct json *json, const char *key, uint64_t size,
	const struct size_sums *base, const struct size_sums *value)
{
	const struct change_members members = {
		size_members, ARRAY_SIZE(size_members), base, value, false};
	json_object_begin(json);
	json_put_u64(json, key, size);
	json_put_members(json, size_members, ARRAY_SIZE(size_members), value);
	json_change_members(json, change_status(base->allocations, value->allocations), &members);
	json_object_end(json);
}

void json_change_sizes(const struct page *page, struct json *json)
{
	const struct size_changes *changes = &page->size_changes;
	unsigned first = min(changes->base.first, changes->value.first);
	unsigned end = max(changes->base.end, changes->value.end);
	json_key(json, "size_classes");
	json_array_begin(json);
	for (unsigned i = first; i < end; i++)
		put_size(json, "up_to", size_class_most(i), &changes->base.classes[i],
			&changes->value.classes[i]);
	json_array_end(json);
	json_key(json, "sizes");
	json_array_begin(json);
	for (size_t i = 0; i < changes->sizes.len && i < page->limit; i++)
		put_size(json, "size", changes->sizes.data[i].size, &changes->sizes.data[i].base,
			&changes->sizes.data[i].value);
	json_array_end(json);
}

/* Buckets that either has. */
static void bounds_of_both(const struct life_count *base, const struct life_count *value,
	unsigned *ret_first, unsigned *ret_end)
{
	unsigned first[2], end[2];
	life_bounds(base, &first[0], &end[0]);
	life_bounds(value, &first[1], &end[1]);
	*ret_first = !end[0] ? first[1] : !end[1] ? first[0] : min(first[0], first[1]);
	*ret_end = max(end[0], end[1]);
}

static void add_histogram(const struct life_count *base, const struct life_count *value,
	const struct life_axis *axis, struct text *out)
{
	unsigned first, end;
	bounds_of_both(base, value, &first, &end);
	text_printf(out, "\n%16s%14s%14s%15s%14s%14s%15s\n", axis->title, "before", "freed", "±",
		"before", "never freed", "±");
	bool any = false;
	for (unsigned i = first; i < end; i++) {
		any |= i && (base[i].freed_blocks || base[i].live_blocks || value[i].freed_blocks ||
				    value[i].live_blocks);
		if (i && !any)
			continue;
		life_add_bound(axis, i, out);
		add_counts(out, base[i].freed_blocks, value[i].freed_blocks);
		add_counts(out, base[i].live_blocks, value[i].live_blocks);
		text_add_char(out, '\n');
	}
	if (first == end)
		text_add(out, "  no blocks\n");
}

void text_change_lifetimes(const struct page *page, struct text *out)
{
	const struct lifetimes *lifetimes = model_lifetimes(page->model);
	text_change_heading(page, out);
	text_printf(out, "\n%s, by time\n", page->view->title);
	add_histogram(page->base_lifetimes.by_time, lifetimes->by_time, &life_by_time, out);
	text_printf(out, "\n%s, by allocations of the process in between\n", page->view->title);
	add_histogram(page->base_lifetimes.by_others, lifetimes->by_others, &life_by_others, out);
}

static uint64_t blocks_of(const struct life_count *count)
{
	return count->freed_blocks + count->live_blocks;
}

static void put_histogram(struct json *json, const char *key, const char *bound,
	const struct life_count *base, const struct life_count *value)
{
	unsigned first, end;
	bounds_of_both(base, value, &first, &end);
	json_key(json, key);
	json_array_begin(json);
	for (unsigned i = first; i < end; i++) {
		const struct change_members members = {
			life_members, LIFE_MEMBERS, &base[i], &value[i], false};
		json_object_begin(json);
		json_put_life(json, bound, i, &value[i]);
		json_change_members(
			json, change_status(blocks_of(&base[i]), blocks_of(&value[i])), &members);
		json_object_end(json);
	}
	json_array_end(json);
}

void json_change_lifetimes(const struct page *page, struct json *json)
{
	const struct lifetimes *base = &page->base_lifetimes, *value = model_lifetimes(page->model);
	json_key(json, "lifetimes");
	json_object_begin(json);
	put_histogram(json, "by_time", "up_to_ns", base->by_time, value->by_time);
	put_histogram(json, "by_allocations", "up_to", base->by_others, value->by_others);
	json_object_end(json);
}

static const struct thread *example_of(const struct thread_change *row)
{
	return row->newer ? row->newer : row->older;
}

static bool differs(const struct thread_change *row)
{
	return row->base.allocations != row->value.allocations ||
	       row->base.allocated_bytes != row->value.allocated_bytes ||
	       row->base.frees != row->value.frees || row->base.temporary != row->value.temporary;
}

static void add_thread(const struct page *page, const struct thread_change *row, struct text *out)
{
	const struct thread *base = &row->base, *value = &row->value;
	text_thread_name(example_of(row), out);
	add_count(out, value->allocations, 15);
	text_add_change_cell(out, METRIC_ALLOCATIONS, base->allocations, value->allocations, 13);
	add_bytes(out, value->allocated_bytes, 13);
	text_add_change_cell(
		out, METRIC_ALLOCATED_BYTES, base->allocated_bytes, value->allocated_bytes, 13);
	if (diff_knows(&page->compared.diff, METRIC_TEMPORARY)) {
		add_count(out, value->temporary, 15);
		text_add_change_cell(out, METRIC_TEMPORARY, base->temporary, value->temporary, 13);
	} else {
		text_printf(out, "%15s%13s", "not known", "");
	}
	text_printf(out, "%s\n", change_remark(row->older != NULL, row->newer != NULL));
}

void text_change_threads(const struct page *page, struct text *out)
{
	const struct thread_change_vec *rows = &page->thread_changes;
	size_t changed = 0, shown = 0;
	for (size_t i = 0; i < rows->len; i++)
		changed += differs(&rows->data[i]);
	text_change_heading(page, out);
	text_printf(out, "\n%s\n%10s  %-16s %15s%14s%13s%14s%15s%14s\n", page->view->title, "tid",
		"name", "allocations", "±", "allocated", "±", "temporary", "±");
	for (size_t i = 0; i < rows->len && shown < page->limit; i++) {
		if (!differs(&rows->data[i]))
			continue;
		add_thread(page, &rows->data[i], out);
		shown++;
	}
	text_change_rest(shown, changed, rows->len, "thread", "threads", out);
}

/* One that is there now is new, though it only freed. */
static const char *status_of(const struct thread_change *row)
{
	if (row->older && row->newer)
		return change_status(row->base.allocations, row->value.allocations);
	return diff_status_name(row->newer ? DIFF_NEW : DIFF_GONE);
}

void json_change_threads(const struct page *page, struct json *json)
{
	json_key(json, "threads");
	json_array_begin(json);
	for (size_t i = 0; i < page->thread_changes.len && i < page->limit; i++) {
		const struct thread_change *row = &page->thread_changes.data[i];
		const struct thread *example = example_of(row);
		struct thread shown = row->value;
		shown.tid = example->tid;
		shown.name = example->name;
		shown.others = example->others;
		const struct change_members members = {thread_members, THREAD_FIGURES, &row->base,
			&row->value, !diff_knows(&page->compared.diff, METRIC_TEMPORARY)};
		json_object_begin(json);
		json_thread_members(page, &shown, json);
		json_change_members(json, status_of(row), &members);
		json_object_end(json);
	}
	json_array_end(json);
}
