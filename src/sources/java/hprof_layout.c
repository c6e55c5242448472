/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/hprof_layout.h"

#include <string.h>

#include "base/util.h"
#include "sources/java/hprof_records.h"

/* Objects on which layouts are tried. */
#define SAMPLE_MAX (1u << 18)
/* What HotSpot may add to an object: two paddings of 128 bytes for each group of fields. */
#define HIDDEN_MAX 1200u
#define SUPERCLASSES_MAX 4096u

static uint32_t size_align(uint64_t value, uint32_t to)
{
	return (uint32_t)((value + to - 1) / to * to);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* HotSpot's own fields (javaClasses.hpp), the same since JDK 11: numbers of fields by bytes, as of
 * struct hprof_shape. */
static const struct {
	const char *name;
	uint8_t fields[5];
} injected[] = {
	{"java.lang.ClassLoader", {0, 0, 0, 0, 1}},
	{"java.lang.Module", {0, 0, 0, 0, 1}},
	{"java.lang.invoke.ResolvedMethodName", {0, 0, 0, 0, 1}},
	{"java.lang.invoke.MemberName", {0, 0, 0, 0, 1}},
	{"java.lang.invoke.MethodHandleNatives$CallSiteContext", {0, 0, 0, 0, 2}},
	{"java.lang.StackFrameInfo", {1, 0, 0, 0, 0}},
	{"java.lang.InternalError", {0, 1, 0, 0, 0}},
	{"java.lang.Class", {0, 0, 0, 2, 2}},
};

/* Classes with @Contended in JDK 11 to 25, and those to which versions add different fields. */
static const char *const measured[] = {
	"java.lang.Thread",
	"java.lang.invoke.ResolvedMethodName",
	"java.util.concurrent.ConcurrentHashMap$CounterCell",
	"java.util.concurrent.Exchanger$Node",
	"java.util.concurrent.Exchanger$Slot",
	"java.util.concurrent.ForkJoinPool",
	"java.util.concurrent.ForkJoinPool$WorkQueue",
	"java.util.concurrent.SubmissionPublisher$BufferedSubscription",
	"java.util.concurrent.atomic.Striped64$Cell",
	"jdk.internal.vm.StackChunk",
	"jdk.internal.vm.Continuation",
};

static void gap_add(struct hprof_room *room, uint32_t at, uint32_t len)
{
	if (!len || room->gap_count == HPROF_GAPS_MAX)
		return;
	room->gaps[room->gap_count].at = at;
	room->gaps[room->gap_count++].len = len;
}

/* Puts a field into the smallest gap in which it fits, else at the end. */
static void field_place(struct hprof_room *room, uint32_t bytes)
{
	uint32_t best = HPROF_GAPS_MAX;
	for (uint32_t i = 0; i < room->gap_count; i++) {
		uint32_t at = size_align(room->gaps[i].at, bytes);
		if (at + bytes <= room->gaps[i].at + room->gaps[i].len &&
			(best == HPROF_GAPS_MAX || room->gaps[i].len < room->gaps[best].len))
			best = i;
	}
	if (best == HPROF_GAPS_MAX) {
		uint32_t at = size_align(room->end, bytes);
		gap_add(room, room->end, at - room->end);
		room->end = at + bytes;
		return;
	}
	uint32_t start = room->gaps[best].at, end = start + room->gaps[best].len;
	uint32_t at = size_align(start, bytes);
	room->gaps[best] = room->gaps[--room->gap_count];
	gap_add(room, start, at - start);
	gap_add(room, at + bytes, end - at - bytes);
}

/* Before JDK 15: a gap before the first field of 8 bytes is filled with smaller ones, else fields
 * follow one another, large ones first, references last. */
static void fields_place_old(struct hprof_room *room, const uint32_t *fields, uint32_t reference)
{
	uint32_t left[5], start = size_align(room->end, reference);
	memcpy(left, fields, sizeof(left));
	room->gap_count = 0;
	if (left[4] && start % 8) {
		uint32_t at = start, end = size_align(start, 8);
		for (; left[3] && at + 4 <= end; left[3]--)
			at += 4;
		for (; left[2] && at + 2 <= end; left[2]--)
			at += 2;
		for (; left[1] && at + 1 <= end; left[1]--)
			at += 1;
		for (; left[0] && reference == 4 && at % 4 == 0 && at + 4 <= end; left[0]--)
			at += 4;
		start = end;
	}
	uint64_t at = start + 8ull * left[4] + 4ull * left[3] + 2ull * left[2] + left[1];
	if (left[0])
		at = size_align(at, reference) + (uint64_t)reference * left[0];
	room->end = (uint32_t)at;
}

static void fields_place(
	struct hprof_room *room, const uint32_t *fields, const struct hprof_layout *layout)
{
	if (layout->is_old) {
		fields_place_old(room, fields, layout->reference);
		return;
	}
	for (unsigned i = 4; i > 0; i--)
		for (uint32_t k = 0; k < fields[i]; k++)
			field_place(room, 1u << (i - 1));
	for (uint32_t k = 0; k < fields[0]; k++)
		field_place(room, layout->reference);
}

static void injected_add(
	const struct hprof_shape *shape, const struct hprof_layout *layout, uint32_t *fields)
{
	for (size_t i = 0; i < ARRAY_SIZE(injected); i++) {
		if (strcmp(shape->name, injected[i].name) != 0)
			continue;
		for (unsigned k = 0; k < 5; k++)
			fields[k] += injected[i].fields[k];
		fields[0] += strcmp(shape->name, "java.lang.Class") ? 0 : layout->mirror_references;
	}
}

/* Lays a class out, after its superclass. */
static void shape_lay_out(
	const struct hprof_layout_of *of, const struct hprof_layout *layout, uint32_t number)
{
	struct hprof_shape *shape = &of->shapes[number];
	uint32_t fields[5];
	memcpy(fields, shape->fields, sizeof(fields));
	injected_add(shape, layout, fields);
	if (shape->super == HPROF_NO_CLASS)
		shape->room = (struct hprof_room){.end = layout->header};
	else
		shape->room = of->shapes[shape->super].room;
	fields_place(&shape->room, fields, layout);
	shape->bytes = size_align(shape->room.end, layout->alignment);
	shape->is_laid_out = true;
}

/* Superclasses first; a chain that is a circle ends. */
static void shapes_lay_out(const struct hprof_layout_of *of, const struct hprof_layout *layout)
{
	static const size_t most = SUPERCLASSES_MAX;
	for (size_t i = 0; i < of->shape_count; i++)
		of->shapes[i].is_laid_out = false;
	for (size_t i = 0; i < of->shape_count; i++) {
		uint32_t chain[SUPERCLASSES_MAX];
		size_t len = 0;
		for (uint32_t at = (uint32_t)i;
			at != HPROF_NO_CLASS && len < most && !of->shapes[at].is_laid_out;
			at = of->shapes[at].super)
			chain[len++] = at;
		while (len--)
			shape_lay_out(of, layout, chain[len]);
	}
}

/* An object of java.lang.Class has the static fields of its class behind its own. */
static void mirrors_lay_out(const struct hprof_layout_of *of, const struct hprof_layout *layout)
{
	uint64_t start = of->class_class == HPROF_NO_CLASS
				 ? size_align(layout->header, 8)
				 : size_align(of->shapes[of->class_class].room.end, 8);
	for (size_t i = 0; i < of->shape_count; i++) {
		struct hprof_shape *shape = &of->shapes[i];
		uint64_t at = start + (uint64_t)layout->reference * shape->statics[0];
		for (unsigned k = 4; k > 0; k--)
			if (shape->statics[k])
				at = size_align(at, 1u << (k - 1)) +
				     ((uint64_t)shape->statics[k] << (k - 1));
		shape->class_bytes = size_align(at, layout->alignment);
	}
}

static void layout_apply(const struct hprof_layout_of *of, const struct hprof_layout *layout)
{
	shapes_lay_out(of, layout);
	mirrors_lay_out(of, layout);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static uint64_t array_bytes(const struct hprof_layout *layout, uint32_t element, uint64_t length)
{
	uint32_t base = layout->header + 4;
	if (layout->pads_arrays || element == 8)
		base = size_align(base, 8);
	uint64_t bytes = base + element * length;
	return (bytes + layout->alignment - 1) / layout->alignment * layout->alignment;
}

static uint32_t primitive_bytes(uint32_t type)
{
	static const uint8_t bytes[HPROF_TYPES] = {0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8};
	return type < HPROF_TYPES ? bytes[type] : 0;
}

uint64_t hprof_layout_bytes(const struct hprof_layout_of *of, const struct hprof_layout *layout,
	const struct hprof_entry_row *row)
{
	switch ((enum hprof_what)row->what) {
	case HPROF_IS_INSTANCE:
		return of->shapes[row->class].bytes;
	case HPROF_IS_OBJECTS:
		return array_bytes(layout, layout->reference, row->length);
	case HPROF_IS_PRIMITIVES:
		return array_bytes(layout, primitive_bytes(row->class), row->length);
	case HPROF_IS_CLASS:
		break;
	}
	return of->shapes[row->class].class_bytes;
}

/* ---- Which layout ---------------------------------------------------------------------------- */

static bool row_is_measured(const struct hprof_layout_of *of, const struct hprof_entry_row *row)
{
	return row->what == HPROF_IS_INSTANCE && of->shapes[row->class].is_measured;
}

static void layout_try(const struct hprof_layout_of *of, struct hprof_layout *layout, size_t most)
{
	layout->overlaps = layout->fits = layout->looked_at = 0;
	layout_apply(of, layout);
	for (size_t i = 0; i + 1 < of->row_count && i < most; i++) {
		const struct hprof_entry_row *row = &of->rows[of->sorted[i].row];
		uint64_t room = of->sorted[i + 1].id - of->sorted[i].id;
		uint64_t bytes = hprof_layout_bytes(of, layout, row);
		if (row_is_measured(of, row))
			continue;
		layout->looked_at++;
		layout->overlaps += bytes > room;
		layout->fits += bytes == room;
	}
}

static bool layout_is_better(const struct hprof_layout *a, const struct hprof_layout *b)
{
	/* An overlap shows that a layout is wrong; a gap may be one of the heap. */
	int64_t x = (int64_t)a->fits - 8 * (int64_t)a->overlaps;
	int64_t y = (int64_t)b->fits - 8 * (int64_t)b->overlaps;
	return x > y;
}

/* Objects are aligned to the largest power of two that divides all ids. */
static uint32_t alignment_find(const struct hprof_layout_of *of)
{
	uint64_t bits = 256;
	for (size_t i = 0; i < of->row_count; i++)
		bits |= of->rows[i].id;
	bits &= -bits;
	return of->row_count > 1 && bits > 8 ? (uint32_t)bits : 8;
}

static void layouts_try(const struct hprof_layout_of *of, struct hprof_layout *best)
{
	static const uint8_t headers[] = {12, 16, 8};
	bool has_one = false;
	for (unsigned i = 0; i < 3 * 2 * 2 * 2 * 4; i++) {
		struct hprof_layout layout = {.header = headers[i / 32],
			.reference = i / 16 % 2 ? 8 : 4,
			.is_old = i / 8 % 2,
			.pads_arrays = i / 4 % 2 == 0,
			.mirror_references = 3 - i % 4,
			.alignment = best->alignment};
		if (of->id_bytes == 4 && layout.reference == 8)
			continue;
		layout_try(of, &layout, SAMPLE_MAX);
		if (!has_one || layout_is_better(&layout, best))
			*best = layout;
		has_one = true;
	}
}

/* ---- What HotSpot hides ---------------------------------------------------------------------- */

static void measured_mark(const struct hprof_layout_of *of)
{
	for (size_t i = 0; i < of->shape_count; i++) {
		uint32_t at = (uint32_t)i;
		bool is_one = false;
		for (unsigned steps = 0;
			at != HPROF_NO_CLASS && steps < SUPERCLASSES_MAX && !is_one;
			steps++, at = of->shapes[at].super)
			for (size_t k = 0; k < ARRAY_SIZE(measured) && !is_one; k++)
				is_one = strcmp(of->shapes[at].name, measured[k]) == 0;
		of->shapes[i].is_measured = is_one;
	}
}

/* The least distance is a size: of several objects, one has a next one right after it. */
static void measured_set(const struct hprof_layout_of *of)
{
	for (size_t i = 0; i < of->shape_count; i++)
		of->shapes[i].distance = UINT64_MAX;
	for (size_t i = 0; i + 1 < of->row_count; i++) {
		const struct hprof_entry_row *row = &of->rows[of->sorted[i].row];
		if (!row_is_measured(of, row))
			continue;
		struct hprof_shape *shape = &of->shapes[row->class];
		shape->distance = min(shape->distance, of->sorted[i + 1].id - of->sorted[i].id);
	}
	for (size_t i = 0; i < of->shape_count; i++) {
		struct hprof_shape *shape = &of->shapes[i];
		if (shape->is_measured && shape->distance >= shape->bytes &&
			shape->distance <= shape->bytes + HIDDEN_MAX)
			shape->bytes = (uint32_t)shape->distance;
	}
}

static void all_check(const struct hprof_layout_of *of, struct hprof_layout *layout)
{
	layout->overlaps = layout->fits = layout->looked_at = 0;
	for (size_t i = 0; i + 1 < of->row_count; i++) {
		uint64_t room = of->sorted[i + 1].id - of->sorted[i].id;
		uint64_t bytes = hprof_layout_bytes(of, layout, &of->rows[of->sorted[i].row]);
		layout->looked_at++;
		layout->overlaps += bytes > room;
		layout->fits += bytes == room;
	}
}

void hprof_layout_find(const struct hprof_layout_of *of, struct hprof_layout *ret)
{
	*ret = (struct hprof_layout){.alignment = alignment_find(of)};
	measured_mark(of);
	layouts_try(of, ret);
	layout_apply(of, ret);
	measured_set(of);
	all_check(of, ret);
}
