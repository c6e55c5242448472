/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of addresses in gperftools' text, as servers answer google-pprof and jeprof at
 * /pprof/symbol. These look for the call: one byte before the address that it returns to. Functions
 * that were inlined there come after the one that has the code, with "--" between them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

#define INLINED_BY "--"

/* Addresses of this form are not canonical: no processor has code there. */
#define SERVED_LEAD 0x1000000000000000u
#define SERVED_STEP 16u

uint64_t export_served_address(const struct shown_frame *frame)
{
	if (frame->address)
		return frame->address;
	const char *function = frame->function ? frame->function : "";
	const char *file = frame->file ? frame->file : "";
	uint64_t hash = hash_u64(
		hash_bytes(function, strlen(function)) + hash_bytes(file, strlen(file)) * 3);
	return SERVED_LEAD + (hash >> 8) * SERVED_STEP + 1;
}

/* The frames of a row that one address stands for, the last one has it. */
struct named_place {
	uint64_t address;
	const struct row *row;
	size_t first, last;
};

DEFINE_VEC(named_place_vec, struct named_place)

static int compare_named_places(const void *a, const void *b)
{
	const struct named_place *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct error *add_named_places(const struct row *row, struct named_place_vec *ret)
{
	size_t first = 0;
	for (size_t i = 0; i < row->depth; i++) {
		const struct shown_frame *frame = row->frames[i];
		if (frame->mark != MARK_NONE || export_is_called(row, frame)) {
			first = i + 1;
			continue;
		}
		if (frame->inlined)
			continue;
		if (frame->function &&
			!named_place_vec_push(ret,
				(struct named_place){export_served_address(frame), row, first, i}))
			return error_no_memory();
		first = i + 1;
	}
	return NULL;
}

/* Two characters that separate names are none in a name: operator-- is one of C++. */
static void add_served_name(struct text *out, struct text *scratch, const struct shown_frame *frame)
{
	text_clear(scratch);
	export_add_name(scratch, frame);
	const char *rest = scratch->data ? scratch->data : "?";
	for (const char *at; (at = strstr(rest, INLINED_BY)); rest = at + 1) {
		text_add_n(out, rest, (size_t)(at + 1 - rest));
		text_add_char(out, ' ');
	}
	text_add(out, rest);
}

static struct error *write_named_place(
	struct export_out *out, struct text *scratch, const struct named_place *place)
{
	text_printf(&out->text, "0x%" PRIx64 "\t", place->address - 1);
	for (size_t i = place->last + 1; i-- > place->first;) {
		if (i != place->last)
			text_add(&out->text, INLINED_BY);
		add_served_name(&out->text, scratch, place->row->frames[i]);
	}
	text_add_char(&out->text, '\n');
	return scratch->failed ? error_no_memory() : export_out_flush(out);
}

static struct error *write_named_places(struct export_out *out, struct named_place_vec *places)
{
	struct error *error = NULL;
	_cleanup_(text_deinit) struct text scratch;
	text_init(&scratch);
	if (places->len)
		qsort(places->data, places->len, sizeof(*places->data), compare_named_places);
	for (size_t i = 0; !error && !out->stopped && i < places->len; i++) {
		if (!i || places->data[i].address != places->data[i - 1].address)
			error = write_named_place(out, &scratch, &places->data[i]);
	}
	return error ? error : export_out_end(out);
}

struct error *export_gperftools_names(const struct exported *from, const struct sink *sink)
{
	const struct rows *rows = profile_rows(from->profile);
	_cleanup_(named_place_vec_deinit) struct named_place_vec places;
	_cleanup_(export_out_deinit) struct export_out out;
	struct error *error = NULL;
	named_place_vec_init(&places);
	export_out_init(&out, sink);
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		error = add_named_places(&rows->rows.data[i], &places);
	return error ? error : write_named_places(&out, &places);
}
