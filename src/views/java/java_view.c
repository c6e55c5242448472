/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/java_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define TEXT_ROWS 30u

struct java_summary {
	const struct java_subject *subject;
};

enum summary_column {
	SUMMARY_PID,
	SUMMARY_NAME,
	SUMMARY_REACHABLE,
	SUMMARY_CLASSES,
	SUMMARY_INSTANCES,
	SUMMARY_BYTES,
	SUMMARY_LEFT_OUT,
	SUMMARY_RESERVED,
	SUMMARY_COMMITTED,
};

static const struct column summary_columns[] = {{"pid", COLUMN_INTEGER, .says = "of the JVM"},
	{"name", COLUMN_TEXT, .says = "main class, or file of -jar"},
	{"reachable_only", COLUMN_BOOLEAN,
		.says = "objects that are reachable are counted, after a full collection (--live); "
			"otherwise all that are in the heap, garbage too"},
	{"class_count", COLUMN_INTEGER, UNIT_COUNT, .says = "classes with objects"},
	{"instances", COLUMN_INTEGER, UNIT_COUNT, .says = "objects of all classes"},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of all of them, with headers and padding"},
	{"lines_left_out", COLUMN_INTEGER, UNIT_COUNT,
		.says = "lines of the JVM's answer that could not be understood"},
	{"native_reserved_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "address space that the JVM reserved, by its own count; null: not known"},
	{"native_committed_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of this what it may use now; null: not known"},
	COLUMNS_END};

static void summary_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct java_subject *subject = ((const struct java_summary *)context)[row].subject;
	const struct java_memory *memory = subject->memory;
	const uint64_t numbers[] = {
		[SUMMARY_PID] = subject->pid,
		[SUMMARY_CLASSES] = memory->classes.len,
		[SUMMARY_INSTANCES] = memory->instances,
		[SUMMARY_BYTES] = memory->bytes,
		[SUMMARY_LEFT_OUT] = memory->left_out,
		[SUMMARY_RESERVED] = memory->reserved_bytes,
		[SUMMARY_COMMITTED] = memory->committed_bytes,
	};
	ret->number = numbers[column];
	ret->text = column == SUMMARY_NAME ? subject->name : NULL;
	ret->truth = subject->reachable;
	if (column >= SUMMARY_RESERVED && !memory->uses.len)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type summary_type = {.name = "jvm",
	.says = "the JVM, and sums",
	.columns = summary_columns,
	.cell = summary_cell};

enum class_column { CLASS_BYTES, CLASS_INSTANCES, CLASS_MEAN, CLASS_NAME, CLASS_MODULE };

static const struct column class_columns[] = {
	{"bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of all objects of the class itself, "
			"without what they refer to",
		COLUMN_OF(java_class, bytes), .title = "BYTES", .width = 12},
	{"instances", COLUMN_INTEGER, UNIT_COUNT, .says = "objects",
		COLUMN_OF(java_class, instances), .title = "INSTANCES", .width = 13, .gap = 1},
	{"mean_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "`bytes` by `instances`, rounded down",
		.title = "MEAN", .width = 10, .gap = 1},
	{"class", COLUMN_TEXT, .says = "its name: `int[]`, `java.lang.String`",
		COLUMN_OF(java_class, name), .title = "CLASS", .width = -40, .gap = 2,
		.ascending = true},
	{"module", COLUMN_TEXT, .says = "and its version; null: none, or the JVM does not say",
		COLUMN_OF(java_class, module), .ascending = true},
	COLUMNS_END};

static void class_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct java_class *class = &((const struct java_class *)context)[row];
	if (column != CLASS_MEAN) {
		table_member(&class_columns[column], class, ret);
		return;
	}
	ret->number = class->instances ? class->bytes / class->instances : 0;
	if (!class->instances)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type class_type = {.name = "classes",
	.says = "a row a class with objects, the most bytes first",
	.columns = class_columns,
	.cell = class_cell,
	.one = "class",
	.many = "classes"};

static const struct column use_columns[] = {
	{"committed_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "what the JVM may use now; how much is resident 'heapwise maps' says",
		COLUMN_OF(java_use, committed_bytes), .title = "COMMITTED", .width = 12},
	{"reserved_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "address space",
		COLUMN_OF(java_use, reserved_bytes), .title = "RESERVED", .width = 12, .gap = 1},
	{"use", COLUMN_TEXT, .says = "what for, as the JVM calls it", COLUMN_OF(java_use, name),
		.title = "NATIVE MEMORY", .width = -30, .gap = 2, .ascending = true},
	COLUMNS_END};

static const struct table_type use_type = {.name = "native",
	.says = "with --native a row a use of native memory, the most committed first; the Java "
		"heap is one of them",
	.columns = use_columns,
	.row_bytes = sizeof(struct java_use)};

const struct answer_type java_heap_answer_type = {.schema = "heapwise.java-heap/1",
	.from = "heapwise java PID --heap --json",
	.says = "the classes of a JVM with their objects, and its native memory",
	.tables = (const struct table_type *const[]){&summary_type, &class_type, &use_type, NULL},
	.main = &class_type};

static void head_add(const struct java_subject *subject, struct text *out)
{
	const struct java_memory *memory = subject->memory;
	text_printf(out, "PID %" PRIu64 ": ", subject->pid);
	text_add_shown(out, subject->name, 200);
	text_add(out, "\n");
	text_add_bytes(out, memory->bytes);
	text_add(out, " in ");
	text_add_counted(out, memory->instances, "object", "objects");
	text_add(out, " of ");
	text_add_counted(out, memory->classes.len, "class", "classes");
	text_add(out, subject->reachable
			      ? ", all reachable (after a full collection).\n"
			      : ", with garbage that is not collected yet (--live: without).\n");
	if (memory->left_out) {
		text_add_counted(out, memory->left_out, "line", "lines");
		text_add(out, " of the JVM's answer could not be understood.\n");
	}
	if (subject->native) {
		text_add(out, "Native memory is not known: ");
		text_add(out, subject->native);
		text_add(out, ".\n");
	}
	text_add(out, "\n");
}

static void native_add(const struct java_memory *memory, struct text *out)
{
	text_add(out, "\n");
	text_add_bytes(out, memory->committed_bytes);
	text_add(out, " of native memory are committed, ");
	text_add_bytes(out, memory->reserved_bytes);
	text_add(out, " reserved, by the JVM's own count (libraries' mallocs are not in it).\n");
}

static struct error *heap_answer(
	const struct java_subject *subject, struct table *classes, struct answer *answer)
{
	const struct java_memory *memory = subject->memory;
	const struct java_summary summary = {subject};
	const struct table uses = {
		&use_type, memory->uses.data, memory->uses.len, .limit = TABLE_NO_LIMIT};
	struct text *prose;
	answer_begin(answer, &java_heap_answer_type);
	prose = answer_prose(answer);
	if (prose)
		head_add(subject, prose);
	else
		answer_record_of(answer, &summary_type, &summary);
	answer_table(answer, classes);
	if (prose && uses.count)
		native_add(memory, prose);
	if (uses.count || !prose)
		answer_table(answer, &uses);
	return answer_end(answer);
}

struct error *java_heap_write(const struct java_subject *subject,
	const struct java_options *options, const struct sink *sink)
{
	struct table_select select;
	_cleanup_free_ size_t *order = NULL;
	struct table classes = {&class_type, subject->memory->classes.data,
		subject->memory->classes.len, .limit = 0};
	struct error *error = table_select_open(&class_type, &options->asked, &select);
	if (!error)
		error = table_select_order(&select, &classes, &order);
	table_select_close(&select);
	if (error)
		return error;
	struct answer *answer = options->csv    ? answer_csv_create(sink)
				: options->json ? answer_json_create(sink, false)
						: answer_text_create(sink);
	if (!answer)
		return error_no_memory();
	classes.limit = answer_limit(answer, options->limit, TEXT_ROWS);
	error = heap_answer(subject, &classes, answer);
	answer_destroy(answer);
	return error;
}
