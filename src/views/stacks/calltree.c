/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See calltree.h. As text a chain of calls goes straight down, and a line is drawn where it forks:
 *
 *	      total            self
 *	  12.3 MiB  82.0%       0 B   0.0%  main  [app]
 *	  10.0 MiB  66.7%  10.0 MiB  66.7%  ├ read_line  [app]
 *	   2.3 MiB  15.3%       0 B   0.0%  └ parse  [app]
 *	   2.3 MiB  15.3%   2.3 MiB  15.3%    xmalloc  [app]
 *
 * Of a long chain that has the same figures all along, text shows the ends: "… 5 more".
 */
#include "views/calltree.h"

#include "base/cleanup.h"
#include "views/report/paint.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12
/* As many nodes of a chain are worth a line of their own. */
#define FOLDED_LEAST 3u

/* Children come in the order of their weight: the first `shown` of them are shown, the others are
 * summed up. */
struct cut {
	uint32_t shown, count;
	struct figure rest;
};

/* A node on the way from the root to the one at hand. */
struct level {
	const struct calltree_node *node;
	struct cut cut;
	uint32_t next;     /* child to be written */
	size_t prefix_len; /* of what stands before the lines of its children */
};

DEFINE_VEC(level_vec, struct level)

/* The way through the tree, and the row that is laid out: its last node. */
struct calltree_walk {
	const struct profile *profile;
	const struct calltree *tree;
	const struct calltree_options *options;
	size_t depth; /* levels below the root that are shown */
	uint64_t whole;
	struct level_vec levels;
	struct text prefix;
	const char *joint; /* between the prefix and the name; NULL: the row is of what is cut */
	size_t prefix_len; /* of the row */
	uint32_t hidden;   /* so many nodes that come next are left out of text */
	uint32_t folded;   /* the row says that so many are; 0: it is another one */
	struct spot_rows *spot;
};

static double calltree_share(struct figure figure, uint64_t whole)
{
	int64_t value = figure_value(figure);
	return whole ? 100.0 * (double)value / (double)whole : 0;
}

static struct cut cut_children(const struct calltree_walk *at, const struct calltree_node *node)
{
	struct cut cut = {.shown = 0};
	for (uint32_t i = 0; i < node->children; i++) {
		const struct calltree_node *child = calltree_child(at->tree, node, i);
		/* What never had this figure is not worth a word; it comes last. */
		if (!child->total.now && !child->total.base)
			continue;
		double percent = calltree_share(child->total, at->whole);
		bool small = (percent < 0 ? -percent : percent) < at->options->threshold;
		if (!small && child->depth <= at->depth && cut.shown == i) {
			cut.shown++;
			continue;
		}
		cut.count++;
		cut.rest.now += child->total.now;
		cut.rest.base += child->total.base;
	}
	return cut;
}

static bool push_level(struct calltree_walk *at, const struct calltree_node *node)
{
	struct level level = {
		.node = node, .cut = cut_children(at, node), .prefix_len = at->prefix.len};
	return level_vec_push(&at->levels, level);
}

static const struct level *last_level(const struct calltree_walk *at)
{
	return &at->levels.data[at->levels.len - 1];
}

static void calltree_add_figures(const struct calltree_walk *at, const struct figure *total,
	const struct figure *self, struct text *out)
{
	const struct view_options *view = &at->options->view;
	const struct figure *figures[] = {total, self};
	for (int i = 0; i < 2; i++) {
		if (!figures[i]) {
			if (at->tree->way != CALLTREE_UP)
				text_printf(out, "%*s", FIGURE_WIDTH + 8, "");
			continue;
		}
		enum paint paint = paint_of(calltree_share(*figures[i], at->whole) / 100);
		paint_begin(out, view->colour, paint);
		text_add_figure_cell(out, view->sort, figure_value(*figures[i]), at->profile->base,
			FIGURE_WIDTH);
		text_add_percent(out, figure_value(*figures[i]), at->whole);
		paint_end(out, view->colour, paint);
	}
	text_add(out, "  ");
	text_add_n(out, at->prefix.data, at->prefix_len);
}

/* What leads from the prefix of the siblings to the line. */
static const char *calltree_joint(uint32_t siblings, bool last)
{
	if (siblings == 1)
		return "";
	return last ? "└ " : "├ ";
}

static void calltree_add_folded(const struct calltree_walk *at, struct text *out)
{
	unsigned columns = at->tree->way == CALLTREE_UP ? 1 : 2;
	text_printf(out, "%*s", (int)(columns * (FIGURE_WIDTH + 8) + 2), "");
	text_add_n(out, at->prefix.data, at->prefix_len);
	text_add(out, "… ");
	text_add_count(out, at->folded);
	text_add(out, " more\n");
}

static void calltree_row_text(const void *context, size_t row, struct text *out)
{
	const struct calltree_walk *at = context;
	const struct level *level = last_level(at);
	const struct calltree_node *node = level->node;
	(void)row;
	if (at->folded) {
		calltree_add_folded(at, out);
	} else if (!at->joint) {
		calltree_add_figures(at, &level->cut.rest, NULL, out);
		text_printf(out, "%s… %u %s\n", calltree_joint(level->cut.shown + 1, true),
			level->cut.count, node->depth >= at->depth ? "deeper" : "smaller");
	} else if (node->depth) {
		calltree_add_figures(
			at, &node->total, at->tree->way == CALLTREE_UP ? NULL : &node->self, out);
		text_add(out, at->joint);
		if (node->spot)
			spot_add_line(out, spots_grain(at->tree->spots), node->spot);
		else
			text_add(out, NO_STACK_NAME);
		text_add_char(out, '\n');
	}
}

enum { SPOT, TOTAL, TOTAL_BASE, SELF, SELF_BASE, MORE };
static const struct column node_columns[] = {[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},
	FIGURE_PAIR(TOTAL, "total", "allocated here and further down in the tree"),
	FIGURE_PAIR(SELF, "self",
		"top-down: what this function allocated itself; bottom-up: what the function at "
		"the beginning of the branch allocated itself, along this path"),
	[MORE] = {"more", COLUMN_INTEGER, UNIT_COUNT,
		.says = "children that are left out: too deep (JSON: 100 levels, or `--depth`) or "
			"below `--threshold`; their figures are in `total`"},
	COLUMNS_END};

static void calltree_node_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct calltree_walk *at = context;
	const struct calltree_node *node = last_level(at)->node;
	(void)row;
	if (column == SPOT)
		spot_cell(at->spot, node->spot, ret);
	else if (column == MORE)
		ret->number = last_level(at)->cut.count;
	else if (column < SELF)
		figure_cell(at->profile, node->total, column == TOTAL_BASE, ret);
	else
		figure_cell(at->profile, node->self, column == SELF_BASE, ret);
}

static unsigned calltree_level(const void *context, size_t row, bool *ret_opens)
{
	(void)row;
	*ret_opens = true;
	return last_level(context)->node->depth;
}

static const struct table_type node_type = {.name = "tree",
	.says = "the root: its `name` is null, its `total` is what the tree shows. A node below it "
		"whose `name` is null has the blocks without a stack. The largest child comes "
		"first",
	.columns = node_columns,
	.cell = calltree_node_cell,
	.row_text = calltree_row_text,
	.level = calltree_level,
	.below = "children",
	.depth = "depth",
	.is_rooted = true};

enum { WAY, OF, BY };
static const struct column way_columns[] = {
	[WAY] = {"way", COLUMN_TEXT, .says = "`top-down`, `bottom-up`, `callers` or `callees`"},
	[OF] = {"of", COLUMN_TEXT,
		.says = "the functions whose callers or callees are shown, as given; or null"},
	[BY] = GRAIN_COLUMN,
	COLUMNS_END};

static void way_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct calltree_walk *at = context;
	(void)row;
	ret->text = column == WAY  ? calltree_way_name(at->tree->way)
		    : column == OF ? at->options->wanted
				   : grain_name(spots_grain(at->tree->spots));
}

static const struct table_type way_type = {.columns = way_columns, .cell = way_cell};

const struct answer_type calltree_answer_type = {.schema = "heapwise.calltree/1",
	.from = "heapwise tree --json` and `heapwise flame --json",
	.says = "how much memory each call path allocates, as a tree. " STACKS_HEAD_SAYS,
	.tables = (const struct table_type *const[]){&stacks_metric_type, &way_type, &node_type,
		NULL},
	.main = &node_type,
	.parts = spot_parts};

/* Takes back what the prefix had more. */
static void cut_prefix(struct text *prefix, size_t len)
{
	if (!prefix->failed && prefix->data) {
		prefix->len = len;
		prefix->data[len] = '\0';
	}
}

/* Goes on to the next child of the last level. */
static bool calltree_descend(struct calltree_walk *at)
{
	struct level *level = &at->levels.data[at->levels.len - 1];
	const struct calltree_node *child = calltree_child(at->tree, level->node, level->next++);
	uint32_t siblings = level->cut.shown + (level->cut.count > 0);
	bool last = level->next == siblings;
	at->joint = calltree_joint(siblings, last);
	if (siblings > 1)
		text_add(&at->prefix, last ? "  " : "│ ");
	return !at->prefix.failed && push_level(at, child);
}

/* Returns the only child that has what the node has, itself nothing; NULL: there is none. */
static const struct calltree_node *next_in_chain(
	const struct calltree_walk *at, const struct calltree_node *node)
{
	struct cut cut = cut_children(at, node);
	if (cut.shown != 1 || cut.count)
		return NULL;
	const struct calltree_node *child = calltree_child(at->tree, node, 0);
	bool same = child->total.now == node->total.now && child->total.base == node->total.base;
	return same ? child : NULL;
}

/* Returns how many nodes below the last level are left out: those of a long chain but its last. */
static uint32_t count_folded(const struct calltree_walk *at)
{
	const struct calltree_node *node = last_level(at)->node, *next;
	uint32_t count = 0;
	/* Of callers the chain is the answer. */
	bool down = at->tree->way == CALLTREE_DOWN || at->tree->way == CALLTREE_CALLEES;
	if (at->options->view.all_frames || node->depth == 0 || !down)
		return 0;
	for (; (next = next_in_chain(at, node)) != NULL; node = next)
		count++;
	return count > FOLDED_LEAST ? count - 1 : 0;
}

/* Writes the row of the last level, unless it is one of those that are left out. */
static void put_row(struct calltree_walk *at, const struct table *table, struct answer *answer)
{
	if (at->hidden) {
		at->hidden--;
		return;
	}
	answer_row(answer, table, 0);
	at->hidden = at->folded = answer_is_brief(answer) ? count_folded(at) : 0;
	if (at->folded) {
		at->prefix_len = at->prefix.len;
		answer_row(answer, table, 0);
		at->folded = 0;
	}
}

static struct error *put_nodes(struct calltree_walk *at, struct answer *answer)
{
	const struct table table = {&node_type, at, at->tree->nodes.len, .limit = TABLE_NO_LIMIT};
	bool is_brief = answer_is_brief(answer), ok = push_level(at, &at->tree->nodes.data[0]);
	answer_table_begin(answer, &table);
	if (ok)
		answer_row(answer, &table, 0);
	while (ok && at->levels.len && !answer->stopped) {
		const struct level *level = last_level(at);
		cut_prefix(&at->prefix, level->prefix_len);
		at->prefix_len = level->prefix_len;
		if (level->next < level->cut.shown) {
			ok = calltree_descend(at);
			if (ok)
				put_row(at, &table, answer);
			continue;
		}
		at->joint = NULL;
		if (is_brief && level->cut.count)
			answer_row(answer, &table, 0);
		at->levels.len--;
	}
	answer_table_end(answer, &table);
	return ok ? NULL : error_no_memory();
}

static void calltree_add_title(const struct calltree_walk *at, struct text *out)
{
	const struct calltree_options *options = at->options;
	struct figure total = at->tree->nodes.data[0].total;
	enum metric metric = options->view.sort;
	text_add_char(out, '\n');
	paint_begin(out, options->view.colour, PAINT_TITLE);
	text_printf(out, "%s, ", metric_title(metric));
	if (options->wanted) {
		text_printf(out, "%s of ", calltree_way_name(at->tree->way));
		text_add_shown(out, options->wanted, SIZE_MAX);
	} else {
		text_printf(out, "%s by %s", calltree_way_name(at->tree->way),
			grain_name(spots_grain(at->tree->spots)));
	}
	text_add(out, ": ");
	text_add_figure(out, metric, figure_value(total), at->profile->base);
	text_add(out, " of ");
	text_add_figure(out, metric, (int64_t)at->whole, false);
	paint_end(out, options->view.colour, PAINT_TITLE);
	text_printf(out, "\n%*s        ", FIGURE_WIDTH, "total");
	if (at->tree->way != CALLTREE_UP)
		text_printf(out, "%*s", FIGURE_WIDTH, "self");
	text_add_char(out, '\n');
	if (!at->tree->nodes.data[0].children)
		text_add(out, "  nothing\n");
}

static struct error *calltree_put(void *context, struct answer *answer)
{
	struct calltree_walk *at = context;
	answer_record_of(answer, &way_type, at);
	if (answer_prose(answer))
		calltree_add_title(at, answer_prose(answer));
	return put_nodes(at, answer);
}

struct error *calltree_write(const struct profile *profile, const struct calltree *tree,
	const struct calltree_options *options, const struct sink *sink)
{
	bool cut = options->view.json && options->depth == VIEW_NO_LIMIT;
	struct spot_rows spot = {.grain = spots_grain(tree->spots)};
	struct calltree_walk at = {.profile = profile,
		.tree = tree,
		.options = options,
		.depth = cut ? CALLTREE_JSON_DEPTH : options->depth,
		.whole = profile_whole(profile, options->view.sort),
		.joint = "",
		.spot = &spot};
	level_vec_init(&at.levels);
	text_init(&at.prefix);
	struct error *error = stacks_answer(
		profile, &options->view, &calltree_answer_type, calltree_put, &at, sink);
	level_vec_deinit(&at.levels);
	text_deinit(&at.prefix);
	return error;
}
