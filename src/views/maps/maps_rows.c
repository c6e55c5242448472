/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/maps/maps_rows.h"

#include <stdlib.h>
#include <string.h>

#include "views/maps/maps_fill.h"

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;
	bool is_known = a != MAPPING_NO_FIGURE && b != MAPPING_NO_FIGURE &&
			!__builtin_add_overflow(a, b, &sum);
	return is_known ? sum : MAPPING_NO_FIGURE;
}

/* A new row without figures; NULL: no memory. */
static struct maps_row *row_create(struct maps_row_vec *rows, const struct maps_subject *subject)
{
	size_t looks = subject->series->seconds.len;
	uint64_t *values = calloc(looks + 1, sizeof(*values));
	const struct maps_row row = {.subject = subject,
		.values = values,
		.looks = looks,
		.known = (1u << LOOK_FIGURES) - 1};
	if (!values || !maps_row_vec_push(rows, row)) {
		free(values);
		return NULL;
	}
	return &rows->data[rows->len - 1];
}

static void row_fit(struct maps_row *row)
{
	const struct maps_subject *subject = row->subject;
	mapping_fit(subject->times_known ? subject->series->seconds.data : NULL, row->values,
		row->looks, &row->fit);
}

/* Adds what a mapping has at the last look; what is not known of one is not known of the sum. */
static void mapping_add(struct maps_row *row, const struct look_mapping *mapping)
{
	row->known &= mapping->known;
	for (unsigned i = 0; i < LOOK_FIGURES; i++)
		row->figures[i] += mapping->known & 1u << i ? mapping->figures[i] : 0;
}

static void row_add(struct maps_row *into, const struct maps_row *row)
{
	into->regions++;
	into->mappings += row->region->is_seen ? row->region->mappings : 0;
	if (row->region->is_seen)
		into->known &= row->known;
	for (unsigned i = 0; i < LOOK_FIGURES; i++)
		into->figures[i] += row->figures[i];
	into->change.compared += row->change.compared;
	into->change.changed += row->change.changed;
	for (size_t i = 0; i < into->looks; i++)
		into->values[i] = sum_of(into->values[i], row->values[i]);
}

/* The row of an owner, which all mappings of that kind share, heaps apart. */
static struct maps_row *owner_row(
	struct maps_rows *rows, const struct maps_subject *subject, const struct maps_row *row)
{
	const char *whose = row->owner == LOOK_HEAP ? row->whose : NULL;
	for (size_t i = 0; i < rows->owners.len; i++) {
		struct maps_row *found = &rows->owners.data[i];
		if (found->subject == subject && found->owner == row->owner &&
			!found->whose == !whose && (!whose || !strcmp(found->whose, whose)))
			return found;
	}
	struct maps_row *created = row_create(&rows->owners, subject);
	if (created) {
		created->owner = row->owner;
		created->whose = whose;
	}
	return created;
}

static bool node_add(struct look_node_vec *nodes, const struct look_node *part)
{
	for (size_t i = 0; i < nodes->len; i++) {
		if (nodes->data[i].node == part->node) {
			nodes->data[i].bytes += part->bytes;
			return true;
		}
	}
	return look_node_vec_push(nodes, *part);
}

/* Adds what the mapping at `start` has on each node. */
static bool nodes_add(struct maps_row *row, uint64_t start)
{
	const struct look_node_vec *nodes = row->subject->nodes;
	size_t low = 0, high = nodes ? nodes->len : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (nodes->data[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; nodes && i < nodes->len && nodes->data[i].start == start; i++) {
		if (!node_add(&row->nodes, &nodes->data[i]))
			return false;
	}
	return true;
}

static bool regions_fill(struct maps_rows *rows, const struct maps_subject *subject)
{
	const struct mapping_series *series = subject->series;
	size_t first = rows->regions.len;
	size_t *places = calloc(series->regions.len + 1, sizeof(*places));
	bool ok = places;
	for (size_t i = 0; ok && i < series->regions.len; i++) {
		const struct mapping_region *region = &series->regions.data[i];
		places[i] = SIZE_MAX;
		if (region->merged || !region->value_count)
			continue;
		struct maps_row *row = row_create(&rows->regions, subject);
		ok = row;
		if (!ok)
			break;
		places[i] = rows->regions.len - 1;
		row->region = region;
		row->region_index = i;
		row->owner = region->sample.owner;
		row->whose = region->sample.whose;
		row->regions = 1;
		row->mappings = region->mappings;
		mapping_region_values(series, region, row->values);
		row_fit(row);
		if (subject->changes && i < subject->changes->count)
			row->change = subject->changes->regions[i];
	}
	for (size_t i = 0; ok && i < series->parts.len; i++) {
		size_t place = places[series->parts.data[i].region];
		if (place == SIZE_MAX || place < first)
			continue;
		const struct look_mapping *mapping = &series->parts.data[i].mapping;
		mapping_add(&rows->regions.data[place], mapping);
		ok = nodes_add(&rows->regions.data[place], mapping->start);
	}
	/* What is not there any more takes nothing. */
	free(places);
	return ok;
}

static bool sums_fill(struct maps_rows *rows, const struct maps_subject *subject, size_t first)
{
	struct maps_row *process = row_create(&rows->processes, subject);
	size_t first_owner = rows->owners.len;
	if (!process)
		return false;
	for (size_t i = first; i < rows->regions.len; i++) {
		struct maps_row *owner = owner_row(rows, subject, &rows->regions.data[i]);
		if (!owner)
			return false;
		row_add(owner, &rows->regions.data[i]);
		row_add(process, &rows->regions.data[i]);
	}
	row_fit(process);
	for (size_t i = first_owner; i < rows->owners.len; i++)
		row_fit(&rows->owners.data[i]);
	for (size_t i = 0; i < process->looks; i++) {
		const struct maps_moment moment = {
			subject, i, subject->series->seconds.data[i], process->values[i]};
		if (!maps_moment_vec_push(&rows->moments, moment))
			return false;
	}
	return true;
}

static bool totals_fill(struct maps_rows *rows, const struct maps_subject *subject)
{
	const struct mapping_series *series = subject->series;
	for (size_t i = 0; i < series->totals.len; i++) {
		struct maps_total row = {subject, &series->totals.data[i], {.slope = 0}};
		mapping_fit(subject->times_known ? series->seconds.data : NULL, row.total->values,
			row.total->value_count, &row.fit);
		if (row.fit.looks && !maps_total_vec_push(&rows->totals, row))
			return false;
	}
	return true;
}

/* The most growth first; of one look, and of equal ones, the lowest address. */
static int by_growth(const void *left, const void *right)
{
	const struct maps_row *a = left, *b = right;
	if (a->subject != b->subject)
		return a->subject < b->subject ? -1 : 1;
	if (a->fit.change != b->fit.change)
		return a->fit.change > b->fit.change ? -1 : 1;
	if (!a->region || !b->region)
		return (a->fit.last < b->fit.last) - (a->fit.last > b->fit.last);
	return (a->region->start > b->region->start) - (a->region->start < b->region->start);
}

static void rows_sort(struct maps_row_vec *rows)
{
	if (rows->len)
		qsort(rows->data, rows->len, sizeof(*rows->data), by_growth);
}

bool maps_rows_fill(struct maps_rows *rows, const struct maps_subject *subjects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t first = rows->regions.len;
		if (!regions_fill(rows, &subjects[i]) || !sums_fill(rows, &subjects[i], first) ||
			!totals_fill(rows, &subjects[i]))
			return false;
	}
	rows_sort(&rows->regions);
	rows_sort(&rows->owners);
	return true;
}

static void row_vec_free(struct maps_row_vec *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		free(rows->data[i].values);
		look_node_vec_deinit(&rows->data[i].nodes);
	}
	maps_row_vec_deinit(rows);
}

void maps_rows_deinit(struct maps_rows *rows)
{
	row_vec_free(&rows->processes);
	row_vec_free(&rows->owners);
	row_vec_free(&rows->regions);
	maps_moment_vec_deinit(&rows->moments);
	maps_total_vec_deinit(&rows->totals);
}
