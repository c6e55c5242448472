/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file, as V8's inspector protocol describes it (HeapProfiler.SamplingHeapProfile):
 *
 *	{"head":{"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},
 *	         "selfSize":0,"id":1,
 *	         "children":[{"callFrame":{…},"selfSize":4352,"id":2,"children":[]}]},
 *	 "samples":[{"size":4160,"nodeId":2,"ordinal":12}]}
 *
 * A node is a call stack; its selfSize is what V8 estimates to be live of what was allocated there,
 * from those samples that were still live. A sample's size is what it stands for, not how many
 * bytes its object has. Lines and columns count from 0, and are those where a function begins.
 *
 * The tree is not kept as JSON: a node becomes 32 bytes, so that memory follows the number of
 * stacks and not the file. The distance of samples is not in the file, unless `heapwise node` has
 * written it ("samplingInterval"): see distance_estimate().
 */
#include "sources/v8/heapprofile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/foreign/foreign_query.h"
#include "sources/v8/json_tokens.h"

#define DEPTH_MAX 4096u
#define NODES_MAX (1u << 24)
/* Of a file without any figure: that of node --heap-prof, in bytes. */
#define DISTANCE_USUAL (UINT64_C(512) << 10)
#define NUMBER_UNKNOWN UINT32_MAX

/* A function, as a node calls it. */
struct v8_function {
	const char *name, *url; /* kept in foreign.names: equal ones have equal addresses */
	uint32_t line, column;  /* from 1; 0: unknown */
};

struct v8_node {
	uint64_t self_size, id;
	uint32_t parent;   /* its number + 1; 0: it is the outermost */
	uint32_t function; /* number + 1; 0: unknown so far */
	bool has_size, has_id, has_children;
};

static uint64_t function_hash(struct v8_function key)
{
	uint64_t place = (uint64_t)key.line << 32 | key.column;
	return hash_u64((uintptr_t)key.name ^ hash_u64((uintptr_t)key.url ^ hash_u64(place)));
}

static bool function_equal(struct v8_function a, struct v8_function b)
{
	return a.name == b.name && a.url == b.url && a.line == b.line && a.column == b.column;
}

static bool id_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

struct v8_sample {
	uint64_t size, node;
};

DEFINE_VEC(v8_function_vec, struct v8_function)
DEFINE_VEC(v8_node_vec, struct v8_node)
DEFINE_VEC(v8_sample_vec, struct v8_sample)
DEFINE_VEC(v8_stack_vec, uint32_t)
DEFINE_MAP(v8_functions, struct v8_function, uint32_t, function_hash, function_equal)
DEFINE_MAP(v8_spreads, uint64_t, double, hash_u64, id_equal)

struct reading {
	const char *name; /* of the file */
	struct foreign foreign;
	struct json_tokens tokens;
	struct v8_node_vec nodes;
	struct v8_function_vec functions;
	struct v8_functions numbers; /* of functions → number + 1 */
	struct v8_functions columns; /* the same without column → the column, or NUMBER_UNKNOWN */
	struct v8_sample_vec samples;
	struct v8_spreads spreads; /* id of a node → variance of its bytes */
	struct v8_stack_vec stacks;
	uint64_t interval; /* mean distance of samples, as `heapwise node PID` notes it */
	bool has_samples, has_interval;
};

static void heapprofile_reading_deinit(struct reading *reading)
{
	json_tokens_close(&reading->tokens);
	foreign_deinit(&reading->foreign);
	v8_node_vec_deinit(&reading->nodes);
	v8_function_vec_deinit(&reading->functions);
	v8_functions_deinit(&reading->numbers);
	v8_functions_deinit(&reading->columns);
	v8_sample_vec_deinit(&reading->samples);
	v8_spreads_deinit(&reading->spreads);
	v8_stack_vec_deinit(&reading->stacks);
}

bool heapprofile_recognise(const uint8_t *head, size_t len)
{
	static const char *const keys[] = {"\"head\"", "\"callFrame\"", "\"functionName\""};
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

static struct error *text_keep(struct reading *reading, const char *what, const char **ret)
{
	enum json_token token;
	struct error *error = json_tokens_next(&reading->tokens, &token);
	if (error)
		return error;
	if (token != TOKEN_STRING)
		return json_tokens_error(&reading->tokens, "%s is not a string", what);
	return strings_keep(&reading->foreign.names, (const char *)reading->tokens.text.data, ret);
}

/* *ret is NULL unless it has been there. */
static struct error *text_once(struct reading *reading, const char *what, const char **ret)
{
	struct error *error = json_tokens_once(&reading->tokens, *ret != NULL);
	return error ? error : text_keep(reading, what, ret);
}

/* A line or column from 0 on, as one from 1 on; -1 is what V8 has where there is none. */
static struct error *place_take(struct reading *reading, const char *what, uint32_t *ret)
{
	enum json_token token;
	struct error *error = json_tokens_next(&reading->tokens, &token);
	if (error)
		return error;
	if (token != TOKEN_NUMBER)
		return json_tokens_error(&reading->tokens, "%s is not a number", what);
	bool known = reading->tokens.is_whole && reading->tokens.number < UINT32_MAX - 1;
	*ret = known ? (uint32_t)reading->tokens.number + 1 : 0;
	return NULL;
}

static struct error *function_number(
	struct reading *reading, struct v8_function function, uint32_t *ret)
{
	bool is_new;
	uint32_t *known = v8_functions_insert(&reading->numbers, function, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		if (!v8_function_vec_push(&reading->functions, function))
			return error_no_memory();
		*known = (uint32_t)reading->functions.len;
		struct v8_function place = function;
		place.column = 0;
		uint32_t *column = v8_functions_insert(&reading->columns, place, &is_new);
		if (!column)
			return error_no_memory();
		*column = is_new ? function.column : NUMBER_UNKNOWN;
	}
	/* Inserting a column moves nothing of the numbers. */
	*ret = *known;
	return NULL;
}

/* The object after "callFrame". */
static struct error *function_take(struct reading *reading, uint32_t *ret)
{
	struct json_tokens *tokens = &reading->tokens;
	struct v8_function function = {.name = NULL};
	struct error *error =
		json_tokens_expect(tokens, TOKEN_OBJECT, "an object after \"callFrame\"");
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_OBJECT_END)
			break;
		if (json_tokens_key_is(tokens, "functionName"))
			error = text_once(reading, "functionName", &function.name);
		else if (json_tokens_key_is(tokens, "url"))
			error = text_once(reading, "url", &function.url);
		else if (json_tokens_key_is(tokens, "lineNumber"))
			error = place_take(reading, "lineNumber", &function.line);
		else if (json_tokens_key_is(tokens, "columnNumber"))
			error = place_take(reading, "columnNumber", &function.column);
		else
			error = json_tokens_skip_next(tokens);
	}
	if (!error && !function.name)
		error = json_tokens_error(tokens, "a callFrame has no functionName");
	return error ? error : function_number(reading, function, ret);
}

/* A node begins, inside of that with the number `parent` - 1. */
static struct error *node_begin(struct reading *reading, uint32_t parent)
{
	if (reading->nodes.len == NODES_MAX)
		return json_tokens_error(&reading->tokens, "has more than %u nodes", NODES_MAX);
	if (reading->stacks.len == DEPTH_MAX)
		return json_tokens_error(
			&reading->tokens, "has a stack of more than %u frames", DEPTH_MAX);
	if (!v8_node_vec_push(&reading->nodes, (struct v8_node){.parent = parent}) ||
		!v8_stack_vec_push(&reading->stacks, (uint32_t)reading->nodes.len))
		return error_no_memory();
	return NULL;
}

/* The number after a key that the object has once; *seen: it has been there. */
static struct error *number_once(
	struct json_tokens *tokens, const char *what, bool *seen, uint64_t *ret)
{
	struct error *error = json_tokens_once(tokens, *seen);
	*seen = true;
	return error ? error : json_tokens_number(tokens, what, ret);
}

/* A member of the node that is open, after its name. */
static struct error *node_member(struct reading *reading, bool *ret_children)
{
	struct json_tokens *tokens = &reading->tokens;
	uint32_t number = reading->stacks.data[reading->stacks.len - 1] - 1;
	struct v8_node *node = &reading->nodes.data[number];
	if (json_tokens_key_is(tokens, "callFrame")) {
		struct error *error = json_tokens_once(tokens, node->function != 0);
		return error ? error : function_take(reading, &node->function);
	}
	if (json_tokens_key_is(tokens, "selfSize"))
		return number_once(tokens, "selfSize", &node->has_size, &node->self_size);
	if (json_tokens_key_is(tokens, "id"))
		return number_once(tokens, "the id of a node", &node->has_id, &node->id);
	if (!json_tokens_key_is(tokens, "children"))
		return json_tokens_skip_next(tokens);
	struct error *error = json_tokens_once(tokens, node->has_children);
	node->has_children = *ret_children = true;
	return error ? error
		     : json_tokens_expect(tokens, TOKEN_ARRAY, "an array after \"children\"");
}

static struct error *node_end(struct reading *reading)
{
	uint32_t number = reading->stacks.data[--reading->stacks.len] - 1;
	const struct v8_node *node = &reading->nodes.data[number];
	if (!node->function || !node->has_size)
		return json_tokens_error(&reading->tokens, "a node has no %s",
			node->function ? "selfSize" : "callFrame");
	return NULL;
}

/* The tree below "head". Arrays of children and nodes take turns in being open, so that a token
 * alone says what it is of. */
static struct error *nodes_take(struct reading *reading)
{
	struct json_tokens *tokens = &reading->tokens;
	struct error *error = json_tokens_expect(tokens, TOKEN_OBJECT, "an object after \"head\"");
	if (!error)
		error = node_begin(reading, 0);
	bool in_children = false;
	while (!error && reading->stacks.len) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error)
			break;
		if (token == TOKEN_KEY) {
			error = node_member(reading, &in_children);
		} else if (token == TOKEN_OBJECT && in_children) {
			in_children = false;
			error = node_begin(reading, reading->stacks.data[reading->stacks.len - 1]);
		} else if (token == TOKEN_OBJECT_END) {
			error = node_end(reading);
			in_children = true;
		} else if (token == TOKEN_ARRAY_END) {
			in_children = false;
		} else {
			error = json_tokens_error(tokens, "children are no nodes");
		}
	}
	return error;
}

static struct error *sample_take(struct reading *reading)
{
	struct json_tokens *tokens = &reading->tokens;
	struct v8_sample sample = {.size = 0};
	bool has_size = false, has_node = false;
	struct error *error = NULL;
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_OBJECT_END)
			break;
		if (json_tokens_key_is(tokens, "size"))
			error = number_once(
				tokens, "the size of a sample", &has_size, &sample.size);
		else if (json_tokens_key_is(tokens, "nodeId"))
			error = number_once(tokens, "nodeId", &has_node, &sample.node);
		else
			error = json_tokens_skip_next(tokens);
	}
	if (error || !sample.size)
		return error;
	return v8_sample_vec_push(&reading->samples, sample) ? NULL : error_no_memory();
}

static struct error *samples_take(struct reading *reading)
{
	struct json_tokens *tokens = &reading->tokens;
	struct error *error = json_tokens_expect(tokens, TOKEN_ARRAY, "an array after \"samples\"");
	reading->has_samples = true;
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_ARRAY_END)
			break;
		error = token == TOKEN_OBJECT
				? sample_take(reading)
				: json_tokens_error(tokens, "a sample is not an object");
	}
	return error;
}

static struct error *profile_member(struct reading *reading)
{
	struct json_tokens *tokens = &reading->tokens;
	struct error *error;
	if (json_tokens_key_is(tokens, "head")) {
		error = json_tokens_once(tokens, reading->nodes.len != 0);
		return error ? error : nodes_take(reading);
	}
	if (json_tokens_key_is(tokens, "samples")) {
		error = json_tokens_once(tokens, reading->has_samples);
		return error ? error : samples_take(reading);
	}
	if (json_tokens_key_is(tokens, "samplingInterval"))
		return number_once(
			tokens, "samplingInterval", &reading->has_interval, &reading->interval);
	return json_tokens_skip_next(tokens);
}

static struct error *profile_take(struct reading *reading)
{
	struct json_tokens *tokens = &reading->tokens;
	struct error *error = json_tokens_expect(tokens, TOKEN_OBJECT, "an object");
	while (!error) {
		enum json_token token;
		error = json_tokens_next(tokens, &token);
		if (error || token == TOKEN_OBJECT_END)
			break;
		error = profile_member(reading);
	}
	if (!error)
		error = json_tokens_expect(tokens, TOKEN_END, "the end of the file");
	if (!error && !reading->nodes.len)
		error = json_tokens_error(tokens, "has no tree of nodes (\"head\")");
	return error;
}

/*
 * The mean distance of samples, which the file does not say, in bytes. An object of n bytes is
 * sampled with the probability 1 - exp(-n / distance) and stands for n divided by that: for the
 * distance at least, and for little more if it is small. So the smallest such figure is the
 * distance, or more than that if all objects are large: then ranges are too wide, never too narrow.
 * V8 rounds to whole objects; distances are powers of two mostly. *ret_known: there was a figure.
 */
static uint64_t distance_estimate(const struct reading *reading, bool *ret_known)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < reading->samples.len; i++)
		if (reading->samples.data[i].size < least)
			least = reading->samples.data[i].size;
	for (size_t i = 0; i < reading->nodes.len && !reading->samples.len; i++) {
		uint64_t size = reading->nodes.data[i].self_size;
		if (size && size < least)
			least = size;
	}
	*ret_known = least != UINT64_MAX;
	if (!*ret_known)
		return DISTANCE_USUAL;
	uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(least));
	return least - power <= power / 32 ? power : least;
}

/* How likely an object was left out that stands for `weight` bytes: x / (1 - exp(-x)) = y, by
 * Newton's method, with x the size and y the weight in distances. */
static double chance_left_out(double weight, double distance)
{
	double y = weight / distance, x = y;
	if (y <= 1)
		return 1;
	for (int i = 0; i < 40; i++) {
		double left_out = exp(-x), slope = 1 - y * left_out;
		if (slope < 1e-9)
			break;
		x -= (x - y * (1 - left_out)) / slope;
	}
	return x > 0 ? exp(-x) : 1;
}

/* The variance of each node's bytes: its samples were taken independently of each other. */
static struct error *spreads_make(struct reading *reading, uint64_t distance)
{
	for (size_t i = 0; i < reading->samples.len; i++) {
		const struct v8_sample *sample = &reading->samples.data[i];
		double *sum = v8_spreads_insert(&reading->spreads, sample->node, NULL);
		if (!sum)
			return error_no_memory();
		double weight = (double)sample->size;
		*sum += weight * weight * chance_left_out(weight, (double)distance);
	}
	return NULL;
}

static double spread_of_node(const struct reading *reading, const struct v8_node *node)
{
	const double *sum =
		reading->samples.len
			? v8_spreads_find((struct v8_spreads *)&reading->spreads, node->id)
			: NULL;
	/* Without samples it may be a single one. */
	double size = (double)node->self_size;
	return sum ? *sum : size * size;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The path of "file:///a%20b"; other addresses as they are. */
static void path_add(struct text *text, const char *url)
{
	static const char scheme[] = "file://";
	if (strncmp(url, scheme, strlen(scheme)) != 0 || url[strlen(scheme)] != '/') {
		text_add(text, url);
		return;
	}
	for (const char *at = url + strlen(scheme); *at; at++) {
		int high = *at == '%' ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;
		bool escaped = low >= 0 && (high || low);
		if (escaped)
			text_add_char(text, (char)(high * 16 + low));
		else
			text_add_char(text, *at);
		at += escaped ? 2 : 0;
	}
}

static void function_add_name(
	const struct reading *reading, const struct v8_function *function, struct text *text)
{
	struct v8_function place = *function;
	place.column = 0;
	const uint32_t *column = v8_functions_find((struct v8_functions *)&reading->columns, place);
	text_add(text, *function->name ? function->name : "(anonymous)");
	/* Of minified code all functions are in one line. */
	if (column && *column == NUMBER_UNKNOWN && function->column)
		text_printf(text, " (column %" PRIu32 ")", function->column);
}

static struct error *frame_make(
	struct reading *reading, const struct v8_node *node, struct foreign_frame *ret)
{
	const struct v8_function *function = &reading->functions.data[node->function - 1];
	_cleanup_(text_deinit) struct text name, path;
	text_init(&name);
	text_init(&path);
	function_add_name(reading, function, &name);
	path_add(&path, function->url ? function->url : "");
	if (name.failed || path.failed)
		return error_no_memory();
	struct foreign_line line = {.function = {name.data, name.len},
		.file = {path.len ? path.data : NULL, path.len},
		.line = function->line};
	return foreign_frame(&reading->foreign, (struct module_id){0}, 0, true, &line, 1, ret);
}

static struct error *node_add_figures(
	struct reading *reading, const struct v8_node *node, struct stack_id stack)
{
	struct site_id id;
	if (!node->self_size)
		return NULL;
	struct error *error = foreign_site(&reading->foreign, stack, KIND_UNKNOWN, &id);
	if (error)
		return error;
	struct site *site = build_site_at(reading->foreign.model, id);
	if (__builtin_add_overflow(site->live_bytes, node->self_size, &site->live_bytes))
		return error_create(ERROR_INPUT,
			"%s: figures of one stack add up to more than 2^64", reading->name);
	site->spread.live_bytes += spread_of_node(reading, node);
	return NULL;
}

/* Parents have smaller numbers than their children. The outermost node is no function. */
static struct error *model_make(struct reading *reading)
{
	struct error *error = NULL;
	v8_stack_vec_clear(&reading->stacks);
	for (size_t i = 0; i < reading->nodes.len && !error; i++) {
		const struct v8_node *node = &reading->nodes.data[i];
		struct stack_id stack = {0};
		struct foreign_frame frame;
		if (node->parent) {
			stack.value = reading->stacks.data[node->parent - 1];
			error = frame_make(reading, node, &frame);
			if (!error)
				error = foreign_push(&reading->foreign, stack, frame, &stack);
		}
		if (!error)
			error = node_add_figures(reading, node, stack);
		if (!error && !v8_stack_vec_push(&reading->stacks, stack.value))
			error = error_no_memory();
	}
	return error;
}

static const char *distance_words(const struct reading *reading, bool known)
{
	if (reading->interval)
		return "The distance of samples is that which the file says.";
	if (!known)
		return "No sample is in the file, nor at which distance they were taken: ranges "
		       "are those of 512 KiB, node's default.";
	return reading->samples.len
		       ? "The distance of samples is estimated from them."
		       : "The file does not list its samples: their distance is estimated, and "
			 "ranges are as wide as they can be.";
}

static struct error *facts_set(struct reading *reading, uint64_t distance, bool known)
{
	struct model *model = reading->foreign.model;
	struct recording *recording = build_recording(model);
	recording->whole_stacks = recording->snapshot = true;
	recording->mode = "sample";
	recording->sample_bytes = distance;
	recording->unknown &= ~(uint32_t)UNKNOWN_LIVE_BYTES;
	_cleanup_(text_deinit) struct text remark;
	text_init(&remark);
	text_add(&remark,
		"Live objects of JavaScript as V8 estimates them; lines are those where "
		"functions begin. If V8 was told to include collected objects (DevTools: "
		"\"Include objects discarded by major GC\"), those count as live, too: the file "
		"does not say. Memory outside of V8's heap (Buffers, addons) is not in this "
		"file. ");
	text_add(&remark, distance_words(reading, known));
	if (remark.failed)
		return error_no_memory();
	return build_string(model, remark.data, remark.len, &recording->remark);
}

static struct error *heapprofile_read(struct reading *reading)
{
	struct error *error = profile_take(reading);
	if (error)
		return error;
	bool known;
	uint64_t distance = distance_estimate(reading, &known);
	if (reading->interval)
		distance = reading->interval;
	error = spreads_make(reading, distance);
	if (!error)
		error = model_make(reading);
	if (!error)
		error = facts_set(reading, distance, known);
	if (error)
		return error;
	error = foreign_total(&reading->foreign);
	return error_prefix(error, "%s", reading->name);
}

struct error *heapprofile_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a heap profile of V8");
	if (error)
		return error;
	_cleanup_(heapprofile_reading_deinit) struct reading reading = {.name = input->name};
	error = foreign_create(&reading.foreign, "heapprofile", input);
	if (!error)
		error = json_tokens_open(&reading.tokens, input, stream_whole_limit(input));
	if (!error)
		error = heapprofile_read(&reading);
	if (error)
		return error;
	build_finish(reading.foreign.model);
	*ret = steal_ptr(reading.foreign.model);
	return NULL;
}
