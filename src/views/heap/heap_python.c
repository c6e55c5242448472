/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/json.h"
#include "heap/python_content.h"
#include "views/heap_notes.h"
#include "views/heap_where_view.h"
#include "views/report/json_parts.h"

/* At a prompt a page or two. */
static const struct python_limits limits = {
	.items = 100, .characters = 1000, .depth = 4, .bytes = 64u << 10};

static void write_json(const struct survey *survey, uint64_t object, const char *type,
	const struct text *content, bool cut, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, survey);
	json_key(&json, "python");
	json_object_begin(&json);
	json_put_hexadecimal(&json, "address", object, true);
	json_put_string(&json, "type", type);
	json_put_string(&json, "content", content->len ? content->data : "");
	json_put_bool(&json, "cut", cut);
	json_object_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

/* The object that an address leads to, in the same block. 0: none is there. */
static uint64_t object_of(struct survey *survey, uint64_t address)
{
	uint64_t into, object = python_object_at(&survey->heap.python, address);
	uint32_t block = search_block_at(survey->search, address, &into);
	if (block == SPACE_NONE || !object)
		return object;
	uint64_t left = search_block_size(survey->search, block) - into;
	return object - address < left ? object : 0;
}

struct error *heap_python_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink)
{
	struct python *python = &page->survey->heap.python;
	uint64_t object = python_is_there(python) ? object_of(page->survey, address) : 0;
	if (!python_is_there(python))
		return error_create(ERROR_INPUT,
			"no interpreter of Python's is in %s: python shows objects of its",
			page->name);
	if (!object)
		return error_create(ERROR_INPUT,
			"no object of Python's is at 0x%" PRIx64
			" (`blocks` lists blocks with their types)",
			address);
	const char *type = python_type_of(python, object)->name;
	struct text content, out;
	bool cut;
	text_init(&content);
	text_init(&out);
	python_describe(python, object, &limits, &content, &cut);
	struct error *error = content.failed ? error_no_memory() : NULL;
	if (!error && page->json) {
		write_json(page->survey, object, type, &content, cut, sink);
	} else if (!error) {
		text_add_shown(&out, type, 200);
		text_printf(&out, " at 0x%" PRIx64 "\n", object);
		text_add_shown(&out, content.len ? content.data : "", content.len);
		text_add_char(&out, '\n');
		if (out.failed)
			error = error_no_memory();
		else
			sink->write(sink->ctx, out.data, out.len);
	}
	text_deinit(&content);
	text_deinit(&out);
	return error;
}
