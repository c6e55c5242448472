/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/texts.h"
#include "heap/thread_locals.h"
#include "heap/where.h"
#include "views/heap/heap_extent.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heuristics.h"
#include "views/heap_answers.h"
#include "views/heap_where_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

#define TEXT_ROWS 12u /* of each layer */
/* Of a long chain the first and the last layers are shown, and those that globals hold. */
#define FIRST_LAYERS 10u
#define LAST_LAYERS 4u

/* What is shown; rows are those of `why`. */
struct why_shown {
	const struct heap_page *page;
	struct answer *answer;
	const char *what;
	const struct subtype_set *types; /* NULL: no whole type was asked for */
	const struct why *why;
	uint32_t block;            /* the only one; SPACE_NONE: several were asked for */
	struct heap_layout layout; /* of that, if has_layout */
	bool has_layout;
};

static const char *type_name(const struct heap_page *page, uint32_t type)
{
	return page->scan->types.types.data[type].name;
}

static bool has_address(const struct heap_root *root)
{
	return root->kind != HEAP_ROOT_REGISTERS && root->kind != HEAP_ROOT_COLLECTOR;
}

/* Adds a variable as it is declared, and the member in it that the word is: "static struct node
 * *list", "struct registry registry, its first". */
static void add_declared(
	const struct heap_page *page, uint64_t address, bool is_thread_local, struct text *text)
{
	struct heap_global global;
	if (is_thread_local ? !thread_locals_declared(page->scan, address, &global)
			    : !heap_layouts_global(page->scan, address, &global))
		return;
	struct types *types = page->scan->layouts.types;
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	struct types_place place;
	text_add(text, global.variable.is_local ? "static " : "");
	cxx_add_declaration(text, types, global.variable.type, global.variable.name);
	types_locate(types, global.variable.type, global.offset, &place, &path);
	if (path.len)
		text_printf(text, ", its %s", path.data);
}

/* What makes a pointer into a block as good as one to its start. */
static enum search_heuristic heap_why_explain(
	const struct heap_page *page, uint64_t target, uint64_t into)
{
	uint64_t offset;
	uint32_t block = into ? search_block_at(page->scan->search, target, &offset) : SPACE_NONE;
	return block != SPACE_NONE ? interior_explain(page->scan, block, into) : 0;
}

/* The end of a line: how far a pointer leads into what it points to. */
static void text_into(
	const struct heap_page *page, uint64_t target, uint64_t into, struct text *out)
{
	enum search_heuristic heuristic = heap_why_explain(page, target, into);
	if (into)
		text_printf(out, " + %" PRIu64, into);
	if (heuristic)
		text_printf(out, " (%s)", heuristic_name(heuristic));
	text_add_char(out, '\n');
}

/* Where a root's word stands. The only errors are of memory: they make the text fail. */
static struct heap_where where_of(
	const struct heap_page *page, const struct why_root *row, struct text *text)
{
	struct heap_where where = {.kind = HEAP_WHERE_NOWHERE};
	struct error *error = has_address(&page->scan->roots.data[row->root])
				      ? heap_where(page->scan, row->address, &where)
				      : NULL;
	text->failed |= error != NULL;
	error_destroy(error);
	return where;
}

static void root_text(const void *context, size_t number, struct text *out)
{
	const struct why_shown *shown = context;
	const struct heap_page *page = shown->page;
	const struct why_root *row = &shown->why->roots.data[number];
	const struct heap_scan *s = page->scan;
	const struct heap_root *root = &s->roots.data[row->root];
	const struct heap_where where = where_of(page, row, out);
	bool says_itself = root->kind == HEAP_ROOT_STACK || root->kind == HEAP_ROOT_TLS;
	text_add(out, "    ");
	if (!says_itself)
		text_add(out, heap_root_names[root->kind]);
	if (root->kind == HEAP_ROOT_REGISTERS)
		text_printf(
			out, " of thread %d", (int)s->heap.space->threads.data[root->thread].tid);
	if (has_address(root)) {
		text_printf(out, "%s0x%" PRIx64 " ", says_itself ? "" : " ", row->address);
		heap_where_describe(&where, out);
	}
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	if (root->kind == HEAP_ROOT_DATA || root->kind == HEAP_ROOT_TLS)
		add_declared(page, row->address, root->kind == HEAP_ROOT_TLS, &declared);
	if (declared.len) {
		text_add(out, " (");
		text_add_shown(out, declared.data, 300);
		text_add(out, ")");
	}
	text_printf(out, " → 0x%" PRIx64, row->target);
	text_into(page, row->target, row->into, out);
}

/* Of rows and roots, which are in order of layers, the first of a layer. */
static size_t first_row(const struct why *why, unsigned layer)
{
	size_t low = 0, high = why->rows.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (why->rows.data[middle].layer < layer)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
static size_t first_root(const struct why *why, unsigned layer)
{
	size_t low = 0, high = why->roots.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (why->roots.data[middle].layer < layer)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the member of a row's example that holds the pointer: "node.next". */
static void heap_why_add_member(
	const struct heap_page *page, const struct why_row *row, struct text *text)
{
	const struct heap_scan *s = page->scan;
	struct heap_layout layout;
	uint64_t offset;
	uint32_t block = search_block_at(s->search, row->example, &offset);
	if (block == SPACE_NONE)
		return;
	if (thread_locals_owner(s, block)) {
		thread_locals_add_member(s, block, row->offset, text);
		return;
	}
	pools_add_member(s, block, row->offset, text);
	if (!text->len && heap_layout_of(s, block, &layout))
		heap_layout_add_member(s, &layout, row->offset, text);
}

/* Of thread-local memory whose it is. */
static void add_owner(const struct heap_page *page, const struct why_row *row, struct text *text)
{
	uint64_t offset;
	uint32_t block = search_block_at(page->scan->search, row->example, &offset);
	pid_t tid = row->blocks == 1 && block != SPACE_NONE ? thread_locals_owner(page->scan, block)
							    : 0;
	if (tid)
		text_printf(text, ", of thread %d", (int)tid);
}

static void heap_why_row_text(const void *context, size_t number, struct text *out)
{
	const struct why_shown *shown = context;
	const struct heap_page *page = shown->page;
	const struct why_row *row = &shown->why->rows.data[number];
	text_printf(out, "    %s%s", FMT_COUNT(row->blocks),
		row->blocks == 1 ? " block of " : " blocks of ");
	text_add_shown(out, type_name(page, row->type), 120);
	_cleanup_(text_deinit) struct text member;
	text_init(&member);
	heap_why_add_member(page, row, &member);
	if (member.len) {
		text_add(out, ", by ");
		text_add(out, member.data);
	}
	add_owner(page, row, out);
	if (row->repeats)
		text_add(out, ", some referenced by others of them");
	text_printf(out, ", as 0x%" PRIx64 " + %" PRIu64 " → 0x%" PRIx64, row->example, row->offset,
		row->target);
	text_into(page, row->target, row->into, out);
}

enum { ROW_TYPE = 1, ROW_TARGET_TYPE, ROW_MEMBER = 7, ROW_HEURISTIC = 10 };
#define HEURISTIC_COLUMN                                                                           \
	{                                                                                          \
		"heuristic", COLUMN_TEXT,                                                          \
			.optional = true,                                                          \
			.says = "where `into` is not 0: what makes the pointer as good as one to " \
				"the start (docs/heap.md)"                                         \
	}
static const struct column row_columns[] = {
	NUMBER_OF(why_row, layer, "1: they point at what was asked for"),
	[ROW_TYPE] = {"type", COLUMN_TEXT, .says = "of these blocks"},
	[ROW_TARGET_TYPE] = {"target_type", COLUMN_TEXT, .says = "of what they point at"},
	COUNT_OF(why_row, blocks, "how many"),
	FLAG_OF(why_row, repeats, "some reference others of the row, as nodes of a list do"),
	ADDRESS_OF(why_row, example, "one of them"),
	BYTES_OF(why_row, offset, "of a pointer in the example"),
	[ROW_MEMBER] = {"member", COLUMN_TEXT, .says = "that stands there, or null"},
	ADDRESS_OF(why_row, target, "the block that it points to"),
	BYTES_OF(why_row, into, "how far into it"), [ROW_HEURISTIC] = HEURISTIC_COLUMN,
	COLUMNS_END};

static void heuristic_cell(
	const struct heap_page *page, uint64_t target, uint64_t into, struct cell *ret)
{
	ret->text = heuristic_name(heap_why_explain(page, target, into));
	if (!ret->text)
		ret->state = CELL_ABSENT;
}

static void heap_why_row_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct why_shown *shown = context;
	const struct why_row *row = &shown->why->rows.data[number];
	if (row_columns[column].bytes) {
		table_member(&row_columns[column], row, ret);
	} else if (column == ROW_MEMBER) {
		heap_why_add_member(shown->page, row, &ret->built);
		cell_take_any(ret);
	} else if (column == ROW_HEURISTIC) {
		heuristic_cell(shown->page, row->target, row->into, ret);
	} else {
		ret->text =
			type_name(shown->page, column == ROW_TYPE ? row->type : row->target_type);
	}
}

static const struct table_type row_type = {.name = "referrers",
	.says = "blocks that point there, by step and type",
	.columns = row_columns,
	.cell = heap_why_row_cell,
	.row_text = heap_why_row_text};

enum {
	ROOT_KIND = 1,
	ROOT_ADDRESS,
	ROOT_THREAD,
	ROOT_FUNCTION,
	ROOT_VARIABLE,
	ROOT_VARIABLE_OFFSET,
	ROOT_MODULE,
	ROOT_SYMBOL,
	ROOT_SYMBOL_OFFSET,
	ROOT_DECLARED,
	ROOT_HEURISTIC = 13
};
static const struct column root_columns[] = {
	NUMBER_OF(why_root, layer, "0: at what was asked for itself"),
	[ROOT_KIND] = {"kind", COLUMN_TEXT,
		.says = "`global`, `stack`, `thread-local storage`, `registers`, `mapping` or "
			"`collector`"},
	[ROOT_ADDRESS] = {"address", COLUMN_ADDRESS, .says = "of the word, or null"},
	[ROOT_THREAD] = {"thread", COLUMN_INTEGER, .optional = true,
		.says = "of stacks, thread-local storage and registers"},
	[ROOT_FUNCTION] = {"function", COLUMN_TEXT, .optional = true,
		.says = "of stacks: whose frame it is in, or null"},
	[ROOT_VARIABLE] = {"variable", COLUMN_TEXT, .optional = true, .says = "likewise"},
	[ROOT_VARIABLE_OFFSET] = {"variable_offset", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "from where the variable begins"},
	[ROOT_MODULE] = {"module", COLUMN_TEXT, .optional = true,
		.says = "of data and thread-local storage: its path"},
	[ROOT_SYMBOL] = {"symbol", COLUMN_TEXT, .optional = true, .says = "likewise, or null"},
	[ROOT_SYMBOL_OFFSET] = {"symbol_offset", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "from where the symbol begins"},
	[ROOT_DECLARED] = {"declared", COLUMN_TEXT, .optional = true,
		.says = "likewise: the variable by debug information, or null"},
	ADDRESS_OF(why_root, target, "the block that it points to"),
	BYTES_OF(why_root, into, "how far into it"), [ROOT_HEURISTIC] = HEURISTIC_COLUMN,
	COLUMNS_END};

/* Of a place on a stack or in a module. */
static void place_cell(const struct heap_where *where, unsigned column, struct cell *ret)
{
	const char *texts[] = {[ROOT_FUNCTION] = where->frame.function,
		[ROOT_VARIABLE] = where->frame.variable,
		[ROOT_MODULE] = where->place.module ? where->place.module->path : NULL,
		[ROOT_SYMBOL] = where->place.name,
		[ROOT_SYMBOL_OFFSET] = NULL};
	ret->text = texts[column];
	ret->number = column == ROOT_VARIABLE_OFFSET ? where->frame.offset : where->offset;
}

static bool root_has(const struct heap_root *root, const struct heap_where *where, unsigned column)
{
	bool is_stack = root->kind == HEAP_ROOT_STACK;
	if (column == ROOT_THREAD)
		return is_stack || root->kind == HEAP_ROOT_TLS || root->kind == HEAP_ROOT_REGISTERS;
	if (column <= ROOT_VARIABLE)
		return is_stack;
	return column == ROOT_VARIABLE_OFFSET ? is_stack && where->frame.variable
					      : where->place.module != NULL;
}

static void root_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct why_shown *shown = context;
	const struct heap_scan *s = shown->page->scan;
	const struct why_root *row = &shown->why->roots.data[number];
	const struct heap_root *root = &s->roots.data[row->root];
	struct heap_where where;
	if (root_columns[column].bytes) {
		table_member(&root_columns[column], row, ret);
	} else if (column == ROOT_KIND) {
		ret->text = heap_root_names[root->kind];
	} else if (column == ROOT_ADDRESS) {
		ret->number = row->address;
		ret->state = has_address(root) ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == ROOT_HEURISTIC) {
		heuristic_cell(shown->page, row->target, row->into, ret);
	} else {
		where = where_of(shown->page, row, &ret->built);
		if (!root_has(root, &where, column)) {
			ret->state = CELL_ABSENT;
		} else if (column == ROOT_THREAD) {
			ret->number =
				root->kind == HEAP_ROOT_STACK
					? (uint64_t)where.tid
					: (uint64_t)s->heap.space->threads.data[root->thread].tid;
		} else if (column == ROOT_DECLARED) {
			add_declared(shown->page, row->address, root->kind == HEAP_ROOT_TLS,
				&ret->built);
			cell_take_any(ret);
		} else {
			place_cell(&where, column, ret);
		}
	}
}

static const struct table_type root_type = {.name = "roots",
	.says = "words outside of blocks that point there",
	.columns = root_columns,
	.cell = root_cell,
	.row_text = root_text};

/* Of a list so many are shown. */
static size_t shown_most(const struct heap_page *page)
{
	return page->limit ? page->limit : TEXT_ROWS;
}

/* Those of the layers from `first` to `last` that are `unnamed`, or not. */
static void text_roots(const struct why_shown *shown, unsigned first, unsigned last, bool unnamed)
{
	const struct why *why = shown->why;
	const struct table table = {&root_type, shown, why->roots.len, .limit = TABLE_NO_LIMIT};
	size_t most = shown_most(shown->page), all = 0;
	for (size_t i = first_root(why, first); i < why->roots.len; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed == unnamed && all++ < most)
			answer_row(shown->answer, &table, i);
	}
	if (all > most)
		text_printf(answer_prose(shown->answer),
			"    … and %zu more words outside of blocks\n", all - most);
}

static void text_rows(const struct why_shown *shown, unsigned layer)
{
	const struct why *why = shown->why;
	const struct table table = {&row_type, shown, why->rows.len, .limit = TABLE_NO_LIMIT};
	size_t most = shown_most(shown->page), all = 0;
	for (size_t i = first_row(why, layer);
		i < why->rows.len && why->rows.data[i].layer == layer; i++) {
		if (all++ < most)
			answer_row(shown->answer, &table, i);
	}
	if (all > most)
		text_printf(answer_prose(shown->answer), "    … and blocks of %zu more types\n",
			all - most);
}

static bool has_roots(const struct why *why, unsigned first, unsigned last, bool unnamed)
{
	for (size_t i = first_root(why, first); i < why->roots.len; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed == unnamed)
			return true;
	}
	return false;
}

/* Of a layer the only type; HEAP_TYPE_NONE: it has several. */
static uint32_t only_type(const struct why *why, unsigned layer)
{
	size_t i = first_row(why, layer);
	bool is_only = i < why->rows.len && why->rows.data[i].layer == layer &&
		       (i + 1 == why->rows.len || why->rows.data[i + 1].layer != layer);
	return is_only ? why->rows.data[i].type : HEAP_TYPE_NONE;
}

/* After how many layers the types of those from `first` to `last` come again; 0: they don't. */
static unsigned period_of(const struct why *why, unsigned first, unsigned last)
{
	for (unsigned period = 1; period <= LAST_LAYERS && period <= last - first; period++) {
		unsigned layer = first;
		while (layer + period <= last && only_type(why, layer) != HEAP_TYPE_NONE &&
			only_type(why, layer) == only_type(why, layer + period))
			layer++;
		if (layer + period > last)
			return period;
	}
	return 0;
}

/* The end of a run of layers, none of which a global or the like holds: they are one line. 0: the
 * layer is shown. */
static unsigned folded_to(const struct why *why, unsigned layer)
{
	if (layer <= FIRST_LAYERS || layer + LAST_LAYERS > why->layers)
		return 0;
	unsigned last = why->layers - LAST_LAYERS;
	for (size_t i = first_root(why, layer); i < why->roots.len; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed)
			continue;
		last = root->layer - 1;
		break;
	}
	return last > layer ? last : 0;
}

static void text_folded(const struct heap_page *page, const struct why *why, unsigned first,
	unsigned last, struct text *out)
{
	unsigned period = period_of(why, first, last);
	text_printf(out, "  … %s more steps", FMT_COUNT(last - first + 1));
	/* What holds comes first. */
	for (unsigned i = period; i > 0; i--) {
		text_add(out, i == period ? ": " : " → ");
		text_add_shown(out, type_name(page, only_type(why, first + i - 1)), 60);
	}
	text_add_char(out, '\n');
}

static void text_layers(const struct why_shown *shown, struct text *out)
{
	const struct why *why = shown->why;
	for (unsigned layer = has_roots(why, 0, 0, false) ? 0 : 1; layer <= why->layers; layer++) {
		unsigned last = folded_to(why, layer);
		if (last) {
			text_folded(shown->page, why, layer, last, out);
			layer = last;
			continue;
		}
		text_printf(out,
			layer ? "  step %u: what references those\n"
			      : "  referenced from outside of blocks\n",
			layer);
		if (layer)
			text_rows(shown, layer);
		text_roots(shown, layer, layer, false);
	}
}

static void text_all(const struct why_shown *shown, struct text *out)
{
	const struct why *why = shown->why;
	const struct address_space *space = shown->page->scan->heap.space;
	bool is_cut = !space->is_live && (space->core.missing_bytes || space->core.unpacked_cut);
	if (!why->rows.len && !why->roots.len)
		text_add(out, is_cut ? "  nothing in what there is of the core points there\n"
				     : "  nothing points there\n");
	text_layers(shown, out);
	if (why->cut)
		text_add(out, "  … and further up\n");
	if (!has_roots(why, 0, why->layers, true))
		return;
	text_add(out, "  words on stacks in no variable that is known, which may be left from "
		      "before\n");
	text_roots(shown, 0, why->layers, true);
}

static void asked_text(const void *context, size_t row, struct text *out)
{
	const struct why_shown *shown = context;
	const struct heap_scan *scan = shown->page->scan;
	(void)row;
	text_add_shown(out, shown->what, 200);
	if (shown->block != SPACE_NONE)
		texts_add_quoted(scan, shown->block, out);
	text_add(out, ": ");
	text_add_counted(out, shown->why->asked_blocks, "block, ", "blocks, ");
	text_add_bytes(out, shown->why->asked_bytes);
	if (shown->has_layout)
		heap_layout_add_extent(&shown->layout, out);
	if (shown->block != SPACE_NONE)
		pools_add_evidence(scan, shown->block, out);
	text_add_char(out, '\n');
	if (!shown->types || !heap_subtypes_has_derived(shown->types))
		return;
	text_add(out, "  of these ");
	heap_subtypes_describe(scan, shown->types, out);
	text_add_char(out, '\n');
}

static const struct column asked_columns[] = {{"of", COLUMN_TEXT, .says = "what was asked for"},
	COUNT_AS("blocks", why, asked_blocks, "how many that are"),
	BYTES_AS("bytes", why, asked_bytes, "in these"),
	FLAG_OF(why, cut, "there is more further up"), COLUMNS_END};

static void asked_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct why_shown *shown = context;
	(void)row;
	if (asked_columns[column].bytes)
		table_member(&asked_columns[column], shown->why, ret);
	else
		ret->text = shown->what;
}

static const struct table_type asked_type = {
	.columns = asked_columns, .cell = asked_cell, .row_text = asked_text};

static const struct column subtypes_columns[] = {{"type", COLUMN_TEXT, .says = "of blocks"},
	{"blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many"}, COLUMNS_END};

static void subtypes_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct why_shown *shown = context;
	uint32_t number = shown->types->subtypes.data[row].type;
	(void)column;
	ret->text = type_name(shown->page, number);
	ret->number = shown->page->scan->types.types.data[number].blocks;
}

static const struct table_type subtypes_type = {.name = "types",
	.says = "only of a type: what its blocks are, those of derived classes each for itself",
	.columns = subtypes_columns,
	.cell = subtypes_cell};

const struct answer_type heap_why_type = {
	HEAP_ANSWER("why", " why ADDR|TYPE",
		"what references a block or the blocks of a type, step by step. What a recording "
		"knows is only there of a single block"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &asked_type, &subtypes_type,
		HEAP_EXTENT_TYPES, &heap_allocation_type, &row_type, &root_type, NULL},
	.main = &row_type};

/* What comes before who points there. */
static struct error *put_asked(const struct why_shown *shown)
{
	struct answer *answer = shown->answer;
	heap_head_answer(answer, shown->page->scan);
	answer_record_of(answer, &asked_type, shown);
	if (shown->types) {
		const struct table types = {
			&subtypes_type, shown, shown->types->subtypes.len, .limit = TABLE_NO_LIMIT};
		answer_table(answer, &types);
	}
	heap_extent_answer(
		answer, shown->page->scan, shown->block, shown->has_layout ? &shown->layout : NULL);
	return shown->why->asked_blocks == 1
		       ? heap_allocation_answer(
				 shown->page, shown->why->asked, shown->why->asked_bytes, answer)
		       : NULL;
}

static struct error *heap_why_lay_out(const struct why_shown *shown)
{
	const struct why *why = shown->why;
	struct text *prose = answer_prose(shown->answer);
	const struct table rows = {&row_type, shown, why->rows.len, .limit = TABLE_NO_LIMIT};
	const struct table roots = {&root_type, shown, why->roots.len, .limit = TABLE_NO_LIMIT};
	answer_begin(shown->answer, &heap_why_type);
	struct error *error = put_asked(shown);
	if (error)
		return error;
	if (prose) {
		text_all(shown, prose);
	} else {
		answer_table(shown->answer, &rows);
		answer_table(shown->answer, &roots);
	}
	return answer_end(shown->answer);
}

struct error *heap_why_write(const struct heap_page *page, const char *what,
	const struct subtype_set *types, const struct why *why, const struct sink *sink)
{
	struct why_shown shown = {.page = page,
		.answer = heap_answer_create(page, sink),
		.what = what,
		.types = types,
		.why = why,
		.block = SPACE_NONE};
	uint64_t offset;
	if (why->asked_blocks == 1)
		shown.block = search_block_at(page->scan->search, why->asked, &offset);
	shown.has_layout =
		shown.block != SPACE_NONE && heap_layout_of(page->scan, shown.block, &shown.layout);
	struct error *error = shown.answer ? heap_why_lay_out(&shown) : error_no_memory();
	answer_destroy(shown.answer);
	return error;
}
