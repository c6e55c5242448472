/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/mappings/mapping_totals.h"

#include <stdlib.h>
#include <string.h>

void mapping_totals_deinit(struct mapping_total_vec *totals)
{
	for (size_t i = 0; i < totals->len; i++)
		free(totals->data[i].values);
	mapping_total_vec_deinit(totals);
}

static bool total_push(struct mapping_total *total, uint64_t value)
{
	if (total->value_count == total->value_room) {
		size_t room = total->value_room * 2 + 8;
		uint64_t *values = realloc(total->values, room * sizeof(*values));
		if (!values)
			return false;
		total->values = values;
		total->value_room = room;
	}
	total->values[total->value_count++] = value;
	return true;
}

/* Whether nodes were known at a kept look: all totals of nodes say the same. */
static bool nodes_were_known(const struct mapping_total_vec *totals, size_t look)
{
	for (size_t i = 0; i < totals->len; i++) {
		const struct mapping_total *total = &totals->data[i];
		if (total->kind == MAPPING_NODE)
			return total->values[look] != MAPPING_NO_FIGURE;
	}
	return false;
}

/* A total that is new at a look: it was 0 before, if that was looked at. */
static struct mapping_total *total_add(struct mapping_total_vec *totals, size_t place,
	enum mapping_kind kind, unsigned node, size_t kept)
{
	struct mapping_total total = {.kind = kind, .node = node};
	bool ok = true;
	for (size_t i = 0; ok && i < kept; i++)
		ok = total_push(&total, nodes_were_known(totals, i) ? 0 : MAPPING_NO_FIGURE);
	if (!ok || !mapping_total_vec_push(totals, total)) {
		free(total.values);
		return NULL;
	}
	struct mapping_total *at = &totals->data[place];
	memmove(at + 1, at, (totals->len - 1 - place) * sizeof(*at));
	*at = total;
	return at;
}

static void total_count(struct mapping_total *total, uint64_t bytes)
{
	if (total->current != MAPPING_NO_FIGURE &&
		__builtin_add_overflow(total->current, bytes, &total->current))
		total->current = MAPPING_NO_FIGURE;
}

static bool node_count(struct mapping_total_vec *totals, const struct look_node *part, size_t kept)
{
	size_t place = MAPPING_NODE;
	while (place < totals->len && totals->data[place].node < part->node)
		place++;
	struct mapping_total *total = place < totals->len ? &totals->data[place] : NULL;
	if (!total || total->node != part->node)
		total = total_add(totals, place, MAPPING_NODE, part->node, kept);
	if (total)
		total_count(total, part->bytes);
	return total;
}

static void figure_count(
	struct mapping_total *total, const struct look_mapping *mapping, enum look_figure figure)
{
	uint64_t bytes;
	if (look_figure(mapping, figure, &bytes))
		total_count(total, bytes);
	else
		total->current = MAPPING_NO_FIGURE;
}

bool mapping_totals_take(
	struct mapping_total_vec *totals, const struct memory_look *look, size_t kept)
{
	if (!totals->len && (!total_add(totals, 0, MAPPING_SWAPPED, 0, 0) ||
				    !total_add(totals, 1, MAPPING_HUGE, 0, 0)))
		return false;
	for (size_t i = 0; i < totals->len; i++) {
		bool is_known = totals->data[i].kind != MAPPING_NODE || look->nodes_known;
		totals->data[i].current = is_known ? 0 : MAPPING_NO_FIGURE;
	}
	for (size_t i = 0; i < look->mappings.len; i++) {
		const struct look_mapping *mapping = &look->mappings.data[i];
		if (mapping->flags[3] == 'p')
			figure_count(&totals->data[0], mapping, LOOK_SWAPPED);
		if (mapping->owner != LOOK_DEVICE)
			figure_count(&totals->data[1], mapping, LOOK_HUGE);
	}
	for (size_t i = 0; i < look->nodes.len; i++) {
		if (!node_count(totals, &look->nodes.data[i], kept))
			return false;
	}
	return true;
}

bool mapping_totals_keep(struct mapping_total_vec *totals)
{
	for (size_t i = 0; i < totals->len; i++) {
		if (!total_push(&totals->data[i], totals->data[i].current))
			return false;
	}
	return true;
}

void mapping_totals_thin(struct mapping_total_vec *totals)
{
	for (size_t i = 0; i < totals->len; i++) {
		struct mapping_total *total = &totals->data[i];
		size_t kept = 0;
		for (size_t at = 0; at < total->value_count; at += 2)
			total->values[kept++] = total->values[at];
		total->value_count = kept;
	}
}
