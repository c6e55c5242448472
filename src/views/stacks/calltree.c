/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See calltree.h. As text a chain of calls goes straight down, and a line is drawn where it forks:
 *
 *	      total            self
 *	  12.3 MiB  82.0%       0 B   0.0%  main  [app]
 *	  10.0 MiB  66.7%  10.0 MiB  66.7%  ├ read_line  [app]
 *	   2.3 MiB  15.3%       0 B   0.0%  └ parse  [app]
 *	   2.3 MiB  15.3%   2.3 MiB  15.3%    xmalloc  [app]
 */
#include "views/calltree.h"

#include "base/cleanup.h"
#include "views/report/json_parts.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12

/* Children come in the order of their weight: the first `shown` of them are shown, the others are
 * summed up. */
struct cut {
	uint32_t shown, count;
	struct figure rest;
};

static double calltree_share(struct figure figure, uint64_t whole)
{
	int64_t value = figure_value(figure);
	return whole ? 100.0 * (double)value / (double)whole : 0;
}

static struct cut cut_children(const struct profile *profile, const struct calltree *tree,
	const struct calltree_node *node, const struct calltree_options *options)
{
	uint64_t whole = profile_whole(profile, options->metric);
	struct cut cut = {.shown = 0};
	for (uint32_t i = 0; i < node->children; i++) {
		const struct calltree_node *child = calltree_child(tree, node, i);
		/* What never had this figure is not worth a word; it comes last. */
		if (!child->total.now && !child->total.base)
			continue;
		double percent = calltree_share(child->total, whole);
		bool small = (percent < 0 ? -percent : percent) < options->threshold;
		if (!small && child->depth <= options->depth && cut.shown == i) {
			cut.shown++;
			continue;
		}
		cut.count++;
		cut.rest.now += child->total.now;
		cut.rest.base += child->total.base;
	}
	return cut;
}

/* A node on the way from the root to the one at hand. */
struct level {
	const struct calltree_node *node;
	struct cut cut;
	uint32_t next;     /* child to be written */
	size_t prefix_len; /* of what stands before the lines of its children */
};

DEFINE_VEC(level_vec, struct level)

struct writing {
	const struct profile *profile;
	const struct calltree *tree;
	const struct calltree_options *options;
	struct level_vec levels;
	struct text prefix, *out;
};

static bool push_level(struct writing *at, const struct calltree_node *node)
{
	struct level level = {
		.node = node,
		.cut = cut_children(at->profile, at->tree, node, at->options),
		.prefix_len = at->prefix.len,
	};
	return level_vec_push(&at->levels, level);
}

static void calltree_add_figures(
	struct writing *at, const struct figure *total, const struct figure *self)
{
	const struct figure *figures[] = {total, self};
	uint64_t whole = profile_whole(at->profile, at->options->metric);
	for (int i = 0; i < 2; i++) {
		if (!figures[i]) {
			if (at->tree->way != CALLTREE_UP)
				text_printf(at->out, "%*s", FIGURE_WIDTH + 8, "");
			continue;
		}
		enum paint paint = paint_of(calltree_share(*figures[i], whole) / 100);
		paint_begin(at->out, at->options->colour, paint);
		text_add_figure_cell(at->out, at->options->metric, figure_value(*figures[i]),
			at->profile->base, FIGURE_WIDTH);
		text_add_percent(at->out, figure_value(*figures[i]), whole);
		paint_end(at->out, at->options->colour, paint);
	}
	text_add(at->out, "  ");
}

/* What leads from the prefix of the siblings to the line. */
static const char *calltree_joint(uint32_t siblings, bool last)
{
	if (siblings == 1)
		return "";
	return last ? "└ " : "├ ";
}

static void calltree_add_line(
	struct writing *at, const struct calltree_node *node, const char *before)
{
	bool up = at->tree->way == CALLTREE_UP;
	calltree_add_figures(at, &node->total, up ? NULL : &node->self);
	text_add_n(at->out, at->prefix.data, at->prefix.len);
	text_add(at->out, before);
	if (node->spot)
		spot_add_line(at->out, spots_grain(at->tree->spots), node->spot);
	else
		text_add(at->out, NO_STACK_NAME);
	text_add_char(at->out, '\n');
}

static void calltree_add_rest(struct writing *at, const struct level *level)
{
	calltree_add_figures(at, &level->cut.rest, NULL);
	text_add_n(at->out, at->prefix.data, at->prefix.len);
	text_printf(
		at->out, "%s… %u ", calltree_joint(level->cut.shown + 1, true), level->cut.count);
	text_add(at->out, level->node->depth >= at->options->depth ? "deeper\n" : "smaller\n");
}

/* Takes back what the prefix had more. */
static void cut_prefix(struct text *prefix, size_t len)
{
	if (!prefix->failed && prefix->data) {
		prefix->len = len;
		prefix->data[len] = '\0';
	}
}

static bool add_nodes(struct writing *at)
{
	if (!push_level(at, &at->tree->nodes.data[0]))
		return false;
	while (at->levels.len) {
		struct level *level = &at->levels.data[at->levels.len - 1];
		cut_prefix(&at->prefix, level->prefix_len);
		if (level->next == level->cut.shown) {
			if (level->cut.count)
				calltree_add_rest(at, level);
			at->levels.len--;
			continue;
		}
		const struct calltree_node *child =
			calltree_child(at->tree, level->node, level->next++);
		uint32_t siblings = level->cut.shown + (level->cut.count > 0);
		bool last = level->next == siblings;
		calltree_add_line(at, child, calltree_joint(siblings, last));
		if (siblings > 1)
			text_add(&at->prefix, last ? "  " : "│ ");
		if (at->prefix.failed || !push_level(at, child))
			return false;
	}
	return true;
}

static void calltree_add_title(struct writing *at)
{
	const struct calltree_options *options = at->options;
	struct figure total = at->tree->nodes.data[0].total;
	uint64_t whole = profile_whole(at->profile, options->metric);
	text_add_char(at->out, '\n');
	paint_begin(at->out, options->colour, PAINT_TITLE);
	text_printf(at->out, "%s, ", metric_title(options->metric));
	if (options->wanted) {
		text_printf(at->out, "%s of ", calltree_way_name(at->tree->way));
		text_add_shown(at->out, options->wanted, SIZE_MAX);
	} else {
		text_printf(at->out, "%s by %s", calltree_way_name(at->tree->way),
			grain_name(spots_grain(at->tree->spots)));
	}
	text_add(at->out, ": ");
	text_add_figure(at->out, options->metric, figure_value(total), at->profile->base);
	text_add(at->out, " of ");
	text_add_figure(at->out, options->metric, (int64_t)whole, false);
	paint_end(at->out, options->colour, PAINT_TITLE);
	text_printf(at->out, "\n%*s        ", FIGURE_WIDTH, "total");
	if (at->tree->way != CALLTREE_UP)
		text_printf(at->out, "%*s", FIGURE_WIDTH, "self");
	text_add_char(at->out, '\n');
}

static struct error *calltree_write_text(struct writing *at, const struct sink *sink)
{
	text_heading(at->profile->model, at->out);
	text_notes(&at->profile->notes, at->out);
	calltree_add_title(at);
	if (!at->tree->nodes.data[0].children)
		text_add(at->out, "  nothing\n");
	else if (!add_nodes(at))
		return error_no_memory();
	if (at->out->failed)
		return error_no_memory();
	sink->write(sink->ctx, at->out->data, at->out->len);
	return NULL;
}

static void put_figure(const struct writing *at, struct json *json, const char *key,
	const char *base_key, struct figure figure)
{
	json_key(json, key);
	json_i64(json, figure_value(figure));
	if (at->profile->base)
		json_put_u64(json, base_key, figure.base);
}

static void begin_node(
	struct writing *at, struct json *json, const struct calltree_node *node, uint32_t more)
{
	json_object_begin(json);
	json_put_spot(json, spots_grain(at->tree->spots), node->spot);
	put_figure(at, json, "total", "total_base", node->total);
	put_figure(at, json, "self", "self_base", node->self);
	json_put_u64(json, "more", more);
	json_key(json, "children");
	json_array_begin(json);
}

static struct error *put_nodes(struct writing *at, struct json *json)
{
	const struct calltree_node *root = &at->tree->nodes.data[0];
	if (!push_level(at, root))
		return error_no_memory();
	json_key(json, "tree");
	begin_node(at, json, root, at->levels.data[0].cut.count);
	while (at->levels.len) {
		struct level *level = &at->levels.data[at->levels.len - 1];
		if (level->next == level->cut.shown) {
			json_array_end(json);
			json_object_end(json);
			at->levels.len--;
			continue;
		}
		const struct calltree_node *child =
			calltree_child(at->tree, level->node, level->next++);
		if (!push_level(at, child))
			return error_no_memory();
		begin_node(at, json, child, at->levels.data[at->levels.len - 1].cut.count);
	}
	return NULL;
}

static struct error *calltree_write_json(struct writing *at, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.calltree/1");
	json_put_profile(&json, at->profile, at->options->metric);
	json_put_string(&json, "way", calltree_way_name(at->tree->way));
	json_put_string(&json, "of", at->options->wanted);
	json_put_string(&json, "by", grain_name(spots_grain(at->tree->spots)));
	struct error *error = put_nodes(at, &json);
	if (error)
		return error;
	json_object_end(&json);
	json_finish(&json);
	return NULL;
}

struct error *calltree_write(const struct profile *profile, const struct calltree *tree,
	const struct calltree_options *options, const struct sink *sink)
{
	struct calltree_options used = *options;
	if (options->json)
		used.depth = options->depth == VIEW_NO_LIMIT ? CALLTREE_JSON_DEPTH : options->depth;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct writing at = {.profile = profile, .tree = tree, .options = &used, .out = &out};
	level_vec_init(&at.levels);
	text_init(&at.prefix);
	struct error *error =
		options->json ? calltree_write_json(&at, sink) : calltree_write_text(&at, sink);
	level_vec_deinit(&at.levels);
	text_deinit(&at.prefix);
	return error;
}
