/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/stacks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "page/parts/lost.h"
#include "page/parts/order.h"

static inline bool number_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(page_numbers, uint64_t, uint32_t, hash_u64, number_equal)

/*
 * The child of a node that came first. Most nodes have no other one, and it comes right after them:
 * so rows are mostly found by memory that follows, and few nodes need the table.
 */
struct first_child {
	uint32_t frame, node; /* 0, 0: there is none */
};
DEFINE_VEC(first_children, struct first_child)
DEFINE_VEC(page_numbers_list, uint32_t)

/* A step of a row's way from the root inward. */
struct page_step {
	const struct shown_frame *frame;
	uint32_t node;
};
DEFINE_VEC(page_steps, struct page_step)

/* What is filled. */
struct stack_columns {
	struct page_stacks *stacks;
	bool has_whole_names;
	struct page_column *function, *module, *file, *line, *flags, *whole;
	struct page_column *kind, *leak;
	struct page_column *figures[METRICS]; /* NULL: unknown */
	struct page_column *older[METRICS];   /* of the base; NULL: unknown, or there is none */
	struct page_column *lost_blocks, *lost_bytes;
	struct page_lost *lost;       /* of each row; NULL: unknown, and no columns */
	struct page_numbers frames;   /* by place */
	struct first_children firsts; /* of each node */
	struct page_numbers nodes;    /* by parent and frame: all others */
	/* Columns that put_nodes() writes: of each node, and the nodes of rows. */
	struct page_numbers_list parents, node_frames, row_nodes;
	struct page_steps way; /* of the latest row: the next one mostly begins with the same */
};

void page_stacks_init(struct page_stacks *stacks)
{
	page_strings_init(&stacks->strings);
	page_columns_init(&stacks->columns);
	stacks->summed_up = stacks->owners_summed_up = 0;
	stacks->row_numbers = NULL;
	stacks->row_count = 0;
}

void page_stacks_deinit(struct page_stacks *stacks)
{
	page_strings_deinit(&stacks->strings);
	page_columns_deinit(&stacks->columns);
	free(stacks->row_numbers);
}

#define FIGURE_NAMES(of)                                                                           \
	{                                                                                          \
		[METRIC_ALLOCATIONS] = of "allocations",                                           \
		[METRIC_ALLOCATED_BYTES] = of "allocated_bytes",                                   \
		[METRIC_LIVE_BYTES] = of "live_bytes", [METRIC_LIVE_BLOCKS] = of "live_blocks",    \
		[METRIC_KEPT_BYTES] = of "kept_bytes", [METRIC_KEPT_BLOCKS] = of "kept_blocks",    \
		[METRIC_PEAK_BYTES] = of "peak_bytes", [METRIC_PEAK_BLOCKS] = of "peak_blocks",    \
		[METRIC_TEMPORARY] = of "temporary", [METRIC_FAILED] = of "failed",                \
	}
static const char *const figure_names[METRICS] = FIGURE_NAMES("row.");
static const char *const older_names[METRICS] = FIGURE_NAMES("base.");

const struct model *page_stacks_ignorant(const struct profile *profile, enum metric metric)
{
	if (!metric_is_known(metric, model_recording(profile->model)))
		return profile->model;
	return profile->base && !metric_is_known(metric, model_recording(profile->base))
		       ? profile->base
		       : NULL;
}

static bool has_whole_names(const struct rows *rows)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		for (size_t k = 0; k < rows->rows.data[i].depth; k++)
			if (rows->rows.data[i].frames[k]->brief)
				return true;
	return false;
}

static void begin_columns(const struct profile *profile, struct stack_columns *at)
{
	struct page_columns *columns = &at->stacks->columns;
	at->has_whole_names = has_whole_names(profile_rows(profile));
	at->function = page_columns_add(columns, "frame.function", PAGE_U32);
	if (at->has_whole_names)
		at->whole = page_columns_add(columns, "frame.whole", PAGE_U32);
	at->module = page_columns_add(columns, "frame.module", PAGE_U32);
	at->file = page_columns_add(columns, "frame.file", PAGE_U32);
	at->line = page_columns_add(columns, "frame.line", PAGE_U32);
	at->flags = page_columns_add(columns, "frame.flags", PAGE_U8);
	at->kind = page_columns_add(columns, "row.kind", PAGE_U32);
	at->leak = page_columns_add(columns, "row.leak", PAGE_U8);
	for (int i = 0; i < METRICS; i++)
		if (!page_stacks_ignorant(profile, (enum metric)i))
			at->figures[i] = page_columns_add(columns, figure_names[i], PAGE_F64);
	for (int i = 0; i < METRICS && profile->base; i++)
		if (at->figures[i])
			at->older[i] = page_columns_add(columns, older_names[i], PAGE_F64);
	if (at->lost) {
		at->lost_blocks = page_columns_add(columns, "row.lost_blocks", PAGE_F64);
		at->lost_bytes = page_columns_add(columns, "row.lost_bytes", PAGE_F64);
	}
}

static bool add_string(struct stack_columns *at, struct page_column *column, const char *string)
{
	uint32_t number;
	if (!page_strings_add(&at->stacks->strings, string, &number))
		return false;
	page_column_u32(column, number);
	return true;
}

/* A frame of that name, with nothing else known of it. */
static bool put_remark(struct stack_columns *at, const char *name)
{
	page_column_u32(at->line, 0);
	page_column_u8(at->flags, PAGE_FRAME_REMARK);
	return add_string(at, at->function, name) &&
	       (!at->whole || add_string(at, at->whole, name)) && add_string(at, at->module, "") &&
	       add_string(at, at->file, "");
}

static uint8_t flags_of(const struct shown_frame *frame)
{
	unsigned flags = frame->inlined ? PAGE_FRAME_INLINED : 0;
	if (frame->mark != MARK_SIGNAL && (!frame->function || frame->is_unknown))
		flags |= PAGE_FRAME_UNKNOWN;
	if (!frame->is_program)
		flags |= PAGE_FRAME_RUNTIME;
	return (uint8_t)flags;
}

static bool put_frame(struct stack_columns *at, const struct shown_frame *frame)
{
	_cleanup_(text_deinit) struct text made;
	text_init(&made);
	const char *name = frame->mark == MARK_SIGNAL ? SIGNAL_FRAME_NAME : frame->function;
	bool is_remark = frame->mark != MARK_NONE && frame->mark != MARK_SIGNAL;
	if (is_remark)
		text_printf(&made, "(%s)", stack_mark_text(frame->mark));
	else if (!name)
		shown_frame_add_code(&made, frame);
	if (made.failed)
		return false;
	if (is_remark)
		return put_remark(at, made.data);
	name = name ? name : made.data;
	page_column_u32(at->line, frame->line);
	page_column_u8(at->flags, flags_of(frame));
	return add_string(at, at->function, frame->brief ? frame->brief : name) &&
	       (!at->whole || add_string(at, at->whole, name)) &&
	       add_string(at, at->module, frame->module_path) &&
	       add_string(at, at->file, frame->file);
}

/* Sets *ret to the frame's number. */
static bool find_frame(struct stack_columns *at, const struct shown_frame *frame, uint32_t *ret)
{
	bool is_new;
	uint32_t *number = page_numbers_insert(&at->frames, frame->place, &is_new);
	if (!number)
		return false;
	if (is_new)
		*number = (uint32_t)at->line->count;
	*ret = *number;
	return !is_new || put_frame(at, frame);
}

static bool add_node(struct stack_columns *at, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	*ret = (uint32_t)at->parents.len;
	return page_numbers_list_push(&at->parents, parent) &&
	       page_numbers_list_push(&at->node_frames, frame) &&
	       first_children_push(&at->firsts, (struct first_child){0, 0});
}

/* Sets *node to the node of that frame below it, another one than its first child. */
static bool find_further(struct stack_columns *at, uint32_t frame, uint32_t *node)
{
	bool is_new;
	uint32_t *number = page_numbers_insert(&at->nodes, (uint64_t)*node << 32 | frame, &is_new);
	if (!number || (is_new && !add_node(at, *node, frame, number)))
		return false;
	*node = *number;
	return true;
}

/* Sets *node to the node of that frame below it. */
static bool go_down(struct stack_columns *at, uint32_t frame, uint32_t *node)
{
	uint32_t parent = *node;
	struct first_child first = at->firsts.data[parent];
	if (first.node && first.frame != frame)
		return find_further(at, frame, node);
	if (!first.node) {
		if (!add_node(at, parent, frame, &first.node))
			return false;
		at->firsts.data[parent] = (struct first_child){frame, first.node};
	}
	*node = first.node;
	return true;
}

/* The row's node; 0: it has no frames. */
static bool find_node(struct stack_columns *at, const struct row *row, uint32_t *ret)
{
	struct page_steps *way = &at->way;
	size_t same = 0, most = min(way->len, (size_t)row->depth);
	while (same < most && way->data[same].frame == row->frames[row->depth - 1 - same])
		same++;
	way->len = same;
	*ret = same ? way->data[same - 1].node : 0;
	for (size_t i = row->depth - same; i-- > 0;) {
		uint32_t frame;
		if (!find_frame(at, row->frames[i], &frame) || !go_down(at, frame, ret) ||
			!page_steps_push(way, (struct page_step){row->frames[i], *ret}))
			return false;
	}
	return true;
}

/* The figures of a row, or of the sum of several. */
struct row_sums {
	size_t count; /* rows */
	unsigned leak_kinds;
	double figures[METRICS], older[METRICS];
	struct page_lost lost;
};

static void row_sums_add(
	struct stack_columns *at, const struct rows *rows, size_t number, struct row_sums *ret)
{
	const struct row *row = &rows->rows.data[number];
	ret->count++;
	ret->leak_kinds |= row->leak_kinds;
	for (int i = 0; i < METRICS; i++) {
		ret->figures[i] += (double)metric_of_site((enum metric)i, row->sums);
		ret->older[i] += (double)metric_of_site((enum metric)i, row->base);
	}
	if (at->lost) {
		ret->lost.blocks += at->lost[number].blocks;
		ret->lost.bytes += at->lost[number].bytes;
	}
}

static bool put_sums(
	struct stack_columns *at, uint32_t node, const char *kind, const struct row_sums *sums)
{
	page_column_u8(at->leak, (uint8_t)sums->leak_kinds);
	for (int i = 0; i < METRICS; i++) {
		if (at->figures[i])
			page_column_f64(at->figures[i], sums->figures[i]);
		if (at->older[i])
			page_column_f64(at->older[i], sums->older[i]);
	}
	if (at->lost) {
		page_column_f64(at->lost_blocks, (double)sums->lost.blocks);
		page_column_f64(at->lost_bytes, (double)sums->lost.bytes);
	}
	return page_numbers_list_push(&at->row_nodes, node) && add_string(at, at->kind, kind);
}

static bool put_row(struct stack_columns *at, const struct rows *rows, size_t number)
{
	uint32_t node;
	struct row_sums sums = {.count = 0};
	const struct row *row = &rows->rows.data[number];
	const struct site *site = row->sums == &row_no_site ? row->base : row->sums;
	row_sums_add(at, rows, number, &sums);
	return find_node(at, row, &node) &&
	       put_sums(at, node, site->kind == KIND_UNKNOWN ? "" : alloc_kind_name(site->kind),
		       &sums);
}

/* The sum of rows that are left out. */
static bool put_left_out(struct stack_columns *at, const struct row_sums *sums)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	uint32_t node = 0, frame = (uint32_t)at->line->count;
	text_printf(&name, "(%zu smaller stacks)", sums->count);
	return !name.failed && put_remark(at, name.data) && go_down(at, frame, &node) &&
	       put_sums(at, node, "", sums);
}

/* What becomes of a row; unused are those without any figure. */
enum row_use { ROW_UNUSED, ROW_SHOWN, ROW_LEFT_OUT };

static bool put_rows(struct stack_columns *at, const struct rows *rows, const uint8_t *uses)
{
	struct row_sums left_out = {.count = 0};
	uint32_t *numbers = at->stacks->row_numbers;
	for (size_t i = 0; i < rows->rows.len; i++) {
		numbers[i] = uses[i] == ROW_SHOWN ? (uint32_t)at->row_nodes.len : ROWS_NONE;
		if (uses[i] == ROW_SHOWN && !put_row(at, rows, i))
			return false;
		if (uses[i] == ROW_LEFT_OUT)
			row_sums_add(at, rows, i, &left_out);
	}
	for (size_t i = 0; i < rows->rows.len; i++)
		if (uses[i] == ROW_LEFT_OUT)
			numbers[i] = (uint32_t)at->row_nodes.len;
	at->stacks->row_count = at->row_nodes.len + (left_out.count > 0);
	at->stacks->summed_up = left_out.count;
	return !left_out.count || put_left_out(at, &left_out);
}

/* Sets ret[i] to a number for the function of frame i, *ret_count to how many there are. */
static bool number_functions(const struct stack_columns *at, uint32_t *ret, size_t *ret_count)
{
	const struct page_column *whole = at->whole ? at->whole : at->function;
	struct page_numbers functions;
	page_numbers_init(&functions);
	bool is_new, done = !whole->data.failed && !at->module->data.failed;
	for (size_t i = 0; done && i < whole->count; i++) {
		uint64_t name = page_column_at(whole, i), module = page_column_at(at->module, i);
		uint32_t *number = page_numbers_insert(&functions, name << 32 | module, &is_new);
		done = number != NULL;
		if (number && is_new)
			*number = functions.len - 1;
		if (number)
			ret[i] = *number;
	}
	*ret_count = functions.len;
	page_numbers_deinit(&functions);
	return done;
}

/* Replaces the frames of nodes by functions, in a new array. NULL: no memory. */
static uint32_t *make_node_functions(const struct stack_columns *at, size_t *ret_count)
{
	size_t count = at->parents.len;
	_cleanup_free_ uint32_t *functions = calloc(at->line->count + 1, sizeof(*functions));
	uint32_t *ret = calloc(count, sizeof(*ret));
	if (!functions || !ret || !number_functions(at, functions, ret_count)) {
		free(ret);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = functions[at->node_frames.data[i]];
	return ret;
}

/* Writes the columns of nodes, and of rows that of their nodes: numbers[i] is the one of node i. */
static bool put_numbered(struct stack_columns *at, const uint32_t *numbers)
{
	struct page_columns *columns = &at->stacks->columns;
	struct page_column *parent = page_columns_add(columns, "node.parent", PAGE_U32),
			   *frame = page_columns_add(columns, "node.frame", PAGE_U32),
			   *node = page_columns_add(columns, "row.node", PAGE_U32);
	size_t count = at->parents.len;
	_cleanup_free_ uint32_t *nodes = calloc(count, sizeof(*nodes)); /* by number */
	if (!nodes)
		return false;
	for (size_t i = 0; i < count; i++)
		nodes[numbers[i]] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		page_column_u32(parent, numbers[at->parents.data[nodes[i]]]);
		page_column_u32(frame, at->node_frames.data[nodes[i]]);
	}
	for (size_t i = 0; i < at->row_nodes.len; i++)
		page_column_u32(node, numbers[at->row_nodes.data[i]]);
	return true;
}

/* Writes the columns of nodes, in the order of the tree of functions. */
static bool put_nodes(struct stack_columns *at)
{
	size_t function_count;
	_cleanup_free_ uint32_t *functions = make_node_functions(at, &function_count);
	_cleanup_free_ uint32_t *numbers = calloc(at->parents.len, sizeof(*numbers));
	return functions && numbers &&
	       page_order_nodes(
		       at->parents.data, functions, at->parents.len, function_count, numbers) &&
	       put_numbered(at, numbers);
}

struct error *page_stacks_build(const struct profile *profile, const struct page_ranks *ranks,
	size_t count, struct page_stacks *ret)
{
	const struct rows *rows = profile_rows(profile);
	_cleanup_free_ uint8_t *uses = calloc(rows->rows.len + 1, sizeof(*uses));
	struct stack_columns at = {.stacks = ret};
	page_numbers_init(&at.frames);
	page_numbers_init(&at.nodes);
	first_children_init(&at.firsts);
	page_numbers_list_init(&at.parents);
	page_numbers_list_init(&at.node_frames);
	page_numbers_list_init(&at.row_nodes);
	page_steps_init(&at.way);
	for (size_t i = 0; uses && i < ranks->count; i++)
		uses[ranks->rows[i]] = i < count ? ROW_SHOWN : ROW_LEFT_OUT;
	ret->row_numbers = calloc(rows->rows.len + 1, sizeof(*ret->row_numbers));
	/* The root has no frame, and says frame 0. */
	uint32_t root;
	bool is_ready = uses && ret->row_numbers && add_node(&at, 0, 0, &root);
	struct error *error = is_ready ? page_lost_build(profile, &at.lost) : error_no_memory();
	if (!error)
		begin_columns(profile, &at);
	if (!error && !(put_rows(&at, rows, uses) && put_nodes(&at)))
		error = error_no_memory();
	page_numbers_deinit(&at.frames);
	page_numbers_deinit(&at.nodes);
	first_children_deinit(&at.firsts);
	page_numbers_list_deinit(&at.parents);
	page_numbers_list_deinit(&at.node_frames);
	page_numbers_list_deinit(&at.row_nodes);
	page_steps_deinit(&at.way);
	free(at.lost);
	return error;
}
