/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `python`: what an object of Python's holds. */
#include <inttypes.h>
#include <string.h>

#include "heap/python_content.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/heap_where_view.h"
#include "views/report/member_columns.h"

/* At a prompt a page or two. */
static const struct python_limits limits = {
	.items = 100, .characters = 1000, .depth = 4, .bytes = 64u << 10};

/* The object, as the only row. */
struct python_row {
	uint64_t object;
	const char *type, *content;
	bool is_cut;
};

static void heap_python_row_text(const void *context, size_t number, struct text *out)
{
	const struct python_row *row = context;
	(void)number;
	text_add_shown(out, row->type, 200);
	text_printf(out, " at 0x%" PRIx64 "\n", row->object);
	text_add_shown(out, row->content, strlen(row->content));
	text_add_char(out, '\n');
}

static const struct column columns[] = {ADDRESS_AS("address", python_row, object, "of the object"),
	WORD_OF(python_row, type, "of the object"),
	WORD_OF(python_row, content, "as Python writes it"),
	FLAG_AS("cut", python_row, is_cut, "something was left out"), COLUMNS_END};

static const struct table_type python_object_type = {.name = "python",
	.says = "the object at the address",
	.columns = columns,
	.row_text = heap_python_row_text};

const struct answer_type heap_python_type = {
	HEAP_ANSWER("python", " python ADDR", "the contents of a Python object"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &python_object_type, NULL},
	.main = &python_object_type};

static struct error *heap_python_lay_out(
	const struct heap_page *page, const struct python_row *row, const struct sink *sink)
{
	struct answer *answer = heap_answer_create(page, sink);
	if (!answer)
		return error_no_memory();
	answer_begin(answer, &heap_python_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &python_object_type, row);
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

/* The object that an address leads to, in the same block. 0: none is there. */
static uint64_t object_of(struct heap_scan *scan, uint64_t address)
{
	uint64_t into, object = python_object_at(&scan->heap.python, address);
	uint32_t block = search_block_at(scan->search, address, &into);
	if (block == SPACE_NONE || !object)
		return object;
	uint64_t left = search_block_size(scan->search, block) - into;
	return object - address < left ? object : 0;
}

struct error *heap_python_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink)
{
	struct python *python = &page->scan->heap.python;
	uint64_t object = python_is_there(python) ? object_of(page->scan, address) : 0;
	if (!python_is_there(python))
		return error_create(ERROR_INPUT,
			"no interpreter of Python's is in %s: python shows objects of its",
			page->name);
	if (!object)
		return error_create(ERROR_INPUT,
			"no object of Python's is at 0x%" PRIx64
			" (`blocks` lists blocks with their types)",
			address);
	struct text content;
	text_init(&content);
	struct python_row row = {.object = object, .type = python_type_of(python, object)->name};
	python_describe(python, object, &limits, &content, &row.is_cut);
	row.content = content.len ? content.data : "";
	struct error *error =
		content.failed ? error_no_memory() : heap_python_lay_out(page, &row, sink);
	text_deinit(&content);
	return error;
}
