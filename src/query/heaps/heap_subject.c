/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/heap_subject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/where.h"

#define LIKE_MOST 6u

struct error *heap_subject_nothing_at(uint64_t start, uint64_t offset)
{
	return error_create(ERROR_INPUT,
		"nothing that is known lies at 0x%" PRIx64 ", %" PRIu64
		" bytes into its block (show 0x%" PRIx64 " has what does)",
		start + offset, offset, start);
}

struct error *heap_subject_no_debug_information(void)
{
	return error_create(ERROR_INPUT,
		"types are unknown: neither the program nor its libraries have debug "
		"information (compiled without -g, or stripped; give debug files with "
		"--symbol-path or --debug-file-directory)");
}

/* "; did you mean shape, shape_row" */
static void add_like(struct types *types, const char *name, struct text *text)
{
	const char *like[LIKE_MOST];
	size_t count = types_like(types, name, like, LIKE_MOST);
	for (size_t i = 0; i < count; i++) {
		text_add(text, i ? ", " : "; did you mean ");
		text_add_shown(text, like[i], 200);
	}
}

static struct error *several_types(const char *name, const char *const *choices, size_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < count && i < LIKE_MOST; i++) {
		text_add(&text, i ? ", " : "");
		text_add_shown(&text, choices[i], 200);
	}
	return error_create(ERROR_INPUT, "'%s' is ambiguous: it may be %zu types: %s%s", name,
		count, text.data ? text.data : "", count > LIKE_MOST ? "…" : "");
}

/* TYPE_VOID: none is called so. */
static struct error *find_described(
	struct heap_session *session, const char *name, struct types **ret_types, uint32_t *ret)
{
	bool any;
	struct error *error =
		heap_names_all_types(&session->names, &session->space, ret_types, &any);
	if (!error && !any)
		error = heap_subject_no_debug_information();
	if (error)
		return error;
	*ret = types_find(*ret_types, name);
	if (*ret != TYPE_VOID)
		return NULL;
	const char *choices[LIKE_MOST];
	size_t count = type_query(*ret_types, name, choices, LIKE_MOST, ret);
	return count > 1 ? several_types(name, choices, count) : NULL;
}

struct error *heap_subject_type(
	struct heap_session *session, const char *name, struct types **ret_types, uint32_t *ret)
{
	struct error *error = find_described(session, name, ret_types, ret);
	if (error || *ret != TYPE_VOID)
		return error;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_like(*ret_types, name, &text);
	return error_create(ERROR_INPUT, "debug information has no type '%s'%s", name,
		text.data ? text.data : "");
}

/* The same for verbs that take addresses, too. */
static struct error *unknown_word(struct types *types, const char *word)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_like(types, word, &text);
	return error_create(ERROR_USAGE,
		"'%s' is neither an address (0x…) nor a type of the heap (`types` lists them) or "
		"of debug information%s",
		word, text.data ? text.data : "");
}

/* "array of it: std::vector buffer of int (7 blocks)"; nothing if there is none of that kind. */
static void add_related(const struct heap_scan *scan, const struct subtype_set *set,
	enum subtypes_how how, const char *what, struct text *text)
{
	size_t shown = 0;
	for (size_t i = 0; i < set->subtypes.len; i++) {
		const struct heap_type *type = &scan->types.types.data[set->subtypes.data[i].type];
		if (set->subtypes.data[i].how != how)
			continue;
		if (shown++ >= LIKE_MOST)
			continue;
		text_add(text, shown == 1 ? what : ", ");
		text_add_char(text, '\'');
		text_add_shown(text, type->name, 200);
		text_printf(text, "' (%" PRIu64 " block%s)", type->blocks,
			type->blocks == 1 ? "" : "s");
	}
	if (shown > LIKE_MOST)
		text_printf(text, " and %zu more", shown - LIKE_MOST);
}

/* Of how many pools some lies in, and one of these, or SPACE_NONE. */
static uint64_t count_pools(const struct heap_scan *scan, uint32_t layout, uint32_t *ret_example)
{
	const struct pools *pools = &scan->pools;
	uint64_t count = 0;
	*ret_example = SPACE_NONE;
	for (size_t i = 0; i < pools->pools.len; i++) {
		const struct pool *pool = &pools->pools.data[i];
		size_t k = 0;
		while (k < pool->count &&
			!types_are_same(scan->layouts.types,
				pools->objects.data[pool->first + k].type, layout))
			k++;
		count += k < pool->count;
		if (k < pool->count && *ret_example == SPACE_NONE)
			*ret_example = pool->block;
	}
	return count;
}

/* The same where at most pools have it in them. */
static struct error *none_but_pools(
	const struct heap_scan *scan, uint32_t layout, const char *verb, const char *word)
{
	uint32_t example;
	uint64_t count = count_pools(scan, layout, &example);
	if (example == SPACE_NONE)
		return error_create(ERROR_INPUT,
			"no block is known to be of type '%s', or to contain one (`types` lists "
			"all types, `layout %s` shows its members)",
			word, word);
	return error_create(ERROR_INPUT,
		"no block is of type '%s' itself; it lies in %" PRIu64
		" pool%s: ask for one, as in "
		"%s '%s', or %s 0x%" PRIx64,
		word, count, count == 1 ? "" : "s", verb,
		scan->types.types.data[heap_scan_type_of(scan, example)].name, verb,
		search_block_address(scan->search, example));
}

/* Why nothing is of a type that debug information describes. */
static struct error *none_of(const struct heap_scan *scan, const struct subtype_set *set,
	uint32_t layout, const char *verb, const char *word)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_related(scan, set, SUBTYPES_VIRTUAL, "; it is a virtual base class of ", &text);
	add_related(scan, set, SUBTYPES_ELEMENTS, "; did you mean arrays of it: ", &text);
	add_related(scan, set, SUBTYPES_INSIDE, "; it is a part of ", &text);
	if (!text.len)
		return none_but_pools(scan, layout, verb, word);
	return error_create(ERROR_INPUT,
		"no block is of type '%s' itself%s: ask for that, as in %s '%s'", word, text.data,
		verb, scan->types.types.data[set->subtypes.data[0].type].name);
}

/* Leaves those whose place is known, and says which others there are. */
static void keep_objects(struct heap_session *session, const char *word, struct subtype_set *set)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	add_related(&session->scan, set, SUBTYPES_VIRTUAL, "", &text);
	if (text.data)
		query_note(session->context,
			"%s is also a virtual base class of these, whose objects are not included "
			"below: %s",
			word, text.data);
	heap_subtypes_keep_objects(set);
}

/* Those of a type by debug information. */
static struct error *find_related(
	struct heap_session *session, const char *verb, const char *word, struct heap_subject *ret)
{
	const struct heap_scan *scan = &session->scan;
	struct error *error = heap_subtypes_find(scan, ret->layout, &ret->subtypes);
	if (error)
		return error;
	if (!ret->subtypes.subtypes.len || ret->subtypes.subtypes.data[0].how > SUBTYPES_DERIVED)
		return none_of(scan, &ret->subtypes, ret->layout, verb, word);
	keep_objects(session, word, &ret->subtypes);
	return NULL;
}

/* The scan's own type of that name, and those that derive from it. */
static struct error *find_own(
	struct heap_session *session, const char *verb, const char *word, struct heap_subject *ret)
{
	const struct heap_scan *scan = &session->scan;
	const struct heap_type *type = &scan->types.types.data[ret->type];
	ret->layout = type->is_array ? TYPE_VOID : type->layout;
	if (ret->layout == TYPE_VOID || !scan->layouts.types)
		return heap_subtypes_of_type(scan, ret->type, &ret->subtypes);
	return find_related(session, verb, word, ret);
}

/* The type that is called so; HEAP_TYPE_NONE: none is. */
static uint32_t find_type(const struct heap_scan *scan, const char *name)
{
	for (uint32_t i = 0; i < scan->types.types.len; i++) {
		if (!strcmp(scan->types.types.data[i].name, name))
			return i;
	}
	return HEAP_TYPE_NONE;
}

struct error *heap_subject_own(
	const struct heap_scan *scan, const char *word, uint32_t *ret_block, uint32_t *ret_type)
{
	*ret_block = SPACE_NONE;
	*ret_type = find_type(scan, word);
	if (*ret_type != HEAP_TYPE_NONE)
		return NULL;
	char *end;
	errno = 0;
	uint64_t address = strtoull(word, &end, 0);
	if (errno == ERANGE && end != word && !*end)
		return error_create(
			ERROR_USAGE, "invalid address '%s': it has more than 64 bits", word);
	if (end == word || *end || *word == '-')
		return error_create(ERROR_USAGE,
			"'%s' is neither an address (0x…) nor a type of the heap (`types` lists "
			"them)",
			word);
	return heap_where_block(scan, address, ret_block);
}

bool heap_subject_address(const char *word, uint64_t *ret)
{
	char *end;
	*ret = strtoull(word, &end, 0);
	return end != word && !*end;
}

static bool is_address(const char *word)
{
	uint64_t address;
	return heap_subject_address(word, &address);
}

struct error *heap_subject_word(struct heap_session *session, const char *word, uint32_t *ret_block,
	uint32_t *ret_type, uint32_t *ret_layout)
{
	bool any = false;
	struct types *types;
	*ret_layout = TYPE_VOID;
	struct error *error = heap_subject_own(&session->scan, word, ret_block, ret_type);
	if (!error || is_address(word) || *word == '-')
		return error;
	struct error *unread = heap_layouts_open(&session->scan, &any);
	/* Then there are only the heap's own names. */
	if (!unread && !any)
		return error;
	error_destroy(error);
	error = unread ? unread : find_described(session, word, &types, ret_layout);
	return !error && *ret_layout == TYPE_VOID ? unknown_word(types, word) : error;
}

struct error *heap_subject_find(
	struct heap_session *session, const char *verb, const char *word, struct heap_subject *ret)
{
	*ret = (struct heap_subject){.layout = TYPE_VOID};
	struct error *error =
		heap_subject_word(session, word, &ret->block, &ret->type, &ret->layout);
	if (error || ret->block != SPACE_NONE)
		return error;
	return ret->layout != TYPE_VOID ? find_related(session, verb, word, ret)
					: find_own(session, verb, word, ret);
}

struct error *heap_subject_find_anywhere(
	struct heap_session *session, const char *verb, const char *word, struct heap_subject *ret)
{
	uint32_t example;
	struct error *error = heap_subject_find(session, verb, word, ret);
	if (!error || error->code != ERROR_INPUT || ret->layout == TYPE_VOID ||
		!session->scan.layouts.types)
		return error;
	heap_subtypes_keep_arrays(&ret->subtypes);
	if (!ret->subtypes.subtypes.len && !count_pools(&session->scan, ret->layout, &example))
		return error;
	error_destroy(error);
	return NULL;
}

void heap_subject_deinit(struct heap_subject *subject)
{
	heap_subtypes_deinit(&subject->subtypes);
}
