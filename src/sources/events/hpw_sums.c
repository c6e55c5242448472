/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_sums.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "format/hpw.h"

#define MARK_FIGURES (HPW_SUMS_MARK_BYTES - HPW_SUMS_MARK_STAMP + 1)
/* Rows of sites that are read at once, column by column. */
#define SITES_BATCH 256u
#define THREAD_COLUMNS (HPW_SUMS_THREAD_TEMPORARY - HPW_SUMS_THREAD + 1)

static struct error *hpw_sums_malformed(const char *what)
{
	return error_create(ERROR_INPUT, "its table of %s is malformed", what);
}

static bool has_rows(const struct hpw_column *column)
{
	return column->present && cursor_left(&column->cursor);
}

static struct error *hpw_sums_read_head(struct hpw_column *column, uint64_t ret[HPW_SUMS_HEADS])
{
	for (unsigned i = 0; i < HPW_SUMS_HEADS; i++) {
		ret[i] = 0;
		if (i >= HPW_SUMS_INSTRUCTIONS && !has_rows(column))
			continue;
		struct error *error = hpw_column_next(column, &ret[i]);
		if (error)
			return error;
	}
	return NULL;
}

struct error *hpw_sums_head(const struct hpw_payload *payload, uint64_t ret[HPW_SUMS_HEADS])
{
	struct hpw_column head;
	struct error *error = hpw_columns_find(payload, HPW_SUMS_HEAD, &head);
	return error ? error : hpw_sums_read_head(&head, ret);
}

/* A row of this many columns; false: they end before, or are malformed. */
static bool read_row(struct hpw_column *columns, unsigned count, uint64_t *ret)
{
	for (unsigned i = 0; i < count; i++)
		if (!columns[i].present || !cursor_try_varint(&columns[i].cursor, &ret[i]))
			return false;
	return true;
}

/* Columns that the first versions wrote have to be there; of later ones it is noted which are not.
 */
static bool may_be_missing(uint32_t part)
{
	return part > HPW_SUMS_THREAD_STACK;
}

static void note_unknown(const struct hpw_column *columns, struct hpw_sums *sums)
{
	sums->unknown = 0;
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		uint32_t part = site_columns[i].part;
		if (part != SITE_COLUMN_NONE && may_be_missing(part) && !columns[part].present)
			sums->unknown |= hpw_columns_unknown(i);
	}
}

static struct error *read_site_numbers(struct hpw_column *column, struct hpw_sums_sites *ret)
{
	uint64_t numbers[SITES_BATCH], site = 0;
	size_t count;
	struct error *error = hpw_columns_rows(column, 1, 1, &count);
	if (error)
		return error;
	if (!hpw_sums_sites_reserve(ret, count))
		return error_no_memory();
	while (ret->len < count) {
		size_t some = min(count - ret->len, (size_t)SITES_BATCH);
		error = hpw_column_read(column, numbers, some);
		for (size_t i = 0; !error && i < some; i++) {
			if (numbers[i] >= HPW_SITES_MAX || (site += numbers[i]) >= HPW_SITES_MAX ||
				(ret->len && !numbers[i]))
				return hpw_sums_malformed("allocation sites");
			ret->data[ret->len++] = (struct hpw_sums_site){.site = (uint32_t)site};
		}
		if (error)
			return error;
	}
	return has_rows(column) ? hpw_sums_malformed("allocation sites") : NULL;
}

/* A counter of all sites, whose earlier ones are there. */
static struct error *read_site_counter(
	struct hpw_column *column, const struct site_column *as, struct hpw_sums_sites *sites)
{
	uint64_t values[SITES_BATCH];
	for (size_t i = 0; i < sites->len; i += SITES_BATCH) {
		size_t some = min(sites->len - i, (size_t)SITES_BATCH);
		struct error *error = hpw_column_read(column, values, some);
		if (error)
			return error;
		for (size_t k = 0; k < some; k++)
			site_column_take_part(as, values[k], &sites->data[i + k].counters);
	}
	return NULL;
}

static struct error *read_sites(struct hpw_column *columns, struct hpw_sums *sums)
{
	if (!has_rows(&columns[HPW_SUMS_SITE]))
		return NULL;
	struct error *error = read_site_numbers(&columns[HPW_SUMS_SITE], &sums->sites);
	for (size_t i = 0; !error && i < SITE_COUNTERS_COUNT; i++) {
		uint32_t part = site_columns[i].part;
		if (part == SITE_COLUMN_NONE)
			continue;
		if (!columns[part].present && !may_be_missing(part))
			return hpw_sums_malformed("allocation sites");
		error = read_site_counter(&columns[part], &site_columns[i], &sums->sites);
	}
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	return hpw_sums_malformed("allocation sites");
}

static struct error *read_threads(
	struct hpw_column *columns, struct hpw_column *stacks, struct hpw_sums *sums)
{
	uint64_t v[THREAD_COLUMNS];
	while (has_rows(&columns[0])) {
		uint64_t stack = 0;
		if (!read_row(columns, THREAD_COLUMNS, v) || v[0] > UINT32_MAX)
			return hpw_sums_malformed("threads");
		if (has_rows(stacks) && !read_row(stacks, 1, &stack))
			return hpw_sums_malformed("threads");
		const struct hpw_sums_thread row = {.thread = (uint32_t)v[0],
			.in_realloc = v[1] & HPW_SUMS_IN_REALLOC,
			.fresh = v[1] & HPW_SUMS_FRESH,
			.number = v[2],
			.allocations = v[3],
			.allocated_bytes = v[4],
			.frees = v[5],
			.temporary = v[6],
			.stack_bytes = stack};
		if (!hpw_sums_threads_push(&sums->threads, row))
			return error_no_memory();
	}
	return NULL;
}

static struct error *read_sizes(struct hpw_column *columns, struct hpw_sums *sums)
{
	uint64_t v[2], size = 0;
	while (has_rows(&columns[0])) {
		if (!read_row(columns, 2, v) || v[0] > UINT64_MAX - size ||
			(sums->sizes.len && !v[0]))
			return hpw_sums_malformed("sizes");
		size += v[0];
		if (!hpw_sums_sizes_push(&sums->sizes, (struct size_count){size, v[1]}))
			return error_no_memory();
	}
	return NULL;
}

static struct error *open_sums(
	const struct hpw_payload *payload, struct hpw_column *columns, struct hpw_sums *ret)
{
	*ret = (struct hpw_sums){.unknown = 0};
	struct error *error = hpw_columns_open(payload, columns, HPW_SUMS_COLUMNS);
	if (!error)
		error = hpw_sums_read_head(&columns[HPW_SUMS_HEAD], ret->head);
	if (error)
		return error;
	ret->marks = columns[HPW_SUMS_MARKS];
	for (unsigned i = 0; i < MARK_FIGURES; i++)
		ret->mark_figures[i] = columns[HPW_SUMS_MARK_STAMP + i];
	return NULL;
}

struct error *hpw_sums_open(const struct hpw_payload *payload, struct hpw_sums *ret)
{
	struct hpw_column columns[HPW_SUMS_COLUMNS];
	return open_sums(payload, columns, ret);
}

struct error *hpw_sums_decode(const struct hpw_payload *payload, struct hpw_sums *ret)
{
	struct hpw_column columns[HPW_SUMS_COLUMNS];
	struct error *error = open_sums(payload, columns, ret);
	if (error)
		return error;
	note_unknown(columns, ret);
	error = read_sites(columns, ret);
	if (!error)
		error = read_threads(
			&columns[HPW_SUMS_THREAD], &columns[HPW_SUMS_THREAD_STACK], ret);
	if (!error)
		error = read_sizes(&columns[HPW_SUMS_SIZE], ret);
	if (error)
		hpw_sums_deinit(ret);
	return error;
}

void hpw_sums_deinit(struct hpw_sums *sums)
{
	hpw_sums_sites_deinit(&sums->sites);
	hpw_sums_threads_deinit(&sums->threads);
	hpw_sums_sizes_deinit(&sums->sizes);
}

bool hpw_sums_mark(struct hpw_sums *sums, struct hpw_mark *ret)
{
	struct cursor *cursor = &sums->marks.cursor;
	uint64_t len;
	const uint8_t *name;
	if (!has_rows(&sums->marks) || !cursor_try_varint(cursor, &ret->step) ||
		!cursor_try_varint(cursor, &len) || len > cursor_left(cursor))
		return false;
	struct error *error = cursor_bytes(cursor, len, &name);
	error_destroy(error);
	ret->name = (const char *)name;
	ret->len = (size_t)len;
	uint64_t v[MARK_FIGURES] = {0};
	ret->has_figures = read_row(sums->mark_figures, MARK_FIGURES, v);
	ret->stamp = v[0];
	ret->live_blocks = v[1];
	ret->live_bytes = v[2];
	return !error;
}

struct error *hpw_deaths_open(
	const struct hpw_payload *payload, size_t slots, struct hpw_deaths *ret)
{
	*ret = (struct hpw_deaths){.slots = calloc(slots + 1, sizeof(*ret->slots)), .count = slots};
	_cleanup_free_ struct hpw_column *columns = calloc(slots + 1, sizeof(*columns));
	if (!ret->slots || !columns) {
		hpw_deaths_deinit(ret);
		return error_no_memory();
	}
	if (!payload)
		return NULL;
	struct error *error = hpw_columns_open(payload, columns, slots + 1);
	for (size_t i = 0; !error && i < slots; i++)
		ret->slots[i].rows = columns[i + 1];
	if (error)
		hpw_deaths_deinit(ret);
	return error;
}

void hpw_deaths_deinit(struct hpw_deaths *deaths)
{
	free(deaths->slots);
	*deaths = (struct hpw_deaths){0};
}

bool hpw_deaths_next(struct hpw_deaths_slot *slot, struct hpw_death *ret)
{
	struct cursor *cursor = &slot->rows.cursor;
	uint64_t changed, value;
	if (!has_rows(&slot->rows) || !cursor_try_varint(cursor, &changed))
		return false;
	if (changed & HPW_DEATH_SITE) {
		if (!cursor_try_varint(cursor, &value) || value >= HPW_SITES_MAX)
			return false;
		slot->last.site = (uint32_t)value;
	}
	if (changed & HPW_DEATH_SIZE && !cursor_try_varint(cursor, &slot->last.size))
		return false;
	if (changed & HPW_DEATH_BIRTH) {
		if (!cursor_try_varint(cursor, &value) || value > UINT32_MAX)
			return false;
		slot->last.birth = (uint32_t)value;
	}
	*ret = slot->last;
	return true;
}
