/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_follow_verb.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "heap/follow.h"
#include "query/heap_subject.h"
#include "views/heap_follow_view.h"

/* Where the first member begins: behind the last '.' of those before which nothing but a type or an
 * address can stand. Names of types have no '.'. */
static char *split_path(char *word)
{
	char *dot = strchr(word, '.');
	if (dot)
		*dot++ = '\0';
	return dot;
}

/* Begins in a block that an address leads into: at its start at all of it, else at what lies there
 * of a pool, or at that element of an array. */
static struct error *begin_at(struct follow *follow, uint32_t block, uint64_t address)
{
	const struct heap_scan *scan = follow->scan;
	uint64_t start = search_block_address(scan->search, block), offset = address - start;
	const struct pool *pool = pools_find(&scan->pools, block);
	const struct pool_object *object =
		pool && offset ? pools_object_at(scan, pool, offset) : NULL;
	struct heap_layout layout = {.type = TYPE_VOID};
	bool has_layout = heap_layout_of(scan, block, &layout) && layout.type != TYPE_VOID;
	bool is_array = has_layout && layout.is_array && layout.size;
	bool in_elements = is_array && offset && offset >= layout.header;
	uint64_t number = in_elements ? (offset - layout.header) / layout.size : 0;
	if (object)
		follow_add_object(follow, start + object->offset, object->type);
	else if (in_elements && number < layout.count)
		follow_add_object(follow, start + layout.header + number * layout.size,
			types_plain(follow->types, layout.type));
	else if (in_elements || (pool && offset && (!has_layout || offset >= layout.size)))
		return heap_subject_nothing_at(start, offset);
	else
		follow_add(follow, block);
	return NULL;
}

/* Begins in a block, if it is one of those that are asked about, or has such in it. */
static bool begin_in(struct follow *follow, uint32_t block, const struct heap_subject *about)
{
	bool is_subtypes = heap_subtypes_of(follow->scan, &about->subtypes, block);
	if (is_subtypes)
		follow_add(follow, block);
	else if (about->layout != TYPE_VOID)
		is_subtypes = follow_add_from_pool(follow, block, about->layout);
	return is_subtypes;
}

/* The blocks where it begins. */
static struct error *heap_follow_verb_begin(
	struct heap_look *look, const char *word, struct follow *follow, uint64_t *ret_blocks)
{
	struct heap_scan *scan = &look->heap.scan;
	_cleanup_(heap_subject_deinit) struct heap_subject about = {.layout = TYPE_VOID};
	struct error *error = heap_subject_find_anywhere(&look->heap, "follow", word, &about);
	bool any = false;
	if (!error)
		error = heap_layouts_open(scan, &any);
	if (!error && !any)
		error = heap_subject_no_debug_information();
	if (error)
		return error;
	follow_init(follow, scan);
	const struct heap_block_filter *chosen = &look->selection.chosen;
	uint32_t count = search_block_count(scan->search);
	uint64_t address;
	bool is_one = about.block != SPACE_NONE && heap_subject_address(word, &address);
	if (is_one && heap_block_filter_takes_used(chosen, scan, about.block)) {
		error = begin_at(follow, about.block, address);
		*ret_blocks = 1;
	}
	for (uint32_t block = 0; block < count && !is_one; block++)
		*ret_blocks += heap_block_filter_takes_used(chosen, scan, block) &&
			       begin_in(follow, block, &about);
	return error || !follow->failed ? error : error_no_memory();
}

static struct error *heap_follow_verb_walk(struct follow *follow, char *path)
{
	struct error *error = NULL;
	while (path && !error) {
		char *next = split_path(path);
		size_t len = strlen(path);
		bool repeats = len && path[len - 1] == '*';
		if (repeats)
			path[len - 1] = '\0';
		error = *path ? follow_step(follow, path, repeats)
			      : error_create(ERROR_USAGE, "missing member name after '.'");
		path = next;
	}
	return error;
}

int heap_verb_follow(struct heap_look *look, int count, char **words)
{
	_cleanup_(text_deinit) struct text text;
	_cleanup_(follow_deinit) struct follow follow = {.failed = false};
	uint64_t from = 0;
	text_init(&text);
	for (int i = 1; i < count; i++) {
		text_add(&text, i > 1 ? " " : "");
		text_add(&text, words[i]);
	}
	_cleanup_free_ char *word = text_steal(&text);
	char *path = word ? split_path(word) : NULL;
	if (word && !path) {
		message("follow: missing member: use follow TYPE.member or follow ADDR.member");
		return ERROR_USAGE;
	}
	struct error *error = word ? heap_session_find_leaks(&look->heap) : error_no_memory();
	if (!error)
		error = heap_selection_choose(look);
	if (!error)
		error = heap_follow_verb_begin(look, word, &follow, &from);
	if (!error)
		error = heap_follow_verb_walk(&follow, path);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(
		&output, heap_follow_write(&page, &follow, from,
				 heap_selection_has(&look->selection, HEAP_SELECTION_LIST), &sink));
}
