/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph in columns of text, the root on top:
 *
 *	[all 12.3 MiB──────────────────────────────────────────]
 *	[main 82.9%────────────────────────────────────]
 *	[read_line 60.1%────────────────][parse 22.8%──]
 *
 * With colours, cells are blocks of their module's colour instead of brackets. Of a long chain of
 * calls that are equally wide the ends are shown: "… 5 more".
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"
#include "views/stacks/flame_parts.h"

/* As many nodes of a chain are worth a cell of their own. */
#define FOLDED_LEAST 3u

struct place {
	uint32_t node;
	uint32_t folded; /* so many are left out before it: the cell says so, its node is below; 0:
			    it is the node's */
};
DEFINE_VEC(place_vec, struct place)

struct drawing {
	const struct profile *profile;
	const struct calltree *tree;
	const struct flame_options *options;
	const struct flame_cell *cells;
	struct text *out;
};

/* Of the 256 colours: light ones, on which black can be read. */
static const unsigned char module_colours[] = {222, 180, 216, 186, 223, 187, 217, 229, 150, 181};
static const unsigned char more_colours[] = {252, 230, 223, 222, 215, 214, 208};
static const unsigned char less_colours[] = {252, 195, 159, 153, 117, 111, 75};

#define FOLDED_COLOUR 253u

static unsigned colour_of(const struct drawing *at, const struct calltree_node *node)
{
	if (!at->profile->base)
		return module_colours[flame_colour(node->spot, ARRAY_SIZE(module_colours))];
	double change = flame_change(node->total);
	const size_t last = ARRAY_SIZE(more_colours) - 1;
	size_t step = (size_t)((change < 0 ? -change : change) * (double)last + 0.5);
	return change < 0 ? less_colours[step] : more_colours[step];
}

/* Column of a place, from 0 to the width. */
static size_t flame_text_column(const struct drawing *at, uint64_t place)
{
	return (size_t)((double)place / (double)at->cells[0].width * (double)at->options->width +
			0.5);
}

/* Bytes of the first `most` characters of UTF-8, and how many characters these are. */
static size_t first_characters(const char *string, size_t most, size_t *ret_count)
{
	size_t bytes = 0, count = 0;
	while (string[bytes] && count < most) {
		bytes++;
		while (((unsigned char)string[bytes] & 0xc0) == 0x80)
			bytes++;
		count++;
	}
	*ret_count = count;
	return bytes;
}

static void flame_text_add_name(
	struct drawing *at, const struct calltree_node *node, struct text *name)
{
	flame_add_label(name, at->tree, node);
	text_add_char(name, ' ');
	if (node->depth == 0)
		text_add_figure(
			name, at->options->metric, figure_value(node->total), at->profile->base);
	else
		text_printf(name, "%.1f%%",
			100.0 * (double)figure_value(node->total) /
				(double)max(profile_whole(at->profile, at->options->metric),
					(uint64_t)1));
}

static void add_fill(struct drawing *at, size_t columns)
{
	const char *fill = at->options->colour ? " " : at->options->utf8 ? "─" : "-";
	for (size_t i = 0; i < columns; i++)
		text_add(at->out, fill);
}

/* Exactly so many columns: as much of the name as fits, the figure only whole. */
static void add_inside(struct drawing *at, const struct calltree_node *node, size_t columns)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	flame_text_add_name(at, node, &name);
	const char *text = name.data ? name.data : "";
	size_t count, all, bytes = first_characters(text, columns, &count);
	first_characters(text, SIZE_MAX, &all);
	const char *figure = strrchr(text, ' ');
	if (all > columns && figure) {
		size_t name_bytes = (size_t)(figure - text), name_count;
		_cleanup_free_ char *alone = strndup(text, name_bytes);
		if (alone) {
			first_characters(alone, SIZE_MAX, &name_count);
			bytes = name_count <= columns
					? first_characters(text, name_count, &count)
					: first_characters(text, columns ? columns - 1 : 0, &count);
			text_add_n(at->out, text, bytes);
			if (name_count > columns && columns) {
				text_add(at->out, at->options->utf8 ? "…" : ".");
				count++;
			}
		}
	} else {
		text_add_n(at->out, text, bytes);
	}
	add_fill(at, columns - count);
}

/* A place's cell; its node's name, or how many are left out. */
static void add_content(struct drawing *at, const struct place *place, size_t columns)
{
	const struct calltree_node *node = &at->tree->nodes.data[place->node];
	if (!place->folded) {
		add_inside(at, node, columns);
		return;
	}
	char left_out[32];
	int len = snprintf(left_out, sizeof(left_out), "%s %u more",
		at->options->utf8 ? "…" : "...", place->folded);
	size_t count, bytes = first_characters(left_out, columns, &count);
	text_add_n(at->out, left_out, min(bytes, (size_t)len));
	add_fill(at, columns - count);
}

static void flame_text_add_cell(struct drawing *at, const struct place *place, size_t columns)
{
	const struct calltree_node *node = &at->tree->nodes.data[place->node];
	if (at->options->colour) {
		text_printf(at->out, "\033[30;48;5;%um",
			place->folded ? FOLDED_COLOUR : colour_of(at, node));
		text_add(at->out, at->options->utf8 ? "▏" : "|");
		add_content(at, place, columns - 1);
		text_add(at->out, "\033[0m");
	} else if (columns == 1) {
		text_add_char(at->out, '|');
	} else {
		text_add_char(at->out, '[');
		add_content(at, place, columns - 2);
		text_add_char(at->out, ']');
	}
}

static bool same_columns(const struct drawing *at, uint32_t a, uint32_t b)
{
	struct flame_cell one = at->cells[a], other = at->cells[b];
	return flame_text_column(at, one.start) == flame_text_column(at, other.start) &&
	       flame_text_column(at, one.start + one.width) ==
		       flame_text_column(at, other.start + other.width);
}

/* The node at the end of the chain of only children that are as wide as a node, and its length. */
static uint32_t chain_end(const struct drawing *at, uint32_t number, uint32_t *ret_length)
{
	*ret_length = 0;
	for (;;) {
		const struct calltree_node *node = &at->tree->nodes.data[number];
		if (node->children != 1)
			return number;
		uint32_t child = at->tree->order[node->first_child];
		if (!same_columns(at, number, child))
			return number;
		number = child;
		++*ret_length;
	}
}

/* Adds what is below a place. */
static bool add_below(const struct drawing *at, const struct place *place, struct place_vec *next)
{
	const struct calltree_node *node = &at->tree->nodes.data[place->node];
	if (place->folded)
		return place_vec_push(next, (struct place){.node = place->node});
	uint32_t length, end = chain_end(at, place->node, &length);
	if (!at->options->all_frames && node->depth && length > FOLDED_LEAST)
		return place_vec_push(next, (struct place){end, length - 1});
	for (uint32_t k = 0; k < node->children; k++)
		if (!place_vec_push(
			    next, (struct place){.node = at->tree->order[node->first_child + k]}))
			return false;
	return true;
}

/* Draws a level, and fills `next` with the one below it. */
static bool add_level(struct drawing *at, const struct place_vec *level, struct place_vec *next)
{
	size_t pen = 0;
	next->len = 0;
	for (size_t i = 0; i < level->len; i++) {
		const struct place *place = &level->data[i];
		struct flame_cell cell = at->cells[place->node];
		size_t from = flame_text_column(at, cell.start),
		       to = flame_text_column(at, cell.start + cell.width);
		if (to <= from)
			continue;
		text_printf(at->out, "%*s", (int)(from - pen), "");
		flame_text_add_cell(at, place, to - from);
		pen = to;
		if (!add_below(at, place, next))
			return false;
	}
	if (pen)
		text_add_char(at->out, '\n');
	return true;
}

static bool add_levels(struct drawing *at)
{
	struct place_vec levels[2];
	place_vec_init(&levels[0]);
	place_vec_init(&levels[1]);
	bool ok = place_vec_push(&levels[0], (struct place){.node = 0});
	for (unsigned turn = 0; ok && levels[turn].len; turn = !turn)
		ok = add_level(at, &levels[turn], &levels[!turn]);
	place_vec_deinit(&levels[0]);
	place_vec_deinit(&levels[1]);
	return ok;
}

struct error *flame_write_text(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink)
{
	_cleanup_free_ struct flame_cell *cells = NULL;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct error *error = flame_layout(profile, tree, &cells);
	if (error)
		return error;
	struct drawing at = {profile, tree, options, cells, &out};
	text_heading(profile->model, &out);
	text_notes(&profile->notes, &out);
	text_add_char(&out, '\n');
	flame_add_caption(&out, profile, tree, options->metric);
	text_printf(&out, ", %s by %s\n", calltree_way_name(tree->way),
		grain_name(spots_grain(tree->spots)));
	if (!cells[0].width)
		text_add(&out, "  nothing\n");
	else if (!add_levels(&at))
		return error_no_memory();
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}
