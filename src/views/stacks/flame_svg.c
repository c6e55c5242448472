/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as one SVG file, the root on top. It is whole without its script (which is in it):
 * a viewer that runs none shows names and, as titles, figures. Frames come depth first.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/flame_script.h"
#include "views/stacks/figures.h"
#include "views/stacks/flame_parts.h"

#define WIDTH 1200
#define ROW_HEIGHT 17
#define HEAD_HEIGHT 62
#define FOOT_HEIGHT 8
#define LETTER_WIDTH 6.65 /* of DejaVu Sans Mono, 11 px */
#define PIECE_BYTES ((size_t)64 << 10)

struct picture {
	const struct profile *profile;
	const struct calltree *tree;
	const struct flame_options *options;
	const struct flame_cell *cells;
	const struct sink *sink;
	struct text out;
	double least; /* width of the narrowest frame that is drawn */
	bool stopped; /* by the sink */
};

/* Light ones, on which black can be read; distinguishable for people who see fewer colours, too. */
static const unsigned module_colours[] = {0xf6c98f, 0xe8b4a0, 0xf0d878, 0xd9c2a0, 0xf4a582,
	0xe6ce9e, 0xf7b6b0, 0xdcd08a, 0xc9d79b, 0xe0b8c8};

/* Functions of one colour have shades of it, so that neighbours can be distinguished. */
#define SHADES 4
#define SHADE_STEP 6

static void add_shade(struct picture *at, const struct spot *spot)
{
	struct text *out = &at->out;
	unsigned number = at->options->colour_by == FLAME_BY_FUNCTION
				  ? flame_function_colour(spot, ARRAY_SIZE(module_colours))
				  : flame_colour(spot, ARRAY_SIZE(module_colours));
	unsigned colour = module_colours[number];
	int shade = flame_shade(spot, SHADES) * SHADE_STEP;
	text_add_char(out, '#');
	for (int shift = 16; shift >= 0; shift -= 8) {
		int part = (int)(colour >> shift & 0xff) + shade;
		text_printf(out, "%02x", (unsigned)(part > 0xff ? 0xff : part));
	}
}

static const char *const colour_words[] = {[FLAME_BY_MODULE] = "",
	[FLAME_BY_FUNCTION] = "; a colour for each function",
	[FLAME_BY_SELF] = "; the darker, the more of it the function allocated itself"};

static void flame_svg_flush(struct picture *at, size_t more_than)
{
	if (at->out.len <= more_than || at->out.failed)
		return;
	at->stopped = at->stopped || !at->sink->write(at->sink->ctx, at->out.data, at->out.len);
	text_clear(&at->out);
}

static double left_of(const struct picture *at, uint64_t place)
{
	return at->cells[0].width ? (double)place / (double)at->cells[0].width * WIDTH : 0;
}

/* Of the share of a scale, from one colour to the other. */
static void add_mixed(struct text *out, const int from[3], const int to[3], double part)
{
	text_add_char(out, '#');
	for (int i = 0; i < 3; i++)
		text_printf(out, "%02x", (unsigned)(from[i] + part * (to[i] - from[i]) + 0.5));
}

/* In a comparison from grey to orange, or to blue. */
static void add_colour(struct picture *at, const struct calltree_node *node)
{
	static const int grey[] = {0xe8, 0xe8, 0xe8}, more[] = {0xfd, 0x8d, 0x3c},
			 less[] = {0x6b, 0xae, 0xf0}, pale[] = {0xf7, 0xf3, 0xe8};
	if (at->profile->base) {
		double change = flame_change(node->total);
		add_mixed(&at->out, grey, change < 0 ? less : more, change < 0 ? -change : change);
	} else if (at->options->colour_by == FLAME_BY_SELF) {
		add_mixed(&at->out, pale, more, flame_self_share(at->tree, node));
	} else {
		add_shade(at, node->spot);
	}
}

static void flame_svg_add_title(
	struct picture *at, const struct calltree_node *node, const char *label)
{
	enum metric metric = at->options->metric;
	_cleanup_(text_deinit) struct text title;
	text_init(&title);
	if (node->spot)
		spot_add_whole_label(&title, spots_grain(at->tree->spots), node->spot);
	else
		text_add(&title, label);
	if (node->spot && node->spot->frame->module &&
		spots_grain(at->tree->spots) != GRAIN_MODULES)
		text_printf(&title, " [%s]", node->spot->frame->module);
	text_add(&title, ": ");
	text_add_figure(&title, metric, figure_value(node->total), at->profile->base);
	uint64_t whole = profile_whole(at->profile, metric);
	if (whole)
		text_printf(&title, " (%.2f%%)",
			100.0 * (double)figure_value(node->total) / (double)whole);
	if (node->depth && at->tree->way != CALLTREE_UP) {
		text_add(&title, ", itself ");
		text_add_figure(&title, metric, figure_value(node->self), at->profile->base);
	}
	if (at->profile->base) {
		text_add(&title, ", before ");
		text_add_figure(&title, metric, (int64_t)node->total.base, false);
	}
	text_add(&at->out, "<title>");
	text_add_xml(&at->out, title.data ? title.data : "");
	text_add(&at->out, "</title>");
}

/* As the script shortens names when a frame changes its width. */
static void add_short(struct picture *at, const char *label, double width)
{
	long letters = (long)((width - 6) / LETTER_WIDTH);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	long count = 0;
	size_t bytes = 0, cut = 0;
	for (; label[bytes]; bytes++) {
		if (((unsigned char)label[bytes] & 0xc0) == 0x80)
			continue;
		if (count++ == letters - 2)
			cut = bytes;
	}
	if (letters < 3)
		return;
	text_add_n(&name, label, count <= letters ? bytes : cut);
	text_add(&name, count <= letters ? "" : "..");
	text_add_xml(&at->out, name.data ? name.data : "");
}

static void flame_svg_add_frame(struct picture *at, uint32_t number)
{
	const struct calltree_node *node = &at->tree->nodes.data[number];
	double x = left_of(at, at->cells[number].start),
	       width = left_of(at, at->cells[number].width);
	uint64_t y = HEAD_HEIGHT + (uint64_t)node->depth * ROW_HEIGHT;
	_cleanup_(text_deinit) struct text label;
	text_init(&label);
	flame_add_label(&label, at->tree, node);
	const char *name = label.data ? label.data : "";
	text_add(&at->out, "<g data-name=\"");
	text_add_xml(&at->out, name);
	text_add(&at->out, "\">");
	flame_svg_add_title(at, node, name);
	text_printf(&at->out,
		"<rect x=\"%.4f\" y=\"%" PRIu64 "\" width=\"%.4f\" height=\"%d\" fill=\"", x, y,
		width, ROW_HEIGHT - 1);
	add_colour(at, node);
	text_printf(&at->out, "\"/><text x=\"%.4f\" y=\"%" PRIu64 "\">", x + 3, y + 12);
	add_short(at, name, width);
	text_add(&at->out, "</text></g>\n");
	flame_svg_flush(at, PIECE_BYTES);
}

static bool is_drawn(const struct picture *at, uint32_t number)
{
	return at->cells[number].width && left_of(at, at->cells[number].width) >= at->least;
}

/* Depth first, without recursion: a child follows its elder sibling's last descendant. */
static struct error *add_frames(struct picture *at)
{
	const struct calltree_nodes *nodes = &at->tree->nodes;
	_cleanup_free_ uint32_t *next = calloc(nodes->len + 1, sizeof(*next));
	if (!next)
		return error_no_memory();
	flame_svg_add_frame(at, 0);
	for (uint32_t number = 0; !at->stopped;) {
		const struct calltree_node *node = &nodes->data[number];
		if (next[number] < node->children) {
			uint32_t child = at->tree->order[node->first_child + next[number]++];
			if (!is_drawn(at, child))
				continue;
			flame_svg_add_frame(at, child);
			number = child;
		} else if (number == 0) {
			break;
		} else {
			number = node->parent;
		}
	}
	return NULL;
}

static uint64_t height_of(const struct picture *at)
{
	uint32_t deepest = 0;
	for (uint32_t i = 0; i < at->tree->nodes.len; i++)
		if (is_drawn(at, i))
			deepest = max(deepest, at->tree->nodes.data[i].depth);
	return HEAD_HEIGHT + (uint64_t)(deepest + 1) * ROW_HEIGHT + FOOT_HEIGHT;
}

static void flame_svg_begin(struct picture *at, uint64_t height)
{
	text_printf(&at->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu64
		"\" width=\"%d\" height=\"%" PRIu64 "\" preserveAspectRatio=\"xMidYMin meet\" "
		"data-width=\"%d\" data-letter=\"%.2f\" data-row=\"%d\">\n"
		"<style>text{font:11px 'DejaVu Sans Mono',monospace;fill:#000}"
		"#flame g{cursor:pointer}#flame text{pointer-events:none}"
		"#flame rect{stroke:#fff;stroke-width:.5}#flame g:hover "
		"rect,#flame .current rect{stroke:#000;stroke-width:1}#flame .current "
		"rect{stroke-width:2}"
		".outer{opacity:.5}.button{cursor:pointer;text-decoration:underline}"
		"#title{font-size:14px;font-weight:bold}#flame "
		"g{scroll-margin-top:70px}</style>\n"
		"<rect width=\"%d\" height=\"%" PRIu64 "\" fill=\"#fff\"/>\n<g id=\"flame\">\n",
		WIDTH, height, WIDTH, height, WIDTH, LETTER_WIDTH, ROW_HEIGHT, WIDTH, height);
}

/* Comes last, so that it stays above frames that are scrolled below it. */
static void flame_svg_add_head(struct picture *at)
{
	_cleanup_(text_deinit) struct text command, caption, shown;
	text_init(&command);
	text_init(&caption);
	text_init(&shown);
	const struct target *target = model_target(at->profile->model);
	for (size_t i = 0; i < target->command_len; i++)
		text_printf(&command, "%s%s", i ? " " : "", target->command[i]);
	flame_add_caption(&caption, at->profile, at->tree, at->options->metric);
	text_add(&caption, colour_words[at->options->colour_by]);
	text_printf(&at->out,
		"<g id=\"head\"><rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text id=\"title\" x=\"3\" y=\"18\">",
		WIDTH, HEAD_HEIGHT - 2);
	text_add_shown(&shown,
		at->options->title ? at->options->title
		: command.data     ? command.data
				   : "(unknown program)",
		100);
	text_add_xml(&at->out, shown.data ? shown.data : "");
	text_add(&at->out, "</text>\n<text x=\"3\" y=\"36\">");
	text_add_xml(&at->out, caption.data ? caption.data : "");
	text_printf(&at->out,
		"</text>\n<text id=\"reset\" class=\"button\" x=\"%d\" y=\"18\" "
		"text-anchor=\"end\" "
		"style=\"display:none\">Whole graph</text>\n"
		"<text id=\"found\" class=\"button\" x=\"%d\" y=\"36\" text-anchor=\"end\" "
		"style=\"display:none\">Search</text>\n"
		"<text id=\"details\" role=\"status\" x=\"3\" y=\"54\"></text></g>\n",
		WIDTH - 3, WIDTH - 3);
}

struct error *flame_write_svg(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink)
{
	_cleanup_free_ struct flame_cell *cells = NULL;
	struct error *error = flame_layout(profile, tree, &cells);
	if (error)
		return error;
	struct picture at = {
		.profile = profile,
		.tree = tree,
		.options = options,
		.cells = cells,
		.sink = sink,
		.least = options->threshold / 100 * WIDTH,
	};
	text_init(&at.out);
	flame_svg_begin(&at, height_of(&at));
	error = add_frames(&at);
	text_add(&at.out, "</g>\n");
	flame_svg_add_head(&at);
	text_printf(&at.out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_script);
	flame_svg_flush(&at, 0);
	if (!error && at.out.failed)
		error = error_no_memory();
	text_deinit(&at.out);
	return error;
}
