/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_type_verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/heap/heap_verbs.h"
#include "cli/terminal/message.h"
#include "query/heap_subject.h"
#include "views/heap_answers.h"
#include "views/heap_layout_view.h"

/* Words as one, with spaces between: "struct node" needs no quotes. */
static void heap_type_verbs_join(int count, char **words, struct text *ret)
{
	for (int i = 0; i < count; i++) {
		text_add(ret, i ? " " : "");
		text_add(ret, words[i]);
	}
}

int heap_verb_layout(struct heap_look *look, int count, char **words)
{
	struct types *types;
	uint32_t type;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	heap_type_verbs_join(count - 1, words + 1, &name);
	struct error *error = name.failed ? error_no_memory() : NULL;
	if (!error)
		error = heap_subject_type(&look->heap, name.data, &types, &type);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	struct answer *answer = heap_answer_create(&page, &sink);
	error = answer ? heap_layout_answer(types, type, &look->heap.space, answer)
		       : error_no_memory();
	answer_destroy(answer);
	return heap_look_shown(&output, error);
}

/* The layout that the user says, of blocks of `usable` bytes, `at` so many of them in. */
static struct error *lay_out_as(struct heap_look *look, const char *name, uint64_t usable,
	uint64_t at, struct heap_layout *ret)
{
	struct types *types;
	uint32_t type;
	struct error *error = heap_subject_type(&look->heap, name, &types, &type);
	if (error)
		return error;
	*ret = (struct heap_layout){
		.type = type, .size = types_get(types, type)->size, .count = 1, .header = at};
	if (!ret->size || ret->size > usable - at)
		return error_create(ERROR_INPUT,
			"'%s' has %" PRIu64 " bytes, and the block %" PRIu64
			"%s: it can't be one (layout %s)",
			name, ret->size, usable - at, at ? " from there on" : "", name);
	return NULL;
}

/* How far an address leads into the block that a word means; 0: it is no address. */
static uint64_t offset_in_block(const struct heap_scan *scan, const char *word, uint32_t block)
{
	uint64_t address, offset;
	return heap_subject_address(word, &address) &&
			       search_block_at(scan->search, address, &offset) == block
		       ? offset
		       : 0;
}

/* What lies in a pool at the address that a word is; NULL: nothing that is known, or it is the
 * block's own. */
static const struct pool_object *object_in_pool(
	const struct heap_scan *scan, const char *word, uint32_t block)
{
	const struct pool *pool = pools_find(&scan->pools, block);
	uint64_t offset = pool ? offset_in_block(scan, word, block) : 0;
	return offset ? pools_object_at(scan, pool, offset) : NULL;
}

/* Whether an address in a pool asks for what lies there, be it that the block begins with something
 * else: as that is laid out. An error where nothing is known. */
static struct error *lay_out_in_pool(const struct heap_scan *scan, const char *word, uint32_t block,
	bool *ret_is, struct heap_layout *ret)
{
	const struct pool_object *object = object_in_pool(scan, word, block);
	bool is_pool = pools_find(&scan->pools, block);
	uint64_t offset = is_pool ? offset_in_block(scan, word, block) : 0;
	struct heap_layout own;
	*ret_is = object;
	if (object)
		*ret = (struct heap_layout){
			.type = TYPE_VOID, .size = 1, .count = 1, .header = object->offset};
	if (object || !offset || (heap_layout_of(scan, block, &own) && offset < own.size))
		return NULL;
	return heap_subject_nothing_at(search_block_address(scan->search, block), offset);
}

static struct error *heap_type_verbs_lay_out(
	struct heap_look *look, const char *word, uint32_t block, struct heap_layout *ret)
{
	bool any, is_in_pool;
	struct heap_scan *scan = &look->heap.scan;
	struct error *error = heap_layouts_open(scan, &any);
	if (!error)
		error = lay_out_in_pool(scan, word, block, &is_in_pool, ret);
	if (error || is_in_pool || heap_layout_of(scan, block, ret))
		return error;
	const struct heap_type *type = &scan->types.types.data[heap_scan_type_of(scan, block)];
	enum heap_type_kind kind = type->kind;
	if (kind == HEAP_TYPE_STRING) {
		*ret = (struct heap_layout){.type = TYPE_VOID,
			.size = 1,
			.count = search_block_size(scan->search, block) - type->text_at,
			.is_array = true,
			.header = type->text_at,
			.unit = type->text_unit ? type->text_unit : 1};
		return NULL;
	}
	if (pools_find(&scan->pools, block)) {
		*ret = (struct heap_layout){.type = TYPE_VOID, .size = 1, .count = 1};
		return NULL;
	}
	if (kind == HEAP_TYPE_PYTHON)
		return error_create(ERROR_INPUT,
			"%s is of Python: `python 0x%" PRIx64
			"` shows what it holds (show %s --as TYPE: how C has it)",
			word, search_block_address(scan->search, block), word);
	if (!any)
		return heap_subject_no_debug_information();
	return error_create(ERROR_INPUT,
		"what %s is, no debug information says: show %s --as TYPE (type %s has candidates)",
		word, word, word);
}

/* One that stands for all blocks of a type. */
static uint32_t example_of(const struct heap_scan *scan, uint32_t type)
{
	uint32_t count = search_block_count(scan->search), block = 0;
	while (block < count && heap_scan_type_of(scan, block) != type)
		block++;
	return block < count ? block : SPACE_NONE;
}

/* How blocks are laid out: as the user says, as the type that was asked for, or as they are. */
static struct error *lay_out_subject(struct heap_look *look, const char *word, const char *as,
	const struct heap_subject *about, struct heap_layout *ret)
{
	bool any;
	struct heap_scan *scan = &look->heap.scan;
	uint32_t example = about->block;
	if (example == SPACE_NONE)
		example = example_of(scan, about->subtypes.subtypes.data[0].type);
	if (example == SPACE_NONE)
		return error_create(ERROR_INPUT, "no block is of type '%s'", word);
	struct error *error = heap_layouts_open(scan, &any);
	if (error)
		return error;
	if (as)
		return lay_out_as(look, as, search_block_size(scan->search, example),
			offset_in_block(scan, word, about->block), ret);
	if (about->block != SPACE_NONE || about->layout == TYPE_VOID)
		return heap_type_verbs_lay_out(look, word, example, ret);
	/* With the virtual bases of those that come first. */
	uint32_t type = about->subtypes.subtypes.data[0].layout;
	*ret = (struct heap_layout){
		.type = type, .size = types_get(scan->layouts.types, type)->size, .count = 1};
	return NULL;
}

static int show_as(struct heap_look *look, const char *word, const char *as)
{
	_cleanup_(heap_subject_deinit) struct heap_subject about = {.layout = TYPE_VOID};
	struct heap_layout layout;
	struct error *error = heap_subject_find(&look->heap, "show", word, &about);
	if (!error)
		error = lay_out_subject(look, word, as, &about, &layout);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(
		&output, heap_show_write(&page, about.block, &about.subtypes, &layout, &sink));
}

int heap_verb_show(struct heap_look *look, int count, char **words)
{
	int last = 2;
	while (last < count && strcmp(words[last], "as") != 0 && strcmp(words[last], "--as") != 0)
		last++;
	_cleanup_(text_deinit) struct text what;
	_cleanup_(text_deinit) struct text as;
	text_init(&what);
	text_init(&as);
	heap_type_verbs_join(last - 1, words + 1, &what);
	if (last < count)
		heap_type_verbs_join(count - last - 1, words + last + 1, &as);
	if (last == count - 1) {
		message("--as: missing type");
		return ERROR_USAGE;
	}
	struct error *error = what.failed || as.failed ? error_no_memory() : NULL;
	if (!error)
		error = heap_session_find_leaks(&look->heap);
	if (!error)
		return show_as(look, what.data, as.data ? as.data : look->as);
	return message_error(error);
}

static int show_holders(struct heap_look *look, const char *what, uint32_t layout)
{
	_cleanup_(holding_members_deinit) struct holding_members found;
	if (!candidates_holders(&look->heap.scan, layout, &found))
		return message_error(error_no_memory());
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, heap_holders_write(&page, what, layout, &found, &sink));
}

static int show_candidates(struct heap_look *look, const char *what, uint32_t block, uint32_t type)
{
	uint32_t sampled = 0;
	_cleanup_(candidate_vec_deinit) struct candidate_vec found;
	struct error *error = candidates_find(&look->heap.scan, block, type, &found, &sampled);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output,
		heap_candidates_write(&page, what, &found, sampled,
			block != SPACE_NONE || example_of(&look->heap.scan, type) != SPACE_NONE,
			&sink));
}

static int show_pool(struct heap_look *look, const char *what, uint32_t block)
{
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, heap_pool_write(&page, what, block, &sink));
}

static int show_type(struct heap_look *look, const char *what)
{
	struct heap_scan *scan = &look->heap.scan;
	struct heap_layout layout = {.type = TYPE_VOID};
	uint32_t block, type;
	bool any;
	struct error *error = heap_subject_word(&look->heap, what, &block, &type, &layout.type);
	if (!error)
		error = heap_layouts_open(scan, &any);
	if (!error && !any)
		error = heap_subject_no_debug_information();
	if (error)
		return message_error(error);
	/* Who may point to a type debug information says, though no block is one. */
	if (layout.type != TYPE_VOID)
		return show_holders(look, what, layout.type);
	uint32_t example = block == SPACE_NONE ? example_of(scan, type) : block;
	const struct pool_object *object =
		block == SPACE_NONE ? NULL : object_in_pool(scan, what, block);
	if (object)
		return show_holders(look, what, object->type);
	if (example != SPACE_NONE && heap_layout_of(scan, example, &layout))
		return show_holders(look, what, layout.type);
	if (example != SPACE_NONE && pools_find(&scan->pools, example))
		return show_pool(look, what, example);
	return show_candidates(look, what, block, type);
}

int heap_verb_type(struct heap_look *look, int count, char **words)
{
	_cleanup_(text_deinit) struct text what;
	text_init(&what);
	heap_type_verbs_join(count - 1, words + 1, &what);
	struct error *error =
		what.failed ? error_no_memory() : heap_session_find_leaks(&look->heap);
	return error ? message_error(error) : show_type(look, what.data);
}
