/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/errors/program_errors.h"

#include <string.h>

#include "capture/writer/columns.h"

/* Rows that a file has room for, and that are not given away before the end. */
#define KEPT_FOR_END PROGRAM_ERRORS_MAX

_Static_assert(3 * PROGRAM_ERRORS_MAX <= HPW_ERRORS_MAX, "each new, again, and at the end");

void program_errors_init(struct program_errors *errors)
{
	*errors = (struct program_errors){.written = 0};
	program_error_rows_init(&errors->rows);
	program_error_places_init(&errors->places);
}

void program_errors_deinit(struct program_errors *errors)
{
	program_error_rows_deinit(&errors->rows);
	program_error_places_deinit(&errors->places);
}

static uint64_t key_of(const struct program_error_row *row)
{
	const struct hw_error_report *report = &row->report;
	struct {
		uint64_t kind;
		uint32_t stack, allocated_at, freed_at, padding;
		char text[HW_ERROR_TEXT];
	} key;
	memset(&key, 0, sizeof(key));
	key.kind = row->kind;
	key.stack = report->stack;
	key.allocated_at = report->allocated_at;
	key.freed_at = report->freed_at;
	memcpy(key.text, report->text, sizeof(key.text));
	return hash_bytes(&key, sizeof(key));
}

void program_errors_add(struct program_errors *errors, const struct program_error_row *report,
	const struct program_error_row **ret_new)
{
	uint64_t key = key_of(report);
	uint32_t *place = program_error_places_find(&errors->places, key);
	*ret_new = NULL;
	errors->reports++;
	if (place) {
		errors->rows.data[*place].unwritten++;
		errors->counted = true;
		return;
	}
	uint32_t number = (uint32_t)errors->rows.len;
	if (number < PROGRAM_ERRORS_MAX)
		place = program_error_places_insert(&errors->places, key, NULL);
	if (!place || !program_error_rows_push(&errors->rows, *report)) {
		if (place)
			program_error_places_remove(&errors->places, key);
		errors->left_out++;
		return;
	}
	*place = number;
	errors->rows.data[number].unwritten = 1;
	*ret_new = &errors->rows.data[number];
}

static void put_row(struct columns *c, const struct program_error_row *row)
{
	const struct hw_error_report *report = &row->report;
	size_t length = strnlen(report->text, sizeof(report->text));
	const uint64_t values[HPW_ERRORS_TEXT] = {[HPW_ERRORS_STAMP] = row->stamp,
		[HPW_ERRORS_THREAD] = row->thread,
		[HPW_ERRORS_TID] = row->tid,
		[HPW_ERRORS_KIND] = row->kind,
		[HPW_ERRORS_FLAGS] = report->flags,
		[HPW_ERRORS_COUNT] = row->unwritten,
		[HPW_ERRORS_ADDRESS] = report->address,
		[HPW_ERRORS_ACCESS_BYTES] = report->access_bytes,
		[HPW_ERRORS_SOURCE] = report->source,
		[HPW_ERRORS_BLOCK] = report->block,
		[HPW_ERRORS_BLOCK_BYTES] = report->block_bytes,
		[HPW_ERRORS_STACK] = report->stack,
		[HPW_ERRORS_ALLOCATED_AT] = report->allocated_at,
		[HPW_ERRORS_FREED_AT] = report->freed_at,
		[HPW_ERRORS_ALLOCATED_BY] = report->allocated_by,
		[HPW_ERRORS_FREED_BY] = report->freed_by,
		[HPW_ERRORS_ALLOC_KIND] = report->alloc_kind,
		[HPW_ERRORS_FREE_KIND] = report->free_kind,
		[HPW_ERRORS_TEXT_BYTES] = length};
	for (unsigned k = 0; k < HPW_ERRORS_TEXT; k++)
		columns_add(c, k, values[k]);
	buf_bytes(&c->column[HPW_ERRORS_TEXT], report->text, length);
}

bool program_errors_put_new(
	struct program_errors *errors, const struct program_error_row *row, struct buf *ret)
{
	struct columns c;
	columns_init(&c, HPW_ERRORS_COLUMNS);
	put_row(&c, row);
	errors->rows.data[row - errors->rows.data].unwritten = 0;
	errors->written++;
	return columns_finish(&c, ret);
}

bool program_errors_put_counts(struct program_errors *errors, bool end, struct buf *ret)
{
	uint64_t kept = PROGRAM_ERRORS_MAX - errors->rows.len + (end ? 0 : KEPT_FOR_END);
	uint64_t room = HPW_ERRORS_MAX - errors->written;
	if (!errors->counted || room < kept + errors->rows.len)
		return false;
	struct columns c;
	columns_init(&c, HPW_ERRORS_COLUMNS);
	for (size_t i = 0; i < errors->rows.len; i++) {
		struct program_error_row *row = &errors->rows.data[i];
		if (!row->unwritten)
			continue;
		put_row(&c, row);
		row->unwritten = 0;
		errors->written++;
	}
	errors->counted = false;
	return columns_finish(&c, ret);
}
