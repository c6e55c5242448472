/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph in columns of text, the root on top:
 *
 *	[all 12.3 MiB──────────────────────────────────────────]
 *	[main 82.9%────────────────────────────────────]
 *	[read_line 60.1%────────────────][parse 22.8%──]
 *
 * With colours, cells are blocks of their module's colour instead of brackets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"
#include "views/stacks/flame_parts.h"

DEFINE_VEC(number_vec, uint32_t)

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

static void flame_text_add_cell(
	struct drawing *at, const struct calltree_node *node, size_t columns)
{
	if (at->options->colour) {
		text_printf(at->out, "\033[30;48;5;%um", colour_of(at, node));
		text_add(at->out, at->options->utf8 ? "▏" : "|");
		add_inside(at, node, columns - 1);
		text_add(at->out, "\033[0m");
	} else if (columns == 1) {
		text_add_char(at->out, '|');
	} else {
		text_add_char(at->out, '[');
		add_inside(at, node, columns - 2);
		text_add_char(at->out, ']');
	}
}

/* Draws a level, and fills `next` with the one below it. */
static bool add_level(struct drawing *at, const struct number_vec *level, struct number_vec *next)
{
	size_t pen = 0;
	next->len = 0;
	for (size_t i = 0; i < level->len; i++) {
		const struct calltree_node *node = &at->tree->nodes.data[level->data[i]];
		struct flame_cell cell = at->cells[level->data[i]];
		size_t from = flame_text_column(at, cell.start),
		       to = flame_text_column(at, cell.start + cell.width);
		if (to <= from)
			continue;
		text_printf(at->out, "%*s", (int)(from - pen), "");
		flame_text_add_cell(at, node, to - from);
		pen = to;
		for (uint32_t k = 0; k < node->children; k++)
			if (!number_vec_push(next, at->tree->order[node->first_child + k]))
				return false;
	}
	if (pen)
		text_add_char(at->out, '\n');
	return true;
}

static bool add_levels(struct drawing *at)
{
	struct number_vec levels[2];
	number_vec_init(&levels[0]);
	number_vec_init(&levels[1]);
	bool ok = number_vec_push(&levels[0], 0);
	for (unsigned turn = 0; ok && levels[turn].len; turn = !turn)
		ok = add_level(at, &levels[turn], &levels[!turn]);
	number_vec_deinit(&levels[0]);
	number_vec_deinit(&levels[1]);
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
