/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file, as V8's HeapSnapshotJSONSerializer writes it:
 *
 *	{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count",…],
 *	                     "node_types":[["hidden","array","string",…],"string",…],
 *	                     "edge_fields":["type","name_or_index","to_node"],
 *	                     "edge_types":[["context","element",…],…],
 *	                     "trace_function_info_fields":[…], "trace_node_fields":[…]},
 *	             "node_count":439137,"edge_count":1380816},
 *	 "nodes":[9,1,1,0,5,0,0,…],           a row of numbers for each object
 *	 "edges":[1,1,7,…],                   of each object in turn; to_node: index in "nodes"
 *	 "trace_function_infos":[…], "trace_tree":[id,function,count,size,[children…],…],
 *	 "samples":[…], "locations":[…], "strings":["<dummy>",…]}
 *
 * Versions of V8 have added fields and types: both are found by their names.
 */
#include "sources/v8/heapsnapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sources/managed_heap_file.h"
#include "sources/v8/json_tokens.h"

#define FIELDS_MAX 32u
#define NAME_BYTES_MAX 64u
#define OBJECTS_MAX (1u << 28)
#define EDGES_MAX (1u << 30)
#define STRINGS_MAX (1u << 28)
#define TRACES_MAX (1u << 24)
#define TRACE_DEPTH_MAX 4096u
#define NO_FIELD FIELDS_MAX

struct names {
	char data[MANAGED_TYPES_MAX][NAME_BYTES_MAX];
	size_t count;
};

/* What of a row of numbers is wanted: a name, and in which column it is. */
struct field {
	const char *name;
	unsigned column;
	bool optional;
};

enum { NODE_TYPE, NODE_NAME, NODE_ID, NODE_SIZE, NODE_EDGES, NODE_TRACE, NODE_FIELDS };
enum { EDGE_TYPE, EDGE_NAME, EDGE_TO, EDGE_FIELDS };
enum { INFO_NAME, INFO_FILE, INFO_LINE, INFO_COLUMN, INFO_FIELDS };

struct trace_id {
	uint64_t id;
	uint32_t trace; /* plus 1 */
};
DEFINE_VEC(trace_ids, struct trace_id)

struct parsing {
	struct json_tokens tokens;
	struct managed_heap *heap;
	struct field node_fields[NODE_FIELDS], edge_fields[EDGE_FIELDS], info_fields[INFO_FIELDS];
	unsigned node_width, edge_width, info_width;
	struct names node_types, edge_types;
	uint64_t edge_sum;
	struct trace_ids trace_ids;
	struct buf text;
	bool has_meta, has_nodes, has_edges, has_strings;
};

static void parsing_deinit(struct parsing *p)
{
	json_tokens_close(&p->tokens);
	managed_heap_destroy(p->heap);
	trace_ids_deinit(&p->trace_ids);
	buf_deinit(&p->text);
}

bool heapsnapshot_recognise(const uint8_t *head, size_t len)
{
	static const char *const keys[] = {"\"snapshot\"", "\"meta\"", "\"node_fields\""};
	size_t at = 0;
	while (at < len && head[at] && strchr(" \t\r\n", head[at]))
		at++;
	if (at == len || head[at] != '{')
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!memmem(head, len, keys[i], strlen(keys[i])))
			return false;
	return true;
}

/* ["type","name",…]; what is in it besides strings is passed over. */
static struct error *names_take(struct parsing *p, struct names *ret)
{
	struct json_tokens *tokens = &p->tokens;
	struct error *error = json_tokens_expect(tokens, TOKEN_ARRAY, "an array of names");
	ret->count = 0;
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_ARRAY_END)
			break;
		if (ret->count == MANAGED_TYPES_MAX)
			return json_tokens_error(
				tokens, "has more than %u fields or types", MANAGED_TYPES_MAX);
		char *name = ret->data[ret->count++];
		name[0] = '\0';
		if (token == TOKEN_STRING)
			snprintf(name, NAME_BYTES_MAX, "%s", (const char *)tokens->text.data);
		error = json_tokens_skip(tokens, token);
	}
	return error;
}

static struct error *fields_find(struct parsing *p, struct field *fields, size_t count,
	unsigned *ret_width, const char *what)
{
	struct names names;
	struct error *error = names_take(p, &names);
	if (error)
		return error;
	if (names.count > FIELDS_MAX)
		return json_tokens_error(
			&p->tokens, "%s has more than %u fields", what, FIELDS_MAX);
	*ret_width = (unsigned)names.count;
	for (size_t i = 0; i < count; i++) {
		fields[i].column = NO_FIELD;
		for (unsigned k = 0; k < names.count; k++)
			if (strcmp(names.data[k], fields[i].name) == 0)
				fields[i].column = k;
		if (fields[i].column == NO_FIELD && !fields[i].optional)
			return json_tokens_error(
				&p->tokens, "%s lacks the field '%s'", what, fields[i].name);
	}
	return NULL;
}

/* [["hidden","array",…],"string",…]: the first one. */
static struct error *types_take(struct parsing *p, struct names *ret)
{
	struct json_tokens *tokens = &p->tokens;
	enum json_token token = TOKEN_ARRAY;
	struct error *error = json_tokens_expect(tokens, TOKEN_ARRAY, "an array of types");
	if (!error)
		error = names_take(p, ret);
	while (!error && token != TOKEN_ARRAY_END) {
		error = json_tokens_next(tokens, &token);
		if (!error && token != TOKEN_ARRAY_END)
			error = json_tokens_skip(tokens, token);
	}
	return error;
}

static struct error *meta_member(struct parsing *p)
{
	struct json_tokens *tokens = &p->tokens;
	if (json_tokens_key_is(tokens, "node_fields"))
		return fields_find(p, p->node_fields, NODE_FIELDS, &p->node_width, "node_fields");
	if (json_tokens_key_is(tokens, "edge_fields"))
		return fields_find(p, p->edge_fields, EDGE_FIELDS, &p->edge_width, "edge_fields");
	if (json_tokens_key_is(tokens, "trace_function_info_fields"))
		return fields_find(p, p->info_fields, INFO_FIELDS, &p->info_width,
			"trace_function_info_fields");
	if (json_tokens_key_is(tokens, "node_types"))
		return types_take(p, &p->node_types);
	if (json_tokens_key_is(tokens, "edge_types"))
		return types_take(p, &p->edge_types);
	return json_tokens_skip_next(tokens);
}

/* Calls `member` for each member of the object that comes next. */
static struct error *members_each(
	struct parsing *p, const char *what, struct error *(*member)(struct parsing *p))
{
	struct error *error = json_tokens_expect(&p->tokens, TOKEN_OBJECT, what);
	while (!error) {
		enum json_token token;
		error = json_tokens_next(&p->tokens, &token);
		if (error || token == TOKEN_OBJECT_END)
			break;
		error = member(p);
	}
	return error;
}

static struct error *snapshot_member(struct parsing *p)
{
	if (json_tokens_key_is(&p->tokens, "meta"))
		return members_each(p, "an object after \"meta\"", meta_member);
	return json_tokens_skip_next(&p->tokens);
}

static struct error *types_set(struct parsing *p)
{
	static const char *const known[] = {[MANAGED_HIDDEN] = "hidden",
		[MANAGED_ARRAY] = "array",
		[MANAGED_STRING] = "string",
		[MANAGED_OBJECT] = "object",
		[MANAGED_CODE] = "code",
		[MANAGED_CLOSURE] = "closure",
		[MANAGED_REGEXP] = "regexp",
		[MANAGED_NATIVE] = "native",
		[MANAGED_SYNTHETIC] = "synthetic",
		[MANAGED_CLASS] = NULL};
	struct managed_heap *heap = p->heap;
	heap->type_count = p->node_types.count;
	for (size_t i = 0; i < heap->type_count; i++) {
		heap->types[i] = MANAGED_OTHER;
		for (unsigned k = 0; k < MANAGED_OTHER; k++)
			if (known[k] && strcmp(known[k], p->node_types.data[i]) == 0)
				heap->types[i] = k;
		struct error *error =
			strings_keep(&heap->names, p->node_types.data[i], &heap->type_names[i]);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *meta_take(struct parsing *p)
{
	struct error *error = members_each(p, "an object after \"snapshot\"", snapshot_member);
	if (error)
		return error;
	if (!p->node_width || !p->edge_width || !p->node_types.count || !p->edge_types.count)
		return json_tokens_error(
			&p->tokens, "its \"meta\" does not describe nodes and edges");
	p->has_meta = p->heap->has_ids = true;
	return types_set(p);
}

/* Takes one row of an array of numbers; *ret_end: there is none. */
static struct error *row_take(
	struct parsing *p, unsigned width, const char *what, uint64_t *row, bool *ret_end)
{
	struct json_tokens *tokens = &p->tokens;
	*ret_end = false;
	for (unsigned i = 0; i < width; i++) {
		enum json_token token;
		struct error *error = json_tokens_next(tokens, &token);
		if (error)
			return error;
		*ret_end = token == TOKEN_ARRAY_END && !i;
		if (*ret_end)
			return NULL;
		if (token != TOKEN_NUMBER)
			return json_tokens_error(
				tokens, "%s: a row is incomplete, or has no number", what);
		/* Some fields may be negative; none that is wanted. */
		row[i] = tokens->is_whole ? tokens->number : UINT64_MAX;
	}
	return NULL;
}

/* A wanted number of a row; false: it is out of range. */
static bool field_get(const uint64_t *row, const struct field *field, uint64_t end, uint64_t *ret)
{
	*ret = field->column == NO_FIELD ? 0 : row[field->column];
	return *ret < end;
}

static struct error *object_add(struct parsing *p, const uint64_t *row)
{
	struct managed_heap *heap = p->heap;
	const struct field *fields = p->node_fields;
	uint64_t type, name, id, bytes, edges, trace;
	bool good = field_get(row, &fields[NODE_TYPE], heap->type_count, &type) &&
		    field_get(row, &fields[NODE_NAME], STRINGS_MAX, &name) &&
		    field_get(row, &fields[NODE_ID], UINT32_MAX, &id) &&
		    field_get(row, &fields[NODE_SIZE], UINT64_C(1) << 48, &bytes) &&
		    field_get(row, &fields[NODE_EDGES], EDGES_MAX, &edges) &&
		    field_get(row, &fields[NODE_TRACE], UINT32_MAX, &trace);
	if (!good || heap->objects.len == OBJECTS_MAX || p->edge_sum + edges > EDGES_MAX)
		return json_tokens_error(&p->tokens,
			"node %zu has a type, name, size or number of edges that can't be, or "
			"there are more than %u nodes or %u edges",
			heap->objects.len, OBJECTS_MAX, EDGES_MAX);
	struct managed_object object = {.bytes = bytes & ((UINT64_C(1) << 48) - 1),
		.type = type & 0xff,
		.name = (uint32_t)name,
		.id = (uint32_t)id,
		.first_edge = (uint32_t)p->edge_sum,
		.trace = (uint32_t)trace};
	p->edge_sum += edges;
	return managed_objects_push(&heap->objects, object) ? NULL : error_no_memory();
}

static enum managed_reference reference_kind(const char *type)
{
	static const struct {
		const char *name;
		enum managed_reference kind;
	} known[] = {{"element", MANAGED_ELEMENT}, {"hidden", MANAGED_ELEMENT},
		{"internal", MANAGED_INTERNAL}, {"shortcut", MANAGED_SHORTCUT},
		{"weak", MANAGED_WEAK}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].name, type) == 0)
			return known[i].kind;
	return MANAGED_PROPERTY;
}

static struct error *edge_add(
	struct parsing *p, const uint64_t *row, const enum managed_reference *kinds)
{
	struct managed_heap *heap = p->heap;
	const struct field *fields = p->edge_fields;
	uint64_t type, name, to;
	bool good = field_get(row, &fields[EDGE_TYPE], p->edge_types.count, &type) &&
		    field_get(row, &fields[EDGE_NAME], UINT32_MAX, &name) &&
		    field_get(row, &fields[EDGE_TO], UINT64_MAX, &to);
	if (!good || heap->edges.len == EDGES_MAX || to % p->node_width)
		return json_tokens_error(&p->tokens,
			"edge %zu has a type, name or node that can't be", heap->edges.len);
	to /= p->node_width;
	if (p->has_nodes && to >= heap->objects.len)
		return json_tokens_error(
			&p->tokens, "edge %zu leads to a node that is not there", heap->edges.len);
	struct managed_edge edge = {
		.to = (uint32_t)to, .name = (uint32_t)name, .kind = (uint8_t)kinds[type]};
	return managed_edges_push(&heap->edges, edge) ? NULL : error_no_memory();
}

static struct error *nodes_take(struct parsing *p)
{
	uint64_t row[FIELDS_MAX];
	bool at_end = false;
	struct error *error = json_tokens_expect(&p->tokens, TOKEN_ARRAY, "an array of nodes");
	while (!error && !at_end) {
		error = row_take(p, p->node_width, "nodes", row, &at_end);
		if (!error && !at_end)
			error = object_add(p, row);
	}
	p->has_nodes = true;
	return error;
}

static struct error *edges_take(struct parsing *p)
{
	enum managed_reference kinds[MANAGED_TYPES_MAX];
	uint64_t row[FIELDS_MAX];
	bool at_end = false;
	if (!p->has_nodes)
		return json_tokens_error(&p->tokens, "its edges come before its nodes");
	for (size_t i = 0; i < p->edge_types.count; i++)
		kinds[i] = reference_kind(p->edge_types.data[i]);
	struct error *error = json_tokens_expect(&p->tokens, TOKEN_ARRAY, "an array of edges");
	while (!error && !at_end) {
		error = row_take(p, p->edge_width, "edges", row, &at_end);
		if (!error && !at_end)
			error = edge_add(p, row, kinds);
	}
	p->has_edges = true;
	return error;
}

static struct error *infos_take(struct parsing *p)
{
	uint64_t row[FIELDS_MAX];
	bool at_end = false;
	struct error *error = json_tokens_expect(&p->tokens, TOKEN_ARRAY, "an array of functions");
	while (!error && !at_end) {
		error = row_take(p, p->info_width, "trace_function_infos", row, &at_end);
		if (error || at_end)
			break;
		uint64_t name, file, line, column;
		const struct field *fields = p->info_fields;
		if (!field_get(row, &fields[INFO_NAME], STRINGS_MAX, &name) ||
			!field_get(row, &fields[INFO_FILE], STRINGS_MAX, &file))
			return json_tokens_error(&p->tokens, "a function has no name");
		/* V8 has -1 where it knows none, and counts from 0. */
		bool known = field_get(row, &fields[INFO_LINE], UINT32_MAX - 1, &line);
		struct managed_function function = {.name = (uint32_t)name,
			.file = (uint32_t)file,
			.line = known ? (uint32_t)line + 1 : 0};
		known = field_get(row, &fields[INFO_COLUMN], UINT32_MAX - 1, &column);
		function.column = known ? (uint32_t)column + 1 : 0;
		if (p->heap->functions.len == TRACES_MAX)
			return json_tokens_error(
				&p->tokens, "has more than %u functions", TRACES_MAX);
		if (!managed_functions_push(&p->heap->functions, function))
			return error_no_memory();
	}
	return error;
}

/* The four numbers of a call, and that its array of children begins. */
static struct error *trace_begin(struct parsing *p, uint64_t id, uint32_t parent)
{
	struct json_tokens *tokens = &p->tokens;
	uint64_t function, other;
	struct error *error = json_tokens_number(tokens, "the function of a call", &function);
	if (!error)
		error = json_tokens_number(tokens, "the count of a call", &other);
	if (!error)
		error = json_tokens_number(tokens, "the size of a call", &other);
	if (!error)
		error = json_tokens_expect(tokens, TOKEN_ARRAY, "the children of a call");
	if (error)
		return error;
	if (p->heap->traces.len == TRACES_MAX || function >= UINT32_MAX)
		return json_tokens_error(tokens,
			"has more than %u calls in trace_tree, or one of "
			"a function that can't be",
			TRACES_MAX);
	struct managed_trace trace = {.parent = parent, .function = (uint32_t)function};
	if (!managed_traces_push(&p->heap->traces, trace))
		return error_no_memory();
	struct trace_id row = {.id = id, .trace = (uint32_t)p->heap->traces.len};
	return trace_ids_push(&p->trace_ids, row) ? NULL : error_no_memory();
}

static struct error *traces_take(struct parsing *p)
{
	struct json_tokens *tokens = &p->tokens;
	unsigned outer = tokens->depth;
	uint32_t at = 0; /* plus 1 */
	struct error *error = json_tokens_expect(tokens, TOKEN_ARRAY, "an array of calls");
	while (!error && tokens->depth > outer) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error)
			break;
		if (token == TOKEN_ARRAY_END) {
			at = at ? p->heap->traces.data[at - 1].parent : 0;
		} else if (token != TOKEN_NUMBER || !tokens->is_whole) {
			error = json_tokens_error(tokens, "trace_tree is not one of calls");
		} else if (tokens->depth - outer > TRACE_DEPTH_MAX) {
			error = json_tokens_error(tokens,
				"trace_tree has a stack of more than %u calls", TRACE_DEPTH_MAX);
		} else {
			error = trace_begin(p, tokens->number, at);
			at = (uint32_t)p->heap->traces.len;
		}
	}
	return error;
}

static struct error *strings_take(struct parsing *p)
{
	struct json_tokens *tokens = &p->tokens;
	struct error *error = json_tokens_expect(tokens, TOKEN_ARRAY, "an array of strings");
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_ARRAY_END)
			break;
		if (token != TOKEN_STRING || p->heap->strings.len == STRINGS_MAX)
			return json_tokens_error(tokens,
				"strings are not strings, or there are more than %u", STRINGS_MAX);
		if (!managed_strings_push(&p->heap->strings, p->text.len) ||
			!buf_bytes(&p->text, tokens->text.data, tokens->text_len) ||
			!buf_u8(&p->text, 0))
			return error_no_memory();
	}
	p->has_strings = true;
	return error;
}

static struct error *file_member(struct parsing *p)
{
	static const struct {
		const char *key;
		struct error *(*take)(struct parsing *p);
	} members[] = {{"nodes", nodes_take}, {"edges", edges_take},
		{"trace_function_infos", infos_take}, {"trace_tree", traces_take},
		{"strings", strings_take}};
	const bool done[] = {p->has_nodes, p->has_edges, p->heap->functions.len,
		p->heap->traces.len, p->has_strings};
	if (json_tokens_key_is(&p->tokens, "snapshot")) {
		struct error *error = json_tokens_once(&p->tokens, p->has_meta);
		return error ? error : meta_take(p);
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		if (!json_tokens_key_is(&p->tokens, members[i].key))
			continue;
		struct error *error = json_tokens_once(&p->tokens, done[i]);
		if (error)
			return error;
		if (!p->has_meta)
			return json_tokens_error(
				&p->tokens, "\"%s\" comes before \"snapshot\"", members[i].key);
		if (members[i].take == infos_take && !p->info_width)
			break;
		return members[i].take(p);
	}
	return json_tokens_skip_next(&p->tokens);
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct trace_id *)a)->id, y = ((const struct trace_id *)b)->id;
	return x < y ? -1 : x > y;
}

/* Objects name the calls that allocated them by numbers. */
static void traces_resolve(struct parsing *p)
{
	struct trace_ids *ids = &p->trace_ids;
	if (ids->len)
		qsort(ids->data, ids->len, sizeof(*ids->data), by_id);
	for (size_t i = 0; i < p->heap->objects.len; i++) {
		struct managed_object *object = &p->heap->objects.data[i];
		struct trace_id key = {.id = object->trace};
		const struct trace_id *found =
			object->trace && ids->len
				? bsearch(&key, ids->data, ids->len, sizeof(key), by_id)
				: NULL;
		object->trace = found ? found->trace : 0;
	}
}

/* Numbers that refer to what came later in the file. */
static struct error *references_check(struct parsing *p)
{
	struct managed_heap *heap = p->heap;
	bool good = true;
	for (size_t i = 0; i < heap->objects.len && good; i++)
		good = heap->objects.data[i].name < heap->strings.len;
	for (size_t i = 0; i < heap->edges.len && good; i++) {
		struct managed_edge *edge = &heap->edges.data[i];
		good = edge->kind == MANAGED_ELEMENT || edge->kind == MANAGED_WEAK ||
		       edge->name < heap->strings.len;
		const char *name = good && edge->kind == MANAGED_INTERNAL
					   ? managed_heap_string(heap, edge->name)
					   : "x";
		edge->is_number = *name && !name[strspn(name, "0123456789")];
	}
	for (size_t i = 0; i < heap->functions.len && good; i++)
		good = heap->functions.data[i].name < heap->strings.len &&
		       heap->functions.data[i].file < heap->strings.len;
	for (size_t i = 0; i < heap->traces.len && good; i++)
		good = heap->traces.data[i].function < heap->functions.len;
	return good ? NULL
		    : json_tokens_error(&p->tokens,
			      "a node, an edge or a function has a name that is not in strings, or "
			      "a call a function that is not there");
}

static struct error *heap_check(struct parsing *p)
{
	struct managed_heap *heap = p->heap;
	if (!p->has_nodes || !p->has_edges || !p->has_strings || !heap->objects.len)
		return json_tokens_error(&p->tokens, "has no nodes, edges or strings");
	if (p->edge_sum != heap->edges.len)
		return json_tokens_error(&p->tokens,
			"its nodes have %" PRIu64 " edges, and there are %zu", p->edge_sum,
			heap->edges.len);
	struct error *error = references_check(p);
	if (error)
		return error;
	traces_resolve(p);
	return managed_heap_classify(heap);
}

static struct error *heap_parse(struct parsing *p)
{
	struct error *error = members_each(p, "an object", file_member);
	if (!error)
		error = json_tokens_expect(&p->tokens, TOKEN_END, "the end of the file");
	if (error)
		return error;
	if (!buf_u8(&p->text, 0))
		return error_no_memory();
	p->heap->text = (char *)p->text.data;
	buf_init(&p->text);
	return heap_check(p);
}

struct error *heapsnapshot_read(const struct input *input, struct managed_heap **ret)
{
	_cleanup_(parsing_deinit) struct parsing p = {
		.node_fields = {{"type", 0, false}, {"name", 0, false}, {"id", 0, false},
			{"self_size", 0, false}, {"edge_count", 0, false},
			{"trace_node_id", 0, true}},
		.edge_fields = {{"type", 0, false}, {"name_or_index", 0, false},
			{"to_node", 0, false}},
		.info_fields = {{"name", 0, false}, {"script_name", 0, false}, {"line", 0, true},
			{"column", 0, true}}};
	struct error *error = json_tokens_open(&p.tokens, input, stream_whole_limit(input));
	if (!error)
		error = managed_heap_create(&p.heap);
	if (!error)
		error = heap_parse(&p);
	if (error)
		return error;
	*ret = steal_ptr(p.heap);
	return NULL;
}

struct error *managed_heap_file_read(const char *path, struct managed_heap **ret)
{
	_cleanup_(input_close) struct input input = {.fd = -1};
	struct error *error = input_open_file(&input, path);
	return error ? error : heapsnapshot_read(&input, ret);
}
