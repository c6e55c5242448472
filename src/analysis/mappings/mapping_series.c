/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/mapping_series.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/mappings/mapping_totals.h"
#include "base/util.h"

void mapping_series_init(struct mapping_series *series)
{
	*series = (struct mapping_series){
		.stride = 1, .looks_max = MAPPING_LOOKS_MAX, .gone_max = MAPPING_GONE_MAX};
	arena_init(&series->words);
}

void mapping_series_deinit(struct mapping_series *series)
{
	for (size_t i = 0; i < series->regions.len; i++)
		free(series->regions.data[i].values);
	mapping_region_vec_deinit(&series->regions);
	mapping_part_vec_deinit(&series->parts);
	mapping_part_vec_deinit(&series->next);
	mapping_seconds_vec_deinit(&series->seconds);
	mapping_totals_deinit(&series->totals);
	arena_deinit(&series->words);
}

static size_t region_root(const struct mapping_series *series, size_t region)
{
	while (series->regions.data[region].merged)
		region = series->regions.data[region].merged - 1;
	return region;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

/* Memory without a file, which may get and lose a name of its own ("", "[heap]", "[anon:cache]"),
 * and which pmap calls "[ anon ]", as it does the kernel's. */
static bool is_nameless(const struct look_mapping *mapping)
{
	return !mapping->inode && (!*mapping->name || *mapping->name == '[');
}

/* Whether a mapping is what another one was, apart from its size and rights. Some files of looks
 * know no inodes, and the last parts of names alone. */
static bool mapping_is_alike(const struct look_mapping *a, const struct look_mapping *b)
{
	if (a->flags[3] != b->flags[3] || is_nameless(a) != is_nameless(b))
		return false;
	if (a->inode && b->inode)
		return a->inode == b->inode && a->device == b->device &&
		       a->start - a->offset == b->start - b->offset;
	return is_nameless(a) || !strcmp(last_part(a->name), last_part(b->name));
}

static bool mapping_has_same_rights(const struct look_mapping *a, const struct look_mapping *b)
{
	return !memcmp(a->flags, b->flags, sizeof(a->flags));
}

static uint64_t sum_known(uint64_t a, uint64_t b)
{
	uint64_t sum;
	bool is_known = a != MAPPING_NO_FIGURE && b != MAPPING_NO_FIGURE &&
			!__builtin_add_overflow(a, b, &sum);
	return is_known ? sum : MAPPING_NO_FIGURE;
}

/* A region has bytes at a kept look: 0 before it came and after it went. */
static uint64_t region_value(const struct mapping_region *region, size_t look)
{
	return look < region->first || look - region->first >= region->value_count
		       ? 0
		       : region->values[look - region->first];
}

static bool region_reserve(struct mapping_region *region, size_t count)
{
	if (count <= region->value_room)
		return true;
	size_t room = count + count / 2 + 4;
	uint64_t *values = realloc(region->values, room * sizeof(*values));
	if (!values)
		return false;
	region->values = values;
	region->value_room = room;
	return true;
}

/* Adds the values of a region to those of another one. */
static bool values_add(struct mapping_region *into, const struct mapping_region *from)
{
	size_t first = min(into->first, from->first);
	size_t end = max(into->first + into->value_count, from->first + from->value_count);
	uint64_t *values = calloc(end - first + 1, sizeof(*values));
	if (!values)
		return false;
	for (size_t i = first; i < end; i++)
		values[i - first] = sum_known(region_value(into, i), region_value(from, i));
	free(into->values);
	into->values = values;
	into->first = first;
	into->value_count = end - first;
	into->value_room = end - first + 1;
	return true;
}

/* Makes two regions one; the one that was there first goes on. *ret is it. */
static bool regions_merge(struct mapping_series *series, size_t a, size_t b, size_t *ret)
{
	a = region_root(series, a);
	b = region_root(series, b);
	*ret = min(a, b);
	if (a == b)
		return true;
	struct mapping_region *into = &series->regions.data[min(a, b)];
	struct mapping_region *from = &series->regions.data[max(a, b)];
	if (!values_add(into, from))
		return false;
	into->appeared = into->appeared && from->appeared;
	into->has_moved = into->has_moved || from->has_moved;
	from->merged = min(a, b) + 1;
	free(from->values);
	from->values = NULL;
	from->value_count = from->value_room = 0;
	return true;
}

/* A name as the series keeps it; equal ones, which come again and again, once if they come soon. */
static const char *word_keep(struct mapping_series *series, const char *word)
{
	if (!word || !*word)
		return word ? "" : NULL;
	size_t place = 5381;
	for (const char *c = word; *c; c++)
		place = place * 33 + (unsigned char)*c;
	const char **kept = &series->names[place % ARRAY_SIZE(series->names)];
	if (!*kept || strcmp(*kept, word) != 0) {
		const char *copy = arena_strdup(&series->words, word);
		if (copy)
			*kept = copy;
		return copy;
	}
	return *kept;
}

static bool region_create(struct mapping_series *series, size_t *ret)
{
	*ret = series->regions.len;
	return mapping_region_vec_push(
		&series->regions, (struct mapping_region){.first = series->seconds.len,
					  .appeared = series->looks > 0});
}

/* The region of a mapping, by those of the look before from `first` on that overlap it; SIZE_MAX in
 * *ret: there is none. */
static bool region_find(struct mapping_series *series, const struct look_mapping *mapping,
	size_t first, size_t *ret)
{
	const struct mapping_part_vec *parts = &series->parts;
	bool same_rights = false;
	*ret = SIZE_MAX;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (size_t i = first; i < parts->len; i++) {
			const struct mapping_part *part = &parts->data[i];
			if (part->mapping.start >= mapping->end)
				break;
			if (!mapping_is_alike(&part->mapping, mapping))
				continue;
			bool same = mapping_has_same_rights(&part->mapping, mapping);
			if (!pass) {
				same_rights = same_rights || same;
				continue;
			}
			if (same_rights && !same)
				continue;
			size_t region = region_root(series, part->region);
			if (*ret == SIZE_MAX)
				*ret = region;
			else if (!regions_merge(series, *ret, region, ret))
				return false;
		}
	}
	return true;
}

/* Deals the mappings of a look to regions; those that have none yet stay without. */
static bool parts_match(struct mapping_series *series, const struct memory_look *look)
{
	size_t first = 0;
	mapping_part_vec_clear(&series->next);
	for (size_t i = 0; i < look->mappings.len; i++) {
		struct mapping_part part = {look->mappings.data[i], SIZE_MAX};
		while (first < series->parts.len &&
			series->parts.data[first].mapping.end <= part.mapping.start)
			first++;
		if (!region_find(series, &part.mapping, first, &part.region) ||
			!mapping_part_vec_push(&series->next, part))
			return false;
	}
	return true;
}

static void regions_mark_seen(struct mapping_series *series)
{
	for (size_t i = 0; i < series->regions.len; i++)
		series->regions.data[i].is_seen = false;
	for (size_t i = 0; i < series->next.len; i++) {
		struct mapping_part *part = &series->next.data[i];
		if (part->region == SIZE_MAX)
			continue;
		part->region = region_root(series, part->region);
		series->regions.data[part->region].is_seen = true;
	}
}

static uint64_t bytes_of(const struct look_mapping *mapping)
{
	return mapping->end - mapping->start;
}

/* Whether a mapping that went can be this one, which came: nothing of it has been lost. */
static bool mapping_can_have_moved(const struct look_mapping *from, const struct look_mapping *to)
{
	uint64_t before = 0, after = 0;
	if (!mapping_has_same_rights(from, to) || from->inode != to->inode ||
		from->device != to->device || strcmp(from->name, to->name) != 0 ||
		from->owner == LOOK_RESERVED)
		return false;
	if (from->inode)
		return from->offset == to->offset;
	return look_figure(from, LOOK_RSS, &before) && look_figure(to, LOOK_RSS, &after) &&
	       before && after >= before && bytes_of(to) >= bytes_of(from);
}

/* The only mapping that went, or the only one that came, that can be what the other one is: index
 * in the parts; SIZE_MAX: none, or several. */
static size_t only_gone(const struct mapping_series *series, const struct look_mapping *to)
{
	size_t ret = SIZE_MAX;
	for (size_t i = 0; i < series->parts.len; i++) {
		const struct mapping_part *part = &series->parts.data[i];
		if (series->regions.data[region_root(series, part->region)].is_seen ||
			!mapping_can_have_moved(&part->mapping, to))
			continue;
		if (ret != SIZE_MAX)
			return SIZE_MAX;
		ret = i;
	}
	return ret;
}

static size_t count_came(const struct mapping_series *series, const struct look_mapping *from)
{
	size_t count = 0;
	for (size_t i = 0; i < series->next.len; i++) {
		const struct mapping_part *part = &series->next.data[i];
		count += part->region == SIZE_MAX && mapping_can_have_moved(from, &part->mapping);
	}
	return count;
}

/* When more mappings than this came or went between two looks, none is taken to have moved. */
#define MOVES_MAX 64u

static bool moves_are_few(const struct mapping_series *series)
{
	size_t came = 0, went = 0;
	for (size_t i = 0; i < series->next.len; i++)
		came += series->next.data[i].region == SIZE_MAX;
	for (size_t i = 0; i < series->parts.len; i++)
		went += !series->regions.data[region_root(series, series->parts.data[i].region)]
				 .is_seen;
	return came && went && came <= MOVES_MAX && went <= MOVES_MAX;
}

static void moves_find(struct mapping_series *series)
{
	if (!moves_are_few(series))
		return;
	for (size_t i = 0; i < series->next.len; i++) {
		struct mapping_part *part = &series->next.data[i];
		size_t from =
			part->region == SIZE_MAX ? only_gone(series, &part->mapping) : SIZE_MAX;
		if (from == SIZE_MAX || count_came(series, &series->parts.data[from].mapping) != 1)
			continue;
		part->region = region_root(series, series->parts.data[from].region);
		series->regions.data[part->region].has_moved = true;
		series->regions.data[part->region].is_seen = true;
	}
}

/* Notes what a mapping adds to its region; the first one of a look begins anew. */
static void part_note(struct mapping_series *series, const struct mapping_part *part)
{
	struct mapping_region *region = &series->regions.data[part->region];
	uint64_t bytes = MAPPING_NO_FIGURE;
	look_figure(&part->mapping, LOOK_RSS, &bytes);
	if (!region->is_noted) {
		region->is_noted = true;
		region->sample = part->mapping;
		region->start = part->mapping.start;
		region->mappings = 0;
		region->current = 0;
	}
	region->end = part->mapping.end;
	region->mappings++;
	region->current = sum_known(region->current, bytes);
}

/* Names of a look end with it: those of parts are the series' own. */
static bool parts_keep_names(struct mapping_series *series)
{
	for (size_t i = 0; i < series->next.len; i++) {
		struct look_mapping *mapping = &series->next.data[i].mapping;
		struct mapping_region *region = &series->regions.data[series->next.data[i].region];
		const char *same = region->mappings && region->sample.name &&
						   !strcmp(region->sample.name, mapping->name)
					   ? region->sample.name
					   : word_keep(series, mapping->name);
		const char *whose =
			!mapping->whose ? NULL
			: region->sample.whose && !strcmp(region->sample.whose, mapping->whose)
				? region->sample.whose
				: word_keep(series, mapping->whose);
		if (!same || (mapping->whose && !whose))
			return false;
		mapping->name = same;
		/* What an earlier look found out stays true of the same region. */
		bool is_richer = !whose && region->sample.whose && region->mappings;
		mapping->whose = is_richer ? region->sample.whose : whose;
		if (is_richer)
			mapping->owner = region->sample.owner;
	}
	return true;
}

static bool parts_place(struct mapping_series *series)
{
	for (size_t i = 0; i < series->next.len; i++) {
		struct mapping_part *part = &series->next.data[i];
		if (part->region != SIZE_MAX)
			continue;
		if (!region_create(series, &part->region))
			return false;
		series->regions.data[part->region].is_seen = true;
	}
	if (!parts_keep_names(series))
		return false;
	for (size_t i = 0; i < series->regions.len; i++) {
		series->regions.data[i].current = 0;
		series->regions.data[i].is_noted = false;
	}
	for (size_t i = 0; i < series->next.len; i++)
		part_note(series, &series->next.data[i]);
	return true;
}

static bool look_keep(struct mapping_series *series)
{
	size_t index = series->seconds.len;
	if (!mapping_seconds_vec_push(&series->seconds, series->last_seconds))
		return false;
	for (size_t i = 0; i < series->regions.len; i++) {
		struct mapping_region *region = &series->regions.data[i];
		if (region->merged || !region->is_seen)
			continue;
		size_t count = index - region->first + 1;
		if (!region_reserve(region, count))
			return false;
		/* Looks at which it was not there lie between, if it came back. */
		for (size_t at = region->value_count; at < count; at++)
			region->values[at] = 0;
		region->values[count - 1] = region->current;
		region->value_count = count;
	}
	series->last_is_kept = true;
	return mapping_totals_keep(&series->totals);
}

/* Drops every other look of those that are kept. */
static void looks_thin(struct mapping_series *series)
{
	size_t kept = 0;
	for (size_t i = 0; i < series->seconds.len; i += 2)
		series->seconds.data[kept++] = series->seconds.data[i];
	series->seconds.len = kept;
	series->stride *= 2;
	mapping_totals_thin(&series->totals);
	for (size_t i = 0; i < series->regions.len; i++) {
		struct mapping_region *region = &series->regions.data[i];
		size_t first = (region->first + 1) / 2, count = 0;
		for (size_t at = first; at * 2 < region->first + region->value_count; at++)
			region->values[count++] = region->values[at * 2 - region->first];
		region->first = first;
		region->value_count = count;
	}
}

/* Regions that are gone, beyond a number, the oldest first, have no row of their own any more. */
static void gone_fold(struct mapping_series *series)
{
	size_t gone = 0;
	for (size_t i = 0; i < series->regions.len; i++)
		gone += !series->regions.data[i].is_seen;
	if (gone <= 2 * series->gone_max)
		return;
	size_t *places = calloc(series->regions.len, sizeof(*places));
	if (!places)
		return; /* later, then */
	size_t kept = 0, left = gone - series->gone_max;
	for (size_t i = 0; i < series->regions.len; i++) {
		struct mapping_region *region = &series->regions.data[i];
		places[i] = kept;
		if (region->merged || (!region->is_seen && left)) {
			left -= left > 0;
			series->gone += !region->merged;
			for (size_t at = 0; at < region->value_count; at++)
				series->gone_most = max(series->gone_most, region->values[at]);
			free(region->values);
			continue;
		}
		series->regions.data[kept++] = *region;
	}
	series->regions.len = kept;
	for (size_t i = 0; i < series->next.len; i++)
		series->next.data[i].region = places[series->next.data[i].region];
	free(places);
}

/* Whether a mapping is, but for its figures, that of the look before, and nothing new is known. */
static bool mapping_is_same(const struct look_mapping *before, const struct look_mapping *now)
{
	return before->start == now->start && before->end == now->end &&
	       before->inode == now->inode && before->offset == now->offset &&
	       before->device == now->device && mapping_has_same_rights(before, now) &&
	       !now->whose && !strcmp(before->name, now->name);
}

/* As most looks are: no mapping came, went or changed. */
static bool look_is_same(const struct mapping_series *series, const struct memory_look *look)
{
	if (!series->looks || look->mappings.len != series->parts.len)
		return false;
	for (size_t i = 0; i < series->parts.len; i++) {
		if (!mapping_is_same(&series->parts.data[i].mapping, &look->mappings.data[i]))
			return false;
	}
	return true;
}

static void figures_update(struct mapping_series *series, const struct memory_look *look)
{
	for (size_t i = 0; i < series->parts.len; i++)
		series->regions.data[series->parts.data[i].region].current = 0;
	for (size_t i = 0; i < series->parts.len; i++) {
		struct mapping_part *part = &series->parts.data[i];
		struct mapping_region *region = &series->regions.data[part->region];
		const struct look_mapping *mapping = &look->mappings.data[i];
		uint64_t bytes = MAPPING_NO_FIGURE;
		look_figure(mapping, LOOK_RSS, &bytes);
		memcpy(part->mapping.figures, mapping->figures, sizeof(mapping->figures));
		part->mapping.known = mapping->known;
		region->current = sum_known(region->current, bytes);
	}
}

static struct error *look_match(struct mapping_series *series, const struct memory_look *look)
{
	if (!parts_match(series, look))
		return error_no_memory();
	regions_mark_seen(series);
	moves_find(series);
	if (!parts_place(series))
		return error_no_memory();
	gone_fold(series);
	struct mapping_part_vec before = series->parts;
	series->parts = series->next;
	series->next = before;
	return NULL;
}

struct error *mapping_series_add(
	struct mapping_series *series, const struct memory_look *look, double seconds)
{
	struct error *error = NULL;
	if (look_is_same(series, look))
		figures_update(series, look);
	else
		error = look_match(series, look);
	if (!error && !mapping_totals_take(&series->totals, look, series->seconds.len))
		error = error_no_memory();
	if (error)
		return error;
	series->last_seconds = seconds;
	series->last_is_kept = false;
	bool is_due = series->looks++ % series->stride == 0;
	if (is_due && series->seconds.len >= series->looks_max) {
		looks_thin(series);
		is_due = (series->looks - 1) % series->stride == 0;
	}
	return !is_due || look_keep(series) ? NULL : error_no_memory();
}

struct error *mapping_series_finish(struct mapping_series *series)
{
	bool is_kept = !series->looks || series->last_is_kept || look_keep(series);
	series->brief = 0;
	for (size_t i = 0; i < series->regions.len; i++) {
		const struct mapping_region *region = &series->regions.data[i];
		series->brief += !region->merged && !region->value_count;
	}
	return is_kept ? NULL : error_no_memory();
}

void mapping_region_values(
	const struct mapping_series *series, const struct mapping_region *region, uint64_t *ret)
{
	for (size_t i = 0; i < series->seconds.len; i++)
		ret[i] = region_value(region, i);
}
