/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/mappings/hpw_resident.h"

#include <inttypes.h>

#include "base/buf.h"
#include "format/hpw.h"
#include "format/resident.h"
#include "model/resident.h"
#include "sources/events/hpw_columns.h"

struct line {
	uint64_t stamp, what, bytes, detail, kind, len;
	const uint8_t *name;
};

struct lines {
	struct hpw_column columns[HPW_RESIDENT_COLUMNS];
	size_t left;
	uint64_t stamp;
};

static struct error *lines_open(struct lines *lines, const struct hpw_payload *payload)
{
	lines->stamp = 0;
	struct error *error = hpw_columns_open(payload, lines->columns, HPW_RESIDENT_COLUMNS);
	if (!error)
		error = hpw_columns_rows(lines->columns, HPW_RESIDENT_COLUMNS,
			(1u << HPW_RESIDENT_NAMES) - 1, &lines->left);
	if (!error && lines->left > HPW_RESIDENT_MAX)
		error = error_create(
			ERROR_INPUT, "%zu lines of resident memory are too many", lines->left);
	return error;
}

static struct error *lines_next(struct lines *lines, struct line *ret)
{
	uint64_t values[HPW_RESIDENT_NAMES];
	struct error *error = NULL;
	for (size_t k = 0; !error && k < HPW_RESIDENT_NAMES; k++)
		error = hpw_column_next(&lines->columns[k], &values[k]);
	if (error)
		return error;
	lines->left--;
	lines->stamp += (uint64_t)zigzag_decode(values[HPW_RESIDENT_STAMP]);
	*ret = (struct line){.stamp = lines->stamp,
		.what = values[HPW_RESIDENT_WHAT],
		.bytes = values[HPW_RESIDENT_BYTES],
		.detail = values[HPW_RESIDENT_DETAIL],
		.kind = values[HPW_RESIDENT_KIND],
		.len = values[HPW_RESIDENT_LENGTH],
		.name = (const uint8_t *)""};
	if (ret->what >= HPW_RESIDENT_WHATS || ret->bytes > 1ull << 56)
		return error_create(ERROR_INPUT, "a line of resident memory makes no sense");
	return ret->len ? cursor_bytes(
				  &lines->columns[HPW_RESIDENT_NAMES].cursor, ret->len, &ret->name)
			: NULL;
}

struct error *hpw_resident_look(
	struct hpw_resident_choice *choice, const struct hpw_payload *payload)
{
	struct hpw_resident_choice seen = *choice;
	struct lines lines;
	struct line line;
	struct error *error = lines_open(&lines, payload);
	while (!error && lines.left) {
		error = lines_next(&lines, &line);
		if (error || line.what != HPW_RESIDENT_ALL)
			continue;
		seen.samples++;
		bool most = line.bytes > seen.highest_bytes;
		if (most)
			seen.highest_bytes = line.bytes;
		if (seen.highest ? !most : line.stamp > seen.stamp)
			continue;
		seen.found = true;
		seen.found_stamp = line.stamp;
		seen.found_bytes = line.bytes;
	}
	if (!error)
		*choice = seen;
	return error;
}

static const enum resident_kind part_kinds[HPW_RESIDENT_WHATS] = {
	[HPW_RESIDENT_HEAP] = RESIDENT_HEAP,
	[HPW_RESIDENT_MAPPING] = RESIDENT_MAPPING,
	[HPW_RESIDENT_STACKS] = RESIDENT_STACKS,
	[HPW_RESIDENT_FILE] = RESIDENT_FILE,
	[HPW_RESIDENT_RECORDER] = RESIDENT_RECORDER,
	[HPW_RESIDENT_OTHER] = RESIDENT_OTHER,
};

static enum alloc_kind call_of(uint64_t kind)
{
	static const enum alloc_kind kinds[HPW_MAPPING_KINDS] = {
		[HPW_MAPPING_UNMAPPED] = KIND_UNKNOWN,
		[HPW_MAPPING_GONE] = KIND_UNKNOWN,
		[HPW_MAPPING_MMAP] = KIND_MMAP,
		[HPW_MAPPING_MREMAP] = KIND_MREMAP,
		[HPW_MAPPING_BRK] = KIND_BRK,
		[HPW_MAPPING_SBRK] = KIND_SBRK,
		[HPW_MAPPING_THREAD_STACK] = KIND_THREAD_STACK,
	};
	return kind < HPW_MAPPING_KINDS ? kinds[kind] : KIND_UNKNOWN;
}

static struct error *put_line(
	const struct line *line, struct resident_sample *sample, struct model *model)
{
	switch (line->what) {
	case HPW_RESIDENT_ALL:
		sample->bytes = 0;
		return NULL;
	case HPW_RESIDENT_REQUESTED:
		sample->heap_is_known = true;
		sample->requested_bytes = line->bytes;
		sample->requested_blocks = line->detail;
		return NULL;
	case HPW_RESIDENT_ROUNDING:
		sample->rounding_bytes = line->bytes;
		return NULL;
	default:
		break;
	}
	bool mapping = line->what == HPW_RESIDENT_MAPPING;
	const struct resident_part part = {.kind = part_kinds[line->what],
		.bytes = line->bytes,
		.stack = {mapping && line->detail < model_stack_limit(model)
				  ? (uint32_t)line->detail
				  : 0},
		.call = mapping ? call_of(line->kind) : KIND_UNKNOWN,
		.file = (const char *)line->name};
	sample->bytes += line->bytes;
	return build_resident_part(model, &part, (size_t)line->len);
}

struct error *hpw_resident_put(const struct hpw_resident_choice *choice,
	const struct hpw_clock *clock, const struct hpw_payload *payload, struct model *model)
{
	struct lines lines;
	struct line line;
	bool any = false;
	struct resident_sample sample = {
		.time_ns = hpw_clock_ns(clock, choice->found_stamp),
		.samples = choice->samples,
		.is_highest = choice->found_bytes == choice->highest_bytes,
	};
	struct error *error = lines_open(&lines, payload);
	while (!error && lines.left) {
		error = lines_next(&lines, &line);
		if (error || line.stamp != choice->found_stamp)
			continue;
		any = true;
		error = put_line(&line, &sample, model);
	}
	if (!error && any)
		build_resident(model, &sample);
	return error;
}
