/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/managed_heap_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

#define ROWS 30u
#define WAY_ROWS 10u
#define STEPS_SHOWN 30u

struct sums {
	const char *file, *base, *sizes;
	uint64_t objects, bytes, unheld_objects, unheld_bytes;
};

#define SUM_COLUMNS                                                                                \
	WORD_OF(sums, file, "the snapshot"), COUNT_OF(sums, objects, "that have bytes"),           \
		BYTES_OF(sums, bytes,                                                              \
			"of V8's heap; memory of Buffers and addons is outside "                   \
			"of it, but for what V8 knows of")

static const struct column sum_columns[] = {SUM_COLUMNS,
	COUNT_OF(sums, unheld_objects,
		"that nothing holds: they are referenced weakly, or wait "
		"for the garbage collector"),
	BYTES_OF(sums, unheld_bytes, "of these"), COLUMNS_END};
static const struct table_type sum_type = {.columns = sum_columns};

static const struct column java_sum_columns[] = {WORD_OF(sums, file, "the heap dump"),
	COUNT_OF(sums, objects, "in the dump"),
	BYTES_OF(sums, bytes, "of these, with headers and padding"),
	COUNT_OF(sums, unheld_objects,
		"that nothing holds: they are referenced weakly, wait for their finalizers or for "
		"the garbage collector"),
	BYTES_OF(sums, unheld_bytes, "of these"),
	WORD_OF(sums, sizes, "how sizes of objects were found"), COLUMNS_END};
static const struct table_type java_sum_type = {.columns = java_sum_columns};

static void sums_make(const struct managed_page *page, struct sums *ret)
{
	*ret = (struct sums){.file = page->path,
		.base = page->base_path,
		.sizes = page->heap->sizes,
		.unheld_objects = page->heap->unheld_objects,
		.unheld_bytes = page->heap->unheld_bytes};
	for (size_t i = 0; i < page->heap->classes.len; i++) {
		ret->objects += page->heap->classes.data[i].objects;
		ret->bytes += page->heap->classes.data[i].bytes;
	}
}

static const struct column class_columns[] = {
	{"retained_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "what would be freed with all objects of the class, each byte once",
		.title = "RETAINED", .width = 10, COLUMN_OF(managed_class, retained_bytes)},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of the objects themselves",
		.title = "SHALLOW", .gap = 2, .width = 10, COLUMN_OF(managed_class, bytes)},
	{"objects", COLUMN_INTEGER, UNIT_COUNT, .says = "how many, of those that have bytes",
		.title = "OBJECTS", .gap = 2, .width = 10, COLUMN_OF(managed_class, objects)},
	{"constructor", COLUMN_TEXT,
		.says = "the name of the constructor, or a kind of V8's own in parentheses",
		.title = "CONSTRUCTOR", .gap = 2, COLUMN_OF(managed_class, name)},
	COLUMNS_END};
static const struct table_type class_type = {.name = "constructors",
	.total = "constructors_total",
	.says = "what there is, by constructor, most retained first",
	.columns = class_columns,
	.row_bytes = sizeof(struct managed_class),
	.one = "constructor",
	.many = "constructors"};

const struct answer_type managed_heap_classes_type = {.schema = "heapwise.node-classes/1",
	.from = "heapwise node FILE",
	.says = "what a heap of JavaScript consists of, and what is retained by it",
	.tables = (const struct table_type *const[]){&sum_type, &class_type, NULL},
	.main = &class_type};

static const struct column java_class_columns[] = {
	{"retained_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "what would be freed with all objects of the class, each byte once",
		.title = "RETAINED", .width = 10, COLUMN_OF(managed_class, retained_bytes)},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of the objects themselves",
		.title = "SHALLOW", .gap = 2, .width = 10, COLUMN_OF(managed_class, bytes)},
	{"instances", COLUMN_INTEGER, UNIT_COUNT, .says = "how many", .title = "INSTANCES",
		.gap = 2, .width = 10, COLUMN_OF(managed_class, objects)},
	{"class", COLUMN_TEXT, .says = "its name: `int[]`, `java.lang.String`", .title = "CLASS",
		.gap = 2, COLUMN_OF(managed_class, name)},
	COLUMNS_END};
static const struct table_type java_class_type = {.name = "classes",
	.total = "classes_total",
	.says = "what there is, by class, most retained first",
	.columns = java_class_columns,
	.row_bytes = sizeof(struct managed_class),
	.one = "class",
	.many = "classes"};

const struct answer_type java_classes_type = {.schema = "heapwise.java-classes/1",
	.from = "heapwise java FILE.hprof",
	.says = "what a heap dump of a JVM consists of, and what is retained by it",
	.tables = (const struct table_type *const[]){&java_sum_type, &java_class_type, NULL},
	.main = &java_class_type};

static int by_retained(const void *a, const void *b, void *context)
{
	const struct managed_class *all = context;
	const struct managed_class *x = &all[*(const size_t *)a], *y = &all[*(const size_t *)b];
	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes > y->retained_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* "/tmp/a.heapsnapshot: 1,204 objects of 12.3 MiB" */
static void sums_say(const struct managed_page *page, const struct sums *sums, struct text *out)
{
	text_add_shown(out, sums->file, 200);
	text_printf(out, ": %s objects of %s%s", FMT_COUNT(sums->objects), FMT_BYTES(sums->bytes),
		page->words == MANAGED_OF_V8 ? " in V8's heap" : "");
	if (sums->unheld_objects)
		text_printf(out, "; nothing holds %s of them (%s)", FMT_COUNT(sums->unheld_objects),
			FMT_BYTES(sums->unheld_bytes));
	if (sums->sizes && *sums->sizes)
		text_printf(out, "\n%s", sums->sizes);
	text_add(out, "\n\n");
}

struct error *managed_heap_classes_answer(const struct managed_page *page, struct answer *answer)
{
	const struct managed_classes *classes = &page->heap->classes;
	_cleanup_free_ size_t *order = malloc((classes->len + 1) * sizeof(*order));
	struct sums sums;
	size_t count = 0;
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < classes->len; i++)
		if (classes->data[i].objects)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), by_retained, classes->data);
	bool is_java = page->words == MANAGED_OF_JAVA;
	const struct table table = {is_java ? &java_class_type : &class_type, classes->data, count,
		.order = order, .limit = answer_limit(answer, page->limit, ROWS)};
	sums_make(page, &sums);
	answer_begin(answer, is_java ? &java_classes_type : &managed_heap_classes_type);
	struct text *prose = answer_prose(answer);
	if (prose)
		sums_say(page, &sums, prose);
	answer_record_of(answer, is_java ? &java_sum_type : &sum_type, &sums);
	answer_table(answer, &table);
	return answer_end(answer);
}

/* A way, and the groups on it from the objects to the root. */
struct way_rows {
	const struct managed_page *page;
	const struct managed_ways *ways;
};

/* " .kept of Object" */
static void step_add(const struct way_rows *rows, uint32_t group, struct text *out)
{
	const struct managed_heap *heap = rows->page->heap;
	const struct managed_way *way = &rows->ways->groups.data[group];
	const char *holder = "(root)";
	if (way->holder != MANAGED_NONE) {
		uint32_t class = rows->ways->groups.data[way->holder].class;
		holder = class & MANAGED_WAY_NAMED
				 ? managed_heap_string(heap, class & ~MANAGED_WAY_NAMED)
				 : heap->classes.data[class].name;
	}
	if (way->kind == MANAGED_BY_ROOT) {
		text_add_shown(out, holder, 300);
		return;
	}
	if (way->kind == MANAGED_ELEMENT)
		text_add(out, "[]");
	else if (way->kind == MANAGED_WEAK)
		text_add(out, "(any of its names)");
	else
		text_add(out, way->kind == MANAGED_INTERNAL ? "(internal) " : ".");
	if (way->kind != MANAGED_ELEMENT && way->kind != MANAGED_WEAK)
		text_add_shown(out, managed_heap_string(heap, way->name), 100);
	text_add(out, " of ");
	text_add_shown(out, holder, 100);
	if (way->repeats)
		text_add(out, ", over and over");
}

/* Whether the group is a root that is named where it holds others: it is no step itself. */
static bool is_named_root(const struct way_rows *rows, uint32_t group)
{
	const struct managed_way *way = &rows->ways->groups.data[group];
	return way->holder == MANAGED_NONE && way->kind == MANAGED_BY_ROOT;
}

static uint32_t group_above(const struct way_rows *rows, uint32_t group, size_t steps)
{
	while (steps-- && group != MANAGED_NONE)
		group = rows->ways->groups.data[group].holder;
	return group;
}

enum { WAY_BYTES, WAY_OBJECTS, WAY_STEPS };

static void step_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct way_rows *rows = context;
	(void)column;
	/* The group and the number of steps above it are one number. */
	step_add(rows, group_above(rows, (uint32_t)(row >> 32), (uint32_t)row), &ret->built);
	cell_take_built(ret);
}

static const struct column step_columns[] = {
	{"", COLUMN_TEXT, .says = "a reference, and the class that has it"}, COLUMNS_END};
static const struct table_type step_type = {.columns = step_columns, .cell = step_cell};

static size_t steps_count(const struct way_rows *rows, uint32_t group)
{
	size_t count = 0;
	for (; group != MANAGED_NONE && !is_named_root(rows, group);
		group = rows->ways->groups.data[group].holder)
		count++;
	return count;
}

static void way_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct way_rows *rows = context;
	uint32_t group = rows->ways->chosen[row];
	const struct managed_way *way = &rows->ways->groups.data[group];
	if (column == WAY_STEPS)
		ret->nested = (struct table){&step_type, rows, steps_count(rows, group),
			.first = (size_t)group << 32, .limit = TABLE_NO_LIMIT};
	else
		ret->number = column == WAY_BYTES ? way->bytes : way->objects;
}

static void way_row_text(const void *context, size_t row, struct text *out)
{
	const struct way_rows *rows = context;
	uint32_t group = rows->ways->chosen[row];
	const struct managed_way *way = &rows->ways->groups.data[group];
	text_printf(out, "  %s in %s %s, held by\n", FMT_BYTES(way->bytes), FMT_COUNT(way->objects),
		way->objects == 1 ? "object" : "objects");
	if (is_named_root(rows, group)) {
		text_add(out, "      the JVM: ");
		text_add_shown(out,
			managed_heap_string(rows->page->heap, way->class & ~MANAGED_WAY_NAMED),
			300);
		text_add_char(out, '\n');
	}
	for (size_t i = 0; group != MANAGED_NONE && !is_named_root(rows, group); i++) {
		if (i == STEPS_SHOWN) {
			text_printf(out, "      … %zu more\n", steps_count(rows, group));
			break;
		}
		text_add(out, "      ");
		step_add(rows, group, out);
		text_add_char(out, '\n');
		group = rows->ways->groups.data[group].holder;
	}
}

static const struct column way_columns[] = {
	[WAY_BYTES] = {"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of the objects themselves"},
	[WAY_OBJECTS] = {"objects", COLUMN_INTEGER, UNIT_COUNT, .says = "that are held so"},
	[WAY_STEPS] = {"held_by", COLUMN_LIST, .nested = &step_type,
		.says = "from the objects to the root"},
	COLUMNS_END};
static const struct table_type way_type = {.name = "ways",
	.total = "ways_total",
	.says = "how objects are held, by the shortest way from the root; most bytes first",
	.columns = way_columns,
	.cell = way_cell,
	.row_text = way_row_text,
	.one = "way",
	.many = "ways"};

struct why_sums {
	const char *file, *constructor;
	uint64_t objects, bytes, unheld;
	bool cut;
};
static const struct column why_columns[] = {WORD_OF(why_sums, file, "the snapshot"),
	WORD_OF(why_sums, constructor, "that was asked about"),
	COUNT_OF(why_sums, objects, "of it"), BYTES_OF(why_sums, bytes, "of these themselves"),
	COUNT_OF(why_sums, unheld, "of these that nothing holds"),
	FLAG_OF(why_sums, cut,
		"there are more ways than are told apart: those of the others count "
		"with what holds their objects"),
	COLUMNS_END};
static const struct table_type why_type = {.columns = why_columns};

const struct answer_type managed_heap_why_type = {.schema = "heapwise.node-why/1",
	.from = "heapwise node FILE --why CONSTRUCTOR",
	.says = "why objects of a constructor are in memory",
	.tables = (const struct table_type *const[]){&why_type, &way_type, NULL},
	.main = &way_type};

static const struct column java_why_columns[] = {WORD_OF(why_sums, file, "the heap dump"),
	WORD_AS("class", why_sums, constructor, "that was asked about"),
	COUNT_AS("instances", why_sums, objects, "of it"),
	BYTES_OF(why_sums, bytes, "of these themselves"),
	COUNT_OF(why_sums, unheld, "of these that nothing holds"),
	FLAG_OF(why_sums, cut,
		"there are more ways than are told apart: those of the others count "
		"with what holds their objects"),
	COLUMNS_END};
static const struct table_type java_why_sum_type = {.columns = java_why_columns};

const struct answer_type java_why_type = {.schema = "heapwise.java-why/1",
	.from = "heapwise java FILE.hprof --why CLASS",
	.says = "why objects of a class are in memory",
	.tables = (const struct table_type *const[]){&java_why_sum_type, &way_type, NULL},
	.main = &way_type};

struct error *managed_heap_why_answer(const struct managed_page *page,
	const struct managed_class *class, const struct managed_ways *ways, struct answer *answer)
{
	const struct way_rows rows = {page, ways};
	const struct why_sums sums = {
		page->path, class->name, class->objects, class->bytes, ways->unheld, ways->is_full};
	const struct table table = {&way_type, &rows, ways->chosen_count,
		.limit = answer_limit(answer, page->limit, WAY_ROWS)};
	bool is_java = page->words == MANAGED_OF_JAVA;
	answer_begin(answer, is_java ? &java_why_type : &managed_heap_why_type);
	struct text *prose = answer_prose(answer);
	if (prose) {
		text_add_shown(prose, class->name, 200);
		text_printf(prose, ": %s in %s objects\n\n", FMT_BYTES(class->bytes),
			FMT_COUNT(class->objects));
	}
	answer_record_of(answer, is_java ? &java_why_sum_type : &why_type, &sums);
	answer_table(answer, &table);
	if (prose && ways->unheld)
		text_printf(prose,
			"Nothing holds %s of them: they are referenced weakly, or wait for the "
			"garbage collector.\n",
			FMT_COUNT(ways->unheld));
	if (prose && ways->is_full)
		text_add(prose, "There are more ways than are told apart: some count with what "
				"holds their objects.\n");
	return answer_end(answer);
}

static void change_show_count(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context;
	(void)row;
	uint64_t number = cell->signed_number < 0 ? -(uint64_t)cell->signed_number
						  : (uint64_t)cell->signed_number;
	_cleanup_(text_deinit) struct text figure;
	text_init(&figure);
	text_add(&figure, cell->signed_number < 0 ? "-" : "+");
	text_add_count(&figure, number);
	text_printf(out, "%10s", figure.data ? figure.data : "");
}

static const struct column change_columns[] = {
	{"more_bytes", COLUMN_SIGNED, UNIT_BYTES, .says = "in the newer snapshot", .title = "BYTES",
		.width = 11, COLUMN_OF(managed_change, more_bytes)},
	{"more_objects", COLUMN_SIGNED, UNIT_COUNT, .says = "in the newer snapshot",
		.title = "OBJECTS", .gap = 2, .width = 10, .show = change_show_count,
		COLUMN_OF(managed_change, more_objects)},
	{"new_objects", COLUMN_INTEGER, UNIT_COUNT, .says = "that the older one does not have",
		.title = "NEW", .gap = 2, .width = 10, COLUMN_OF(managed_change, new_objects)},
	{"gone_objects", COLUMN_INTEGER, UNIT_COUNT, .says = "that only the older one has",
		.title = "DELETED", .gap = 2, .width = 10, COLUMN_OF(managed_change, gone_objects)},
	BYTES_OF(managed_change, new_bytes, "of new objects"),
	BYTES_OF(managed_change, gone_bytes, "of those that are gone"),
	{"constructor", COLUMN_TEXT,
		.says = "the name of the constructor, or a kind of V8's own in parentheses",
		.title = "CONSTRUCTOR", .gap = 2, COLUMN_OF(managed_change, name)},
	COLUMNS_END};
static const struct table_type change_type = {.name = "constructors",
	.total = "constructors_total",
	.says = "those of which anything differs, most bytes more first",
	.columns = change_columns,
	.row_bytes = sizeof(struct managed_change),
	.one = "constructor",
	.many = "constructors"};

struct change_sums {
	const char *base, *file;
	uint64_t common, renamed;
	bool strangers;
};
static const struct column change_sum_columns[] = {WORD_OF(change_sums, base, "the older snapshot"),
	WORD_OF(change_sums, file, "the newer one"),
	COUNT_AS("common_objects", change_sums, common, "whose ids are in both"),
	COUNT_AS("renamed_objects", change_sums, renamed,
		"of these that are of another constructor: they count as deleted and new"),
	FLAG_OF(change_sums, strangers,
		"the snapshots seem to be of different processes: what is new or deleted means "
		"nothing, differences of numbers and bytes do"),
	COLUMNS_END};
static const struct table_type change_sum_type = {.columns = change_sum_columns};

const struct answer_type managed_heap_changes_type = {.schema = "heapwise.node-diff/1",
	.from = "heapwise node FILE --base OLDER",
	.says = "how a heap of JavaScript differs from an earlier snapshot",
	.tables = (const struct table_type *const[]){&change_sum_type, &change_type, NULL},
	.main = &change_type};

static const struct column java_change_columns[] = {
	{"more_bytes", COLUMN_SIGNED, UNIT_BYTES, .says = "in the newer dump", .title = "BYTES",
		.width = 11, COLUMN_OF(managed_change, more_bytes)},
	{"more_instances", COLUMN_SIGNED, UNIT_COUNT, .says = "in the newer dump",
		.title = "INSTANCES", .gap = 2, .width = 10, .show = change_show_count,
		COLUMN_OF(managed_change, more_objects)},
	{"class", COLUMN_TEXT, .says = "its name: `int[]`, `java.lang.String`", .title = "CLASS",
		.gap = 2, COLUMN_OF(managed_change, name)},
	COLUMNS_END};
static const struct table_type java_change_type = {.name = "classes",
	.total = "classes_total",
	.says = "those of which anything differs, most bytes more first",
	.columns = java_change_columns,
	.row_bytes = sizeof(struct managed_change),
	.one = "class",
	.many = "classes"};

static const struct column java_change_sum_columns[] = {
	WORD_OF(change_sums, base, "the older heap dump"),
	WORD_OF(change_sums, file, "the newer one"), COLUMNS_END};
static const struct table_type java_change_sum_type = {.columns = java_change_sum_columns};

const struct answer_type java_changes_type = {.schema = "heapwise.java-diff/1",
	.from = "heapwise java FILE.hprof --base OLDER",
	.says = "how a heap of a JVM differs from an earlier heap dump, by class: objects move, so "
		"that it is not known which are the same",
	.tables =
		(const struct table_type *const[]){&java_change_sum_type, &java_change_type, NULL},
	.main = &java_change_type};

struct error *managed_heap_changes_answer(const struct managed_page *page,
	const struct managed_changes *changes, struct answer *answer)
{
	/* Ids are given anew only when an object has gone: few of the common ones change. */
	bool is_java = page->words == MANAGED_OF_JAVA;
	bool strangers = changes->renamed_objects > changes->common_objects / 4;
	const struct change_sums sums = {page->base_path, page->path, changes->common_objects,
		changes->renamed_objects, strangers};
	const struct table table = {is_java ? &java_change_type : &change_type, changes->rows.data,
		changes->rows.len, .limit = answer_limit(answer, page->limit, ROWS)};
	answer_begin(answer, is_java ? &java_changes_type : &managed_heap_changes_type);
	struct text *prose = answer_prose(answer);
	if (prose && strangers)
		text_add(prose,
			"The snapshots seem to be of different processes: NEW and DELETED mean "
			"nothing, BYTES and OBJECTS do.\n\n");
	if (prose && !table.count)
		text_add(prose, "Nothing differs.\n");
	answer_record_of(answer, is_java ? &java_change_sum_type : &change_sum_type, &sums);
	answer_table(answer, &table);
	return answer_end(answer);
}
